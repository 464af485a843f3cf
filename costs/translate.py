"""Functions of machine code -> one module of LLVM IR that runs them and counts every basic block.

``run(mem, state, counts)`` starts the entry function. Its own blocks count in the first row of ``counts``; each place
where it calls something has a row of its own for everything below, which tells apart the layers that share a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..record import record
from ..targets.target import Cpu
from . import meaning_arithmetic, meaning_float, meaning_memory, meaning_multiply
from .function_ir import LOOP_SIZE, FunctionIr
from .functions import Function, is_return
from .helpers import emit_helper
from .instruction import ALWAYS, FLOATS, LR, NONE, PC, SP, Instruction

_MEANINGS = {
    **meaning_arithmetic.ARITHMETIC,
    **meaning_multiply.MULTIPLICATION,
    **meaning_memory.MEMORY,
    **meaning_float.FLOAT,
}
_BRANCHES = frozenset({"b", "cbz", "cbnz", "wls", "le", "letp", "tbb", "tbh", "bx", "jump", "jump_loaded", "pop_pc"})


@record
class Translation:
    """``blocks`` and ``taken`` give the counter of a basic block and of the jump at its end, by (function, block);
    ``missing`` those of helpers without code, which count instructions. ``sites`` are the addresses of the entry
    function's calls, in the order of their rows, from row 1 on."""

    text: str
    blocks: Mapping[tuple[int, int], int]
    taken: Mapping[tuple[int, int], int]
    missing: Mapping[str, int]
    sites: tuple[int, ...]
    width: int

    @property
    def rows(self) -> int:
        return 1 + len(self.sites)


def translate(
    functions: Mapping[int, Function], entry: int, missing: Mapping[str, int], mask: int, cpu: Cpu
) -> Translation:
    """``missing`` are helpers without code, by name, which take what they take on ``cpu``; ``mask``
    keeps addresses inside of the memory."""
    return _Translator(functions, entry, missing, mask, cpu).run()


class _Translator:
    def __init__(
        self, functions: Mapping[int, Function], entry: int, missing: Mapping[str, int], mask: int, cpu: Cpu
    ) -> None:
        self.cpu = cpu
        self.functions = functions
        self.entry = entry
        self.helpers = {address & ~1: name for name, address in missing.items()}
        self.mask = mask
        self.blocks: dict[tuple[int, int], int] = {}
        self.taken: dict[tuple[int, int], int] = {}
        self.calls: dict[str, int] = {}
        for function in functions.values():
            for block in function.blocks:
                self.blocks[function.address, block] = len(self.blocks)
        first = len(self.blocks)
        for number, place in enumerate(self.blocks, first):
            self.taken[place] = number
        for name in missing:
            self.calls[name] = 2 * first + len(self.calls)
        self.width = 2 * first + len(self.calls)
        own = functions[entry]
        self.sites = tuple(i.address for i in own.instructions if i.op in ("bl", "blx") or _is_tail_call(own, i))

    def run(self) -> Translation:
        parts = [*meaning_arithmetic.INTRINSICS, *meaning_float.INTRINSICS]
        parts += [_Body(self, function).text() for function in self.functions.values()]
        parts += [emit_helper(name, counter, self.cpu, self.mask) for name, counter in self.calls.items()]
        if any(function.indirect for function in self.functions.values()):
            parts.append(self._dispatch())
        arguments = "ptr %mem, ptr %state, ptr %row"
        parts.append(f"define void @run({arguments}) {{\ncall void @f_{self.entry:x}({arguments})\nret void\n}}")
        return Translation("\n".join(parts), self.blocks, self.taken, self.calls, self.sites, self.width)

    def symbol(self, address: int) -> str:
        address &= ~1
        return f'"h_{self.helpers[address]}"' if address in self.helpers else f"f_{address:x}"

    def _dispatch(self) -> str:
        """A call by address, to any of the functions."""
        cases = " ".join(f"i32 {address}, label %c{address:x}" for address in self.functions)
        lines = ["define void @dispatch(i32 %to, ptr %mem, ptr %state, ptr %row) {", "%at = and i32 %to, -2",
                 f"switch i32 %at, label %out [ {cases} ]"]  # fmt: skip
        for address in self.functions:
            lines += [f"c{address:x}:", f"call void @f_{address:x}(ptr %mem, ptr %state, ptr %row)", "br label %out"]
        return "\n".join((*lines, "out:", "ret void", "}"))


