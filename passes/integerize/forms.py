"""What is known of a float value: how it follows from integers.

The pass walks the graph once and notes a form beside each value that has one; ``quantize`` then picks the integer
operator that gives the same bytes as the floats would.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Union

import numpy as np

from ...ir.graph import AttrValue, Node, Value
from ...ir.types import DType, QuantParams
from ...ops.attributes import element_type, floats, ints
from ...ops.quantization import evaluate_dequantize
from ...record import record
from ..rewrite import Rewriter
from .report import Place, place_of

_CLIPPING = ("relu", "clip", "max", "min", "reshape", "transpose")
"""Operators that change no difference between two of their operand's elements but by making it smaller."""


@record
class Stored:
    """``(value - zero_point) * scale``, as ``dequantize`` computes it: one scale, or one per index of ``axis``."""

    value: Value
    scale: np.ndarray
    zero_point: np.ndarray
    axis: int | None = None

    @property
    def quant(self) -> QuantParams:
        scale, zero_point = self.scale.astype(float).tolist(), self.zero_point.tolist()
        return QuantParams(tuple(scale), tuple(zero_point), self.axis)

    @property
    def per_tensor(self) -> bool:
        return self.axis is None

    @property
    def least(self) -> int:
        return int(np.iinfo(self.value.dtype.numpy).min)

    @property
    def codes(self) -> np.ndarray:
        """All values of the integer type."""
        limits = np.iinfo(self.value.dtype.numpy)
        return np.arange(limits.min, limits.max + 1)

    def along_axis(self, parameters: np.ndarray) -> np.ndarray:
        """``parameters`` shaped to broadcast against the value."""
        if self.axis is None:
            return parameters.reshape(())
        return parameters.reshape(tuple(-1 if d == self.axis else 1 for d in range(len(self.value.shape))))

    def real(self, stored: np.ndarray) -> np.ndarray:
        """The float32 numbers that ``stored`` stands for."""
        attrs: dict[str, AttrValue] = {
            "scale": self.quant.scale,
            "zero_point": self.quant.zero_point,
            "axis": self.axis or 0,
        }
        return evaluate_dequantize([stored], attrs)[0]


@record
class Tabled:
    """``table[..., x1 - least, x2 - least]``: a function of one or two integer tensors, element by element.

    The dimensions before those of the sources broadcast against the value: a table for each channel, for example.
    ``costly`` functions are worth a look into a table even where the result stays a float.
    """

    sources: tuple[Stored, ...]
    table: np.ndarray
    costly: bool = False

    @property
    def single(self) -> bool:
        """Whether one table serves all elements."""
        return self.table.size == math.prod(self.table.shape[self.table.ndim - len(self.sources) :])

    @staticmethod
    def of(stored: Stored) -> Tabled:
        """What ``dequantize`` does to every integer."""
        return Tabled((stored,), stored.real(stored.codes.astype(stored.value.dtype.numpy)))


@record
class Accumulated:
    """``min(max(acc * scale, low), high)``; ``scale`` broadcasts to the accumulator, which is within ``bounds``.

    The scales of contractions are float32, computed in float32; those of means are float64.
    """

    acc: Value
    scale: np.ndarray
    bounds: tuple[int, int]
    low: float = -math.inf
    high: float = math.inf

    def clamped(self, low: float, high: float) -> Accumulated:
        return replace(self, low=min(max(self.low, low), high), high=max(min(self.high, high), low))


@record
class Blocked:
    """Constant integers whose parameters change every ``block`` elements along ``axis``: ``dequantize_blocks``."""

    value: Value
    scale: np.ndarray
    zero_point: np.ndarray | None
    axis: int
    block: int


@record
class Stacked:
    """Constants one behind the other along the first axis, each with parameters of its own."""

    parts: tuple[Stored, ...]


Form = Union[Stored, Tabled, Accumulated, Blocked, Stacked]


@record
class Target:
    """What a per-tensor ``quantize`` node wants."""

    scale: np.float32
    zero_point: int
    to: DType

    @staticmethod
    def of(node: Node) -> Target | None:
        """``None`` where the parameters differ along an axis."""
        scale, zero_point = floats(node.attrs, "scale"), ints(node.attrs, "zero_point")
        to = element_type(node.attrs, "to")
        return Target(np.float32(scale[0]), int(zero_point[0]), to) if len(scale) == 1 else None

    @property
    def quant(self) -> QuantParams:
        return QuantParams((float(self.scale),), (self.zero_point,))

    @property
    def limits(self) -> tuple[int, int]:
        limits = np.iinfo(self.to.numpy)
        return int(limits.min), int(limits.max)

    @property
    def quantize_attrs(self) -> dict[str, AttrValue]:
        return {"scale": (float(self.scale),), "zero_point": (self.zero_point,), "axis": 0, "to": self.to}

    @property
    def attrs(self) -> dict[str, AttrValue]:
        """Of every integer operator whose result is so quantized."""
        return {"zero_point": self.zero_point, "y_scale": float(self.scale)}


@record
class Origin:
    """Where the integers of a tensor were looked up: ``codes[source - least]``."""

    source: Stored
    codes: np.ndarray


@dataclass
class State:
    """The walk: the graph being made, the forms of its float values and the origins of its integers by name, why nodes
    stay in float, the views of integers made so far, and how many functions of two tensors there were."""

    rewriter: Rewriter
    forms: dict[str, Form] = field(default_factory=dict)
    origins: dict[str, Origin] = field(default_factory=dict)
    reasons: dict[Place, str] = field(default_factory=dict)
    views: dict[Hashable, Value] = field(default_factory=dict)
    pairs: int = 0

    def form(self, value: Value | None) -> Form | None:
        return None if value is None else self.forms.get(value.name)

    def stored(self, value: Value | None) -> Stored | None:
        form = self.form(value)
        return form if isinstance(form, Stored) else None

    def constant(self, value: Value | None) -> np.ndarray | None:
        """The real elements of a constant, stored as integers or not."""
        array, stored = self.rewriter.array(value), self.stored(value)
        if stored is not None and (integers := self.rewriter.array(stored.value)) is not None:
            return stored.real(integers)
        return array

    @cached_property
    def _uses(self) -> dict[str, list[Node]]:
        return self.rewriter.graph.uses()

    def step_behind(self, node: Node) -> float:
        """The step of the integers that the output of ``node`` becomes, behind activations that clip at most; infinite
        where that is not the only thing it becomes."""
        while True:
            users = self._uses.get(node.output.name, [])
            if len(users) != 1:
                return math.inf
            (node,) = users
            if node.op == "quantize":
                return float(np.min(np.asarray(node.attrs["scale"], np.float32)))
            if node.op not in _CLIPPING:
                return math.inf

    def keep_float(self, node: Node, reason: str) -> None:
        """Notes why ``node`` is not computed in integers; the first reason counts."""
        self.reasons.setdefault(place_of(node), reason)
