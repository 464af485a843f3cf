"""A whole program -> the text of one LLVM module: constants, kernels and the entry function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from ..ir.aliasing import disjoint_params
from ..ir.identity import model_id
from ..ir.loops import For, If, Invoke, Kernel
from ..ir.loops_rewrite import walk_stmts
from ..ir.program import BufferDecl, Program, Role, Storage
from ..ir.steps import Branch, Call, Repeat, Step
from ..ir.weights import FORMAT, MAGIC
from ..targets import Machine
from . import backend
from .coded import block_functions, code_function, with_known_blocks
from .expressions import internal_error
from .guard import Choice, any_cpu, guard_functions, word_definition, word_symbol
from .kernels import FREESTANDING, kernel_function
from .spelling import memory_name
from .status import DAMAGED_WEIGHTS, EXTENT_OUT_OF_RANGE, LACKING_CPU, MISALIGNED_POOL, NULL_POINTER, OTHER_MODEL
from .weights_check import check_weights_function, check_weights_symbol
from .writer import Function, FunctionWriter

SIZE_ATTRIBUTES = "optsize"


@dataclass(frozen=True)
class ModuleOptions:
    """How a program is printed.

    ``external_constants``: the constants are hidden symbols of another object. ``addresses``: constants are memory of
    this process, by buffer name (JIT). ``call_symbols``: every call is also a function ``NAME_call_<i>`` with the
    parameters of the entry. ``attributes`` are added to every function. ``unroll_sums``: short sums have no loop.
    ``chosen``: something else sees to it that the processor has what the machine has; the entry is hidden, and whoever
    chooses resets the states.
    """

    external_constants: bool = False
    addresses: Mapping[str, int] | None = None
    call_symbols: bool = False
    attributes: str = ""
    unroll_sums: bool = True
    chosen: bool = False


def run_symbol(program: Program) -> str:
    """The name of the entry function."""
    return f"{program.name}_run"


def reset_symbol(program: Program) -> str:
    """The name of the function that gives the states their first values."""
    return f"{program.name}_reset"


def exported_symbols(program: Program) -> list[str]:
    """What the header declares, the entry first."""
    return [
        run_symbol(program),
        model_id_symbol(program),
        *([reset_symbol(program)] if program.states else []),
        *([check_weights_symbol(program)] if program.weights is not None else []),
    ]


def model_id_symbol(program: Program) -> str:
    """The name of the function that tells which model the library is of."""
    return f"{program.name}_model_id"


def call_symbol(program: Program, number: int) -> str:
    """The name of the function of call ``number``, where ``call_symbols`` asks for it."""
    return f"{program.name}_call_{number}"


def foreign_kernels(program: Program) -> dict[str, Kernel]:
    """The kernels whose C is the user's, by symbol: what another object or this process has to define."""
    return {f"{program.name}_{kernel.name}": kernel for kernel in program.kernels if kernel.foreign is not None}


def constant_symbol(program: Program, buffer: str) -> str:
    return f"{program.name}_{buffer}"


def constant_array(program: Program, buffer: str) -> np.ndarray:
    """A constant as its declaration says, dense and little endian."""
    array, decl = program.constants[buffer], program.buffers[buffer]
    if array.dtype != decl.dtype.numpy or array.nbytes != decl.nbytes:
        raise internal_error(f"constant {buffer} is {array.dtype}{list(array.shape)}, declared {decl}")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def constant_align(program: Program, machine: Machine) -> dict[str, int]:
    """The alignment of each constant: what its uses ask for, and a cache line on machines that have one."""
    least = machine.target.arena_align if machine.target.hosted else 4
    align = {name: max(least, decl.dtype.size) for name, decl in program.buffers.items() if name in program.constants}
    kernels = {kernel.name: kernel for kernel in program.kernels}
    for call in program.calls:
        for param, name in zip(kernels[call.kernel].params, call.args):
            if name in align:
                align[name] = max(align[name], param.align)
    return align


