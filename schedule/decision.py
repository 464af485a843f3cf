"""What may be decided about the loops of a fused node from outside, in place of what the cost model chooses.

Every decision that can be written down gives right code; one that does not fit a node is left alone. Measurements
(``tuning/``) are where decisions come from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..ir.graph import Graph, Node, Value
from ..ops.fused import body_of
from ..record import record

if TYPE_CHECKING:
    from ..targets.target import Cpu, Dot, Machine

MOST_CHUNKS = 64
"""For each thread."""
MOST_ROWS, MOST_VECTORS, MOST_CHAINS, MOST_AHEAD = 30, 8, 8, 16
"""Of a block; more makes code that no machine has registers for."""


@record
class BlockShape:
    """A block of ``rows`` x ``vectors`` accumulators of ``lanes`` of the instruction ``dot``, ``chains`` of them
    over k, and at most ``ahead`` steps of k in the body of the innermost loop. In a depthwise convolution ``rows`` are
    the outputs along the width that are computed together, and nothing else counts."""

    dot: str
    lanes: int
    rows: int
    vectors: int = 1
    chains: int = 1
    ahead: int = 1

    @property
    def valid(self) -> bool:
        """Whether all numbers are of a size that code can have."""
        most = (MOST_ROWS, MOST_VECTORS, MOST_CHAINS, MOST_AHEAD)
        return all(1 <= number <= limit for number, limit in zip(self._numbers, most, strict=True))

    @property
    def _numbers(self) -> tuple[int, int, int, int]:
        return self.rows, self.vectors, self.chains, self.ahead

    def find_dot(self, dots: Sequence[Dot]) -> Dot | None:
        """The one of ``dots`` that is meant."""
        return next((dot for dot in dots if (dot.name, dot.lanes) == (self.dot, self.lanes)), None)


@record
class Decision:
    """The generator by its name (``schedule/generators.py``), what it is to do about blocks of accumulators, of
    Winograd's algorithm the images, rows and columns of ``tiles`` in a block, and the number of the ``form`` among
    those that a generator of block instructions compares; ``None``: as it would.

    About the ``chunks`` for each of so many threads there are decisions of their own (:func:`threaded_key`), in which
    nothing else counts.
    """

    generator: str
    shape: BlockShape | None = None
    tiles: tuple[int, int, int] | None = None
    form: int | None = None
    chunks: int | None = None

    def __str__(self) -> str:
        if self.chunks is not None:
            return f"{self.chunks} chunks a thread"
        words = [self.generator]
        if self.shape is not None:
            words.append(f"{self.shape.rows}x{self.shape.vectors}")
            words += [f"{self.shape.chains} chains"] if self.shape.chains > 1 else []
            words.append(f"{self.shape.ahead} ahead")
        if self.tiles is not None:
            words.append("tiles " + "x".join(map(str, self.tiles)))
        if self.form is not None:
            words.append(f"form {self.form}")
        return " ".join(words)


Tuned = Mapping[str, Decision]
"""For kernels by their keys: the decision that is better than the cost model's choice."""
_LIKE_CONSTANTS = frozenset({
    "scale", "y_scale", "zero_point", "rhs_zero_point", "acc_lo", "acc_hi", "m", "m1", "m2", "z1", "z2", "bias",
    "shift",
})  # fmt: skip
"""Attributes of integers' operators that differ from layer to layer, and about which loops care little."""
NOTHING_TUNED: Tuned = MappingProxyType({})
TUNED = ", tuned"
"""Stands behind the name of a generator that a decision chose."""


def kernel_key(node: Node, machine: Machine, constant: Callable[[Value | None], np.ndarray | None]) -> str:
    """Sixteen hexadecimal digits, the same for fused nodes that compute the same on tensors of the same types, on the
    same CPU and by the same rules, whatever their constants hold. ``constant`` gives those from outside."""
    body = body_of(node.attrs)
    numbers: dict[str, int] = {}

    def number(value: Value | None) -> int:
        return -1 if value is None else numbers.setdefault(value.name, len(numbers))

    outside = [(number(v), _type(v), constant(v) is not None) for v in (*node.operands, *node.outputs)]
    nodes = [
        (
            inner.op, [number(value) for value in inner.inputs],
            [(number(value), _type(value)) for value in inner.outputs], _attributes(inner),
        )
        for inner in body.nodes
    ]  # fmt: skip
    inside = [(number(value), _type(value)) for value in (*body.inputs, *body.outputs)]
    own = sorted((numbers[name], array.dtype.str, array.shape) for name, array in body.constants.items())
    text = repr((machine_key(machine), _rules(machine.cpu), outside, nodes, inside, own))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def threaded_key(key: str, threads: int) -> str:
    """Of decisions about how the work of a kernel is split for so many threads."""
    return f"{key}/{threads}"


def machine_key(machine: Machine) -> str:
    """Target, ABI and CPU."""
    return f"{machine.name}/{machine.abi.name}/{machine.cpu.name}"


def _type(value: Value) -> str:
    """Without what quantized numbers stand for."""
    return f"{value.dtype.value}{list(value.shape)}"


def _rules(cpu: Cpu) -> tuple[bool, ...]:
    """What options of a compilation change about a CPU."""
    return cpu.ample_ram, cpu.exact_floats, cpu.spends_memory, cpu.compact


def _attributes(node: Node) -> str:
    """Without scales, zero points and other numbers that are like constants, and without graphs."""
    kept = {n: v for n, v in node.attrs.items() if n not in _LIKE_CONSTANTS and not isinstance(v, (Graph, float))}
    return repr(sorted(kept.items(), key=lambda item: item[0]))
