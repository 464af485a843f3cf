"""One kernel for several layers, with what is different between them as scalars, where that saves code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from ...ir.loops import Kernel, Stmt
from ...ir.loops_rewrite import walk_stmts
from ...ir.program import Program
from ...ir.specialize import specialized
from ...ir.steps import Call, map_calls
from ...record import record
from ..validity import verify_scheduled
from .estimates import code_size, operations, uses
from .family import Common, General, common, flattened
from .form import Form, form

FREE_USES = 1 / 44
"""Uses of scalars that a program may make for each of its operations, where code is not to be small at any price. A use
was measured to take half an instruction, and so was an operation."""

_NODE_BYTES = 4
_CALL_BYTES = 8
_SCALAR_BYTES = 5
_ENTRY_BYTES = 16
_LEAST_GAIN = 32


def share_kernels(program: Program, free_uses: float | None = FREE_USES) -> Program:
    """``program`` with kernels that differ in numbers alone made one, where its code gets smaller.

    ``free_uses``: how many uses of scalars each operation may be charged with; ``None``: any number.
    """
    count = Counter(call.kernel for call in program.calls)
    similar: dict[tuple[type[Stmt], ...], list[_Member]] = {}
    for kernel in (kernel for kernel in program.kernels if kernel.foreign is None and not kernel.fetches):
        similar.setdefault(_outline(kernel), []).append(_Member(kernel, count[kernel.name]))
    families: dict[Form, list[_Member]] = {}
    for member in (member for members in similar.values() if len(members) > 1 for member in members):
        families.setdefault(form(member.kernel, numbers=False), []).append(member)
    candidates = [_Family(tuple(members)) for members in families.values() if len(members) > 1]
    if free_uses is not None and candidates:
        total = sum(operations(kernel) * count[kernel.name] for kernel in program.kernels)
        candidates = _affordable(candidates, int(total * free_uses))
    return _shared(program, [family for family in candidates if family.gain >= _LEAST_GAIN and family.is_sound])


def _outline(kernel: Kernel) -> tuple[type[Stmt], ...]:
    """What all kernels of a family have in common, and is found in no time."""
    return tuple(type(stmt) for stmt in walk_stmts(kernel.body))


@record
class _Member:
    """A kernel, how often it is called, and its general form."""

    kernel: Kernel
    calls: int

    @cached_property
    def general(self) -> General:
        return General.of(self.kernel)


@record
class _Family:
    members: tuple[_Member, ...]

    @cached_property
    def common(self) -> Common:
        return common([member.general for member in self.members])

    @cached_property
    def uses(self) -> list[int]:
        """Of scalars by each member in one run of the program."""
        found = uses(self.common.kernel, self.common.values)
        return [member.calls * times for member, times in zip(self.members, found, strict=True)]

    @cached_property
    def gain(self) -> int:
        """Bytes of code that one kernel saves, about."""
        sizes = [code_size(member.kernel) for member in self.members]
        scalars = len(self.common.kernel.scalars)
        grown = max(0, code_size(self.common.kernel) - sizes[0]) * _NODE_BYTES
        calls = sum(member.calls for member in self.members) * (_CALL_BYTES + _SCALAR_BYTES * scalars)
        return sum(sizes[1:]) * _NODE_BYTES - grown - calls - _ENTRY_BYTES

    @property
    def is_sound(self) -> bool:
        """Whether the common kernel with the scalars of each member is that member, up to names: evidence that does not
        depend on how it was made."""
        pairs = zip(self.members, self.common.values, strict=True)
        return all(_stands_for(self.common.kernel, values, member.kernel) for member, values in pairs)


def _affordable(families: Iterable[_Family], allowed: int) -> list[_Family]:
    """The families without members that use their scalars too often for all together: those that do least stay."""
    priced = [
        (price, number, member)
        for number, family in enumerate(families)
        for price, member in zip(family.uses, family.members, strict=True)
    ]
    kept: dict[int, set[str]] = {}
    for price, number, member in sorted(priced, key=lambda item: item[:2]):
        allowed -= price
        if allowed < 0:
            break
        kept.setdefault(number, set()).add(member.kernel.name)
    chosen = [
        tuple(member for member in family.members if member.kernel.name in kept.get(number, ()))
        for number, family in enumerate(families)
    ]
    return [_Family(members) for members in chosen if len(members) > 1]


def _shared(program: Program, families: Sequence[_Family]) -> Program:
    """With the common kernel of each family under the name, and in the place, of its first member."""
    kernels: dict[str, Kernel | None] = {kernel.name: kernel for kernel in program.kernels}
    scalars: dict[str, tuple[int, ...]] = {}
    names: dict[str, str] = {}
    for family in families:
        first = family.members[0].kernel.name
        verify_scheduled(family.common.kernel)
        for member, values in zip(family.members, family.common.values, strict=True):
            kernels[member.kernel.name] = None
            names[member.kernel.name], scalars[member.kernel.name] = first, values
        kernels[first] = family.common.kernel

    def renamed(_: int, call: Call) -> list[Call]:
        return [replace(call, kernel=names.get(call.kernel, call.kernel), scalars=scalars.get(call.kernel, ()))]

    body = map_calls(program.body, renamed)
    return replace(program, kernels=tuple(kernel for kernel in kernels.values() if kernel), body=body)


def _stands_for(shared: Kernel, values: tuple[int, ...], kernel: Kernel) -> bool:
    wanted = flattened(kernel)
    sizes = [param.shape[0] for param in wanted.params]
    return form(specialized(shared, values, sizes), numbers=True) == form(wanted, numbers=True)
