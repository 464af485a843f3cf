"""Scheduled loop-IR kernels -> LLVM functions. Prints just what the loop IR says and decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType

from ..blocks import block_name
from ..ir import loops
from ..ir.chunks import kernel_of_chunk
from ..ir.loops import Access, Block, Buffer, Kernel, LoopKind
from ..targets import Machine
from .coded import machine_code
from .expressions import internal_error
from .memory import MemoryWriter, Place
from .writer import Function, FunctionWriter

FREESTANDING = 'nounwind mustprogress willreturn "no-builtins"'
"""``no-builtins`` keeps LLVM from turning loops into calls of memset, memcpy and the like."""

SHORT_SUM = 40
"""Statements that a sum may have when its loop is unrolled."""


SCALAR_BITS = 32


def kernel_function(
    kernel: Kernel,
    machine: Machine,
    *,
    symbol: str | None = None,
    noalias: frozenset[str] = frozenset(),
    linkage: str = "hidden",
    attributes: str = "",
    prefix: str = "",
    unroll_sums: bool = True,
) -> Function:
    """Prints ``kernel`` as the function ``symbol`` (default: the kernel's name). It returns nothing, but where it
    fetches rows: 0, or 1 as soon as a row failed.

    The parameters named in ``noalias`` must not overlap any other memory that the kernel writes (or reads, where
    they are written themselves). ``attributes`` are added to the function's own, and
    ``prefix`` begins the symbols of the block instructions that are invoked; ``unroll_sums`` takes the loops from short
    sums, as GCC does. The function is hidden, not internal:
    LLVM must not move the arguments of its only caller into it, weights folded to literals among them. Of a chunked
    kernel it is the function of one chunk.
    """
    kernel = kernel_of_chunk(kernel)
    writer = KernelWriter(machine, prefix, unroll_sums)
    for number, buffer in enumerate(kernel.params):
        writer.memory.places[buffer.name] = Place(buffer, (f"%p{number}",))
    params = [
        f"{_parameter(buffer, machine, buffer.name in noalias)} %p{number}"
        for number, buffer in enumerate(kernel.params)
    ]
    params += [writer.scalar(number, scalar.name) for number, scalar in enumerate(kernel.scalars)]
    writer.block(kernel.body)
    writer.out.effect("ret i32 0" if kernel.fetches else "ret void")
    name, result = symbol or kernel.name, "i32" if kernel.fetches else "void"
    extra = f" {attributes}" if attributes else ""
    header = f"define {linkage} {result} @{name}({', '.join(params)}) noinline {FREESTANDING}{extra}"
    return writer.out.finish(name, header)


def _parameter(buffer: Buffer, machine: Machine, noalias: bool) -> str:
    if buffer.space is loops.Space.ROWS:
        pointer = machine.abi.pointer_bits // 8
        return f"ptr noundef nonnull align {pointer} dereferenceable({2 * pointer}) readonly"
    size = buffer.dtype.size
    nbytes = size
    for extent in buffer.shape:
        nbytes *= extent
    words = ["ptr", "noundef", "nonnull", f"align {max(buffer.align, size)}"]
    if nbytes:
        words.append(f"dereferenceable({nbytes})")
    if noalias:
        words.append("noalias")
    if buffer.access is Access.READ:
        words.append("readonly")
    return " ".join(words)


class KernelWriter:
    """Appends the statements of one kernel."""

    def __init__(self, machine: Machine, prefix: str = "", unroll_sums: bool = True) -> None:
        self.out = FunctionWriter(hoists=machine.cpu.few_passes)
        self.machine, self.prefix, self.unroll_sums = machine, prefix, unroll_sums
        self.pointer_bits = machine.abi.pointer_bits
        self.memory = MemoryWriter(self.out, machine)
        self.expressions = self.memory.expressions
        self._cases: dict[type[loops.Stmt], Callable[..., None]] = {
            loops.For: self._for,
            loops.If: self._if,
            loops.Let: self._let,
            loops.Alloc: lambda stmt: self.memory.allocate(stmt.buffer),
            loops.Store: self.memory.store,
            loops.Invoke: self._invoke,
            loops.Prefetch: lambda stmt: self.memory.prefetch(stmt.pointer),
            loops.Fetch: self._fetch,
        }

    def block(
        self, block: Block, bindings: Mapping[str, str] = MappingProxyType({}), before: list[str] | None = None
    ) -> None:
        """Prints statements under ``bindings``, of a loop with the lines ``before`` it; the names that they bind go out
        of scope at the end."""
        with self.out.scope(before):
            self._statements(block, bindings)
            self.memory.write_registers()

    def _statements(self, block: Block, bindings: Mapping[str, str]) -> None:
        variables, places = dict(self.expressions.variables), dict(self.memory.places)
        self.expressions.variables.update(bindings)
        for stmt in block:
            self.expressions.statement()
            self._cases[type(stmt)](stmt)
        self.memory.forget(places)
        self.expressions.variables, self.memory.places = variables, places

    def _let(self, stmt: loops.Let) -> None:
        self.expressions.variables[stmt.var.name] = self.expressions.write(stmt.value)

    def _invoke(self, stmt: loops.Invoke) -> None:
        args = [f"ptr {self.memory.pointer(pointer)}" for pointer in stmt.pointers]
        if machine_code(stmt.block, self.machine) is not None:
            name = stmt.block
            args += [f"i32 {self._number(scalar)}" for scalar in stmt.scalars]
        else:
            name = block_name(stmt.block, stmt.numbers)
        self.out.effect(f"call void @{self.prefix}{name}({', '.join(args)})")

    def _fetch(self, stmt: loops.Fetch) -> None:
        """Calls the function in the structure behind the parameter, with what is behind it there and the row."""
        rows, word = self.memory.places[stmt.source.name].pointers[0], f"i{self.pointer_bits}"
        row, target = self.expressions.write(stmt.row), self.memory.pointer(stmt.target)
        self.memory.write_registers()
        function = self.out.value(f"load ptr, ptr {rows}")
        behind = self.out.value(f"getelementptr inbounds ptr, ptr {rows}, {word} 1")
        context = self.out.value(f"load ptr, ptr {behind}")
        result = self.out.value(f"call i32 {function}(ptr {context}, {word} {row}, ptr {target})")
        failed, fetched = self.out.label("failed"), self.out.label("fetched")
        self.out.branch(self.out.value(f"icmp ne i32 {result}, 0"), failed, fetched)
        self.out.start(failed)
        self.out.effect("ret i32 1")
        self.out.start(fetched)

    def scalar(self, number: int, name: str) -> str:
        """Binds scalar ``number``, which is called ``name``, and returns its parameter."""
        value = f"%s{number}"
        if self.pointer_bits != SCALAR_BITS:
            value = self.out.value(f"sext i{SCALAR_BITS} %s{number} to i{self.pointer_bits}")
        self.expressions.variables[name] = value
        return f"i{SCALAR_BITS} noundef %s{number}"

    def _number(self, scalar: int | loops.Expr) -> str:
        if isinstance(scalar, int):
            return str(scalar)
        value = self.expressions.write(scalar)
        if self.pointer_bits == SCALAR_BITS:
            return value
        return self.out.value(f"trunc i{self.pointer_bits} {value} to i{SCALAR_BITS}")

    def _if(self, stmt: loops.If) -> None:
        then, orelse, end = (self.out.label(stem) for stem in ("then", "else", "end"))
        cond = self.expressions.write(stmt.cond)
        self.memory.write_registers()
        self.out.branch(cond, then, orelse if stmt.orelse else end)
        self.out.start(then)
        self.block(stmt.then)
        self.out.jump(end)
        if stmt.orelse:
            self.out.start(orelse)
            self.block(stmt.orelse)
            self.out.jump(end)
        self.out.start(end)

    def _for(self, stmt: loops.For) -> None:
        """A loop with its test at the bottom, and one in front where the extent might be 0."""
        if stmt.kind is LoopKind.UNROLL:
            raise internal_error(f"loop {stmt.var.name} is still to be unrolled")
        extent, known = self.expressions.write(stmt.extent), loops.const_value(stmt.extent)
        if known is not None and known <= 0:
            return
        unrolled = self.unroll_sums and _is_short_sum(stmt)
        if unrolled and known is not None and self.out.hoists:
            for number in range(int(known)):
                self._statements(stmt.body, {stmt.var.name: str(number)})
            return
        self.memory.write_registers()
        preheader = self.out.preheader()
        body, end = self.out.label("loop"), self.out.label("end")
        index = f"i{self.pointer_bits}"
        if known is None:
            some = self.out.value(f"icmp sgt {index} {extent}, 0")
            self.out.branch(some, body, end)
        else:
            self.out.jump(body)
        before, counter, following = self.out.block, self.out.fresh("i"), self.out.fresh("n")
        self.out.start(body)
        patch = len(self.out.lines)
        self.out.effect("")
        self.out.bind(counter)
        self.block(stmt.body, {stmt.var.name: counter}, preheader)
        self.out.effect(f"{following} = add nuw nsw {index} {counter}, 1")
        latch = self.out.block
        self.out.lines[patch] = f"  {counter} = phi {index} [ 0, %{before} ], [ {following}, %{latch} ]"
        last = self.out.fresh("last")
        self.out.effect(f"{last} = icmp eq {index} {following}, {extent}")
        self.out.branch(last, end, body)
        if unrolled:
            self.out.unroll()
        self.out.start(end)


def _is_short_sum(stmt: loops.For) -> bool:
    """A constant number of a few steps that change nothing but registers."""
    return _sum_steps(stmt) <= SHORT_SUM


def _sum_steps(stmt: loops.Stmt) -> float:
    """How many statements run in a statement that changes nothing but registers; infinite for any other."""
    if isinstance(stmt, loops.For):
        extent = loops.const_value(stmt.extent)
        return inf if extent is None else extent * sum(map(_sum_steps, stmt.body))
    changes_registers = isinstance(stmt, loops.Store) and stmt.buffer.space is loops.Space.REG
    return 1 if changes_registers or isinstance(stmt, loops.Let) else inf
