"""Carried values of loops whose extents change from pass to pass, against ONNX Runtime."""

from __future__ import annotations

import itertools
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode

from tests.frontend_onnx.compiled import onnxruntime

_CONSTANTS = (
    "int64[1] zeros = {0}, int64[1] ones = {1}, int64[1] many = {99}, int64[1] minus = {-1}, int64 two = {2},"
    " int64[1] minus2 = {-2}, int64[2] none_of_two = {0, 2}, float limit = {0}, float step = {0.5},"
    " float[2] start = {0, 0}"
)


def _loop(states: str, formals: str, results: str, nodes: str) -> str:
    return (f"Loop (n, , {states}) <body = b (int64 i, bool g, {formals}) => (bool h, {results})"
            f" {{ h = Identity (g) {nodes} }}>")  # fmt: skip


MODELS: dict[str, tuple[str, str, dict[str, int]]] = {
    "by the rows of an input": (
        "float[?, 2] y", "y = " + _loop("x", "float[?, 2] a", "b", "b = Concat <axis = 0> (a, x)"), {"y": 16},
    ),
    "from none, two that grow alike": (
        "float[?, 2] y, float[?, 2] z", "none = ConstantOfShape (none_of_two) y, z = "
        + _loop("none, none", "float[?, 2] a, float[?, 2] c", "b, d",
                "row = Slice (x, zeros, ones, zeros) e = Add (a, c) b = Concat <axis = 0> (e, row)"
                " d = Concat <axis = 0> (row, c)"), {"z": 5},
    ),
    "a square, below its diagonal": (
        "float[?, 2] y, float s", "y, s = " + _loop(
            "x, limit", "float[?, 2] a, float c", "b, d",
            "row = Slice (x, zeros, ones, zeros) b = Concat <axis = 0> (a, row) t = Transpose (b) p = MatMul (b, t)"
            " l = Trilu <upper = 0> (p) sum = ReduceSum <keepdims = 0> (l) d = Add (c, sum)"), {"y": 9},
    ),
    "twice as many in each pass": (
        "float[?, 2] y", "y = " + _loop("x", "float[?, 2] a", "b", "b = Concat <axis = 0> (a, a)"), {"y": 32},
    ),
    "without its first row": (
        "float[?, 2] y, float[2] s", "y, s = " + _loop(
            "x, start", "float[?, 2] a, float[2] c", "b, d",
            "b = Slice (a, ones, many, zeros) sum = ReduceSum <keepdims = 0> (a, zeros) d = Add (c, sum)"), {},
    ),
    "what is above a limit": (
        "float[?, 2] y", "y = " + _loop(
            "x", "float[?, 2] a", "b", "f = Slice (a, zeros, ones, ones) k = Greater (f, limit)"
            " q = Squeeze (k, ones) c = Compress <axis = 0> (a, q) b = Sub (c, step)"), {},
    ),
    "a row or none, at its end": (
        "float[?, 2] y", "none = ConstantOfShape (none_of_two) y = " + _loop(
            "none", "float[?, 2] a", "b", "row = Slice (x, zeros, ones, zeros) t = Mod (i, two)"
            " odd = Cast <to = 9> (t) b = If (odd) <then_branch = t () => (c) { c = Concat <axis = 0> (a, row) },"
            " else_branch = e () => (d) { d = Identity (a) }>"), {"y": 8},
    ),
    "in a loop in a loop, beside what each pass doubles": (
        "float[?, 2] y, float[2] s", "y, s = " + _loop(
            "x, start", "float[?, 2] a, float[2] c", "z, w",
            "z, w = " + _loop("a, c", "float[?, 2] p, float[2] q", "r, t",
                              "row = Slice (x, zeros, ones, zeros) r = Concat <axis = 0> (p, row) u = Add (q, step)"
                              " t = Add (u, q)").replace("= b (int64 i, bool g", "= k (int64 j, bool o").replace(
                                  "bool h, ", "bool l, ").replace("h = Identity (g)", "l = Identity (o)")),
        {"y": 24, "z": 24},
    ),
    "the last two of it and what was given": (
        "float[?, 2] y", "y = " + _loop(
            "x", "float[?, 2] a", "b", "d = Mul (a, step) e = Concat <axis = 0> (x, d)"
            " b = Slice (e, minus2, many, zeros)"), {},
    ),
    "a row at a carried place, which may be none": (
        "float[?, 2] y", "w = Expand (start, rows) y, p = " + _loop(
            "w, minus", "float[1, 2] a, int64[1] t", "b, u",
            "u = Add (t, ones) row = Slice (x, t, u, zeros) b = Add (a, row)"), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("dims", [{"s": ccml.Range(1, 4)}, {"s": 3}], ids=["ranged", "fixed"])
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_onnx_runtime(name: str, dims: dict[str, ccml.Range | int], tmp_path: Path) -> None:
    outputs, nodes, bounds = MODELS[name]
    text = f"(float[s, 2] x, int64 n) => ({outputs}) <{_CONSTANTS}, int64[2] rows = {{1, 2}}> {{ {nodes} }}"
    proto = onnx.parser.parse_model(f"<ir_version: 9, opset_import: ['' : 18]> g {text}".replace("'", '"'))
    onnx.save(proto, tmp_path / "m.onnx")
    compiled = ccml.load(tmp_path / "m.onnx", ccml.ModelOptions(dims=dims, bounds=bounds))
    for s, n in itertools.product((3,) if dims["s"] == 3 else (1, 3, 4), (0, 1, 3)):
        x = np.random.default_rng(s).standard_normal((s, 2)).astype(np.float32) + 1
        feeds = {"x": x, "n": np.array(n)}
        for found, wanted in zip(compiled.run(feeds).values(), onnxruntime(proto, feeds), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_a_bound_of_what_keeps_its_extents(tmp_path: Path) -> None:
    nodes = "y = " + _loop("x", "float[?, 2] a", "b", "b = Add (a, x)")
    text = f'<ir_version: 9, opset_import: ["" : 18]> g (float[3, 2] x, int64 n) => (float[3, 2] y) {{ {nodes} }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with pytest.raises(CcmlError, match="all passes leave the extents of y") as caught:
        ccml.load(tmp_path / "m.onnx", ccml.ModelOptions(bounds={"y": 5}))
    assert caught.value.kind is ErrorCode.BAD_OPTION