class _Body:
    """The blocks of one function."""

    def __init__(self, whole: _Translator, function: Function) -> None:
        self.whole = whole
        self.function = function
        symbol, used = f"f_{function.address:x}", _registers(function)
        self.f = FunctionIr(symbol, used, whole.mask, promote=not function.computed)

    def text(self) -> str:
        self.f.end(f"br label %b{self.function.address:x}")
        for address, block in self.function.blocks.items():
            self.f.label(f"b{address:x}")
            self.f.count(self.whole.blocks[self.function.address, address])
            for instruction in block[:-1]:
                self._plain(instruction)
            self._last(address, block[-1])
        return self.f.text()

    def _plain(self, i: Instruction) -> None:
        if i.cond == ALWAYS:
            self._effect(i)
            return
        with self.f.when(i.cond, f"w{i.address:x}"):
            self._effect(i)

    def _effect(self, i: Instruction) -> None:
        f = self.f
        if i.op in ("bl", "blx"):
            f.put(LR, str(i.end | 1))
            if i.op == "bl" and i.target not in self.function.calls:
                f.leave()  # data behind a computed jump, taken for code
                f.label(f"y{i.address:x}")
            elif i.op == "bl":
                f.enter(self.whole.symbol(i.target), self._row(i))
            else:
                f.enter("dispatch", self._row(i), f.get(i.rm))
        elif i.op == "dls":
            self._start_loop(i)
        else:
            _MEANINGS[i.op](f, i)

    def _row(self, i: Instruction) -> int:
        """How far the counters of what is called here are."""
        if self.function.address != self.whole.entry:
            return 0
        return (1 + self.whole.sites.index(i.address)) * self.whole.width

    # ------------------------------------------------------------ ends of blocks

    def _last(self, block: int, i: Instruction) -> None:
        if i.op not in _BRANCHES and not is_return(i):
            self._plain(i)
            self._go(i.end, i)
        elif i.op in ("b", "cbz", "cbnz", "wls", "le", "letp"):
            self._branch(block, i)
        else:
            self._leave(block, i)

    def _leave(self, block: int, i: Instruction) -> None:
        """Returns and jumps to where a register or a table says, where a condition holds."""
        f, name = self.f, f"w{i.address:x}"
        if i.cond != ALWAYS:
            f.end(f"br i1 {f.condition(i.cond)}, label %{name}_do, label %{name}_done")
            f.label(f"{name}_do")
        f.count(self.whole.taken[self.function.address, block])
        if is_return(i):
            if i.op not in ("bx", "jump"):
                _MEANINGS[i.op](f, i)
            f.leave()
        else:
            self._switch(i)
        if i.cond != ALWAYS:
            f.label(f"{name}_done")
            self._go(i.end, i)

    def _switch(self, i: Instruction) -> None:
        f = self.f
        if i.op in ("tbb", "tbh"):
            cases = dict(enumerate(self.function.tables[i.address]))
            value = f.get(i.rm)
        else:
            cases = {address: address for address in self.function.blocks}
            value = self._destination(i)
        listed = " ".join(f"i32 {key}, label %b{target:x}" for key, target in cases.items() if self._known(target))
        f.end(f"switch i32 {value}, label %x{i.address:x} [ {listed} ]")
        f.label(f"x{i.address:x}")
        f.leave()

    def _known(self, address: int) -> bool:
        return address in self.function.blocks

    def _destination(self, i: Instruction) -> str:
        f = self.f
        if i.op == "jump_loaded":
            value = f.read(meaning_memory.address(f, i))
        elif i.rn == PC:
            value = f.binary("add", f.get(i.rm), str(i.address + 4))
        else:
            value = f.get(i.rm)
        return f.binary("and", value, "-2")

    def _branch(self, block: int, i: Instruction) -> None:
        f, name = self.f, f"j{i.address:x}"
        condition = self._taken(i)
        if condition != "true":
            f.end(f"br i1 {condition}, label %{name}, label %{name}_not")
            f.label(f"{name}_not")
            self._go(i.end, i)
            f.label(name)
        f.count(self.whole.taken[self.function.address, block])
        if i.target in self.function.calls and not self._known(i.target):
            f.enter(self.whole.symbol(i.target), self._row(i))
            f.leave()
        else:
            self._go(i.target, i)

    def _taken(self, i: Instruction) -> str:
        """Whether the branch is taken (i1), with what it does besides."""
        f = self.f
        if i.op == "b":
            return f.condition(i.cond)
        if i.op in ("cbz", "cbnz"):
            return f.compare("eq" if i.op == "cbz" else "ne", f.get(i.rn), "0")
        if i.op == "wls":
            self._start_loop(i)
            return f.compare("eq", f.get(LR), "0")
        left = f.get(LR)
        step = f.binary("shl", "1", f.get(LOOP_SIZE)) if i.op == "letp" else "1"
        more = f.compare("ugt", left, step)
        f.put(LR, f.select(more, f.binary("sub", left, step), "0" if i.op == "letp" else left))
        return more

    def _start_loop(self, i: Instruction) -> None:
        f = self.f
        f.put(LR, f.get(i.rn))
        if i.imm != NONE:
            f.put(LOOP_SIZE, str(i.imm))

    def _go(self, target: int, i: Instruction) -> None:
        """Control moves on to another block."""
        if not self._known(target):
            self.f.leave()
        elif target <= i.address:
            self.f.burn(f"g{i.address:x}", f"b{target:x}")
        else:
            self.f.end(f"br label %b{target:x}")


def _is_tail_call(function: Function, i: Instruction) -> bool:
    return i.op == "b" and i.target in function.calls and i.target not in function.blocks


def _registers(function: Function) -> set[int]:
    """The registers that a function names, core ones first, then floating-point ones."""
    used = {SP, LR, 0}
    for i in function.instructions:
        fields = (i.rd, i.rn, i.rm, i.ra)
        if i.op in meaning_float.FLOAT:
            core = i.op.startswith(("vmov_to", "vmov_from", "vmrs"))
            used |= {FLOATS + number for number in fields if number >= 0} if not core else set()
            if core:
                used |= {number for number in (i.rd, i.ra) if 0 <= number < PC}
                used |= {FLOATS + i.rm} | ({FLOATS + i.rm + 1} if i.op.endswith("2") else set()) if i.rm >= 0 else set()
        else:
            used |= {number for number in fields if 0 <= number < PC}
        used |= {number + (FLOATS if i.floats else 0) for number in i.registers if i.floats or number < PC}
        used |= {LOOP_SIZE} if i.op in ("dls", "wls", "letp") else set()
    return used
