"""Builds the text of one LLVM function, instruction by instruction.

``llvmlite.ir`` takes 15 microseconds an instruction (0.3 s for an unrolled kernel of 20,000) and cannot express the
attributes that freestanding code needs (``"no-builtins"``, ``readonly``, visibility). This one takes an eighth of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from ..record import record

_UNROLLED = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.full"}'


@record
class Function:
    """A printed function and what it needs elsewhere in its module: intrinsics, metadata."""

    name: str
    text: str
    declarations: frozenset[str]


_LOCAL = re.compile(r"%\w+")
HIDDEN = 'asm "", "=r,0"'
"""What gives back its operand, of which LLVM then knows nothing."""
_PURE_CALLS = (
    "call i64 @llvm.smax", "call i64 @llvm.smin", "call i32 @llvm.smax", "call i32 @llvm.smin", f"call i32 {HIDDEN}",
)  # fmt: skip


@dataclass
class _Scope:
    """What was computed in a block and those around it: instructions that go when it ends, and where, in front of the
    loop whose body it is, instructions go that do not depend on the loop."""

    before: list[str] | None
    instructions: list[str] = field(default_factory=list)


@dataclass
class FunctionWriter:
    """Collects basic blocks. Values are plain references (``%7``, ``@name`` or a literal); types are spelled apart.

    ``hoists``: instructions in the scope of a loop that do not depend on it go in front of it.
    """

    hoists: bool = False
    lines: list[str] = field(default_factory=list)
    allocas: list[str] = field(default_factory=list)
    declarations: set[str] = field(default_factory=set)
    block: str = "entry"
    _count: int = 0
    _scopes: list[_Scope] = field(default_factory=list)
    _hoisted: dict[int, list[str]] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _depth: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str = "v") -> str:
        """A new local name."""
        self._count += 1
        return f"%{stem}{self._count}"

    @contextmanager
    def scope(self, before: list[str] | None = None) -> Iterator[None]:
        """Instructions inside that say the same, and neither read memory nor call, are one; they may use what was
        computed in the scopes around this one, whose blocks have to dominate it. Unrolled loops repeat most of the
        arithmetic of their addresses. The body of a loop gives the lines ``before`` it (:meth:`preheader`)."""
        self._scopes.append(_Scope(before))
        yield
        for instruction in self._scopes.pop().instructions:
            del self._known[instruction]

    def preheader(self) -> list[str]:
        """A place in front of a loop, for what does not depend on it."""
        return self._hoisted.setdefault(len(self.lines), [])

    def value(self, instruction: str) -> str:
        """Appends an instruction with a result and returns its name, or that of an equal one in scope."""
        known = self._known.get(instruction)
        if known is not None:
            return known
        self._count += 1
        name = f"%v{self._count}"
        line = f"  {name} = {instruction}"
        if not self._scopes or (instruction.startswith(("load", "call")) and not instruction.startswith(_PURE_CALLS)):
            self._depth[name] = len(self._scopes)
            self.lines.append(line)
            return name
        depth = self._place(instruction)
        if depth < len(self._scopes):
            before = self._scopes[depth].before
            assert before is not None
            before.append(line)
        else:
            self.lines.append(line)
        self._known[instruction], self._depth[name] = name, depth
        self._scopes[max(depth, 1) - 1].instructions.append(instruction)
        return name

    def bind(self, name: str) -> None:
        """Says that ``name``, which is printed by other means, is known from the next scope on."""
        self._depth[name] = len(self._scopes) + 1

    def _place(self, instruction: str) -> int:
        """How many scopes are around an instruction that stands in front of all loops on which it does not depend."""
        here = len(self._scopes)
        if not self.hoists or instruction.startswith(("sdiv", "srem", "udiv", "urem")):
            return here
        needed = max((self._depth.get(name, 0) for name in _LOCAL.findall(instruction)), default=0)
        return next((depth for depth in range(needed, here) if self._scopes[depth].before is not None), here)

    def effect(self, instruction: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def alloca(self, type_: str, align: int = 0) -> str:
        """Stack memory, reserved once in the entry block."""
        name = self.fresh("m")
        self.allocas.append(f"  {name} = alloca {type_}" + (f", align {align}" if align else ""))
        return name

    def label(self, stem: str) -> str:
        """The name of a new block, to jump to and to :meth:`start`."""
        return self.fresh(stem)[1:]

    def start(self, label: str) -> None:
        """Begins a block; the one before must have ended in a jump."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.effect(f"br label %{label}")

    def branch(self, cond: str, then: str, orelse: str) -> None:
        self.effect(f"br i1 {cond}, label %{then}, label %{orelse}")

    def unroll(self) -> None:
        """Has LLVM unroll the loop whose jump back is the last instruction."""
        self.lines[-1] += ", !llvm.loop !0"
        self.declarations.add(_UNROLLED)

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """Calls ``@name`` with (type, value) pairs, declares it, and returns the result."""
        call = self._call(name, result, args)
        return self.value(call)

    def intrinsic_effect(self, name: str, *args: tuple[str, str]) -> None:
        """Calls an intrinsic without a result."""
        self.effect(self._call(name, "void", args))

    def _call(self, name: str, result: str, args: tuple[tuple[str, str], ...]) -> str:
        self.declarations.add(f"declare {result} @{name}({', '.join(type_ for type_, _ in args)})")
        return f"call {result} @{name}({', '.join(f'{type_} {value}' for type_, value in args)})"

    def finish(self, name: str, header: str) -> Function:
        """The function under ``header`` (``define ... @name(...) attributes``)."""
        lines = chain.from_iterable((*self._hoisted.get(at, ()), line) for at, line in enumerate(self.lines))
        text = "\n".join((f"{header} {{", "entry:", *self.allocas, *lines, "}", ""))
        return Function(name, text, frozenset(self.declarations))
