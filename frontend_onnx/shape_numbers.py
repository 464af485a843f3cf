"""What a model computes of the numbers of its shapes: which extents stand behind lists of integers, and constants that
depend on extents as values that a run computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..errors import CcmlError
from ..ir.graph import AttrValue, Value
from ..ir.types import DType, TensorType
from ..ops.attributes import Attrs, integer
from ..ops.table import OPS
from .counts import Counts
from .float_numbers import SIGNIFICANT_BITS, Ratio, Ratios, combined, floors, ratios_of
from .joined_extents import repitched, split_extents
from .polynomials import Polynomial, lists_of
from .probe import MARK
from .shape_rules import COMPARISONS, MOVED, RULES, VIEWS, comparison

if TYPE_CHECKING:
    from .folding import FoldingBuilder

T = TypeVar("T")
Numbers = tuple[Polynomial, ...]
Quotients = tuple[tuple[Polynomial, Polynomial], ...]

_PARTS = frozenset({"slice", "expand", "pad"})
"""Operators whose attributes may be numbers of shapes, and tell which elements there are."""

MAX_NUMBERS = 64
"""A tensor has no more dimensions."""


class ShapeNumbers:
    """The lists of integers of a graph that is being built, and single numbers, of which the extents are known."""

    def __init__(self, builder: FoldingBuilder, counts: Counts) -> None:
        self._builder, self._counts = builder, counts
        self._lists: dict[str, Numbers] = {}
        self._ratios: dict[str, Ratios] = {}
        """Of floats, where they are exact."""
        self._made: dict[str, tuple[str, Sequence[Value | None], Attrs]] = {}
        """How constants were computed of such that depend on extents."""
        self.folded: dict[str, tuple[str, Sequence[Value | None], Attrs]] = {}
        """How all constants were computed, where dimensions are ranged."""
        self._changing: dict[str, bool] = {}
        self._in_run: dict[str, Value] = {}
        self._ones: dict[str, bool] = {}

    def note(self, value: Value, numbers: Sequence[Polynomial]) -> None:
        """Says what a value is. Of constants whose numbers are such, nothing has to be said."""
        if value.name not in self._builder.constants or any(each.number is None for each in numbers):
            self._lists[value.name] = tuple(numbers)

    def note_ones(self, value: Value) -> None:
        """Says that no element of a tensor within its extents is 0."""
        self._ones[value.name] = True

    def is_of_ones(self, value: Value) -> bool:
        """Whether that is known of a value: what ``NonZero`` finds in it are all places."""
        return value.name in self._ones

    @property
    def is_empty(self) -> bool:
        """Whether nothing depends on extents so far, as in models of static shapes."""
        return not self._lists and not self._made

    def of(self, value: Value | None) -> Numbers | None:
        """The numbers of a value; ``None`` where something else is in it."""
        if value is None or value.type.rank > 1 or value.type.size > MAX_NUMBERS:
            return None
        if not value.dtype.is_integer and value.dtype is not DType.BOOL:
            return None
        if value.name in self._lists:
            return self._lists[value.name]
        if value.name in self._made:
            return None
        array = self._builder.constants.get(value.name)
        if array is not None:
            if not self._is_in_both(value, array):
                return None
            return tuple(Polynomial.constant(int(number)) for number in array.reshape(-1))
        known = None if value.shape else self._counts.of(value)
        return None if known is None else (known,)

    def _is_in_both(self, value: Value, array: np.ndarray) -> bool:
        """Whether a constant is the same in both imports; positions up to an extent are not."""
        probe = self._builder.probe
        return np.array_equal(array if probe is None else probe.constants.get(value.name, array), array)

    def ratios(self, value: Value | None) -> Ratios | None:
        """The numbers of a value, of floats as well where they are exact; ``None`` where something else is in it."""
        if value is None or value.type.rank > 1 or value.type.size > MAX_NUMBERS:
            return None
        if not value.dtype.is_float:
            known = self.of(value)
            return None if known is None else tuple(map(Ratio, known))
        if value.name in self._ratios:
            return self._ratios[value.name]
        array = self._builder.constants.get(value.name)
        if array is None or value.name in self._made or not self._is_in_both(value, array):
            return None
        return ratios_of(array)

    def whole(self, value: Value | None) -> Numbers | None:
        """The numbers of a value that are no fractions, of floats as well."""
        found = [ratio.whole for ratio in self.ratios(value) or ()]
        numbers = tuple(number for number in found if number is not None)
        return numbers if found and len(numbers) == len(found) else None

    def quotients(self, value: Value | None) -> Quotients | None:
        """Dividends and divisors, of which a list of floats has the quotients, rounded to their type; ``None`` where it
        has others."""
        known, made = self.ratios(value), None if value is None else self._made.get(value.name)
        if known is not None:
            return tuple((ratio.numerator, Polynomial.constant(ratio.denominator)) for ratio in known)
        if made is None:
            return None
        op, operands, _ = made
        if op == "div":
            a, b = (self.whole(operand) for operand in operands)
            size = max(len(a or ()), len(b or ()))
            if a is None or b is None or not {len(a), len(b)} <= {1, size}:
                return None
            return tuple((a[n % len(a)], b[n % len(b)]) for n in range(size))
        parts = [self.quotients(operand) for operand in operands]
        if op == "concat":
            known_parts = [part for part in parts if part is not None]
            return sum(known_parts, ()) if len(known_parts) == len(parts) else None
        return parts[0] if op == "reshape" else None

    def depends(self, value: Value | None) -> bool:
        """Whether a constant is computed of numbers that depend on extents."""
        if value is None or value.name not in self._builder.constants:
            return False
        known = self._lists.get(value.name)
        return value.name in self._made or (known is not None and any(each.number is None for each in known))

    def is_as_long(self, value: Value) -> bool:
        """Whether a list or table has the same shape in each run, whatever numbers it has."""
        if self.of(value) is not None:
            return True
        other = None if self._builder.probe is None else self._builder.probe.constants.get(value.name)
        return self.depends(value) and other is not None and other.shape == value.shape

    def may_depend(self, value: Value | None) -> bool:
        """Whether a constant may be another one at other extents: it depends on them, or on which part of a tensor was
        taken. In both imports it is the same constants."""
        if value is None or value.name not in self._builder.constants:
            return False
        if value.name not in self._changing:
            op, operands, _ = self.folded.get(value.name, ("", (), {}))
            found = op in _PARTS or self.depends(value) or any(map(self.may_depend, operands))
            self._changing[value.name] = found
        return self._changing[value.name]

    def rename(self, names: Mapping[str, str]) -> None:
        if self.is_empty and not self.folded:
            return
        _rename(self._lists, names)
        _rename(self._ones, names)
        _rename(self._ratios, names)
        _rename(self._made, names)
        _rename(self.folded, names)
        _rename(self._changing, names)
        _rename(self._in_run, names)
        if any(value.name in names for value in self._in_run.values()):
            self._in_run = {
                name: Value(names.get(value.name, value.name), value.type) for name, value in self._in_run.items()
            }

    def forget(self) -> None:
        """Forgets the values of runs: nodes that made them may be gone."""
        self._in_run.clear()

    # ---- forwards

    def follow(
        self, op: str, operands: Sequence[Value | None], attrs: Attrs, results: Sequence[Value], loc: str
    ) -> None:
        """Notes what the results of a node are."""
        if len(results) != 1 or MARK in results[0].name:
            return
        if self._builder.ranged and results[0].name in self._builder.constants:
            self.folded[results[0].name] = op, tuple(operands), attrs
        count = self._true_elements(op, operands, attrs, results[0])
        if count is not None:
            self._lists[results[0].name] = (self._builder.polynomial(count),)
            return
        followed = self._lists, self._ratios, self._made
        if not any(value is not None and any(value.name in each for each in followed) for value in operands):
            return
        result = results[0]
        ratios = self._exact_floats(op, operands, attrs, result.type, loc)
        if ratios is not None:
            self._ratios[result.name] = ratios
            if all(ratio.is_constant for ratio in ratios):
                return
        known = lists_of([self.of(value) for value in operands])
        found = self._numbers(op, known, attrs, result.type, loc)
        if found is None and (op in VIEWS or (op in ("concat", "cast") and result.type.rank > 1)):
            found = self._viewed(op, operands, attrs, result)
        if found is None and op == "cast" and result.dtype in (DType.I32, DType.I64):
            found = floors(self._counts, self.ratios(operands[0]), loc)
        if found is not None:
            self._lists[result.name] = found
        elif known is not None and op in COMPARISONS and comparison(self._counts, op, known) is not None:
            return
        elif result.name in self._builder.constants and any(map(self.depends, operands)):
            self._made[result.name] = op, tuple(operands), attrs

    def _true_elements(
        self, op: str, operands: Sequence[Value | None], attrs: Attrs, result: Value
    ) -> Value | None:  # fmt: skip
        """How many elements of a mask are true, where a node sums them up and another one has found their places."""
        x = operands[0] if operands else None
        if op != "reduce" or x is None or attrs["kind"] != "sum" or result.type.size != 1 or not x.dtype.is_integer:
            return None
        mask = self._mask(x)
        found = (node for node in reversed(self._builder.nodes) if node.op == "nonzero")
        return next((node.outputs[-1] for node in found if mask and self._mask(node.operands[0]) == mask), None)

    def _mask(self, value: Value) -> str | None:
        """The name of the mask whose elements a value has, 0 beyond extents, as numbers or in another shape."""
        node = self._builder.producers.get(value.name)
        while node is not None and node.op in ("reshape", "cast", "pack", "where", "and"):
            if node.op in ("where", "and") and MARK not in node.output.name:
                break
            value = node.operands[1 if node.op == "where" else 0]
            node = self._builder.producers.get(value.name)
        return value.name if value.dtype is DType.BOOL else None

    def _viewed(self, op: str, operands: Sequence[Value | None], attrs: Attrs, result: Value) -> Numbers | None:
        """The numbers of a table that is made of others by moving them: amounts of padding, two for each dimension."""
        known: list[Polynomial] = []
        places: list[np.ndarray | None] = []
        for value in operands:
            numbers = None if value is None else self._entries(value)
            if value is None or numbers is None or not result.dtype.is_integer:
                return None
            places.append(np.arange(len(known), len(known) + len(numbers)).reshape(value.shape))
            known += numbers
        moved = places[0] if op == "cast" else OPS[op].evaluate(places, attrs)[0]
        return None if moved is None else tuple(known[place] for place in moved.reshape(-1))

    def _entries(self, value: Value) -> Numbers | None:
        """The numbers of a list or table, one row behind the other; ``None`` where something else is in it."""
        array = self._builder.constants.get(value.name)
        if value.name in self._lists or array is None:
            return self._lists.get(value.name)
        if not value.dtype.is_integer or array.size > MAX_NUMBERS:
            return None
        if value.name in self._made or not self._is_in_both(value, array):
            return None
        return tuple(Polynomial.constant(int(number)) for number in array.reshape(-1))

    def _exact_floats(
        self, op: str, operands: Sequence[Value | None], attrs: Attrs, type_: TensorType, loc: str
    ) -> Ratios | None:
        """Those of a node's result; ``None`` where it has others, or nothing is known of them."""
        if type_.dtype not in SIGNIFICANT_BITS or type_.rank > 1:
            return None
        if op in MOVED:
            indices = operands[1:] if op == "gather" else ()
            entries = [*map(self.ratios, operands[: len(operands) - len(indices)]), *map(self.of, indices)]
            found = None if None in entries else MOVED[op](self._counts, entries, attrs, loc)
            return None if found is None or len(found) != type_.size else tuple(found)
        known = [ratios for ratios in map(self.ratios, operands) if ratios is not None]
        return combined(self._counts, op, known, type_.dtype, loc) if len(known) == len(operands) else None

    def decided(
        self, op: str, operands: Sequence[Value | None], attrs: Attrs, types: Sequence[TensorType], loc: str
    ) -> np.ndarray | None:
        """The result of a node of numbers that are the same in each run, though they stand beside others that are not:
        an entry of a shape."""
        if len(types) != 1 or not any(value is not None and value.name in self._lists for value in operands):
            return None
        known = lists_of([self.of(value) for value in operands])
        if op in COMPARISONS:
            compared = None if known is None else comparison(self._counts, op, known)
            return None if compared is None else np.asarray(compared).reshape(types[0].shape)
        found = self._numbers(op, known, attrs, types[0], loc)
        if found is None or any(each.number is None for each in found):
            return None
        return np.asarray([each.number for each in found], types[0].dtype.numpy).reshape(types[0].shape)

    def _numbers(
        self, op: str, known: Sequence[Sequence[Polynomial]] | None, attrs: Attrs, type_: TensorType, loc: str
    ) -> Numbers | None:
        """Those of a node's result; ``None`` where nothing is known of them."""
        rule = RULES.get(op)
        if known is None or rule is None or type_.dtype not in (DType.I32, DType.I64) or type_.rank > 1:
            return None
        found = rule(self._counts, known, attrs, loc)
        return tuple(found) if found is not None and len(found) == type_.size else None

    # ---- values of a run

    def in_run(self, value: Value, loc: str) -> Value:
        """A constant that depends on extents as what a run computes; any other value, and a constant whose shape
        depends on extents, as it is."""
        if not self.depends(value):
            return value
        if value.name not in self._in_run:
            with self._builder.at_depth(0):
                computed = self._computed(value, loc) or value
            self._in_run[value.name] = computed
            if value.name in self._lists:
                self.note(computed, self._lists[value.name])
        return self._in_run[value.name]

    def _computed(self, value: Value, loc: str) -> Value | None:
        if value.name in self._lists:
            parts = [self._counts.value(each, loc) for each in self._lists[value.name]]
            lists = [self._emit("reshape", [part], {"shape": (1,)}, loc) for part in parts]
            whole = lists[0] if len(lists) == 1 else self._emit("concat", lists, {"axis": 0}, loc)
            shaped = self._emit("reshape", [whole], {"shape": value.shape}, loc)
            return shaped if value.dtype is DType.I64 else self._emit("cast", [shaped], {"to": value.dtype}, loc)
        return self._table(value, self._made[value.name], loc)

    def _table(self, value: Value, made: tuple[str, Sequence[Value | None], Attrs], loc: str) -> Value | None:
        """A constant as what a run computes of the operands that it was made of; ``None`` where that is not known to
        be the same."""
        op, operands, attrs = made
        probe = self._builder.probe
        if probe is None or not probe.folds_alike(value.name, op, attrs):
            return None
        given = [None if each is None else self.table_in_run(self.in_run(each, loc), loc, True) for each in operands]
        if any(each is not None and self.depends(each) for each in given):
            return None
        given = self._one_in_run(given, loc)
        x, places = (*given, None)[:2]
        split = self._split(value, x, loc) if op == "reshape" and x is not None else None
        if split is not None:
            result = split
        elif op == "gather" and x is not None and places is not None and self._counts_from_start(operands[1]):
            result = self._gathered(x, places, attrs, loc)
        else:
            (result,) = self._builder.emit(op, given, attrs, loc=loc, names=[f"{loc}{MARK}"])
        if op == "expand":
            self._repeated(value, given[0], result)
        return result if self._is_twin(value, result) else None

    def _split(self, value: Value, x: Value, loc: str) -> Value | None:
        """A constant that is another one in another shape, of which the second import tells how extents are split."""
        builder, probe = self._builder, self._builder.probe
        own, other = builder.extents.get(x.name, {}), None if probe is None else probe.constants.get(value.name)
        if not own or other is None:
            return None
        known = [builder.polynomial(own[d]) if d in own else Polynomial.constant(n) for d, n in enumerate(x.shape)]
        found = split_extents(known, x.shape, value.shape, self._counts, other.shape)
        if found is None:
            return None
        extents = {d: self._counts.value(each, loc) for d, each in enumerate(found) if each.number is None}

        def emit(op: str, *operands: Value, **attrs: AttrValue) -> Value:
            return self._emit(op, operands, attrs, loc)

        made = repitched(emit, x, own, value.shape, extents)
        if extents:
            builder.extents[made.name] = extents
        return made

    def _counts_from_start(self, places: Value | None) -> bool:
        array = None if places is None else self._builder.constants.get(places.name)
        return array is not None and array.size > 0 and int(array.min()) >= 0

    def _gathered(self, x: Value, places: Value, attrs: Attrs, loc: str) -> Value:
        """Elements along a dimension that may have an extent, which places that a model computes are within."""
        axis, extents, builder = integer(attrs, "axis"), self._builder.extents, self._builder
        result = self._emit("gather", [x, places], attrs, loc)
        found = {axis + d: count for d, count in builder.extents_of(places, loc).items()}
        shift = places.type.rank - 1
        found |= {d if d < axis else d + shift: count for d, count in extents.get(x.name, {}).items() if d != axis}
        if found:
            extents[result.name] = found
        return result

    def _repeated(self, value: Value, x: Value | None, result: Value) -> None:
        """Dimensions of 1 that are repeated as often as an argument says have it as their extent."""
        probe = self._builder.probe
        other = None if probe is None else probe.constants.get(value.name)
        if x is None or other is None or other.ndim != result.type.rank:
            return
        found = dict(self._builder.extents.get(result.name, {}))
        for axis, sizes in enumerate(zip(result.shape, other.shape)):
            own = axis - result.type.rank + x.type.rank
            if axis not in found and sizes[0] != sizes[1] and (own < 0 or x.shape[own] == 1):
                fitting = [a.value for a in self._builder.arguments if (a.range.most, a.probed) == sizes]
                if len(fitting) == 1:
                    found[axis] = fitting[0]
        if found:
            self._builder.extents[result.name] = found

    def _one_in_run(self, given: list[Value | None], loc: str) -> list[Value | None]:
        """Operands of which one is no constant: what lies beyond an extent of it is masked."""
        builder = self._builder
        if any(each is not None and each.name not in builder.constants for each in given):
            return given
        for position, each in enumerate(given):
            if each is not None and builder.extents_of(each, loc):
                return [*given[:position], self.masked(each, loc), *given[position + 1 :]]
        return given

    def masked(self, value: Value, loc: str) -> Value:
        """A constant that has extents as what a run computes, 0 beyond one of them; any other value as it is."""
        extents, made = self._builder.extents_of(value, loc), value
        for axis, count in list(extents.items())[:1] if value.name in self._builder.constants else ():
            places = np.arange(value.shape[axis], dtype=np.int64).reshape(-1, *[1] * (value.type.rank - axis - 1))
            within = self._emit("lt", [self._builder.constant(places, f"{loc}{MARK}"), count], {}, loc)
            zero = self._builder.constant(np.zeros((), value.dtype.numpy), f"{loc}{MARK}")
            made = self._emit("where", [within, value, zero], {}, loc)
            self._builder.extents[made.name] = extents
            if self._builder.constants[value.name].all():
                self.note_ones(made)
        return made

    def _is_twin(self, value: Value, made: Value) -> bool:
        """Whether what a run computes has the shape of the constant in the second import as well."""
        probe = self._builder.probe
        other = None if probe is None else probe.constants.get(value.name)
        if other is None or other.dtype != value.dtype.numpy or made.shape != value.shape:
            return False
        found = self._builder.extents.get(made.name, {})
        sizes = [self._counts.probed(self._builder.polynomial(found[axis])) if axis in found else size
                 for axis, size in enumerate(made.shape)]  # fmt: skip
        return sizes == list(other.shape)

    def table_in_run(self, value: Value, loc: str, inner: bool = False) -> Value:
        """A constant that is computed of extents, and whose shape follows from extents, as what a run computes:
        positions in a batch of sequences that is taken as one row; and one that is equal in both imports, but not at
        each extent. ``inner``: an operand of such, which has the shape that it has. Where nothing can, and any other
        value, as it is."""
        probe = self._builder.probe
        other = None if probe is None else probe.constants.get(value.name)
        if value.name not in self.folded or other is None:
            return value
        if other.shape == value.shape and not inner and not self._is_in_doubt(value, other):
            return value
        try:
            self._builder.extents_of(value, loc)
            return value  # a part of it, whether or not it was needed as what a run computes before
        except CcmlError:
            pass
        if value.name in self._in_run:
            return self._in_run[value.name]
        try:
            with self._builder.at_depth(0):
                self._in_run[value.name] = self._table(value, self.folded[value.name], loc) or value
        except CcmlError:
            return value
        return self._in_run[value.name]

    def _is_in_doubt(self, value: Value, other: np.ndarray) -> bool:
        """Whether a constant that is the same in both imports may be no shape, and not the same at each extent."""
        numbers = value.dtype.is_integer and value.type.rank < 2 and value.type.size <= MAX_NUMBERS
        return not numbers and np.array_equal(other, self._builder.constants[value.name], equal_nan=True)

    def _emit(self, op: str, operands: Sequence[Value], attrs: Attrs, loc: str) -> Value:
        return self._builder.emit_whole(op, operands, attrs, loc=loc, names=[f"{loc}{MARK}"])[0]


def _rename(known: dict[str, T], names: Mapping[str, str]) -> None:
    for old, new in names.items():
        if old in known:
            known[new] = known.pop(old)
