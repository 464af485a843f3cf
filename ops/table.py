"""The operator table: every operator of the graph IR, one row each.

Axes are non-negative, shapes static; pointwise operators broadcast as NumPy does and their operands have one common
element type unless the row says otherwise. ``zero_point`` of a contraction, pool or sum is subtracted from its operand
(absent: 0); ``acc_lo`` and ``acc_hi`` are the least and the greatest accumulator that its weights allow (absent: not
known); with ``small``, their products with the scales may be rounded before they are clamped; of sums that need more
than 32 bits a contraction drops the last ``shift`` (absent: none).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..custom_ops.meaning import evaluate_custom
from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import DType, TensorType
from . import attributes as at
from . import col2im as ci
from . import contraction as ct
from . import control as cf
from . import custom as cu
from . import determinant as dt
from . import fourier as ft
from . import int_normalize as nm
from . import int_recurrent as iq
from . import integer as it
from . import interpolate as ip
from . import movement as mv
from . import murmur as mu
from . import ngrams as ng
from . import pointwise as pw
from . import quantization as qt
from . import recurrent as rc
from . import reduction as rd
from . import sample as sm
from . import scatter as sc
from . import selection as se
from . import sort as so
from . import stored_weights as sw
from . import strings as st
from . import suppression as su
from . import svm as sv
from . import trees as tr
from . import window as wd
from .attributes import Schema, one_of
from .fused import evaluate_fused, fused_macs, infer_fused
from .narrow import ROUNDINGS
from .nests import NESTS
from .opdef import Attrs, Kind, OpDef
from .pointwise import ANY, BOOLS, FLOATS, INTEGERS, NUMBERS, apply, binary, predicate, unary
from .pointwise_exprs import SCALARS
from .recurrent import ACTIVATIONS, DIRECTIONS
from .root_exprs import rounded_root
from .views import INDEX_MAPS

P, V, A, C = Kind.POINTWISE, Kind.VIEW, Kind.ANCHOR, Kind.CONTROL

# Attributes that several operators have
LAYOUT: Schema = {"layout": one_of("channels_first", "channels_last")}
WINDOW: Schema = {"stride": at.COUNTS, "pad": at.EXTENTS, "dilation": at.COUNTS}
POOL: Schema = {"kernel": at.COUNTS, **WINDOW, "ceil_mode": at.BOOL}
RECURRENT: Schema = {
    "hidden": at.COUNT, "direction": one_of(*DIRECTIONS), "clip": at.FLOAT,
    "activations": at.Attribute(at.AttrKind.TEXTS, tuple(ACTIVATIONS)),
}  # fmt: skip
INT_RECURRENT: Schema = {
    **{name: RECURRENT[name] for name in ("hidden", "direction", "activations")},
    "x_zero_point": at.INT, "x_shift": at.AXIS, "h_shift": at.AXIS, "fraction": at.COUNT,
}  # fmt: skip
QUANTIZED: Schema = {"scale": at.FLOATS, "zero_point": at.INTS, "axis": at.AXIS}
ZERO_POINT: Schema = {"zero_point": at.OPTIONAL_INT}
ACCUMULATED: Schema = {"acc_lo": at.OPTIONAL_INT, "acc_hi": at.OPTIONAL_INT}
SUMS: Schema = {**ZERO_POINT, **ACCUMULATED, "shift": at.OPTIONAL_COUNT}
STEPS: Schema = {"zero_point": at.INT, "y_scale": at.FLOAT, "lo": at.INT, "hi": at.INT, "to": at.DTYPE}
SHIFTED: Schema = {**STEPS, "shift": at.INT}

_ROWS: tuple[OpDef, ...] = (
    # Pointwise, one operand: floats
    OpDef("exp", P, "e^x", unary(FLOATS), apply(np.exp)),
    OpDef("log", P, "natural logarithm", unary(FLOATS), apply(np.log)),
    OpDef("sqrt", P, "square root", unary(FLOATS), apply(np.sqrt)),
    OpDef("reciprocal", P, "1 / x", unary(FLOATS), apply(np.reciprocal)),
    OpDef("floor", P, "largest integer not above x", unary(FLOATS), apply(np.floor)),
    OpDef("ceil", P, "smallest integer not below x", unary(FLOATS), apply(np.ceil)),
    OpDef("round", P, "nearest integer, halves to even", unary(FLOATS), apply(np.rint)),
    OpDef("sin", P, "sine", unary(FLOATS), apply(np.sin)),
    OpDef("cos", P, "cosine", unary(FLOATS), apply(np.cos)),
    OpDef("tan", P, "tangent", unary(FLOATS), apply(np.tan)),
    OpDef("asin", P, "inverse sine", unary(FLOATS), apply(np.arcsin)),
    OpDef("acos", P, "inverse cosine", unary(FLOATS), apply(np.arccos)),
    OpDef("atan", P, "inverse tangent", unary(FLOATS), apply(np.arctan)),
    OpDef("sinh", P, "hyperbolic sine", unary(FLOATS), apply(np.sinh)),
    OpDef("cosh", P, "hyperbolic cosine", unary(FLOATS), apply(np.cosh)),
    OpDef("tanh", P, "hyperbolic tangent", unary(FLOATS), apply(np.tanh)),
    OpDef("asinh", P, "inverse hyperbolic sine", unary(FLOATS), apply(np.arcsinh)),
    OpDef("acosh", P, "inverse hyperbolic cosine", unary(FLOATS), apply(np.arccosh)),
    OpDef("atanh", P, "inverse hyperbolic tangent", unary(FLOATS), apply(np.arctanh)),
    OpDef("erf", P, "error function", unary(FLOATS), apply(pw.erf)),
    OpDef("sigmoid", P, "1 / (1 + e^-x)", unary(FLOATS), apply(pw.sigmoid)),
    OpDef("softplus", P, "log(1 + e^x)", unary(FLOATS), apply(lambda x: np.logaddexp(x, x.dtype.type(0)))),
    # Pointwise, one operand: any number; bool; integers; float to bool
    OpDef("neg", P, "-x", unary(NUMBERS), apply(np.negative)),
    OpDef("abs", P, "|x|", unary(NUMBERS), apply(np.abs)),
    OpDef("sign", P, "-1, 0 or 1", unary(NUMBERS), apply(np.sign)),
    OpDef("relu", P, "max(x, 0)", pw.infer_bounded, apply(lambda x: np.maximum(x, x.dtype.type(0)))),
    OpDef("not", P, "negation of bool", unary(BOOLS), apply(np.logical_not)),
    OpDef("bitnot", P, "complement of an integer's bits", unary(INTEGERS), apply(np.bitwise_not)),
    OpDef(
        "int_sqrt", P, "the integer nearest to the square root of min(x, 2^30); found bit by bit, or by floats",
        unary(frozenset({DType.U32})), apply(rounded_root), attrs={"bitwise": at.BOOL},
    ),
    OpDef("isnan", P, "x is NaN", unary(FLOATS, DType.BOOL), predicate(np.isnan)),
    OpDef(
        "isinf", P, "x is infinite, negatively or positively as asked",
        unary(FLOATS, DType.BOOL), pw.evaluate_isinf, attrs={"negative": at.BOOL, "positive": at.BOOL},
    ),
    # Pointwise, two operands
    OpDef("add", P, "x + y", binary(NUMBERS), apply(np.add)),
    OpDef("sub", P, "x - y", binary(NUMBERS), apply(np.subtract)),
    OpDef("mul", P, "x * y", binary(NUMBERS), apply(np.multiply)),
    OpDef("div", P, "x / y; integers truncate toward zero", binary(NUMBERS), apply(pw.truncating_divide)),
    OpDef("pow", P, "x ^ y in the type of x; y may have another", pw.infer_pow, apply(pw.power)),
    OpDef("min", P, "the lesser", pw.infer_chosen, apply(np.minimum)),
    OpDef("max", P, "the greater", pw.infer_chosen, apply(np.maximum)),
    OpDef(
        "mod", P, "remainder with the sign of y, or with fmod of x",
        binary(NUMBERS), pw.evaluate_mod, attrs={"fmod": at.BOOL},
    ),
    OpDef("and", P, "both", binary(BOOLS), apply(np.logical_and)),
    OpDef("or", P, "either", binary(BOOLS), apply(np.logical_or)),
    OpDef("xor", P, "exactly one", binary(BOOLS), apply(np.logical_xor)),
    OpDef("bitand", P, "bits of both integers", binary(INTEGERS), apply(np.bitwise_and)),
    OpDef("bitor", P, "bits of either integer", binary(INTEGERS), apply(np.bitwise_or)),
    OpDef("bitxor", P, "bits of exactly one integer", binary(INTEGERS), apply(np.bitwise_xor)),
    OpDef("shl", P, "x shifted left by y", binary(INTEGERS), apply(np.left_shift)),
    OpDef("shr", P, "x shifted right by y", binary(INTEGERS), apply(np.right_shift)),
    OpDef("eq", P, "x = y", binary(ANY, DType.BOOL), predicate(np.equal)),
    OpDef("lt", P, "x < y", binary(ANY, DType.BOOL), predicate(np.less)),
    OpDef("le", P, "x <= y", binary(ANY, DType.BOOL), predicate(np.less_equal)),
    OpDef("gt", P, "x > y", binary(ANY, DType.BOOL), predicate(np.greater)),
    OpDef("ge", P, "x >= y", binary(ANY, DType.BOOL), predicate(np.greater_equal)),
    # Pointwise, the rest
    OpDef(
        "clip", P, "min(max(x, lo), hi); ints for integers",
        pw.infer_bounded, pw.evaluate_clip, attrs={"lo": at.NUMBER, "hi": at.NUMBER},
    ),
    OpDef("where", P, "x where the bool condition holds, else y", pw.infer_where, pw.evaluate_where),
    OpDef(
        "cast", P, "to another type; floats truncate and saturate; to narrow types they saturate unless told not to",
        pw.infer_cast, pw.evaluate_cast,
        attrs={"to": at.DTYPE, "saturate": at.OPTIONAL_BOOL, "rounding": one_of(*ROUNDINGS, required=False)},
    ),
    OpDef(
        "bitcast", P, "the bits as another type of that size",
        pw.infer_bitcast, pw.evaluate_bitcast, attrs={"to": at.DTYPE},
    ),
    OpDef(
        "quantize", P, "saturate(round_half_even(x / scale) + zero_point)",
        qt.infer_quantize, qt.evaluate_quantize, attrs={**QUANTIZED, "to": at.DTYPE},
    ),
    OpDef(
        "dequantize", P, "(float(x) - zero_point) * scale in float32",
        qt.infer_dequantize, qt.evaluate_dequantize, attrs=QUANTIZED,
    ),
    # Pointwise, integer inference; the results are quantized by y_scale and zero_point
    OpDef(
        "requantize", P, "clamp(round_half_even(f32(x) * scale) + zero_point, lo, hi) of i32",
        it.infer_requantize, it.evaluate_requantize, attrs={**STEPS, **ACCUMULATED, "small": at.OPTIONAL_BOOL},
    ),
    OpDef(
        "requantize_fixed", P, "in integers: x * factor / 2^(32 + shift); for shift <= 0 f32(x) * (factor * 2^shift)",
        it.infer_requantize_fixed, it.evaluate_requantize_fixed, attrs={**STEPS, **ACCUMULATED},
    ),
    OpDef(
        "lookup", P, "table[x - least value of x] of 8 bits; a table of integers has y_scale and zero_point",
        it.infer_lookup, it.evaluate_lookup, tables=(1,),
        attrs={"zero_point": at.OPTIONAL_INT, "y_scale": at.OPTIONAL_FLOAT},
    ),
    OpDef(
        "rescale", P, "clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi) of 8 bits",
        it.infer_rescale, it.evaluate_rescale, attrs={**SHIFTED, "m1": at.INT, "m2": at.INT, "bias": at.INT},
    ),
    OpDef(
        "rescale_product", P,
        "clamp(((x1 - z1) * (x2 - z2) * m + bias) >> shift, lo, hi); upper: of the product with m the upper word",
        it.infer_rescale, it.evaluate_rescale_product,
        attrs={**SHIFTED, "z1": at.INT, "z2": at.INT, "m": at.INT, "bias": at.INT, "upper": at.OPTIONAL_BOOL},
    ),
    OpDef(
        "rescale_channels", P, "clamp((x * factor + bias) >> shift, lo, hi), factor and bias: i32",
        it.infer_rescale_channels, it.evaluate_rescale_channels, attrs=SHIFTED,
    ),
    OpDef(
        "rescale_sum", P, "clamp((x * factor + bias) >> shift, lo, hi) of i32 whose products fit 32 bits",
        it.infer_rescale_sum, it.evaluate_rescale_sum, attrs=SHIFTED,
    ),
    # Views
    OpDef(
        "reshape", V, "the same elements in order", mv.infer_reshape, mv.evaluate_reshape, attrs={"shape": at.EXTENTS}
    ),
    OpDef("transpose", V, "dimensions reordered", mv.infer_transpose, mv.evaluate_transpose, attrs={"perm": at.AXES}),
    OpDef("expand", V, "x repeated by broadcasting", mv.infer_expand, mv.evaluate_expand, attrs={"shape": at.EXTENTS}),
    OpDef(
        "slice", V, "every step-th element of each dimension",
        mv.infer_slice, mv.evaluate_slice, attrs={"starts": at.INTS, "steps": at.INTS, "sizes": at.EXTENTS},
    ),
    OpDef("concat", V, "operands one after the other", mv.infer_concat, mv.evaluate_concat, attrs={"axis": at.AXIS}),
    OpDef(
        "pad", V, "a border",
        mv.infer_pad, mv.evaluate_pad,
        attrs={
            "before": at.EXTENTS, "after": at.EXTENTS, "mode": one_of("constant", "reflect", "edge", "wrap"),
            "value": at.NUMBER,
        },
    ),
    OpDef(
        "gather", A, "x at indices (0..extent-1) along the axis",
        mv.infer_gather, mv.evaluate_gather, attrs={"axis": at.AXIS},
    ),
    OpDef(
        "scatter", A, "x, with rows at places put in or combined",
        sc.infer_scatter, sc.evaluate_scatter, reads_back=True,
        attrs={"reduction": one_of("none", "add", "mul", "min", "max")},
    ),
    # Anchors: contractions
    OpDef(
        "conv", A, "convolution of x, w, bias?; with zero_point of integers",
        ct.infer_conv, ct.evaluate_conv, macs=ct.conv_macs,
        attrs={**WINDOW, "group": at.COUNT, **LAYOUT, **SUMS},
    ),
    OpDef(
        "conv_transpose", A, "transposed convolution",
        ct.infer_conv_transpose, ct.evaluate_conv_transpose, macs=ct.conv_transpose_macs,
        attrs={**WINDOW, "output_padding": at.EXTENTS, "group": at.COUNT, **LAYOUT, **SUMS},
    ),
    OpDef(
        "matmul", A, "a @ b + bias?[column], batches broadcast; of integers also the zero points of a and b",
        ct.infer_matmul, ct.evaluate_matmul, macs=ct.matmul_macs,
        attrs={"rhs_zero_point": at.OPTIONAL_INT, **SUMS},
    ),
    OpDef(
        "weight_matmul", A, "x @ ((w - zero_point) * scale), x: f32, w: i8, scale, zero_point?; block: rows a scale",
        sw.infer_weight_matmul, sw.evaluate_weight_matmul, macs=sw.weight_matmul_macs, attrs={"block": at.COUNT},
    ),
    OpDef(
        "dequantize_blocks", A, "(float(x) - zero_point) * scale, an entry of both for block elements along the axis",
        sw.infer_dequantize_blocks, sw.evaluate_dequantize_blocks, attrs={"axis": at.AXIS, "block": at.COUNT},
    ),
    OpDef(
        "sample", A, "x[n, ..., c] read at points[n, p, dims], between its elements",
        sm.infer_sample, sm.evaluate_sample,
        attrs={
            "mode": one_of(*sm.MODES), "border": one_of("zeros", "edge", "reflect"),
            "align_corners": at.BOOL,
        },
    ),
    OpDef(
        "interpolate", A, "sums of x at indices times weights along one or two axes; of integers as i32",
        ip.infer_interpolate, ip.evaluate_interpolate, attrs={"axes": at.AXES, **ZERO_POINT},
    ),
    OpDef(
        "roi_align", A,
        "mean or max of places in height x width parts of regions [x0, y0, x1, y1] of images, which may end at extents;"
        " samples 0: all elements",
        sm.infer_roi_align, sm.evaluate_roi_align,
        attrs={
            "height": at.COUNT, "width": at.COUNT, "samples": at.INT, "scale": at.FLOAT, "half_pixel": at.BOOL,
            "kind": one_of("avg", "max"),
        },
    ),
    # Anchors: windows and reductions
    OpDef(
        "pool", A, "over windows",
        wd.infer_pool, wd.evaluate_pool,
        attrs={
            "kind": one_of("max", "avg", "sum"), **POOL, "count_include_pad": at.BOOL, **LAYOUT, **ZERO_POINT,
            **ACCUMULATED,
        },
    ),
    OpDef(
        "max_pool_index", A, "number of the first greatest element of each window, channels first",
        wd.infer_max_pool_index, wd.evaluate_max_pool_index, attrs={**POOL, "column_major": at.BOOL},
    ),
    OpDef(
        "col2im", A, "blocks x[n, c, taps..., blocks...] added up to an image",
        ci.infer_col2im, ci.evaluate_col2im, attrs={"image": at.EXTENTS, **WINDOW},
    ),
    OpDef(
        "fft", A, "the first count elements of the transform of 2^k numbers x[batch, n, real or complex]; their roots",
        ft.infer_fft, ft.evaluate_fft, attrs={"count": at.COUNT},
    ),
    OpDef(
        "block_fft", A, "transform of length n of x[batch, frame] * window, i16 times 2^exponent of a frame; roots",
        ft.infer_block_fft, ft.evaluate_block_fft, attrs={"n": at.COUNT, "count": at.COUNT},
    ),
    OpDef("det", A, "determinant of the last two dimensions", dt.infer_det, dt.evaluate_det),
    OpDef(
        "count_ngrams", A, "how often rows of grams occur in rows of x; skips: elements between neighbours at most",
        ng.infer_count_ngrams, ng.evaluate_count_ngrams, attrs={"skips": at.INT},
    ),
    # Anchors: strings, rows of bytes of UTF-8 that are filled up with zeros
    OpDef("string_concat", A, "strings one behind the other", st.infer_string_concat, st.evaluate_string_concat),
    OpDef(
        "string_find", A, "place of each string among sorted keys, their number where it is none",
        st.infer_string_find, st.evaluate_string_find,
    ),
    OpDef(
        "string_match", A, "last state of an automaton; classes: u8[256] of bytes, transitions[state, class]",
        st.infer_string_match, st.evaluate_string_match,
    ),
    OpDef(
        "string_map", A, "characters of ranges (first, last, step, offset) moved by the offset",
        st.infer_string_map, st.evaluate_string_map, attrs={"bytes": at.COUNT},
    ),
    OpDef(
        "string_split", A, "parts between separators, the last with the rest, and how many; merge: no empty parts; "
        "each: characters",
        st.infer_string_split, st.evaluate_string_split,
        attrs={"limit": at.COUNT, "merge": at.BOOL, "each": at.OPTIONAL_BOOL},
    ),
    OpDef(
        "murmur3", A, "MurmurHash3 (32 bits) of rows of bytes; text: of the strings in them",
        mu.infer_murmur3, mu.evaluate_murmur3, attrs={"seed": at.INT, "text": at.BOOL},
    ),
    OpDef(
        "reduce", A, "over axes; a sum of integers subtracts the zero point",
        rd.infer_reduce, rd.evaluate_reduce, computes_input=True,
        attrs={
            "kind": one_of("sum", "mean", "max", "min", "prod"), "axes": at.AXES, "keepdims": at.BOOL,
            **ZERO_POINT, **ACCUMULATED,
        },
    ),
    OpDef(
        "arg_reduce", A, "index of the greatest or least along the axis",
        rd.infer_arg_reduce, rd.evaluate_arg_reduce,
        attrs={"kind": one_of("max", "min"), "axis": at.AXIS, "keepdims": at.BOOL, "last": at.BOOL},
    ),
    OpDef(
        "softmax", A, "e^x / sum(e^x) along the axis",
        rd.infer_along_axis, rd.evaluate_softmax, attrs={"axis": at.AXIS},
    ),
    OpDef(
        "int_softmax", A, "softmax of 8 bits; table: i32[256] of e^-d",
        it.infer_int_softmax, it.evaluate_int_softmax, tables=(1,),
        attrs={
            "axis": at.AXIS, "step": at.INT, "shift": at.INT, "zero_point": at.INT, "y_scale": at.FLOAT,
            "to": at.DTYPE,
        },
    ),
    OpDef(
        "int_normalize", A, "x, or x - mean, over its root mean square, of integers",
        nm.infer_int_normalize, nm.evaluate_int_normalize,
        attrs={
            **SHIFTED, "axes": at.AXES, "mean": at.BOOL, "x_zero_point": at.INT, "fraction": at.INT,
            "epsilon": at.INT, "factor": at.INT,
        },
    ),
    OpDef(
        "log_softmax", A, "log(softmax(x)) along the axis",
        rd.infer_along_axis, rd.evaluate_log_softmax, attrs={"axis": at.AXIS},
    ),
    OpDef(
        "normalize", A, "(x - mean) / sqrt(variance + epsilon) over the axes",
        rd.infer_normalize, rd.evaluate_normalize, attrs={"axes": at.AXES, "epsilon": at.FLOAT},
    ),
    OpDef(
        "rms_normalize", A, "x / sqrt(mean(x^2) + epsilon) over the axes",
        rd.infer_normalize, rd.evaluate_rms_normalize, attrs={"axes": at.AXES, "epsilon": at.FLOAT},
    ),
    OpDef(
        "cumsum", A, "running sum along the axis",
        rd.infer_cumulative, rd.evaluate_cumsum, attrs={"axis": at.AXIS, "exclusive": at.BOOL, "reverse": at.BOOL},
    ),
    OpDef(
        "cumprod", A, "running product along the axis",
        rd.infer_cumulative, rd.evaluate_cumprod, attrs={"axis": at.AXIS, "exclusive": at.BOOL, "reverse": at.BOOL},
    ),
    OpDef(
        "top_k", A,
        "indices (i32) of the k first along the axis in order, the largest or the least first; stable, NaN greatest",
        so.infer_top_k, so.evaluate_top_k, reads_back=True, attrs={"axis": at.AXIS, "k": at.INT, "largest": at.BOOL},
    ),
    OpDef(
        "square_distance", A, "sum of the squares of differences between each row of x and each of s",
        sv.infer_square_distance, sv.evaluate_square_distance,
    ),
    OpDef(
        "couple_probabilities", A, "probabilities of classes from those of the first of each pair, r[n, class, class]",
        sv.infer_couple_probabilities, sv.evaluate_couple_probabilities,
    ),
    OpDef(
        "trees", A,
        "rows of features walk down trees of nodes (column, threshold, child); their leaves added up to base, or the "
        "least or greatest; with greatest only the place (i64) of the first greatest total of a row",
        tr.infer_trees, tr.evaluate_trees,
        attrs={
            "kind": one_of("sum", "min", "max"), "missing": one_of("above", "below", "both"),
            "greatest": at.OPTIONAL_BOOL,
        },
    ),
    # Anchors whose results have as many entries as a run finds, at most as many as their shapes say
    OpDef("nonzero", A, "places (i32) of true, and how many", se.infer_nonzero, se.evaluate_nonzero),
    OpDef(
        "unique", A, "of different rows the place of the first, which of them each row is, counts, and how many",
        se.infer_unique, se.evaluate_unique, attrs={"sorted": at.BOOL},
    ),
    OpDef(
        "suppress", A,
        "image, class and number of boxes chosen by scores, and how many; boxes, scores, limit, overlap, least score",
        su.infer_suppress, su.evaluate_suppress, attrs={"limit": at.COUNT, "centered": at.BOOL},
    ),
    OpDef(
        "pack", A, "elements of x[0..extent] along the axes, one behind the other", se.infer_pack, se.evaluate_pack,
        attrs={"axes": at.AXES},
    ),
    OpDef(
        "unpack", A, "elements that lie one behind the other as x[0..extent] along the axes",
        se.infer_unpack, se.evaluate_unpack, attrs={"axes": at.AXES, "shape": at.EXTENTS},
    ),
    # Anchors: recurrences, layouts and gate order as ONNX with layout 0
    OpDef(
        "lstm", A, "x, w, r, b?, h0?, c0?, p? -> y, y_h, y_c",
        rc.infer_lstm, rc.evaluate_lstm, macs=rc.recurrent_macs, attrs={**RECURRENT, "input_forget": at.BOOL},
    ),
    OpDef(
        "gru", A, "x, w, r, b?, h0? -> y, y_h",
        rc.infer_gru, rc.evaluate_gru, macs=rc.recurrent_macs, attrs={**RECURRENT, "linear_before_reset": at.BOOL},
    ),
    OpDef(
        "rnn", A, "x, w, r, b?, h0? -> y, y_h",
        rc.infer_rnn, rc.evaluate_rnn, macs=rc.recurrent_macs, attrs=RECURRENT,
    ),
    OpDef(
        "int_lstm", A, "x, w, r, b, multipliers, table, h0?, c0?, lengths? -> y, y_h, y_c, in fixed point",
        iq.infer_int_lstm, iq.evaluate_int_lstm, macs=rc.recurrent_macs, tables=(5,),
        attrs={**INT_RECURRENT, "input_forget": at.BOOL},
    ),
    OpDef(
        "int_gru", A, "x, w, r, b, multipliers, table, h0?, lengths? -> y, y_h, in fixed point",
        iq.infer_int_gru, iq.evaluate_int_gru, macs=rc.recurrent_macs, tables=(5,),
        attrs={**INT_RECURRENT, "linear_before_reset": at.BOOL},
    ),
    OpDef(
        "int_rnn", A, "x, w, r, b, multipliers, table, h0?, lengths? -> y, y_h, in fixed point",
        iq.infer_int_rnn, iq.evaluate_int_rnn, macs=rc.recurrent_macs, tables=(5,), attrs=INT_RECURRENT,
    ),
    OpDef(
        "fused", A, "one kernel: the nodes of its body",
        infer_fused, lambda arrays, attrs: evaluate_fused(arrays, attrs, OPS), macs=lambda node: fused_macs(node, OPS),
        attrs={"body": at.GRAPH},
    ),
    OpDef(
        "row_blocks", A, "the fused nodes of its body, for rows of the last dimension of frame at a time",
        infer_fused, lambda arrays, attrs: evaluate_fused(arrays, attrs, OPS), macs=lambda node: fused_macs(node, OPS),
        attrs={"body": at.GRAPH, "frame": at.COUNTS, "rows": at.COUNT},
    ),
    OpDef(
        "custom", A, "a custom operator: C of the user's, on whole tensors",
        cu.infer_custom, evaluate_custom, macs=cu.custom_macs, reads_back=True,
        attrs={
            "operator": at.TEXT, "function": at.TEXT, "file": at.TEXT, "code": at.TEXT, "constants": at.TEXT,
            "node": at.TEXT, "meaning": at.TEXT, "inputs": at.TEXTS, "results": at.TEXTS,
            "in_place": at.INTS, "workspace": at.INT, "macs": at.OPTIONAL_INT,
        },
    ),
    OpDef(
        mv.FETCH, A, "an input of the model whose rows come one by one: the axis that counts them first",
        mv.infer_fetch, mv.evaluate_fetch, reads_back=True, attrs={"axis": at.AXIS},
    ),
    # Control flow
    OpDef(
        "if", C, "condition, captured... -> the results of one of two graphs",
        cf.infer_if, lambda arrays, attrs: cf.evaluate_if(arrays, attrs, OPS),
        attrs={"then": at.GRAPH, "orelse": at.GRAPH},
    ),
    OpDef(
        "loop", C, "count?, going?, states..., captured... -> states, rows",
        cf.infer_loop, lambda arrays, attrs: cf.evaluate_loop(arrays, attrs, OPS),
        attrs={
            "step": at.GRAPH, "states": at.AXIS, "limit": at.Attribute(at.AttrKind.INT, least=cf.NO_LIMIT),
            "tested": at.BOOL,
        },
    ),
)  # fmt: skip

OPS: dict[str, OpDef] = {
    row.name: replace(row, scalar=SCALARS.get(row.name), index_map=INDEX_MAPS.get(row.name), nest=NESTS.get(row.name))
    for row in _ROWS
}


def infer_types(op: str, inputs: Sequence[Value | None], attrs: Attrs, loc: str = "") -> tuple[TensorType, ...]:
    """The output types of ``op``. Raises ``SHAPE_MISMATCH`` naming ``loc`` where attributes or operands do not fit."""
    complaint = at.complaint(OPS[op].attrs, attrs)
    if complaint is not None:
        raise CcmlError(ErrorCode.SHAPE_MISMATCH, f"{op}: {complaint}", loc=loc or None)
    try:
        return OPS[op].infer([None if value is None else value.type for value in inputs], attrs)
    except ValueError as problem:
        raise CcmlError(ErrorCode.SHAPE_MISMATCH, f"{op}: {problem}", loc=loc or None) from problem


class _Operators:
    """The rows as the verifier and the parser of graphs ask for them."""

    def __contains__(self, op: object) -> bool:
        return op in OPS

    def infer(self, op: str, inputs: Sequence[Value | None], attrs: Attrs, loc: str) -> tuple[TensorType, ...]:
        return infer_types(op, inputs, attrs, loc)

    def attribute_complaint(self, op: str, attrs: Attrs) -> str | None:
        return at.complaint(OPS[op].attrs, attrs)


OPERATORS = _Operators()
