"""Tensors that can have 16 bits, and those that have them by default because that costs next to nothing.

The latter are what the matrix products of recurrences read: vectors of some hundred elements beside matrices of their
square. Rounding errors of a state would return in each step. They are tensors of few elements that little is computed
of, for room that bytes do not have. And they are single tensors that make much of the noise at the model's outputs, but
are small and read by a small part of the multiply-accumulates: the input of a model whose first numbers are far larger
than the others, say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from ..ir.graph import Graph, Node
from ..ops.table import OPS
from .encoding import WEIGHT_LEVELS
from .linear import to_matrices
from .partition import Partition, key
from .roles import LINEAR, activations, weight_positions

_LOUD, _FEW = 1 / 32, 1 / 4
"""Parts of the noise, and of the work."""
_LOUDER = 1 / 2
"""Of the noise, for which some kilobytes of memory are taken."""
_WORTH = 20
"""Decibels that are to be won where all multiply-accumulates would be of halfwords, and of a part of them that part:
where vectors of bytes are fast, those of halfwords take twice as long and more."""
_GOOD, _HARDER, _HARDEST = 34.0, 4.0, 4.0
"""A model that tensors of bytes leave fewer decibels needs each of them more: twice as much for every
:data:`_HARDER` that it lacks, :data:`_HARDEST` times at most."""
_MOST = 2 / 5
"""Of the work of any model."""
_NEGLIGIBLE = 1 << 11
"""Multiply-accumulates that take no time in any model."""
_ROOM = 4 * _NEGLIGIBLE
"""As many as all tensors together can have in the smallest models."""
_FEW_ELEMENTS = 1 << 8
"""Whose range few samples do not show."""
_SPARED, _SPARED_ALL = 1 / 25, 1 / 16
"""Parts of the work for which a tensor of few elements, and all of these, have room for what was not observed."""
_REQUANTIZED, _ELEMENT, _CURVED = 4, 4, 16
"""Multiply-accumulates that take as long as 16 bits for an element do: where an integer layer makes it, where sums,
products, means or normalizations read it, and where a function does that has a table for bytes."""
_ARITHMETIC = frozenset({"add", "sub", "mul", "normalize", "rms_normalize", "reduce", "pool", "relu", "clip"})
_TINY = 1 << 10
"""Elements that take little memory in any model; four times as many where they are quantized from floats."""
_SOME = 3 << 10
"""Elements that take some memory."""

_LARGEST_SUM = 2**15 - 2**12
"""Of the magnitudes of a column of int8 weights: times 2^15 that fits 31 bits, with room for weights whose scale is
chosen finer, and for a bias."""


def of_recurrences(parts: Partition, products: Collection[str], fixed: Collection[str]) -> frozenset[str]:
    """The groups, by the first member, that nothing but ``products`` compute with, and that hold none of ``fixed``."""
    found = set()
    for head in parts.sources:
        if not set(fixed).isdisjoint(parts.members(head)):
            continue
        readers = readers_of(parts, head)
        if readers and all(key(node) in products for node in readers) and can_be_wide(parts, head):
            found.add(head)
    return frozenset(found)


def of_few(parts: Partition, fixed: Collection[str]) -> frozenset[str]:
    """The groups, by the first member, that have few elements and cost next to nothing: results of global pooling, what
    gates and bottlenecks read. Few numbers of few samples do not show how far others reach, and where one of few
    saturates, all that follows is wrong; 16 bits have room for that. Inputs of the model reach as far as calibration
    data are chosen to show."""
    fixed = {*fixed, *(value.name for value in parts.graph.inputs)}
    work = sum(_work(node) for node in parts.graph.nodes if parts.is_integer(node))
    costs = {head: _cost(parts, head) for head in parts.sources if _may_be_wide(parts, head, fixed)}
    found, room = set(), work * _SPARED_ALL
    for head in sorted(costs, key=lambda name: costs[name]):
        if parts.sizes[head] <= _FEW_ELEMENTS and costs[head] <= min(room, work * _SPARED):
            found.add(head)
            room -= costs[head]
    return frozenset(found)


def of_noise(parts: Partition, noise: Mapping[str, float], fixed: Collection[str]) -> frozenset[str]:
    """The groups, by the first member, that make more than :data:`_LOUD` of the noise that is left without those that
    were taken before, the noisiest first, and cost little: :data:`_FEW` of the work all together, and each so little of
    it as :data:`_WORTH` says for what it wins. ``noise`` has that of each group alone at the model's outputs; those
    that hold any of ``fixed`` stay as they are. All of these limits are wider where bytes leave little signal
    (:func:`_need`)."""
    left, work = sum(noise.values()), sum(_work(node) for node in parts.graph.nodes if parts.is_integer(node))
    need = _need(left)
    costs = {head: _cost(parts, head) for head in noise if _may_be_wide(parts, head, fixed, need)}
    small = {head: _is_small(parts, head, need * _TINY, need) for head in costs}
    order, room = sorted(costs, key=lambda name: -noise[name]), max(min(_FEW * need, _MOST) * work, _ROOM)
    found: set[str] = set()
    while left > 0:
        worth = (
            head for head in order
            if head not in found and noise[head] > (_LOUD if small[head] else _LOUDER) * left
            and costs[head] <= min(room, max(_NEGLIGIBLE, work * need * _gain(left, noise[head]) / _WORTH))
        )  # fmt: skip
        if (head := next(worth, None)) is None:
            break
        found.add(head)
        room, left = room - costs[head], left - noise[head]
    return frozenset(found)


def may_be_worth(parts: Partition, heads: Iterable[str], fixed: Collection[str]) -> list[str]:
    """Those of ``heads`` that :func:`of_noise` could choose, whatever noise they make."""
    work = sum(_work(node) for node in parts.graph.nodes if parts.is_integer(node))
    free = (head for head in heads if _may_be_wide(parts, head, fixed, _HARDEST))
    return [head for head in free if _cost(parts, head) <= max(_MOST * work, _ROOM)]


def _need(noise: float) -> float:
    """How much a decibel is worth where bytes make so much of relative ``noise``."""
    lacking = _GOOD + 10 * np.log10(max(noise, 1e-12))
    return float(np.clip(np.exp2(lacking / _HARDER), 1.0, _HARDEST))


def _gain(left: float, noise: float) -> float:
    """In dB, where ``noise`` of what is ``left`` goes."""
    return float(10 * np.log10(left / max(left - noise, 1e-9 * left)))


def _work(node: Node) -> int:
    """In multiply-accumulates."""
    return _macs(node) if OPS[node.op].macs is not None else _ELEMENT * sum(value.type.size for value in node.outputs)


def _may_be_wide(parts: Partition, head: str, fixed: Collection[str], need: float = 1.0) -> bool:
    """Whether a group can be wide, holds none of ``fixed``, and takes no more than some memory, ``need`` times as much
    where it is needed."""
    is_free = set(fixed).isdisjoint(parts.members(head))
    return is_free and _is_small(parts, head, max(_SOME, need * _TINY), need) and can_be_wide(parts, head)


def _is_small(parts: Partition, head: str, most: float, need: float) -> bool:
    """Whether a group has ``most`` elements, those that are quantized from floats four times :data:`_TINY`, or a
    quarter of the largest; where it is needed more of the latter, and half."""
    most = most if _is_made_of_integers(parts, head) else 4 * need * _TINY
    return parts.sizes[head] <= max(most, min(need, 2) * max(parts.sizes.values()) / 4)


def _cost(parts: Partition, head: str) -> int:
    """Of a group, in multiply-accumulates: those that read it, and what its elements take."""
    members = parts.members(head)
    sizes = {value.name: value.type.size for value in parts.graph.values()}
    made = sum(sizes[name] for name in parts.sources[head] if any(map(parts.is_integer, parts.unit_of(name))))
    cost = _REQUANTIZED * made + sum(map(_macs, _depthwise(parts, members)))
    for node in readers_of(parts, head):
        elements = max(value.type.size for value in node.operands if value.name in members)
        each = 0 if OPS[node.op].macs is not None else _ELEMENT if _is_arithmetic(parts.graph, node) else _CURVED
        cost += _macs(node) + each * elements
    return cost


def _is_arithmetic(graph: Graph, node: Node) -> bool:
    """Whether a node that computes with elements has an integer form for 16 bits; others have tables for bytes."""
    return node.op in _ARITHMETIC and (node.op != "mul" or len(activations(graph, node)) > 1)


def _is_made_of_integers(parts: Partition, head: str) -> bool:
    """Whether a value of the group is the result of an integer layer, which so would have to give 16 bits; inputs and
    states of recurrences come as floats."""
    return any(parts.is_integer(node) for name in parts.sources[head] for node in parts.unit_of(name))


def _depthwise(parts: Partition, members: Sequence[str]) -> list[Node]:
    """The convolutions in groups that make one of the values: cores have block instructions for those that give
    bytes."""
    nodes = (node for name in members for node in parts.unit_of(name))
    return [node for node in nodes if node.op == "conv" and node.attrs["group"] != 1]


def _macs(node: Node) -> int:
    count = OPS[node.op].macs
    return 0 if count is None else count(node)


def readers_of(parts: Partition, head: str) -> list[Node]:
    """The integer nodes that compute with members of a group; moves within it do not."""
    members = set(parts.members(head))
    return [
        node for node in parts.graph.nodes
        if parts.is_integer(node) and key(node) not in members
        and any(value.name in members for value in activations(parts.graph, node))
    ]  # fmt: skip


def can_be_wide(parts: Partition, head: str) -> bool:
    """Whether all sums of products with 16-bit members of a group are sure to fit 32 bits."""
    return all(node.op not in LINEAR or _fits(parts.graph, node) for node in readers_of(parts, head))


def _fits(graph: Graph, node: Node) -> bool:
    if not weight_positions(graph, node):
        return False
    matrices = np.abs(to_matrices(node, graph.constants[node.operands[1].name].astype(np.float64)))
    peaks = np.maximum(matrices.max(axis=1), np.finfo(np.float32).tiny)
    return bool((matrices.sum(axis=1) / peaks).max(initial=0.0) * WEIGHT_LEVELS <= _LARGEST_SUM)
