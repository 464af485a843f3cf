"""Buffers of a kernel: addresses, loads and stores, plain and masked."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..ir import loops
from ..ir.loops import Buffer, Expr, Space, Type
from ..ir.types import DType
from ..record import record
from ..targets import Machine
from . import spelling
from .expressions import ExpressionWriter, internal_error
from .writer import FunctionWriter


@record
class Place:
    """Where a buffer is: the pointer to its first element, or for registers one pointer an element."""

    buffer: Buffer
    pointers: tuple[str, ...]


class MemoryWriter:
    """Appends the loads and stores of one kernel. ``places`` maps the names of the buffers in scope."""

    def __init__(self, out: FunctionWriter, machine: Machine) -> None:
        self.out = out
        self.pointer_bits = machine.abi.pointer_bits
        self.places: dict[str, Place] = {}
        self._registers: dict[str, str] = {}
        self._unwritten: dict[str, str] = {}
        self.expressions = ExpressionWriter(out, machine, self.load)

    def allocate(self, buffer: Buffer) -> None:
        """Reserves a stack buffer, or one SSA-able slot for each element of a register buffer."""
        if buffer.space is Space.REG:
            name = spelling.type_name(buffer.type, self.pointer_bits)
            slots = tuple(self.out.alloca(name) for _ in range(math.prod(buffer.shape)))
            self.places[buffer.name] = Place(buffer, slots)
            return
        array = f"[{math.prod(buffer.shape)} x {spelling.memory_name(buffer.dtype)}]"
        align = max(buffer.align, buffer.dtype.size)
        self.places[buffer.name] = Place(buffer, (self.out.alloca(array, align),))

    def load(self, expr: loops.Load) -> str:
        """The value of a Load; a ``bool`` in memory is a byte that counts as true unless it is 0."""
        if expr.buffer.space is Space.REG:
            slot = self._slot(expr.buffer, expr.index)
            if slot not in self._registers:
                name = spelling.type_name(expr.buffer.type, self.pointer_bits)
                self._registers[slot] = self.out.value(f"load {name}, ptr {slot}")
            return self._registers[slot]
        pointer, align = self._address(expr.buffer, expr.index)
        dtype = expr.buffer.dtype
        if expr.active is not None:
            value = self._masked_load(expr.buffer, expr.lanes, pointer, align, expr.active)
        else:
            name = spelling.vector(spelling.memory_name(dtype), expr.lanes)
            value = self.out.value(f"load {name}, ptr {pointer}, align {align}")
        if dtype is DType.BOOL:
            value = self.out.value(f"icmp ne {spelling.vector('i8', expr.lanes)} {value}, zeroinitializer")
        return value

    def store(self, stmt: loops.Store) -> None:
        value, type_ = self.expressions.write(stmt.value), stmt.value.type
        if stmt.buffer.space is Space.REG:
            slot, name = self._slot(stmt.buffer, stmt.index), spelling.type_name(type_, self.pointer_bits)
            self._registers[slot], self._unwritten[slot] = value, f"store {name} {value}, ptr {slot}"
            return
        name = spelling.vector(spelling.memory_name(type_.dtype), type_.lanes)
        if type_.dtype is DType.BOOL:
            value = self.out.value(f"zext {spelling.vector('i1', type_.lanes)} {value} to {name}")
        pointer, align = self._address(stmt.buffer, stmt.index)
        if stmt.active is None:
            self.out.effect(f"store {name} {value}, ptr {pointer}, align {align}")
        elif isinstance(stmt.active, loops.Const) and stmt.active.value == 1 and type_.lanes > 1:
            # LLVM 22 makes a masked store of one narrowed lane a store of the lane before it was narrowed.
            lane = self.out.value(f"extractelement {name} {value}, i32 0")
            self.out.effect(f"store {spelling.memory_name(type_.dtype)} {lane}, ptr {pointer}, align {align}")
        else:
            self._masked_store(type_, value, pointer, align, stmt.active)

    def forget(self, outer: Mapping[str, Place]) -> None:
        """Ends a block: what the registers hold that are not among ``outer`` ones is not needed any more."""
        for name, place in self.places.items():
            if name not in outer:
                for slot in place.pointers:
                    self._unwritten.pop(slot, None)

    def write_registers(self) -> None:
        """Stores what the slots of register buffers hold, before another basic block begins: within one, values go from
        statement to statement without them."""
        for store in self._unwritten.values():
            self.out.effect(store)
        self._unwritten.clear()
        self._registers.clear()

    def pointer(self, pointer: loops.Pointer) -> str:
        """The address of an element."""
        return self._address(pointer.buffer, pointer.index)[0]

    def prefetch(self, pointer: loops.Pointer) -> None:
        """Data, for reading, to be kept in all caches."""
        place, _ = self._address(pointer.buffer, pointer.index, inbounds=False)
        self.out.intrinsic_effect("llvm.prefetch.p0", ("ptr", place), ("i32", "0"), ("i32", "3"), ("i32", "1"))

    # ------------------------------------------------------------ addresses

    def _slot(self, buffer: Buffer, index: tuple[Expr, ...]) -> str:
        offset = 0
        for expr, stride in zip(index, buffer.strides):
            if not isinstance(expr, loops.Const):
                raise internal_error(f"register buffer {buffer.name} needs constant indices")
            offset += int(expr.value) * stride
        return self.places[buffer.name].pointers[offset]

    def _address(self, buffer: Buffer, index: tuple[Expr, ...], *, inbounds: bool = True) -> tuple[str, int]:
        """A pointer to the first element touched and the alignment in bytes that is sure."""
        base = self.places[buffer.name].pointers[0]
        offset, fixed, step = self._linear(index, buffer.strides)
        size = buffer.dtype.size
        align = max(size, math.gcd(max(buffer.align, size), step * size))
        if offset is None and fixed == 0:
            return base, align
        total = str(fixed) if offset is None else self._add(offset, fixed)
        element, width = spelling.memory_name(buffer.dtype), self.pointer_bits
        kind = "getelementptr inbounds" if inbounds else "getelementptr"
        return self.out.value(f"{kind} {element}, ptr {base}, i{width} {total}"), align

    def _linear(self, index: tuple[Expr, ...], strides: tuple[int, ...]) -> tuple[str | None, int, int]:
        """The element offset as (variable part, constant part, a number that divides their sum; 0 for 0)."""
        width = self.pointer_bits
        offset: str | None = None
        fixed = step = 0
        for expr, stride in zip(index, strides):
            rest, constant = _split_constant(expr)
            fixed += constant * stride
            if rest is None:
                continue
            step = math.gcd(step, _divisor(rest) * stride)
            term = self.expressions.write(rest)
            if stride != 1:
                term = self.out.value(f"mul nsw i{width} {term}, {stride}")
            offset = term if offset is None else self.out.value(f"add nsw i{width} {offset}, {term}")
        return offset, fixed, math.gcd(step, fixed)

    def _add(self, offset: str, fixed: int) -> str:
        return offset if fixed == 0 else self.out.value(f"add nsw i{self.pointer_bits} {offset}, {fixed}")

    # ------------------------------------------------------------ masks

    def _mask(self, active: Expr, lanes: int) -> str:
        """Lane ``i`` is on where ``i < active``."""
        count = self.expressions.write(active)
        scalar = f"i{self.pointer_bits}"
        wide = self.expressions.splat(count, scalar, lanes)
        numbers = ", ".join(f"{scalar} {lane}" for lane in range(lanes))
        return self.out.value(f"icmp ult <{lanes} x {scalar}> <{numbers}>, {wide}")

    def _masked_load(self, buffer: Buffer, lanes: int, pointer: str, align: int, active: Expr) -> str:
        name = f"<{lanes} x {spelling.memory_name(buffer.dtype)}>"
        value = self.out.intrinsic(
            f"llvm.masked.load.{_masked_suffix(buffer.type.with_lanes(lanes))}.p0", name,
            ("ptr", pointer), ("i32", str(align)), (f"<{lanes} x i1>", self._mask(active, lanes)),
            (name, "zeroinitializer"),
        )  # fmt: skip
        return value if lanes > 1 else self.out.value(f"extractelement {name} {value}, i32 0")

    def _masked_store(self, type_: Type, value: str, pointer: str, align: int, active: Expr) -> None:
        scalar, lanes = spelling.memory_name(type_.dtype), type_.lanes
        name = f"<{lanes} x {scalar}>"
        wide = value if lanes > 1 else self.expressions.splat(value, scalar, 1)
        self.out.intrinsic_effect(
            f"llvm.masked.store.{_masked_suffix(type_)}.p0",
            (name, wide), ("ptr", pointer), ("i32", str(align)), (f"<{lanes} x i1>", self._mask(active, lanes)),
        )  # fmt: skip


def _masked_suffix(type_: Type) -> str:
    """``v16f32``; one lane is a vector too, and a ``bool`` a byte."""
    scalar = spelling.mangled(Type(DType.U8 if type_.dtype is DType.BOOL else type_.dtype))
    return f"v{type_.lanes}{scalar}"


def _split_constant(expr: Expr) -> tuple[Expr | None, int]:
    """``expr`` as (the rest, a constant summand)."""
    if isinstance(expr, loops.Const):
        return None, int(expr.value)
    if isinstance(expr, loops.Binary) and expr.op == "add" and isinstance(expr.y, loops.Const):
        return expr.x, int(expr.y.value)
    return expr, 0


def _divisor(expr: Expr) -> int:
    """A number that divides ``expr`` whatever its variables are (0 where it is always 0)."""
    if isinstance(expr, loops.Const):
        return abs(int(expr.value))
    if isinstance(expr, loops.Binary):
        if expr.op == "mul":
            return _divisor(expr.x) * _divisor(expr.y)
        if expr.op in ("add", "sub"):
            return math.gcd(_divisor(expr.x), _divisor(expr.y))
    return 1
