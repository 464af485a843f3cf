"""Small graphs of one fused node each whose loops can be decided on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from ccml.ir.graph import Graph
from ccml.ir.types import DType

from tests.schedule.graphs import anchored_graph, conv_graph, integer_conv_graph

_PAD = (1, 1, 1, 1)


def _matmul() -> Graph:
    weights = np.random.default_rng(3).standard_normal((19, 37)).astype(np.float32)
    return anchored_graph("matmul", {"x": (7, 19)}, {"w": weights}, {}, ["relu"])


def _product() -> Graph:
    return anchored_graph("matmul", {"x": (2, 5, 16), "z": (2, 16, 21)}, {}, {})


def _gru() -> Graph:
    rng = np.random.default_rng(4)
    weights = {
        name: rng.standard_normal(shape).astype(np.float32)
        for name, shape in (("w", (1, 51, 6)), ("r", (1, 51, 17)), ("b", (1, 102)))
    }
    attrs = {"hidden": 17, "direction": "forward", "linear_before_reset": True}
    return anchored_graph("gru", {"x": (3, 1, 6)}, weights, attrs)


FLOATS: dict[str, Callable[[], Graph]] = {
    "3x3": lambda: conv_graph((1, 9, 10, 5), (19, 3, 3, 5), pad=_PAD, epilogue=["relu"]),
    "1x1": lambda: conv_graph((1, 5, 7, 18), (21, 1, 1, 18), epilogue=["add"]),
    "strided": lambda: conv_graph((1, 9, 9, 3), (17, 3, 3, 3), stride=(2, 2), pad=_PAD),
    "groups": lambda: conv_graph((1, 6, 5, 8), (12, 3, 3, 4), group=2, pad=_PAD),
    "depthwise": lambda: conv_graph((1, 7, 11, 20), (20, 3, 3, 1), group=20, pad=_PAD),
    "matmul": _matmul,
    "product": _product,
}

BYTES: dict[str, Callable[[], Graph]] = {
    "3x3": lambda: integer_conv_graph((1, 6, 7, 5), (18, 3, 3, 5), pad=_PAD),
    "1x1": lambda: integer_conv_graph((1, 5, 5, 12), (9, 1, 1, 12)),
    "depthwise": lambda: integer_conv_graph((1, 6, 7, 20), (20, 3, 3, 1), group=20, pad=_PAD),
    "unsigned": lambda: integer_conv_graph((1, 4, 6, 7), (11, 1, 1, 7), dtype=DType.U8),
}
