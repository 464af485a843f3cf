"""The operator table: every operator of the graph IR, one row each.

Attributes are named in the summaries. Axes are non-negative, shapes static; pointwise operators broadcast as NumPy
does and their operands have one common element type unless the row says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import DType, TensorType
from . import col2im as ci
from . import contraction as ct
from . import control as cf
from . import determinant as dt
from . import int_normalize as nm
from . import integer as it
from . import movement as mv
from . import ngrams as ng
from . import pointwise as pw
from . import quantization as qt
from . import recurrent as rc
from . import reduction as rd
from . import sample as sm
from . import scatter as sc
from . import sort as so
from . import stored_weights as sw
from . import window as wd
from .fused import evaluate_fused, fused_macs, infer_fused
from .nests import NESTS
from .opdef import Attrs, Kind, OpDef
from .pointwise import ANY, BOOLS, FLOATS, INTEGERS, NUMBERS, apply, binary, predicate, unary
from .pointwise_exprs import SCALARS
from .views import INDEX_MAPS

P, V, A, C = Kind.POINTWISE, Kind.VIEW, Kind.ANCHOR, Kind.CONTROL

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
    OpDef("isnan", P, "x is NaN", unary(FLOATS, DType.BOOL), predicate(np.isnan)),
    OpDef("isinf", P, "x is infinite; {negative, positive: bool}", unary(FLOATS, DType.BOOL), pw.evaluate_isinf),
    # Pointwise, two operands
    OpDef("add", P, "x + y", binary(NUMBERS), apply(np.add)),
    OpDef("sub", P, "x - y", binary(NUMBERS), apply(np.subtract)),
    OpDef("mul", P, "x * y", binary(NUMBERS), apply(np.multiply)),
    OpDef("div", P, "x / y; integers truncate toward zero", binary(NUMBERS), apply(pw.truncating_divide)),
    OpDef("pow", P, "x ^ y in the type of x; y may have another", pw.infer_pow, apply(pw.power)),
    OpDef("min", P, "the lesser", pw.infer_chosen, apply(np.minimum)),
    OpDef("max", P, "the greater", pw.infer_chosen, apply(np.maximum)),
    OpDef("mod", P, "remainder with the sign of y, or of x with {fmod: bool}", binary(NUMBERS), pw.evaluate_mod),
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
    OpDef("clip", P, "min(max(x, lo), hi); {lo, hi: float, or int for integers}", pw.infer_bounded, pw.evaluate_clip),
    OpDef("where", P, "x where the bool condition holds, else y", pw.infer_where, pw.evaluate_where),
    OpDef(
        "cast", P, "to another type; {to: DType}; floats truncate and saturate; to narrow types: {saturate: bool, "
        "rounding: up | down | nearest}",
        pw.infer_cast, pw.evaluate_cast,
    ),
    OpDef("bitcast", P, "the bits as another type of that size; {to: DType}", pw.infer_bitcast, pw.evaluate_bitcast),
    OpDef(
        "quantize", P, "saturate(round_half_even(x / scale) + zero_point); {scale, zero_point: tuple, axis, to: DType}",
        qt.infer_quantize, qt.evaluate_quantize,
    ),
    OpDef(
        "dequantize", P, "(float(x) - zero_point) * scale in float32; {scale, zero_point: tuple, axis}",
        qt.infer_dequantize, qt.evaluate_dequantize,
    ),
    # Pointwise, integer inference; the results are quantized by {y_scale: float, zero_point: int}
    OpDef(
        "requantize", P, "clamp(round_half_even(f32(x) * scale) + zero_point, lo, hi) of i32; {lo, hi, to: DType}",
        it.infer_requantize, it.evaluate_requantize,
    ),
    OpDef(
        "requantize_fixed", P, "in integers: x * factor / 2^(32 + shift); for shift <= 0 f32(x) * (factor * 2^shift)",
        it.infer_requantize_fixed, it.evaluate_requantize_fixed,
    ),
    OpDef("lookup", P, "table[x - least value of x] of 8 bits", it.infer_lookup, it.evaluate_lookup, tables=(1,)),
    OpDef(
        "rescale", P, "clamp((x1 * m1 + x2 * m2 + bias) >> shift, lo, hi) of 8 bits; {m1, m2, bias, shift, lo, hi, to}",
        it.infer_rescale, it.evaluate_rescale,
    ),
    OpDef(
        "rescale_product", P, "clamp(((x1 - z1) * (x2 - z2) * m + bias) >> shift, lo, hi); {z1, z2, m, ...} as rescale",
        it.infer_rescale, it.evaluate_rescale_product,
    ),
    OpDef(
        "rescale_channels", P, "clamp((x * factor + bias) >> shift, lo, hi), factor and bias: i32; {shift, lo, hi, to}",
        it.infer_rescale_channels, it.evaluate_rescale_channels,
    ),
    # Views
    OpDef("reshape", V, "the same elements in order; {shape}", mv.infer_reshape, mv.evaluate_reshape),
    OpDef("transpose", V, "dimensions reordered; {perm}", mv.infer_transpose, mv.evaluate_transpose),
    OpDef("expand", V, "x repeated by broadcasting; {shape}", mv.infer_expand, mv.evaluate_expand),
    OpDef(
        "slice", V, "every step-th element of each dimension; {starts, steps, sizes}", mv.infer_slice, mv.evaluate_slice
    ),
    OpDef("concat", V, "operands one after the other; {axis}", mv.infer_concat, mv.evaluate_concat),
    OpDef(
        "pad", V, "a border; {before, after, mode: constant | reflect | edge | wrap, value}",
        mv.infer_pad, mv.evaluate_pad,
    ),
    OpDef("gather", A, "x at indices (0..extent-1) along {axis}", mv.infer_gather, mv.evaluate_gather),
    OpDef(
        "scatter", A, "x, with rows at places put in or combined; {reduction: none | add | mul | min | max}",
        sc.infer_scatter, sc.evaluate_scatter, reads_back=True,
    ),
    # Anchors: contractions
    OpDef(
        "conv", A, "convolution of x, w, bias?; {stride, pad, dilation, group, layout: channels_first | channels_last}",
        ct.infer_conv, ct.evaluate_conv, macs=ct.conv_macs,
    ),
    OpDef(
        "conv_transpose", A, "transposed convolution; {stride, pad, dilation, group, output_padding, layout}",
        ct.infer_conv_transpose, ct.evaluate_conv_transpose, macs=ct.conv_transpose_macs,
    ),
    OpDef(
        "matmul", A, "a @ b + bias?[column], batches broadcast; of integers also {zero_point of a, rhs_zero_point}",
        ct.infer_matmul, ct.evaluate_matmul, macs=ct.matmul_macs,
    ),
    OpDef(
        "weight_matmul", A, "x @ ((w - zero_point) * scale), x: f32, w: i8, scale, zero_point?; {block}: rows a scale",
        sw.infer_weight_matmul, sw.evaluate_weight_matmul, macs=sw.weight_matmul_macs,
    ),
    OpDef(
        "dequantize_blocks", A, "(float(x) - zero_point) * scale, an entry of both for {block} elements along {axis}",
        sw.infer_dequantize_blocks, sw.evaluate_dequantize_blocks,
    ),
    OpDef(
        "sample", A, "x[n, ..., c] read at points[n, p, dims], between its elements; {mode: nearest | linear | cubic, "
        "border: zeros | edge | reflect, align_corners: bool}",
        sm.infer_sample, sm.evaluate_sample,
    ),
    OpDef(
        "roi_align", A, "mean or max of places in {height} x {width} parts of regions [x0, y0, x1, y1] of images; "
        "{samples (0: as many as elements), scale, half_pixel: bool, kind: avg | max}",
        sm.infer_roi_align, sm.evaluate_roi_align,
    ),
    # Anchors: windows and reductions
    OpDef(
        "pool", A, "{kind: max | avg, kernel, stride, pad, dilation, ceil_mode, count_include_pad, layout}",
        wd.infer_pool, wd.evaluate_pool,
    ),
    OpDef(
        "max_pool_index", A, "number of the first greatest element of each window; {column_major: bool}, as pool",
        wd.infer_max_pool_index, wd.evaluate_max_pool_index,
    ),
    OpDef(
        "col2im", A, "blocks x[n, c, taps..., blocks...] added up to an image; {image, stride, pad, dilation}",
        ci.infer_col2im, ci.evaluate_col2im,
    ),
    OpDef("det", A, "determinant of the last two dimensions", dt.infer_det, dt.evaluate_det),
    OpDef(
        "count_ngrams", A, "how often rows of grams occur in rows of x, {skips: elements between neighbours at most}",
        ng.infer_count_ngrams, ng.evaluate_count_ngrams,
    ),
    OpDef("reduce", A, "{kind: sum | mean | max | min | prod, axes, keepdims}", rd.infer_reduce, rd.evaluate_reduce),
    OpDef(
        "arg_reduce", A, "index of the {kind: max | min} along {axis, keepdims, last: bool}",
        rd.infer_arg_reduce, rd.evaluate_arg_reduce,
    ),
    OpDef("softmax", A, "e^x / sum(e^x) along {axis}", rd.infer_along_axis, rd.evaluate_softmax),
    OpDef(
        "int_softmax", A, "softmax of 8 bits; table: u32[256] of e^-d; {axis, step, y_scale, zero_point, to: DType}",
        it.infer_int_softmax, it.evaluate_int_softmax, tables=(1,),
    ),
    OpDef(
        "int_normalize", A,
        "x, or x - mean, over its root mean square, of integers; {axes, mean: bool, x_zero_point, fraction, epsilon, "
        "factor, shift, y_scale, zero_point, lo, hi, to: DType}",
        nm.infer_int_normalize, nm.evaluate_int_normalize,
    ),
    OpDef("log_softmax", A, "log(softmax(x)) along {axis}", rd.infer_along_axis, rd.evaluate_log_softmax),
    OpDef(
        "normalize", A, "(x - mean) / sqrt(variance + epsilon) over {axes, epsilon}",
        rd.infer_normalize, rd.evaluate_normalize,
    ),
    OpDef(
        "rms_normalize", A, "x / sqrt(mean(x^2) + epsilon) over {axes, epsilon}",
        rd.infer_normalize, rd.evaluate_rms_normalize,
    ),
    OpDef("cumsum", A, "running sum along {axis, exclusive, reverse}", rd.infer_cumulative, rd.evaluate_cumsum),
    OpDef("cumprod", A, "running product along {axis, exclusive, reverse}", rd.infer_cumulative, rd.evaluate_cumprod),
    OpDef(
        "top_k", A, "indices (i32) of the {k} first along {axis} in order, {largest: bool} first; stable, NaN greatest",
        so.infer_top_k, so.evaluate_top_k, reads_back=True,
    ),
    # Anchors: recurrences, layouts and gate order as ONNX with layout 0
    OpDef(
        "lstm", A,
        "x, w, r, b?, h0?, c0?, p? -> y, y_h, y_c; {hidden, direction, activations, clip: float, input_forget: bool}",
        rc.infer_lstm, rc.evaluate_lstm, macs=rc.recurrent_macs,
    ),
    OpDef(
        "gru", A, "x, w, r, b?, h0? -> y, y_h; {hidden, direction, activations, clip, linear_before_reset: bool}",
        rc.infer_gru, rc.evaluate_gru, macs=rc.recurrent_macs,
    ),
    OpDef(
        "rnn", A, "x, w, r, b?, h0? -> y, y_h; {hidden, direction, activations, clip}",
        rc.infer_rnn, rc.evaluate_rnn, macs=rc.recurrent_macs,
    ),
    OpDef(
        "fused", A, "one kernel: the nodes of {body: Graph}",
        infer_fused, lambda arrays, attrs: evaluate_fused(arrays, attrs, OPS), macs=lambda node: fused_macs(node, OPS),
    ),
    # Control flow
    OpDef(
        "if", C, "condition, captured... -> the results of one of two graphs; {then, orelse: Graph}",
        cf.infer_if, lambda arrays, attrs: cf.evaluate_if(arrays, attrs, OPS),
    ),
    OpDef(
        "loop", C, "count?, going?, states..., captured... -> states, rows; {step: Graph, states, limit, tested: bool}",
        cf.infer_loop, lambda arrays, attrs: cf.evaluate_loop(arrays, attrs, OPS),
    ),
)  # fmt: skip

OPS: dict[str, OpDef] = {
    row.name: replace(row, scalar=SCALARS.get(row.name), index_map=INDEX_MAPS.get(row.name), nest=NESTS.get(row.name))
    for row in _ROWS
}


def infer_types(op: str, inputs: Sequence[Value | None], attrs: Attrs, loc: str = "") -> tuple[TensorType, ...]:
    """The output types of ``op``. Raises ``SHAPE_MISMATCH`` naming ``loc`` where the operands do not fit."""
    try:
        return OPS[op].infer([None if value is None else value.type for value in inputs], attrs)
    except ValueError as problem:
        raise CcmlError(ErrorCode.SHAPE_MISMATCH, f"{op}: {problem}", loc=loc or None) from problem
