"""One decoded function as a function of LLVM IR: registers are its variables, memory is an array of the caller's.

``define void @f_ADDRESS(ptr %mem, ptr %state, ptr %row)``: ``%state`` holds the registers between functions, ``%row``
the counters of basic blocks. Flags are the result that set N and Z, and C and V. Within a basic block variables are
values that are known; they are stored where it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .instruction import ALWAYS, FLOATS, NONE, PC, SP, Instruction

_FLAGS = 48
"""Where in the state the flags are, three words: helpers for comparisons return them."""

LOOP_SIZE = 51
"""A register that the core has elsewhere: log2 of the lanes of a tail-predicated loop."""

FUEL = 52
"""Where in the state, in words, the number of backward jumps left is, a 64-bit integer."""

STATE_WORDS = 54

_PARAMETERS = "ptr noalias %mem, ptr noalias %state, ptr noalias %row"


class FunctionIr:
    """Collects the lines of one function. Values are names or literals of i32 unless said otherwise."""

    def __init__(self, symbol: str, registers: Iterable[int], mask: int, *, promote: bool = True) -> None:
        """``promote``: variables may become registers, which takes long where jumps lead anywhere."""
        self.registers = sorted(registers)
        self.mask = mask
        attributes = "nounwind" if promote else "nounwind noinline optnone"
        self.lines: list[str] = [f"define void @{symbol}({_PARAMETERS}) {attributes} {{", "entry:"]
        self._count = 0
        self._values: dict[str, str] = {}
        self._floats: dict[str, str] = {}
        self._unstored: dict[str, str] = {}
        for number in self.registers:
            self.lines.append(f"%r{number} = alloca i32")
        for flags in ("", "f"):
            self.lines += [f"%{flags}nz = alloca i32", f"%{flags}c = alloca i1", f"%{flags}v = alloca i1"]
        self.set_float_flags("1", "0", "0")
        self.reload()

    # ------------------------------------------------------------ building blocks

    def fresh(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def emit(self, text: str) -> str:
        """An instruction with a result; gives its name."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name

    def do(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(text)

    def end(self, text: str) -> None:
        """The instruction that ends a block within the function."""
        self.lines += self._unstored.values()
        self._unstored.clear()
        self.lines.append(text)

    def exit(self) -> None:
        """Ends the function: what its variables hold is not needed any more."""
        self._unstored.clear()
        self.lines.append("ret void")

    def label(self, name: str) -> None:
        """Begins a block; the one before has ended."""
        self._values.clear()
        self._floats.clear()
        self.lines.append(f"{name}:")

    def load(self, variable: str, kind: str = "i32") -> str:
        """The value of a variable."""
        if variable not in self._values:
            self._values[variable] = self.emit(f"load {kind}, ptr %{variable}")
        return self._values[variable]

    def store(self, variable: str, value: str, kind: str = "i32") -> None:
        self._values[variable], self._unstored[variable] = value, f"store {kind} {value}, ptr %{variable}"

    def binary(self, op: str, x: str, y: str, kind: str = "i32") -> str:
        return self.emit(f"{op} {kind} {x}, {y}")

    def select(self, condition: str, x: str, y: str) -> str:
        return self.emit(f"select i1 {condition}, i32 {x}, i32 {y}")

    def compare(self, op: str, x: str, y: str, kind: str = "i32") -> str:
        return self.emit(f"icmp {op} {kind} {x}, {y}")

    def call(self, function: str, *args: str, kind: str = "i32") -> str:
        """An intrinsic whose operands and result are of ``kind``."""
        return self.emit(f"call {kind} @{function}({', '.join(f'{kind} {arg}' for arg in args)})")

    def unsigned(self, bit: str) -> str:
        return self.emit(f"zext i1 {bit} to i32")

    # ------------------------------------------------------------ registers and flags

    def get(self, register: int, instruction: Instruction | None = None) -> str:
        """The value of a core register; of the program counter, what ``instruction`` sees."""
        if register == PC:
            return str(((instruction.address if instruction else 0) + 4) & ~3)
        return self.load(f"r{register}")

    def put(self, register: int, value: str) -> None:
        if register == SP:
            value = self.binary("and", value, "-4")
        if register not in (NONE, PC):
            self.store(f"r{register}", value)

    def get_float(self, register: int) -> str:
        bits = self.get(FLOATS + register)
        if bits not in self._floats:
            self._floats[bits] = self.emit(f"bitcast i32 {bits} to float")
        return self._floats[bits]

    def put_float(self, register: int, value: str) -> None:
        bits = self.emit(f"bitcast float {value} to i32")
        self._floats[bits] = value
        self.put(FLOATS + register, bits)

    def set_result(self, value: str) -> None:
        self.store("nz", value)

    def set_carry(self, bit: str) -> None:
        self.store("c", bit, "i1")

    def set_overflow(self, bit: str) -> None:
        self.store("v", bit, "i1")

    def set_float_flags(self, result: str, carry: str, overflow: str) -> None:
        """Those of the floating-point unit, which VMRS makes the core's."""
        self.store("fnz", result)
        self.store("fc", carry, "i1")
        self.store("fv", overflow, "i1")

    def take_float_flags(self) -> None:
        self.set_result(self.load("fnz"))
        self.set_carry(self.load("fc", "i1"))
        self.set_overflow(self.load("fv", "i1"))

    def carry(self) -> str:
        return self.load("c", "i1")

    def overflow(self) -> str:
        return self.load("v", "i1")

    def condition(self, code: int) -> str:
        """Whether a condition holds (i1)."""
        if code == ALWAYS:
            return "true"
        holds = self._holds(code >> 1)
        return self.binary("xor", holds, "true", "i1") if code & 1 else holds

    def _holds(self, pair: int) -> str:
        if pair == 0:
            return self.compare("eq", self.load("nz"), "0")
        if pair == 1:
            return self.carry()
        if pair == 3:
            return self.overflow()
        if pair == 4:
            return self.binary("and", self.carry(), self.compare("ne", self.load("nz"), "0"), "i1")
        negative = self.compare("slt", self.load("nz"), "0")
        if pair == 2:
            return negative
        same = self.binary("xor", self.binary("xor", negative, self.overflow(), "i1"), "true", "i1")
        if pair == 5:
            return same
        return self.binary("and", same, self.compare("ne", self.load("nz"), "0"), "i1")

    @contextmanager
    def when(self, code: int, name: str) -> Iterator[None]:
        """What is emitted within runs only where the condition holds."""
        if code == ALWAYS:
            yield
            return
        self.end(f"br i1 {self.condition(code)}, label %{name}_do, label %{name}_done")
        self.label(f"{name}_do")
        yield
        self.end(f"br label %{name}_done")
        self.label(f"{name}_done")

    # ------------------------------------------------------------ memory

    def place(self, address: str) -> str:
        """A pointer to the memory that stands for an address."""
        inside = self.binary("and", address, str(self.mask))
        return self.emit(f"getelementptr i8, ptr %mem, i64 {self.emit(f'zext i32 {inside} to i64')}")

    def read(self, address: str, width: int = 4, *, signed: bool = False) -> str:
        kind = f"i{8 * width}"
        value = self.emit(f"load {kind}, ptr {self.place(address)}, align 1")
        return value if width == 4 else self.emit(f"{'sext' if signed else 'zext'} {kind} {value} to i32")

    def write(self, address: str, value: str, width: int = 4) -> None:
        kind = f"i{8 * width}"
        narrow = value if width == 4 else self.emit(f"trunc i32 {value} to {kind}")
        self.do(f"store {kind} {narrow}, ptr {self.place(address)}, align 1")

    # ------------------------------------------------------------ control

    def save(self) -> None:
        """Registers to the state, before control goes elsewhere."""
        for number in self.registers:
            value = self.load(f"r{number}")
            self.do(f"store i32 {value}, ptr {self._slot(number)}")
        flags = [self.load("nz"), self.unsigned(self.carry()), self.unsigned(self.overflow())]
        for number, value in enumerate(flags, _FLAGS):
            self.do(f"store i32 {value}, ptr {self._slot(number)}")

    def reload(self) -> None:
        for number in self.registers:
            value = self.emit(f"load i32, ptr {self._slot(number)}")
            self.store(f"r{number}", value)
        result, *bits = (self.emit(f"load i32, ptr {self._slot(_FLAGS + number)}") for number in range(3))
        carry, overflow = (self.emit(f"trunc i32 {bit} to i1") for bit in bits)
        self.set_result(result)
        self.set_carry(carry)
        self.set_overflow(overflow)

    def _slot(self, number: int) -> str:
        return self.emit(f"getelementptr i32, ptr %state, i64 {number}")

    def enter(self, symbol: str, row: int = 0, target: str | None = None) -> None:
        """Calls another function; ``row`` words behind this one's are its counters."""
        self.save()
        counters = self.emit(f"getelementptr i64, ptr %row, i64 {row}")
        first = "" if target is None else f"i32 {target}, "
        self.do(f"call void @{symbol}({first}ptr %mem, ptr %state, ptr {counters})")
        self.reload()

    def leave(self) -> None:
        self.save()
        self.exit()

    def count(self, counter: int, more: str = "1") -> None:
        """Adds to a counter."""
        place = self.emit(f"getelementptr i64, ptr %row, i64 {counter}")
        value = self.binary("add", self.emit(f"load i64, ptr {place}"), more, "i64")
        self.do(f"store i64 {value}, ptr {place}")

    def burn(self, name: str, target: str) -> None:
        """A jump backward, as long as there is fuel: control flow that was misread must end."""
        place = self.emit(f"getelementptr i32, ptr %state, i64 {FUEL}")
        left = self.binary("sub", self.emit(f"load i64, ptr {place}"), "1", "i64")
        self.do(f"store i64 {left}, ptr {place}")
        self.end(f"br i1 {self.compare('sgt', left, '0', 'i64')}, label %{target}, label %{name}_out")
        self.label(f"{name}_out")
        self.exit()

    def text(self) -> str:
        return "\n".join((*self.lines, "}"))
