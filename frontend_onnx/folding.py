"""A graph builder that evaluates what is constant while the graph is being built.

Shape arithmetic (Shape, Gather, Concat, ...) never reaches the graph: its nodes have constant operands only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, repeat

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, GraphBuilder, NameSupply, Node, Value
from ..ir.types import TensorType
from ..ops.custom import CUSTOM
from ..ops.evaluate import evaluation_work
from ..ops.opdef import Kind
from ..ops.table import OPS, infer_types
from ..passes.fold_constants import CONSTANTS_PER_STORED, MAX_CONSTANT_BYTES
from ..record import record
from .counts import Counts
from .equal_nodes import equal_node
from .extents import COUNTED, Extents, Site, extents_of_results
from .joined_extents import replaced_by_others
from .polynomials import Polynomial
from .probe import MARK, Argument, Probe, depends
from .problems import LimitError
from .shape_numbers import ShapeNumbers
from .string_tables import StringTable, constant_strings
from .tensors import MAX_ELEMENTS

MAX_FOLDED_BYTES = 64 * 2**20
"""A larger constant is not materialised; the node that computes it stays in the graph."""

MAX_FOLDED_PAD = 2**12
"""The same for windows with more padding than any real model has."""

MAX_FOLDED_WORK = 2**31
"""Multiplications that computing constants may take in all; a node beyond that stays in the graph."""

_DEQUANTIZE = ("dequantize", "dequantize_blocks")
_KEPT = (*_DEQUANTIZE, CUSTOM)
"""Nodes that stay whatever their operands are."""


LARGE_BYTES = 1024
"""Results of constants of at least so many bytes are computed once for equal nodes, and only where there is room."""


@dataclass
class Doubt:
    """Whether a result of an If has the dimensions of 1 that one of its branches makes more than the other; ``text``
    shows both types. It is ``settled`` when something that reads it would be invalid if it had them."""

    text: str
    loc: str
    read: bool = False
    settled: bool = False
    numbers: set[str] = field(default_factory=set)
    """Values that follow from its shape as it is taken, by name, of which it is not known what they would be else: what
    is invalid beside them tells nothing."""

    def check(self) -> None:
        """Raises ``UNSUPPORTED_FEATURE`` where nothing has told which is meant."""
        if self.read and not self.settled:
            hint = "declare the shape of that output in the model (value_info), or give both branches the same rank"
            reason = f"If: branches make {self.text}, and what follows allows both"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=self.loc, hint=hint)


@record
class Alternative:
    """What a value would be if its ``doubt`` was otherwise: of another shape, or another constant."""

    doubt: Doubt
    shape: tuple[int, ...]
    constant: np.ndarray | None = None


class FoldingBuilder(GraphBuilder):
    """Emits nodes, or their results as constants where all operands are constants.

    ``dequantize``, of blocks as well, stays in the graph, so that quantized weights are seen as such, and so does what
    is the user's. A value without elements is a constant whatever its operands are.
    """

    def __init__(self, stored: int = 0, probe: Probe | None = None, arguments: Sequence[Argument] = ()) -> None:
        """``stored`` is how many bytes of tensors the model holds; ``probe`` knows what depends on ranged extents,
        which are the ``arguments`` of both imports of a model."""
        super().__init__(infer_types, NameSupply())
        self._dequantized: dict[str, Node] = {}
        self._budget = MAX_CONSTANT_BYTES + CONSTANTS_PER_STORED * stored
        self._work = MAX_FOLDED_WORK
        self.probe, self.arguments = probe, arguments
        self._around: list[list[Node]] = []
        """The nodes of the graphs around the region at work, from the outermost on."""
        self._regions: dict[str, int] = {}
        """How deep values are in regions, by name; others are in the graph itself."""
        self.extents: dict[str, Extents] = {}
        """Of the values that have dimensions whose extent is only known in a run."""
        self.counts = Counts(self)
        self.numbers = ShapeNumbers(self, self.counts)
        self.most: Mapping[str, int] = {}
        """How many elements a Range and how many rows a Loop have at most, by the name of the result in the model."""
        self.doubts: dict[str, Alternative] = {}
        """Of values that would be others if a result of an If had other dimensions."""
        self.strings: dict[str, StringTable] = {}
        """Of the values that stand for strings: the table whose rows they number."""
        self.over_bounds: set[str] = set()
        """Results of nodes that know of extents themselves, and need no comparison with a second import."""
        self._computed: dict[tuple[object, ...], list[tuple[str, np.ndarray]]] = {}
        self._operands: list[list[np.ndarray | None]] = []
        """Kept, so that no other array gets the identity of one."""
        self.producers: dict[str, Node] = {}
        """The node of a value, also under names that it had before."""
        self.formals: dict[str, tuple[str, ...]] = {}
        """Of the values in a loop's body that stand for others: the names of what they depend on around it."""
        self.passes: dict[str, tuple[int | None, Polynomial | None]] = {}
        """Of the numbers of a loop's passes: how many passes there are at most, as a number and as an extent."""
        for argument in arguments:
            most = argument.range.most if probe is not None else argument.probed
            self.counts.argument(argument, most)

    def constant(self, array: np.ndarray, stem: str = "const") -> Value:
        """A constant, of strings as well. Raises ``UNSUPPORTED_FEATURE`` where all constants together take too much
        memory."""
        if array.dtype.kind in "OU":
            return constant_strings(self, array, stem)
        self._budget -= array.nbytes
        if self._budget < 0:
            reason = "the constants that the model computes take too much memory"
            hint = "compute them before, and store them in the model"
            raise LimitError(reason, loc=stem, hint=hint)
        return super().constant(array, stem)

    def emit(
        self,
        op: str,
        inputs: Iterable[Value | None],
        attrs: Mapping[str, AttrValue] | None = None,
        *,
        loc: str = "",
        names: Iterable[str] | None = None,
    ) -> tuple[Value, ...]:
        """``emit_whole`` where no operand has extents. Raises ``UNSUPPORTED_FEATURE`` where an operator looks at what
        lies beyond an extent."""
        operands = tuple(inputs)
        if not self.extents and not self.ranged and self.numbers.is_empty and op not in COUNTED:
            return self.emit_whole(op, operands, attrs, loc=loc, names=names)
        if op in _KEPT or any(value is not None and value.name not in self.constants for value in operands):
            operands = tuple(None if value is None else self.numbers.in_run(value, loc) for value in operands)
        else:
            values = self.emit_whole(op, operands, attrs, loc=loc, names=names)
            folded = all(value.name in self.constants for value in values)
            if folded or not self._has_extents(operands, loc):
                return self._without_rest(op, values)
            if OPS[op].kind is not Kind.POINTWISE:
                raise depends(f"a constant by {op}", loc)
            site = Site(self, op, list(operands), dict(attrs or {}), [value.type for value in values], loc)
            for value, extents in zip(values, extents_of_results(site), strict=True):
                self.extents[value.name] = extents
            return values
        if not self._has_extents(operands, loc) and op not in COUNTED:
            return self.emit_whole(op, operands, attrs, loc=loc, names=names)
        attributes = dict(attrs or {})
        site = Site(self, op, list(operands), attributes, infer_types(op, operands, attributes, loc), loc)
        replaced = replaced_by_others(site, names)
        if replaced is not None:
            return (replaced,)
        found = extents_of_results(site)
        values = self.emit_whole(op, site.operands, site.attrs, loc=loc, names=names)
        if op in COUNTED:
            found = [{0: values[-1]} if n in COUNTED[op] else {} for n in range(len(values))]
        for value, extents in zip(values, found, strict=True):
            if extents and value.name not in self.constants:
                self.extents[value.name] = extents
        return values

    def extents_of(self, value: Value, loc: str) -> Extents:
        """The extents of a value. Raises ``UNSUPPORTED_FEATURE`` for a constant that depends on one otherwise."""
        found = self.extents.get(value.name, {})
        if value.name in self.constants and self.probe is not None:
            found = self.probe.constant(value.name, self.constants, self.arguments, loc)
        for axis, count in found.items():
            self.counts.atom(count, value.shape[axis])
        return found

    def least(self, count: Value) -> int | None:
        """The least that an extent can be which is an argument; ``None`` for others."""
        return next((each.range.least for each in self.arguments if each.value.name == count.name), None)

    @property
    def ranged(self) -> bool:
        """Whether extents are arguments: dimensions are not merged then where that can be avoided."""
        return bool(self.arguments)

    @property
    def compares(self) -> bool:
        """Whether this is the import that another is compared with."""
        return self.ranged and self.probe is None

    # ---- regions

    def enter(self, nodes: Sequence[Node] = ()) -> None:
        """Nodes become those of a region, which has some already, until :meth:`leave`."""
        self._around.append(self.nodes)
        self.nodes = list(nodes)

    def leave(self) -> tuple[Node, ...]:
        """The nodes of the region."""
        made, self.nodes = self.nodes, self._around.pop()
        return tuple(made)

    def depth(self, value: Value) -> int:
        """How many regions a value is in."""
        return self._regions.get(value.name, 0)

    @property
    def depth_of_nodes(self) -> int:
        """How many regions nodes are in that are made now."""
        return len(self._around)

    @contextmanager
    def at_depth(self, depth: int) -> Iterator[None]:
        """Nodes are added to the graph around regions that is so deep."""
        inner, around = self.nodes, self._around
        if depth >= len(around):
            yield
            return
        self.nodes, self._around = around[depth], around[:depth]
        try:
            yield
        finally:
            self.nodes, self._around = inner, around

    def _has_extents(self, values: Sequence[Value | None], loc: str) -> bool:
        """Whether any value has; all are looked at, for one may depend on an extent in another way."""
        found = [self.extents_of(value, loc) for value in values if value is not None]
        return any(found)

    def _without_rest(self, op: str, values: tuple[Value, ...]) -> tuple[Value, ...]:
        """Constants without the entries that do not count."""
        if op not in COUNTED:
            return values
        count = int(self.constants[values[-1].name])
        return tuple(
            self.constant(self.constants[value.name][:count], value.name) if n in COUNTED[op] else value
            for n, value in enumerate(values)
        )

    def polynomial(self, count: Value) -> Polynomial:
        """What is known of an extent."""
        return self.counts.of(count) or self.counts.atom(count, MAX_ELEMENTS)

    def scaled(self, count: Value, factor: int, loc: str) -> Value:
        """``count`` times ``factor``; the same value whenever it is asked for."""
        return self.counts.value(self.polynomial(count) * Polynomial.constant(factor), loc)

    def total(self, counts: Sequence[Value], fixed: int, loc: str) -> Value:
        """The sum of ``counts`` and ``fixed``; the same value whenever it is asked for."""
        total = Polynomial.constant(fixed)
        for count in counts:
            total = total + self.polynomial(count)
        return self.counts.value(total, loc)

    def product(self, counts: Sequence[Value], loc: str) -> Value:
        """The product of ``counts``, each of them once; the same value whenever it is asked for."""
        product = Polynomial.constant(1)
        for each in dict.fromkeys(self.polynomial(count) for count in counts):
            product = product * each
        return self.counts.value(product, loc)

    def stepped(self, count: Value, more: int, step: int, loc: str) -> Value:
        """``(count + more) // step``, at least 0; the same value whenever it is asked for."""
        total = self.polynomial(count) + Polynomial.constant(more)
        total = self.counts.greatest_of(total, Polynomial.constant(0), loc)
        return self.counts.value(self.counts.quotient(total, step, loc), loc)

    def emit_whole(
        self,
        op: str,
        inputs: Iterable[Value | None],
        attrs: Mapping[str, AttrValue] | None = None,
        *,
        loc: str = "",
        names: Iterable[str] | None = None,
    ) -> tuple[Value, ...]:
        """A node, or its results as constants; results have no extents."""
        operands, attributes = tuple(inputs), attrs or {}
        types = infer_types(op, operands, attributes, loc)
        for type_ in types:
            if type_.size > MAX_ELEMENTS:
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{op} makes {type_}, more than 2^31 elements", loc=loc)
        stems = list(islice(names if names is not None else repeat(op), len(types)))
        if any(type_.size == 0 for type_ in types) and not (op == CUSTOM and any(type_.size for type_ in types)):
            if any(type_.size for type_ in types):
                raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{op} over no elements", loc=loc)
            return tuple(self.typed_constant(np.empty(t.shape, t.dtype.numpy), t, s) for t, s in zip(types, stems))
        if op not in _KEPT and not _too_large(types, attributes):
            single = OPS[op].kind is Kind.POINTWISE and all(type_.size == 1 for type_ in types)
            arrays = [None if value is None else self._elements(value, single) for value in operands]
            known = all(array is not None or value is None for array, value in zip(arrays, operands))
            work = evaluation_work(op, operands, types, attributes) if known else 0
            if known and work <= self._work and self._has_room(types):
                values = self._folded(op, operands, arrays, attributes, types, stems, work)
                self.numbers.follow(op, operands, attributes, values, loc)
                return values
        plain = self.numbers.is_empty or MARK in stems[0]
        decided = None if plain else self.numbers.decided(op, operands, attributes, types, loc)
        if decided is not None:
            return (self.typed_constant(decided, types[0], stems[0]),)
        if op in COUNTED:
            twin = self.twin(op, operands, attributes)
            if twin is not None:
                return twin.outputs
        values = super().emit(op, operands, attributes, loc=loc, names=stems)
        self._note_dequantized(self.nodes[-1])
        self.producers.update((value.name, self.nodes[-1]) for value in values)
        if self._around:
            self._regions.update((value.name, len(self._around)) for value in values)
        self.numbers.follow(op, operands, attributes, values, loc)
        return values

    def twin(self, op: str, operands: Sequence[Value | None], attrs: Mapping[str, AttrValue]) -> Node | None:
        """A node here that computes the same, whose results have the same extents."""
        return equal_node(self.nodes, op, operands, attrs, self.constants, self.producers)

    def _elements(self, value: Value, single: bool) -> np.ndarray | None:
        """Those of a constant; where a ``single`` number is computed, also of one that is stored quantized, as
        quantizers store the numbers of shapes."""
        source = self._dequantized.get(value.name) if single else None
        if source is None:
            return self.constants.get(value.name)
        stored = [self.constants[operand.name] for operand in source.operands]
        return OPS[source.op].evaluate(stored, source.attrs)[0]

    def _has_room(self, types: Sequence[TensorType]) -> bool:
        """Whether results may be constants. Small ones always may: what decides about shapes is one."""
        total = sum(type_.nbytes for type_ in types)
        return total < LARGE_BYTES or total <= self._budget

    def _folded(
        self, op: str, operands: Sequence[Value | None], arrays: list[np.ndarray | None],
        attrs: Mapping[str, AttrValue], types: Sequence[TensorType], stems: Sequence[str], work: int,
    ) -> tuple[Value, ...]:  # fmt: skip
        """The results of a node of constants. What is large, as weights that each step of an unrolled layer transposes
        for itself, is computed and kept once."""
        large = sum(type_.nbytes for type_ in types) >= LARGE_BYTES
        key: tuple[object, ...] = ()
        if large:
            identities = tuple((id(array), v and v.type) for array, v in zip(arrays, operands, strict=True))
            key = op, identities, repr(sorted(attrs.items()))
            for name, known in self._computed.get(key, ()):
                if self.constants.get(name) is known:
                    return (Value(name, types[0]),)
        self._work -= work
        results = OPS[op].evaluate(arrays, attrs)
        found = tuple(self.typed_constant(r, t, s) for r, t, s in zip(results, types, stems, strict=True))
        if large and len(found) == 1:
            self._operands.append(arrays)
            self._computed.setdefault(key, []).append((found[0].name, self.constants[found[0].name]))
        return found

    def reached(self, names: Iterable[str]) -> set[str]:
        """These values and what they are computed of."""
        found = set(names)
        rest = list(found)
        while rest:
            name = rest.pop()
            node = self.producers.get(name)
            read = self.formals.get(name, ()) if node is None else [value.name for value in node.operands]
            new = [each for each in read if each not in found]
            found.update(new)
            rest += new
        return found

    def typed_constant(self, array: np.ndarray, type_: TensorType, stem: str) -> Value:
        """A constant whose type keeps its quantization."""
        return Value(self.constant(array, stem).name, type_)

    def dequantized_constant(self, name: str) -> Node | None:
        """The node behind a value where that is a constant stored quantized."""
        return self._dequantized.get(name)

    def _note_dequantized(self, node: Node) -> None:
        if node.op in _DEQUANTIZE and all(value.name in self.constants for value in node.operands):
            self._dequantized[node.output.name] = node

    def rename(self, start: int, names: Mapping[str, str]) -> None:
        """Renames outputs (and their uses) of the nodes from number ``start`` on, and constants."""

        def renamed(value: Value | None) -> Value | None:
            return value if value is None or value.name not in names else Value(names[value.name], value.type)

        for position in range(start, len(self.nodes)):
            node = self.nodes[position]
            outputs = tuple(Value(names.get(value.name, value.name), value.type) for value in node.outputs)
            self.nodes[position] = Node(node.op, tuple(map(renamed, node.inputs)), outputs, node.attrs, node.loc)
            self._note_dequantized(self.nodes[position])
            self.producers.update((value.name, self.nodes[position]) for value in outputs)
        self._regions |= {new: self._regions[old] for old, new in names.items() if old in self._regions}
        for old, new in names.items():
            if old in self.over_bounds or MARK in old:
                self.over_bounds.discard(old)
                self.over_bounds.add(new)
        self.counts.rename(names)
        self.numbers.rename(names)
        for old in self.extents.keys() & names.keys():
            self.extents[names[old]] = self.extents.pop(old)
        if self.extents and any(count.name in names for count in self._counts()):
            self.extents = {
                name: {axis: Value(names.get(count.name, count.name), count.type) for axis, count in extents.items()}
                for name, extents in self.extents.items()
            }
        for old, new in names.items():
            if old in self.constants:
                self.constants[new] = self.constants.pop(old)
            if old in self.strings:
                self.strings[new] = self.strings.pop(old)
            if old in self.doubts:
                self.doubts[new] = self.doubts.pop(old)
        if self.strings and any(table.rows.name in names for table in self.strings.values()):
            self.strings = {
                name: StringTable(Value(names.get(table.rows.name, table.rows.name), table.rows.type), table.whole)
                for name, table in self.strings.items()
            }

    def _counts(self) -> Iterator[Value]:
        return (count for extents in self.extents.values() for count in extents.values())


def _too_large(types: Sequence[TensorType], attrs: Mapping[str, AttrValue]) -> bool:
    """Results, or the padded operand of a window, that are better not computed here."""
    pad = attrs.get("pad", ())
    assert isinstance(pad, tuple)
    padded = any(int(amount) > MAX_FOLDED_PAD for amount in pad)
    return padded or sum(type_.nbytes for type_ in types) > MAX_FOLDED_BYTES
