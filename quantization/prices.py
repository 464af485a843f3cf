"""What choices of mixed precision cost: of the whole model, and of each candidate in comparison with the others.

A candidate's time is found by compiling the model a few times for the device, with each precision for all layers, and
comparing what each layer takes. Without a device it is by multiply-accumulates, at the rates of a Cortex-M4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..ir.graph import Graph, Node
from ..ir.types import DType
from ..ops.table import OPS
from ..record import record
from ..report.accuracy import Cost
from .candidates import Candidate, Raise
from .cheap_width import readers_of
from .meter import Price
from .partition import Partition, key
from .quantizer import Choices, Quantizer

RATES: Mapping[Raise, float] = {
    Raise.BYTES: 0.97, Raise.INT16: 1.7, Raise.HALFWORDS: 2.4, Raise.FLOAT: 3.0,
}  # fmt: skip
"""Time of a multiply-accumulate with each kind of more precision, of 1 without (kws on a Cortex-M4, predicted)."""

_FLASH, _RAM = 0.25, 0.1
"""What all flash and all RAM count, of all time, where nothing is limited."""
_FREE = 1e-3
"""The share of the time that counts where only other things are limited, and that any candidate costs at least."""
_ROOM = 1.3
"""What is estimated to take so much of the room that is left may fit."""


def cost_of(quantizer: Quantizer, choices: Choices, price: Price | None = None) -> Cost:
    """``price`` is that of the model with these choices."""
    parts = quantizer.partition(choices)
    encodings = quantizer.encodings(parts, choices)
    macs = {DType.I8: 0, DType.I16: 0, DType.F32: 0}
    by_bits = {4: 0, 8: 0, 16: 0, 32: 0}
    for node in quantizer.graph.nodes:
        count = OPS[node.op].macs
        if count is not None:
            inner = parts.is_integer(node) and node.operands[0].name in encodings
            stored = encodings[node.operands[0].name].dtype if inner else DType.F32
            macs[DType.I16 if stored is DType.I16 else DType.F32 if stored is DType.F32 else DType.I8] += count(node)
            by_bits[_weight_bits(quantizer, parts, choices, node)] += count(node)
    weights = sum(_weight_bytes(quantizer, parts, choices, node) for node in quantizer.graph.nodes)
    tensors = sum(
        value.type.size * (encodings[value.name].dtype.size if value.name in encodings else 4)
        for value in quantizer.graph.values()
        if value.name not in parts.inside
    )
    known = () if price is None else (price.cycles, price.flash, price.ram)
    return Cost(
        macs[DType.I8], macs[DType.I16], macs[DType.F32], weights, tensors, by_bits[4], by_bits[16], *known
    )  # fmt: skip


def _weight_bits(quantizer: Quantizer, parts: Partition, choices: Choices, node: Node) -> int:
    if not parts.is_integer(node):
        return 32
    if key(node) in quantizer.halfword_layers(choices):
        return 16
    return 4 if key(node) in quantizer.nibbles and key(node) not in choices.bytes else 8


def _weight_bytes(quantizer: Quantizer, parts: Partition, choices: Choices, node: Node) -> int:
    """Outliers among weights of 4 bits count as these."""
    if OPS[node.op].macs is None:
        return 0
    graph = quantizer.graph
    constants = [value for value in node.inputs[1:] if value is not None and value.name in graph.constants]
    matrices = [value for value in constants if len(value.shape) > 1]
    stored = sum(value.type.size for value in matrices) * _weight_bits(quantizer, parts, choices, node) // 8
    return stored + sum(value.type.nbytes for value in constants if value not in matrices)


@record
class Shares:
    """What a unit of each resource counts: a cycle, and bytes of flash and of RAM."""

    time: float
    flash: float = 0.0
    ram: float = 0.0

    @staticmethod
    def of(price: Price | None, macs: float, weights: float) -> Shares:
        """By the limits, where there are some; else by what the model takes without more precision: its ``price``, or
        ``macs`` and bytes of ``weights``."""
        if price is None:
            return Shares(1 / max(macs, 1.0), _FLASH / max(weights, 1.0))
        limits = {word: need.limit / max(need.amount, 1e-9) for need in price.needs for word in _kind(need.what)}
        time, flash, ram = max(price.time, 1.0), max(price.flash or weights, 1.0), max(price.ram, 1)
        if not limits:
            return Shares(1 / time, _FLASH / flash, _RAM / ram)
        least = {word: 1 / max(limit, 1e-9) for word, limit in limits.items()}
        return Shares(least.get("time", _FREE) / time, least.get("flash", 0.0) / flash, least.get("RAM", 0.0) / ram)

    def cost(self, price: Price) -> float:
        """Of a whole model."""
        return price.time * self.time + (price.flash or 0) * self.flash + price.ram * self.ram


def _kind(what: str) -> Sequence[str]:
    """Which resource a need is of."""
    if what in ("time", "cycles"):
        return ("time",)
    return ("flash",) if what == "flash" else () if what == "stack" else ("RAM",)


@record
class Extra:
    """What a candidate is estimated to take beyond what there was: the time in units of :class:`Price`, and bytes."""

    time: float
    flash: float
    ram: float


@record
class Costing:
    """The cost of each candidate, in ``shares``. ``times`` are those of layers (:func:`key`) with all of them having
    been given the same; ``None``: nothing. ``code`` is the flash that a candidate takes beside its weights."""

    quantizer: Quantizer
    parts: Partition
    shares: Shares
    times: Mapping[Raise | None, Mapping[str, float]]
    code: Mapping[Raise, float]
    _nodes: Mapping[str, Node]

    @staticmethod
    def of(
        quantizer: Quantizer,
        shares: Shares,
        candidates: Sequence[Candidate],
        price: Callable[[Sequence[Candidate]], Price | None] | None,
        base: Price | None,
    ) -> Costing:
        """``price`` tells that of the model with some candidates, ``None`` where it could not be compiled."""
        graph, nodes = quantizer.graph, {key(node): node for node in quantizer.graph.nodes}
        times: dict[Raise | None, Mapping[str, float]] = {None: _by_layers(graph, base, 1.0, base)}
        code: dict[Raise, float] = {}
        costing = Costing(quantizer, quantizer.partition(), shares, times, code, nodes)
        for kind in dict.fromkeys(each.kind for each in candidates):
            given = [each for each in candidates if each.kind is kind]
            found = base if price is None else price(given)
            times[kind] = _by_layers(graph, found, RATES[kind], base)
            if found is not None and found.flash and base is not None and base.flash:
                weights = sum(costing.weights(each) for each in given)
                code[kind] = max(0.0, (found.flash - base.flash - weights) / len(given))
        return costing

    def __call__(self, candidate: Candidate) -> float:
        """Positive; what costs nothing costs a little, so that the noise decides."""
        extra, shares = self.extra(candidate), self.shares
        return max(extra.time * shares.time + extra.flash * shares.flash + extra.ram * shares.ram, _FREE**2)

    def extra(self, candidate: Candidate) -> Extra:
        ram = 0.0
        more, before = self.times[candidate.kind], self.times[None]
        if candidate.kind is Raise.INT16:
            touched = {key(node) for node in readers_of(self.parts, candidate.name)}
            sizes = {value.name: value.type.size for value in self.quantizer.graph.values()}
            ram = max(sizes[name] for name in self.parts.members(candidate.name))
        else:
            touched = {candidate.name}
            if candidate.kind is Raise.FLOAT:
                ram = 3 * sum(value.type.size for value in self._nodes[candidate.name].outputs)
        time = sum(more.get(name, 0.0) - before.get(name, 0.0) for name in touched)
        return Extra(time, self.weights(candidate) + self.code.get(candidate.kind, 0.0), ram)

    def weights(self, candidate: Candidate) -> float:
        """The bytes of weights that it takes beyond what there was: of 8 bits, or for ``BYTES`` of 4."""
        if candidate.kind is Raise.INT16:
            return 0.0
        count = sum(
            value.type.size for value in self._nodes[candidate.name].inputs[1:]
            if value is not None and value.name in self.quantizer.graph.constants
        )  # fmt: skip
        return count * {Raise.BYTES: 0.5, Raise.HALFWORDS: 1, Raise.FLOAT: 3}[candidate.kind]

    def may_fit(self, price: Price, less: Iterable[Candidate], more: Iterable[Candidate]) -> bool:
        """Whether candidates may be exchanged within the limits of ``price``, of a model with ``less`` of them, as far
        as estimates tell. RAM is not asked for: tensors that are not there at the same time cost nothing."""
        gone, come = ([self.extra(each) for each in some] for some in (less, more))
        time = sum(each.time for each in come) - sum(each.time for each in gone)
        flash = sum(each.flash for each in come) - sum(each.flash for each in gone)
        extra = {"time": time / max(price.time, 1e-9), "flash": flash / max(price.flash or 0, 1e-9)}
        return all(
            extra.get(word, 0.0) * need.amount <= _ROOM * (need.limit - need.amount)
            for need in price.needs for word in _kind(need.what)
        )  # fmt: skip


def _by_layers(graph: Graph, price: Price | None, rate: float, base: Price | None) -> dict[str, float]:
    """The time of each layer: of calls by the names of nodes, and what is not known so by multiply-accumulates."""
    macs = {key(node): float(count(node)) for node in graph.nodes if (count := OPS[node.op].macs) is not None}
    if price is None:
        whole = sum(macs.values()) if base is None else base.time
        unit = rate * whole / max(sum(macs.values()), 1.0)
        return {name: unit * count for name, count in macs.items()}
    owners: dict[str, list[str]] = {}
    for node in graph.nodes:
        if key(node) in macs:
            for part in node.loc.split(" + "):
                owners.setdefault(part, []).append(key(node))
    found, left = dict.fromkeys(macs, 0.0), price.time
    for title, time in price.layers.items():
        own = list(dict.fromkeys(name for part in title.split(" + ") for name in owners.get(part, ())))
        whole = sum(macs[name] for name in own)
        for name in own:
            found[name] += time * macs[name] / max(whole, 1.0)
            left -= time * macs[name] / max(whole, 1.0)
    unknown = [name for name in found if not found[name]]
    whole = sum(macs[name] for name in unknown)
    return found | {name: max(left, 0.0) * macs[name] / max(whole, 1.0) for name in unknown}