def module_text(program: Program, machine: Machine, options: ModuleOptions | None = None) -> str:
    """The module that defines ``NAME_run``; everything else in it is internal or hidden."""
    how = options or ModuleOptions()
    program = with_known_blocks(program, machine)
    noalias = disjoint_params(program)
    own = (kernel for kernel in program.kernels if kernel.foreign is None)
    functions = [_kernel(program, kernel, machine, noalias[kernel.name], how) for kernel in own]
    codes, meanings = block_functions(program, machine)
    functions += [_kernel(program, block, machine, frozenset(), how) for block in meanings]
    functions += [_coded(f"{program.name}_{row}", row, code) for row, code in codes.items()]
    entry = _EntryWriter(program, machine, how)
    guarded = bool(machine.asked_for) and how.addresses is None and not how.chosen
    functions += entry.guarded_run() if guarded else [entry.run()]
    if not how.chosen:
        functions += entry.besides(guarded)
    if how.call_symbols:
        functions.extend(entry.single(number, call) for number, call in enumerate(program.calls))
    declarations = sorted(set(chain.from_iterable(function.declarations for function in functions)))
    hidden = "" if how.addresses is not None else "hidden "
    for symbol, kernel in foreign_kernels(program).items():
        declarations.append(f"declare {hidden}void @{symbol}({', '.join(['ptr'] * len(kernel.params))}) nounwind")
    parts = (
        f'source_filename = "{program.name}"',
        f'target triple = "{backend.triple(machine)}"',
        *_constants(program, machine, how),
        *([word_definition(program.name)] if guarded else []),
        *declarations,
        *(function.text for function in functions),
    )
    return "\n".join(parts)


def choosing_text(program: Program, machine: Machine, choices: Sequence[Choice]) -> str:
    """The module that defines ``NAME_run`` as the first of ``choices``, functions of other objects, that the processor
    can run. ``program`` has the interface and the states of all."""
    entry = _EntryWriter(program, machine, ModuleOptions())
    functions = [*entry.choosing_run(choices), *entry.besides(guarded=True)]
    parts = (
        f'source_filename = "{program.name}"',
        f'target triple = "{backend.triple(machine)}"',
        word_definition(program.name),
        *sorted(set(chain.from_iterable(function.declarations for function in functions))),
        *(f"declare hidden i32 @{choice.symbol}({', '.join(['ptr'] * len(entry.parameters))})" for choice in choices),
        *(function.text for function in functions),
    )
    return "\n".join(parts)


def _kernel(
    program: Program, kernel: Kernel, machine: Machine, noalias: frozenset[str], options: ModuleOptions
) -> Function:
    symbol = f"{program.name}_{kernel.name}"
    attributes = SIZE_ATTRIBUTES if _only_invokes(kernel) else options.attributes
    return kernel_function(
        kernel, machine, symbol=symbol, noalias=noalias, attributes=_attributes(symbol, attributes),
        prefix=f"{program.name}_", unroll_sums=options.unroll_sums,
    )  # fmt: skip


def _only_invokes(kernel: Kernel) -> bool:
    """Whether its time is spent in block instructions."""
    return all(isinstance(stmt, (For, If, Invoke)) for stmt in walk_stmts(kernel.body))


def _coded(symbol: str, row: str, code: bytes) -> Function:
    return code_function(symbol, row, code, _attributes(symbol, ""))


def _attributes(symbol: str, more: str) -> str:
    """A section for each function, so that a linker can place and drop it."""
    return f'{more} section ".text.{symbol}"'.strip()


def _constants(program: Program, machine: Machine, options: ModuleOptions) -> list[str]:
    if options.addresses is not None or program.weights is not None:
        return []
    lines = []
    for name, align in constant_align(program, machine).items():
        symbol, size = constant_symbol(program, name), program.buffers[name].nbytes
        if options.external_constants:
            lines.append(f"@{symbol} = external hidden constant [{size} x i8], align {align}")
            continue
        text = _quoted(constant_array(program, name).tobytes())
        section = f'section ".rodata.{program.name}"'
        lines.append(f"@{symbol} = internal constant [{size} x i8] {text}, {section}, align {align}")
    return lines


