"""Nests of conv, conv_transpose, pool and matmul."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from ccml.ir.loops import Binary, Const, For, If, LoopKind, Select
from ccml.ir.loops_rewrite import stmt_exprs, walk_expr, walk_stmts

from tests.ops.nest_harness import check_nest, make_kernel, make_node, normal

LAYOUTS = ["channels_first", "channels_last"]


def to_layout(x: np.ndarray, layout: str) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if layout == "channels_last" else x


def check_conv(
    layout: str, x: tuple[int, ...], w: tuple[int, ...], *, op: str = "conv", bias: bool = True,
    dtype: type[Any] = np.float32, **attrs: Any,
) -> None:  # fmt: skip
    rank = len(x) - 2
    given: dict[str, Any] = {
        "stride": (1,) * rank,
        "pad": (0,) * 2 * rank,
        "dilation": (1,) * rank,
        "group": 1,
        **attrs,
    }
    if op == "conv_transpose":
        given.setdefault("output_padding", (0,) * rank)
    channels = w[0] if op == "conv" else w[1] * int(given["group"])
    b = normal(channels, dtype=dtype) if bias else None
    inputs = (to_layout(normal(*x, dtype=dtype), layout), to_layout(normal(*w, dtype=dtype, seed=1), layout), b)
    check_nest(op, *inputs, layout=layout, rtol=1e-5, atol=1e-5, **given)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_conv(layout: str) -> None:
    check_conv(layout, (1, 3, 7, 6), (4, 3, 3, 3), pad=(1, 1, 1, 1), stride=(2, 1))
    check_conv(layout, (2, 2, 5, 5), (3, 2, 1, 1), bias=False)
    check_conv(layout, (1, 2, 9), (2, 2, 4), pad=(2, 1), dilation=(2,))
    check_conv(layout, (1, 1, 4, 4, 4), (2, 1, 2, 3, 2), pad=(1, 0, 1, 0, 1, 0))
    check_conv(layout, (1, 4, 1, 1), (4, 4, 3, 3), pad=(1, 1, 1, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_conv_in_groups(layout: str) -> None:
    check_conv(layout, (1, 4, 5, 5), (6, 2, 3, 3), group=2, pad=(1, 1, 1, 1))
    check_conv(layout, (1, 5, 6, 4), (5, 1, 3, 3), group=5, pad=(1, 0, 0, 1), dilation=(2, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_conv_of_other_types(dtype: type[Any]) -> None:
    check_conv("channels_last", (1, 2, 4, 4), (3, 2, 3, 3), dtype=dtype, pad=(1, 1, 1, 1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_windows_beyond_the_input_are_empty(layout: str) -> None:
    check_conv(layout, (1, 1, 2, 2), (1, 1, 2, 2), pad=(4, 3, 4, 3))
    check_conv(layout, (1, 1, 1), (1, 1, 2), pad=(1, 1), dilation=(2,))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("stride", "dilation"), [((1, 1), (1, 1)), ((2, 3), (1, 1)), ((2, 3), (3, 2)), ((2, 2), (2, 2))]
)
def test_conv_transpose(layout: str, stride: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    for pad, extra in (((0, 0, 0, 0), (0, 0)), ((1, 2, 0, 1), (1, 0))):
        attrs: dict[str, Any] = {"stride": stride, "dilation": dilation, "pad": pad, "output_padding": extra}
        check_conv(layout, (1, 2, 4, 3), (2, 3, 3, 3), op="conv_transpose", **attrs)
    check_conv(layout, (1, 4, 3, 3), (4, 2, 2, 3), op="conv_transpose", stride=stride, dilation=dilation, group=2)


def test_conv_transpose_with_a_common_factor_of_stride_and_dilation() -> None:
    check_conv("channels_last", (1, 2, 5), (2, 2, 3), op="conv_transpose", stride=(4,), dilation=(6,), pad=(3, 1))
    check_conv("channels_last", (1, 2, 5), (2, 2, 3), op="conv_transpose", stride=(6,), dilation=(4,), pad=(1, 2))


def pool(layout: str, x: np.ndarray, kind: str, **attrs: Any) -> None:
    rank = x.ndim - 2
    given = {"stride": (1,) * rank, "pad": (0,) * 2 * rank, "dilation": (1,) * rank, "ceil_mode": False, **attrs}
    given.setdefault("count_include_pad", False)
    check_nest("pool", to_layout(x, layout), kind=kind, layout=layout, **given)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pool(layout: str, kind: str) -> None:
    x = normal(2, 3, 7, 6)
    for ceil_mode, include in itertools.product((False, True), (False, True)):
        given = {"ceil_mode": ceil_mode, "count_include_pad": include}
        pool(layout, x, kind, kernel=(2, 2), stride=(2, 2), **given)
        pool(layout, x, kind, kernel=(3, 3), stride=(2, 3), pad=(1, 2, 1, 0), **given)
        pool(layout, x, kind, kernel=(3, 2), stride=(2, 2), pad=(1, 1, 1, 1), dilation=(2, 1), **given)
        pool(layout, normal(1, 2, 9), kind, kernel=(4,), stride=(3,), pad=(2, 2), **given)
    for include in (False, True):
        given = {"ceil_mode": True, "count_include_pad": include}
        pool(layout, normal(2, 3, 7, 4), kind, kernel=(3, 8), stride=(2, 5), pad=(1, 0, 0, 0), **given)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float64])
def test_max_pool_of_other_types(dtype: type[Any]) -> None:
    pool("channels_last", normal(1, 2, 5, 5, dtype=dtype), "max", kernel=(3, 3), pad=(1, 1, 1, 1))


def innermost(op: str, arrays: list[np.ndarray], attrs: dict[str, Any]) -> list[For]:
    kernel = make_kernel(make_node(op, arrays, attrs))
    return [loop for loop in walk_stmts(kernel.body) if isinstance(loop, For) and not any_loop(loop)]


def any_loop(loop: For) -> bool:
    return any(isinstance(stmt, For) for stmt in walk_stmts(loop.body))


def test_borders_are_not_tested_in_the_innermost_loop() -> None:
    x, w = normal(1, 8, 8, 4), normal(6, 3, 3, 4)
    attrs = {"stride": (1, 1), "pad": (1, 1, 1, 1), "dilation": (1, 1), "group": 1, "layout": "channels_last"}
    for loop in innermost("conv", [x, w], attrs):
        assert not any(isinstance(stmt, If) for stmt in walk_stmts(loop.body))
        for stmt in walk_stmts(loop.body):
            for expr in stmt_exprs(stmt):
                parts = list(walk_expr(expr))
                assert not any(isinstance(part, Select) for part in parts)
                assert not any(isinstance(part, Binary) and part.op in ("min", "max") for part in parts)


def test_bounds_are_constant_where_no_window_is_clipped() -> None:
    attrs = {"stride": (2, 2), "pad": (0, 0, 0, 0), "dilation": (1, 1), "group": 1, "layout": "channels_first"}
    kernel = make_kernel(make_node("conv", [normal(1, 2, 8, 8), normal(3, 2, 2, 2)], attrs))
    assert all(isinstance(stmt.extent, Const) for stmt in walk_stmts(kernel.body) if isinstance(stmt, For))


def test_channels_last_keeps_the_channel_loop_outside_of_the_sum() -> None:
    attrs = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0), "dilation": (1, 1), "ceil_mode": False}
    attrs |= {"count_include_pad": False, "kind": "max", "layout": "channels_last"}
    kernel = make_kernel(make_node("pool", [normal(1, 4, 4, 8)], attrs))
    kinds = [(stmt.var.name, stmt.kind) for stmt in walk_stmts(kernel.body) if isinstance(stmt, For)]
    parallel, serial = LoopKind.PARALLEL, LoopKind.SERIAL
    assert kinds == [("oh", parallel), ("ow", parallel), ("oc", parallel), ("kh", serial), ("kw", serial)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((4, 5), (5, 3)),
        ((2, 4, 5), (5, 3)),
        ((2, 1, 4, 5), (3, 5, 2)),
        ((3, 0), (0, 2)),
    ],
)
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check_nest("matmul", normal(*a), normal(*b))


def test_matmul_with_bias_and_of_integers() -> None:
    check_nest("matmul", normal(4, 5), normal(5, 3), normal(3, seed=3))
    check_nest("matmul", normal(4, 5, dtype=np.int32), normal(5, 3, dtype=np.int32))
