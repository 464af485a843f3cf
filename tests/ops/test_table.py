"""Every row of the operator table: inference and meaning agree, on several operands of each operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ccml.ir.graph import Graph, Node, Value
from ccml.ir.graph_text import parse_graph
from ccml.ir.types import DType, TensorType
from ccml.ops.opdef import Kind
from ccml.ops.table import OPS

from tests.ops.strings import text

Sample = tuple[Sequence[np.ndarray | None], dict[str, Any]]


def f(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(dtype)


def i(*shape: int, dtype: type = np.int32, low: int = 0, high: int = 5) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(low, high, shape).astype(dtype)


def b(*shape: int) -> np.ndarray:
    return i(*shape, high=2).astype(bool)


STEP = parse_graph("""graph step(%n: i64[], %s: f32[3], %c: f32[3]) -> (%going, %t, %row)
  const %three : i64[] = dense<3>
  %going : bool[] = lt(%n, %three)
  %t : f32[3] = add(%s, %c)
  %row : f32[3] = neg(%t)
""")


def relu_graph() -> Graph:
    type_ = TensorType(DType.F32, (2, 3))
    x, y = Value("x", type_), Value("y", type_)
    return Graph("body", (x,), (y,), (Node("relu", (x,), (y,)),))


def twice_attrs(*shape: int) -> dict[str, Any]:
    """A custom operator that doubles f32."""
    text = f"f32[{','.join(map(str, shape))}]"
    return {
        "operator": "test::Twice", "function": "Twice", "file": "twice.c", "constants": "",
        "code": f"void Twice(const float *x, const float *b, float *y) {{ for (int i = 0; i < {int(np.prod(shape))}; "
        "i++) y[i] = 2 * x[i]; }",
        "node": "", "meaning": "", "inputs": ("f32", "f32"), "results": (text,), "in_place": (-1,), "workspace": -1,
    }  # fmt: skip


FIRST, LAST = {"layout": "channels_first"}, {"layout": "channels_last"}
CONV = {"stride": (2, 1), "pad": (1, 0, 2, 1), "dilation": (1, 2), "group": 1}
WINDOWS = {"kernel": (3, 2), "stride": (2, 2), "pad": (1, 0, 1, 1), "dilation": (1, 1)}
POOL = {**WINDOWS, "count_include_pad": False}
RECURRENT: dict[str, Any] = {"hidden": 4, "clip": float("inf")}
LSTM = {**RECURRENT, "activations": ("Sigmoid", "Tanh", "Tanh"), "input_forget": False}
GRU = {**RECURRENT, "activations": ("Sigmoid", "Tanh"), "linear_before_reset": False}

FLOAT_UNARY = [
    "exp", "log", "sqrt", "reciprocal", "floor", "ceil", "round", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "softplus",
]  # fmt: skip
SAMPLES: dict[str, list[Sample]] = {
    **{op: [([f(2, 3)], {}), ([f(4, dtype=np.float16)], {}), ([f(dtype=np.float64)], {})] for op in FLOAT_UNARY},
    **{op: [([f(2, 3)], {}), ([i(4, dtype=np.int8, low=-5)], {})] for op in ("neg", "abs", "sign", "relu")},
    "not": [([b(3)], {})],
    "bitnot": [([i(3, dtype=np.uint8)], {})],
    "int_sqrt": [([i(5, dtype=np.uint32)], {"bitwise": True}), ([i(2, 3, dtype=np.uint32)], {"bitwise": False})],
    "isnan": [([f(3)], {})],
    "isinf": [([f(3)], {"negative": True, "positive": False})],
    **{
        op: [([f(2, 1, 3), f(4, 1)], {}), ([i(3, low=1), i(1, low=1)], {})]
        for op in ("add", "sub", "mul", "div", "min", "max")
    },
    "pow": [([f(3), f(3)], {}), ([f(3), i(1)], {}), ([i(3), f(3)], {}), ([i(3), i(3)], {})],
    "mod": [([f(3), f(3)], {"fmod": True}), ([i(3), i(3, low=1)], {"fmod": False})],
    **{op: [([b(2, 1), b(3)], {})] for op in ("and", "or", "xor")},
    **{
        op: [([i(2, 1, dtype=np.uint16), i(3, dtype=np.uint16)], {})]
        for op in ("bitand", "bitor", "bitxor", "shl", "shr")
    },
    **{op: [([f(2, 1), f(3)], {}), ([i(3), i(3)], {}), ([b(3), b(3)], {})] for op in ("eq", "lt", "le", "gt", "ge")},
    "clip": [([f(3)], {"lo": -0.5, "hi": float("inf")}), ([i(3, dtype=np.uint8)], {"lo": 1, "hi": 3})],
    "where": [([b(2, 1), f(3), f(1)], {}), ([b(1), i(3), i(2, 3)], {})],
    "cast": [([f(3)], {"to": DType.I8}), ([i(3)], {"to": DType.BOOL}), ([b(3)], {"to": DType.F16})],
    "bitcast": [([f(3)], {"to": DType.I32}), ([b(3)], {"to": DType.I8}), ([i(3, dtype=np.int8)], {"to": DType.BOOL})],
    "quantize": [
        ([f(2, 3)], {"scale": (0.1,), "zero_point": (3,), "axis": 0, "to": DType.U8}),
        ([f(2, 3)], {"scale": (0.1, 0.2, 0.3), "zero_point": (0, 1, 2), "axis": 1, "to": DType.I16}),
    ],
    "dequantize": [
        ([i(2, 3, dtype=np.int8)], {"scale": (0.1,), "zero_point": (3,), "axis": 0}),
        ([i(2, 3)], {"scale": (0.1, 0.2), "zero_point": (0, 0), "axis": 0}),
    ],
    "reshape": [([f(2, 6)], {"shape": (3, 1, 4)}), ([f(1)], {"shape": ()})],
    "transpose": [([f(2, 3, 4)], {"perm": (2, 0, 1)})],
    "expand": [([f(3, 1)], {"shape": (2, 3, 4)})],
    "slice": [([f(5, 6)], {"starts": (1, 5), "steps": (2, -1), "sizes": (2, 6)})],
    "concat": [([f(2, 3), f(2, 1), f(2, 2)], {"axis": 1})],
    "pad": [
        ([f(4, 3)], {"before": (1, 0), "after": (0, 2), "mode": mode, "value": 1.5})
        for mode in ("constant", "reflect", "edge", "wrap")
    ],
    "gather": [([f(4, 3), i(2, 2, high=3)], {"axis": 1}), ([f(4, 3), i(high=4)], {"axis": 0})],
    "sample": [
        ([f(2, 5, 4, 3), 3 * f(2, 6, 2)], {"mode": mode, "border": border, "align_corners": align})
        for mode, border, align in (("linear", "zeros", True), ("cubic", "reflect", False), ("nearest", "edge", True))
    ],
    "interpolate": [
        ([i(2, 5, 4, 3, dtype=np.int8, low=-128, high=128), i(6, 2, high=5), i(6, 2, low=-9), i(3, 4, high=4), i(3, 4)],
         {"axes": (1, 2), "zero_point": 3}),
        ([i(2, 5), i(3, 2, high=5), i(3, 2)], {"axes": (1,)}),
    ],
    "roi_align": [
        ([f(2, 5, 4, 3), 3 * np.abs(f(3, 4)), i(3, high=2)],
         {"height": 2, "width": 3, "samples": samples, "scale": 0.5, "half_pixel": half, "kind": kind})
        for samples, half, kind in ((0, False, "avg"), (2, True, "max"))
    ] + [
        ([f(2, 5, 4, 3), 3 * np.abs(f(3, 4)), i(3, high=2), np.array([3, 2])],
         {"height": 2, "width": 3, "samples": 0, "scale": 0.5, "half_pixel": True, "kind": "avg"})
    ],
    "scatter": [
        ([f(4, 3), i(2, 2, high=6), f(2, 2, 3)], {"reduction": "add"}),
        ([b(4), i(2, high=4, dtype=np.int64), b(2)], {"reduction": "none"}),
    ],
    "conv": [
        ([f(2, 3, 7, 6), f(4, 3, 3, 2), f(4)], {**CONV, **FIRST}),
        ([f(2, 7, 6, 3), f(4, 3, 2, 3)], {**CONV, **LAST}),
        ([f(1, 4, 9), f(6, 2, 3)], {"stride": (1,), "pad": (2, 0), "dilation": (1,), "group": 2, **FIRST}),
    ],
    "conv_transpose": [
        ([f(2, 3, 4, 5), f(3, 2, 3, 2), f(2)], {**CONV, "output_padding": (1, 0), **FIRST}),
        ([f(2, 4, 5, 3), f(3, 3, 2, 2)], {**CONV, "output_padding": (0, 0), **LAST}),
    ],
    "matmul": [([f(3, 4), f(4, 5), f(5)], {}), ([f(2, 1, 3, 4), f(5, 4, 2)], {}), ([i(3, 4), i(4, 2)], {})],
    "weight_matmul": [
        ([f(2, 5), i(5, 3, dtype=np.int8), f(2, 3)], {"block": 3}),
        ([f(2, 2, 5), i(5, 3, dtype=np.int8), f(1, 3), i(1, 3, dtype=np.int8)], {"block": 5}),
    ],
    "dequantize_blocks": [
        ([i(5, 3, dtype=np.int8), f(2, 3)], {"axis": 0, "block": 3}),
        ([i(2, 4, dtype=np.uint8), f(2, 2), i(2, 2, dtype=np.uint8)], {"axis": 1, "block": 2}),
    ],
    "pool": [
        ([f(2, 3, 7, 6)], {"kind": "max", "ceil_mode": True, **POOL, **FIRST}),
        ([f(2, 7, 6, 3)], {"kind": "avg", "ceil_mode": False, **POOL, **LAST}),
        ([i(1, 2, 7, 6, dtype=np.int8)], {"kind": "max", "ceil_mode": False, **POOL, **FIRST}),
    ],
    "max_pool_index": [
        ([f(2, 3, 7, 6)], {**WINDOWS, "ceil_mode": True, "column_major": False}),
        ([i(1, 2, 7, 6, dtype=np.int8)], {**WINDOWS, "ceil_mode": False, "column_major": True}),
    ],
    "col2im": [([f(2, 3, 2, 2, 3, 4)], {"image": (4, 7), "stride": (1, 2), "pad": (0, 1, 0, 0), "dilation": (1, 1)})],
    "fft": [
        ([f(2, 16, 1), f(12, 2)], {"count": 9}),
        ([f(1, 8, 2, dtype=np.float64), f(6, 2, dtype=np.float64)], {"count": 8}),
    ],
    "block_fft": [
        ([i(2, 12, dtype=np.int16), i(12, dtype=np.int16), i(12, 2, dtype=np.int16)], {"n": 16, "count": 9}),
    ],
    "det": [([f(2, 3, 3)], {}), ([f(2, 2, dtype=np.float64)], {})],
    "square_distance": [([f(3, 4), f(2, 4)], {}), ([f(3, 4, dtype=np.float64), f(5, 4, dtype=np.float64)], {})],
    "couple_probabilities": [([1 / (1 + np.exp(f(2, 3, 3)))], {})],
    "trees": [
        ([i(5, 3), i(2, high=3, dtype=np.uint8), i(2), np.array([[1, -1], [-2, -3]], np.int16), np.zeros(1, np.int16),
          np.full(1, 2, np.uint8), i(3, 2, dtype=np.int8), i(2)], {"kind": "sum", "missing": "above"}),
        ([i(5, 3), i(2, high=3), i(2), np.array([[-2, -1], [-2, -3]]), np.array([0, 1, -1]), np.ones(3, np.int32),
          f(3, 1), f(2), i(3, high=2)], {"kind": "max", "missing": "above"}),
    ],
    "string_concat": [([text("ab", "", "c\u00e4"), text("cd", "x", "")], {})],
    "string_find": [([text("b", "zz", "", "ab"), text("ab", "b", "bc")], {})],
    "string_match": [
        ([text("aab", "ba", ""), (np.arange(256) == 98).astype(np.uint8), np.array([[0, 1], [2, 2], [2, 2]], np.uint8)],
         {})
    ],
    "string_map": [
        ([text("aBc", "\u00e4\u0101\u0100", "\U00010428"),
          *np.array([[97, 0xE0, 0x101], [122, 0xFE, 0x12F], [1, 1, 2], [-32, -32, -1]], np.int32)],
         {"bytes": 6})
    ],
    "string_split": [
        ([text(" ab  c d ", "", "x"), text(" ", "\t")], {"limit": 3, "merge": True}),
        ([text(",ab,,c", "", "x,"), text(",")], {"limit": 4, "merge": False}),
        ([text("a \u00e4b", "", "\u672c\n"), text(" ", "\n")], {"limit": 5, "merge": True, "each": True}),
    ],
    "murmur3": [
        ([text("", "a", "abcd", "Zo\u00eb")], {"seed": 3, "text": True}),
        ([i(3, 6, dtype=np.uint8)], {"seed": -1, "text": False}),
    ],
    "count_ngrams": [([i(2, 9, high=2), i(4, 2, high=2)], {"skips": 1})],
    "reduce": [
        ([x], {"kind": kind, "axes": (0, 2), "keepdims": keepdims})
        for kind in ("sum", "mean", "max", "min", "prod")
        for keepdims in (True, False)
        for x in (f(2, 3, 4), i(2, 3, 4))
    ],
    "arg_reduce": [
        ([f(2, 3, 4)], {"kind": kind, "axis": 1, "keepdims": keepdims, "last": last})
        for kind, keepdims, last in (("max", True, False), ("min", False, True))
    ],
    "softmax": [([f(2, 3, 4)], {"axis": 1}), ([f(3, dtype=np.float16)], {"axis": 0})],
    "log_softmax": [([f(2, 3, 4)], {"axis": 2})],
    "normalize": [([f(2, 3, 4)], {"axes": (1, 2), "epsilon": 1e-5})],
    "rms_normalize": [([f(2, 3, 4)], {"axes": (2,), "epsilon": 1e-5})],
    **{
        op: [
            ([x], {"axis": 1, "exclusive": exclusive, "reverse": reverse})
            for x, exclusive, reverse in ((f(2, 3), True, False), (i(2, 3), False, True))
        ]
        for op in ("cumsum", "cumprod")
    },
    "top_k": [
        ([f(2, 5, 3)], {"axis": 1, "k": 4, "largest": True}),
        ([i(6, dtype=np.uint8)], {"axis": 0, "k": 6, "largest": False}),
    ],
    "nonzero": [([b(7)], {}), ([np.zeros(3, bool)], {})],
    "unique": [([i(6, 2, high=2)], {"sorted": True}), ([np.round(f(9, 1))], {"sorted": False})],
    "suppress": [
        ([np.abs(f(2, 5, 4)), f(2, 3, 5), np.array(2, np.int32), np.float32([0.3])[0], np.float32([-1])[0]],
         {"limit": 3, "centered": centered})
        for centered in (False, True)
    ],
    "pack": [([f(2, 3, 4), np.array(2), np.array(9)], {"axes": (1, 2)})],
    "unpack": [([f(24), np.array(2), np.array(-1)], {"axes": (0, 2), "shape": (2, 3, 4)})],
    "lstm": [
        (
            [f(5, 2, 3), f(1, 16, 3), f(1, 16, 4), f(1, 32), f(1, 2, 4), f(1, 2, 4), f(1, 12)],
            {**LSTM, "direction": "forward"},
        ),
        (
            [f(5, 2, 3), f(2, 16, 3), f(2, 16, 4)],
            {**LSTM, "activations": LSTM["activations"] * 2, "direction": "bidirectional"},
        ),
    ],
    "gru": [([f(5, 2, 3), f(1, 12, 3), f(1, 12, 4), f(1, 24), f(1, 2, 4)], {**GRU, "direction": "reverse"})],
    "rnn": [([f(5, 2, 3), f(1, 4, 3), f(1, 4, 4)], {**RECURRENT, "activations": ("Relu",), "direction": "forward"})],
    "fused": [([f(2, 3)], {"body": relu_graph()})],
    "row_blocks": [([f(2, 3)], {"body": relu_graph(), "frame": (2,), "rows": 1})],
    "if": [([np.array([going]), f(2, 3)], {"then": relu_graph(), "orelse": relu_graph()}) for going in (True, False)],
    "loop": [
        ([np.array(2), None, f(3), f(3)], {"step": STEP, "states": 1, "limit": 5, "tested": True}),
        ([None, np.array(True), f(3), f(3)], {"step": STEP, "states": 1, "limit": 4, "tested": True}),
    ],
    "custom": [([f(2, 3), None], twice_attrs(2, 3)), ([f()], twice_attrs())],
    "fetch": [([f(1, 2, 4, 3)], {"axis": 2}), ([f(5, 2)], {"axis": 0})],
}  # fmt: skip


def types_of(arrays: Sequence[np.ndarray | None]) -> list[TensorType | None]:
    return [None if a is None else TensorType(DType.from_numpy(a.dtype), a.shape) for a in arrays]


def test_every_operator_has_samples() -> None:
    """The operators of integer kernels, which quantization makes, have tests of their own."""
    modules = ("ccml.ops.integer", "ccml.ops.int_normalize", "ccml.ops.int_recurrent")
    integer = {name for name, row in OPS.items() if row.evaluate.__module__ in modules}
    assert SAMPLES.keys() == OPS.keys() - integer


@pytest.mark.parametrize("op", SAMPLES)
def test_meaning_has_the_inferred_types(op: str) -> None:
    for arrays, attrs in SAMPLES[op]:
        types = OPS[op].infer(types_of(arrays), attrs)
        results = OPS[op].evaluate(arrays, attrs)
        assert [TensorType(DType.from_numpy(r.dtype), r.shape) for r in results] == [
            TensorType(type_.dtype, type_.shape) for type_ in types
        ]


@pytest.mark.parametrize("op", SAMPLES)
def test_meaning_leaves_its_operands_alone(op: str) -> None:
    for arrays, attrs in SAMPLES[op]:
        copies = [None if array is None else array.copy() for array in arrays]
        for result in OPS[op].evaluate(arrays, attrs):
            result[...] = 0 if result.flags.writeable and result.base is None else result
        for array, copy in zip(arrays, copies):
            assert array is None or copy is None or array.tobytes() == copy.tobytes()


@pytest.mark.parametrize("op", OPS)
def test_rows_are_complete(op: str) -> None:
    row = OPS[op]
    assert row.name == op and row.summary
    assert (row.scalar is not None) == (row.kind is Kind.POINTWISE)
    assert (row.index_map is not None) == (row.kind is Kind.VIEW)
    assert (row.nest is not None) == (row.kind is Kind.ANCHOR and op not in ("fused", "row_blocks", "custom", "fetch"))


@pytest.mark.parametrize(
    ("op", "sample", "macs"),
    [
        ("conv", 0, 2 * 4 * 4 * 5 * (3 * 3 * 2)),
        ("conv", 2, 6 * 9 * (2 * 3)),
        ("conv_transpose", 0, 2 * 3 * 4 * 5 * (2 * 3 * 2)),
        ("matmul", 1, 2 * 5 * 3 * 2 * 4),
        ("lstm", 1, 5 * 2 * 2 * (16 * 3 + 16 * 4)),
        ("fused", 0, 0),
        ("custom", 0, 0),
    ],
)
def test_multiply_accumulates(op: str, sample: int, macs: int) -> None:
    arrays, attrs = SAMPLES[op][sample]
    inputs = tuple(None if t is None else Value(f"x{n}", t) for n, t in enumerate(types_of(arrays)))
    types = OPS[op].infer(types_of(arrays), attrs)
    node = Node(op, inputs, tuple(Value(f"y{n}", t) for n, t in enumerate(types)), attrs)
    count = OPS[op].macs
    assert count is not None and count(node) == macs