def _quoted(data: bytes) -> str:
    return 'c"\\' + data.hex("\\") + '"' if data else "zeroinitializer"


class _EntryWriter:
    """Prints the entry and the functions of single calls: same parameters, different calls."""

    def __init__(self, program: Program, machine: Machine, options: ModuleOptions) -> None:
        self.program = program
        self.machine = machine
        self.options = options
        self.word = f"i{machine.abi.pointer_bits}"
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.pools = [f"%arena{number or ''}" for number in range(len(program.plan.pools))]
        self.pools += ["%state"] * (program.plan.state is not None)
        self.pointers = {side.buffer: f"%a{number}" for number, side in enumerate(program.interfaces)}
        pools = iter(self.pools)
        self.parameters = [
            next(pools) if item.role in (Role.POOL, Role.STATE)
            else "%weights" if item.role is Role.WEIGHTS
            else self.pointers[item.name]
            for item in program.parameters
        ]

    def guarded_run(self) -> list[Function]:
        """The entry, which asks what the processor has before it runs anything else."""
        checked = f"{run_symbol(self.program)}_checked"
        return [*self.choosing_run([Choice(checked, self.machine.asked_for)]), self.run(checked, "internal")]

    def choosing_run(self, choices: Sequence[Choice]) -> list[Function]:
        """The entry, which runs the first choice that the processor can run, and what it asks."""
        detection = self.machine.abi.detection
        assert detection is not None
        symbol, name, out = run_symbol(self.program), self.program.name, FunctionWriter()
        known = out.value(f"load atomic i32, ptr @{word_symbol(name)} monotonic, align 4")
        first, chosen, lacks = out.label("first"), out.label("chosen"), out.label("lacks")
        out.branch(out.value(f"icmp eq i32 {known}, 0"), first, chosen)
        out.start(first)
        found = out.value(f"call i32 @{name}_check_cpu()")
        out.jump(chosen)
        out.start(chosen)
        number = out.value(f"phi i32 [ {known}, %entry ], [ {found}, %{first} ]")
        labels = [out.label("fits") for _ in choices]
        cases = " ".join(f"i32 {n}, label %{label}" for n, label in enumerate(labels, 1))
        out.effect(f"switch i32 {number}, label %{lacks} [{cases}]")
        arguments = ", ".join(f"ptr {parameter}" for parameter in self.parameters)
        for choice, label in zip(choices, labels):
            out.start(label)
            out.effect(f"ret i32 {out.value(f'tail call i32 @{choice.symbol}({arguments})')}")
        out.start(lacks)
        out.effect(f"ret i32 {LACKING_CPU}")
        guard = out.finish(symbol, self._header(symbol, more=any_cpu(detection)))
        return [guard, *guard_functions(name, self.machine, choices, self.options.attributes)]

    def run(self, symbol: str | None = None, linkage: str = "") -> Function:
        """The entry: checks its arguments and runs all steps in order."""
        symbol = symbol or run_symbol(self.program)
        linkage = linkage or ("hidden" if self.options.chosen else "")
        out = FunctionWriter()
        self._check(out)
        self._steps(out, self.program.body)
        out.effect("ret i32 0")
        return out.finish(symbol, self._header(symbol, linkage))

    def besides(self, guarded: bool) -> list[Function]:
        """What the header declares besides the entry; for any processor where that is guarded."""
        detection = self.machine.abi.detection
        more = any_cpu(detection) if guarded and detection is not None else ""
        found = [self._model_id(more)] if self.options.addresses is None else []
        if self.program.states:
            found.append(self.reset(more))
        if self.program.weights is not None:
            symbol = check_weights_symbol(self.program)
            attributes = _attributes(symbol, f"{more} {self.options.attributes}".strip())
            found.append(check_weights_function(self.program, self.word, attributes))
        return found

    def _model_id(self, more: str) -> Function:
        out, symbol = FunctionWriter(), model_id_symbol(self.program)
        out.effect(f"ret i32 {model_id(self.program)}")
        attributes = _attributes(symbol, f"{more} {self.options.attributes}".strip())
        return out.finish(symbol, f"define i32 @{symbol}() {FREESTANDING} {attributes}")

    def reset(self, more: str) -> Function:
        """Every byte of the states 0, then those elements that begin with another number."""
        plan, out = self.program.plan, FunctionWriter()
        assert plan.state is not None
        self._fill(out, "%state", "i8", plan.state.size, 0)
        for item in self.program.states:
            if item.initial:
                decl = self.program.buffers[item.buffer]
                place = out.value(f"getelementptr inbounds i8, ptr %state, {self.word} {plan.state.offsets[decl.name]}")
                self._fill(out, place, memory_name(decl.dtype), item.type.size, item.initial)
        out.effect("ret void")
        symbol = reset_symbol(self.program)
        attributes = _attributes(symbol, f"{more} {self.options.attributes}".strip())
        return out.finish(symbol, f"define void @{symbol}(ptr %state) {FREESTANDING} {attributes}")

    def _fill(self, out: FunctionWriter, start: str, type_: str, count: int, number: int) -> None:
        """``count`` elements, at least one."""
        counter, fill, end = out.alloca(self.word, 8), out.label("fill"), out.label("end")
        out.effect(f"store {self.word} 0, ptr {counter}, align 8")
        out.jump(fill)
        out.start(fill)
        at = out.value(f"load {self.word}, ptr {counter}, align 8")
        place = out.value(f"getelementptr inbounds {type_}, ptr {start}, {self.word} {at}")
        out.effect(f"store {type_} {number}, ptr {place}")
        behind = out.value(f"add {self.word} {at}, 1")
        out.effect(f"store {self.word} {behind}, ptr {counter}, align 8")
        out.branch(out.value(f"icmp ult {self.word} {behind}, {count}"), fill, end)
        out.start(end)

    def _steps(self, out: FunctionWriter, body: Sequence[Step]) -> None:
        for step in body:
            match step:
                case Call():
                    self._call(out, step)
                case Branch():
                    self._branch(out, step)
                case Repeat():
                    self._loop(out, step)

    def _branch(self, out: FunctionWriter, step: Branch) -> None:
        then, orelse, end = out.label("then"), out.label("else"), out.label("end")
        out.branch(self._flag(out, step.condition), then, orelse)
        for label, body in ((then, step.then), (orelse, step.orelse)):
            out.start(label)
            self._steps(out, body)
            out.jump(end)
        out.start(end)

    def _loop(self, out: FunctionWriter, step: Repeat) -> None:
        """The number of the pass is in a variable of its own: what kernels see of it is a copy."""
        counter, test, end = out.alloca("i64", 8), out.label("test"), out.label("end")
        out.effect(f"store i64 0, ptr {counter}, align 8")
        out.jump(test)
        out.start(test)
        done = out.value(f"load i64, ptr {counter}, align 8")
        conditions = [] if step.limit is None else [("slt", str(step.limit))]
        if step.count is not None:
            conditions.append(("slt", self._element(out, step.count)))
        tests = [out.value(f"icmp {order} i64 {done}, {bound}") for order, bound in conditions]
        if step.condition is not None:
            tests.append(self._flag(out, step.condition))
        for going in tests:
            on = out.label("on")
            out.branch(going, on, end)
            out.start(on)
        if step.number is not None:
            out.effect(f"store i64 {done}, ptr {self._pointer(out, self.program.buffers[step.number])}, align 8")
        self._steps(out, step.body)
        out.effect(f"store i64 {out.value(f'add i64 {done}, 1')}, ptr {counter}, align 8")
        out.jump(test)
        out.start(end)

    def _element(self, out: FunctionWriter, name: str) -> str:
        """The only element of a buffer."""
        decl = self.program.buffers[name]
        pointer, type_ = self._pointer(out, decl), memory_name(decl.dtype)
        return out.value(f"load {type_}, ptr {pointer}, align {decl.dtype.size}")

    def _flag(self, out: FunctionWriter, name: str) -> str:
        return out.value(f"icmp ne i8 {self._element(out, name)}, 0")

    def single(self, number: int, call: Call) -> Function:
        """The function that makes one call and checks nothing."""
        out = FunctionWriter()
        self._call(out, call)
        out.effect("ret i32 0")
        symbol = call_symbol(self.program, number)
        return out.finish(symbol, self._header(symbol))

    def _header(self, symbol: str, linkage: str = "", more: str = "") -> str:
        params = ", ".join(f"ptr {name}" for name in self.parameters)
        attributes = _attributes(symbol, f"{more} {self.options.attributes}".strip())
        own = f"{linkage} " if linkage else ""
        return f"define {own}i32 @{symbol}({params}) {'noinline ' if linkage else ''}{FREESTANDING} {attributes}"

    def _check(self, out: FunctionWriter) -> None:
        used = [(item, name) for item, name in zip(self.program.parameters, self.parameters) if item.nbytes]
        for _, name in used:
            self._return_if(out, out.value(f"icmp eq ptr {name}, null"), NULL_POINTER)
        for item, name in used:
            if item.align > 1:
                address = out.value(f"ptrtoint ptr {name} to {self.word}")
                low = out.value(f"and {self.word} {address}, {item.align - 1}")
                self._return_if(out, out.value(f"icmp ne {self.word} {low}, 0"), MISALIGNED_POOL)
        if self.program.weights is not None:
            self._check_head(out)
        buffers = {side.name: side.buffer for side in self.program.inputs}
        for extent in self.program.extents:
            if extent.value in buffers:
                given = self._element(out, buffers[extent.value])
                self._return_if(out, out.value(f"icmp slt i64 {given}, {extent.least}"), EXTENT_OUT_OF_RANGE)
                self._return_if(out, out.value(f"icmp sgt i64 {given}, {extent.bound}"), EXTENT_OUT_OF_RANGE)

    def _check_head(self, out: FunctionWriter) -> None:
        """The words at the head of the file of weights; all of it is looked at by ``check_weights`` alone."""
        wanted = ((MAGIC, DAMAGED_WEIGHTS), (FORMAT, DAMAGED_WEIGHTS), (model_id(self.program), OTHER_MODEL))
        for position, (word, code) in enumerate(wanted):
            place = out.value(f"getelementptr inbounds i8, ptr %weights, {self.word} {4 * position}")
            found = out.value(f"load i32, ptr {place}, align 4")
            self._return_if(out, out.value(f"icmp ne i32 {found}, {word}"), code)

    def _return_if(self, out: FunctionWriter, cond: str, code: int) -> None:
        bad, good = out.label("bad"), out.label("good")
        out.branch(cond, bad, good)
        out.start(bad)
        out.effect(f"ret i32 {code}")
        out.start(good)

    def _call(self, out: FunctionWriter, call: Call) -> None:
        params = self.kernels[call.kernel].params
        if len(params) != len(call.args):
            raise internal_error(f"call of {call.kernel} with {len(call.args)} arguments for {len(params)} parameters")
        args = [f"ptr {self._pointer(out, self.program.buffers[name])}" for name in call.args]
        args += [f"i32 {scalar}" for scalar in call.scalars]
        out.effect(f"call void @{self.program.name}_{call.kernel}({', '.join(args)})")

    def _pointer(self, out: FunctionWriter, decl: BufferDecl) -> str:
        if decl.storage in (Storage.INPUT, Storage.OUTPUT):
            return self.pointers[decl.name]
        if decl.storage is Storage.CONSTANT:
            if self.program.weights is not None:
                offset = self.program.weights.offsets[decl.name]
                return out.value(f"getelementptr inbounds i8, ptr %weights, {self.word} {offset}")
            if self.options.addresses is None:
                return f"@{constant_symbol(self.program, decl.name)}"
            return f"inttoptr ({self.word} {self.options.addresses[decl.name]} to ptr)"
        pool, offset = self.program.plan.places[decl.name]
        start = self.pools[pool]
        return start if offset == 0 else out.value(f"getelementptr inbounds i8, ptr {start}, {self.word} {offset}")
