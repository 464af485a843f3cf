"""The functions of an artifact that run steps or say something about it: entry, begin and step, reset, identity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from ..ir.chunks import chunk_count, chunk_extents, chunk_strides
from ..ir.identity import model_id
from ..ir.loops import Kernel
from ..ir.program import BufferDecl, Program, Role, Storage
from ..ir.slices import Enter, Jump, JumpUnless, Next, Operation, Pass, operations
from ..ir.steps import Branch, Call, Repeat, Step
from ..ir.weights import FORMAT, MAGIC
from ..record import record
from ..targets import Machine
from .expressions import internal_error
from .guard import Choice, any_cpu, guard_functions, word_symbol
from .kernels import FREESTANDING
from .placement import function_attributes
from .slices import SEAL_FACTOR, passes_offset, pointer_offset, position_offset, seal_offset
from .spelling import memory_name
from .status import (
    AGAIN,
    DAMAGED_WEIGHTS,
    EXTENT_OUT_OF_RANGE,
    FAILED_ROWS,
    LACKING_CPU,
    MISALIGNED_POOL,
    NULL_POINTER,
    OTHER_MODEL,
    WRONG_SEQUENCE,
)
from .threads import parallel_function, parallel_symbol, workers_functions, workers_symbols
from .weights_check import check_weights_function, check_weights_symbol
from .writer import Function, FunctionWriter


@record
class ModuleOptions:
    """How a program is printed.

    ``external_constants``: the constants are hidden symbols of another object. ``addresses``: constants are memory of
    this process, by buffer name (JIT). ``call_symbols``: every call is also a function ``NAME_call_<i>`` with the
    parameters of the entry. ``attributes`` are added to every function. ``unroll_sums``: short sums have no loop.
    ``workers``: the functions that start threads are there with ``addresses``, too.
    ``chosen``: something else sees to it that the processor has what the machine has; the entry is hidden, and whoever
    chooses resets the states.
    """

    external_constants: bool = False
    addresses: Mapping[str, int] | None = None
    call_symbols: bool = False
    attributes: str = ""
    unroll_sums: bool = True
    chosen: bool = False
    workers: bool = False


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
        *([f"{program.name}_begin", f"{program.name}_step"] if program.sliced else []),
        model_id_symbol(program),
        *([reset_symbol(program)] if program.states else []),
        *([check_weights_symbol(program)] if program.weights is not None else []),
        *workers_symbols(program),
    ]


def model_id_symbol(program: Program) -> str:
    """The name of the function that tells which model the library is of."""
    return f"{program.name}_model_id"


def call_symbol(program: Program, number: int) -> str:
    """The name of the function of call ``number``, where ``call_symbols`` asks for it."""
    return f"{program.name}_call_{number}"


def constant_symbol(program: Program, buffer: str) -> str:
    return f"{program.owner}_{buffer}"


class EntryWriter:
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
            else f"%{item.name}" if item.role in (Role.WEIGHTS, Role.THREADS)
            else self.pointers[item.name]
            for item in program.parameters
        ]

    @property
    def functions(self) -> dict[str, list[str]]:
        """The functions that run kernels, by what stands behind the model's name, with their parameters."""
        sliced = {"begin": ["%job", *self.parameters], "step": ["%job"]} if self.program.sliced else {}
        return {"run": self.parameters, **sliced}

    def entries(self, prefix: str, linkage: str) -> list[Function]:
        """These functions, with names that begin with ``prefix``."""
        found = [self.run(f"{prefix}_run", linkage)]
        if self.program.sliced:
            found += [self.begin(f"{prefix}_begin", linkage), self.step(f"{prefix}_step", linkage)]
        return found

    def guarded(self) -> list[Function]:
        """These functions, which ask what the processor has before they run anything else."""
        checked = f"{self.program.name}_checked"
        return [*self.choosing([Choice(checked, self.machine.asked_for)]), *self.entries(checked, "internal")]

    def choosing(self, choices: Sequence[Choice]) -> list[Function]:
        """These functions, which run the first choice that the processor can run, and what they ask."""
        found = [self._chosen(function, given, choices) for function, given in self.functions.items()]
        return [*found, *guard_functions(self.program.name, self.machine, choices, self.options.attributes)]

    def _chosen(self, function: str, given: Sequence[str], choices: Sequence[Choice]) -> Function:
        detection = self.machine.abi.detection
        assert detection is not None
        name, out = self.program.name, FunctionWriter()
        symbol = f"{name}_{function}"
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
        arguments = ", ".join(f"ptr {parameter}" for parameter in given)
        for choice, label in zip(choices, labels):
            out.start(label)
            out.effect(f"ret i32 {out.value(f'tail call i32 @{choice.prefix}_{function}({arguments})')}")
        out.start(lacks)
        out.effect(f"ret i32 {LACKING_CPU}")
        return out.finish(symbol, self._header(symbol, more=any_cpu(detection), given=given))

    def begin(self, symbol: str, linkage: str) -> Function:
        """The checks of the entry, then the arguments are kept."""
        out, bits = FunctionWriter(), self.machine.abi.pointer_bits
        self._return_if(out, out.value("icmp eq ptr %job, null"), NULL_POINTER)
        self._check(out)
        for number, name in enumerate(self.parameters):
            place = self._of_job(out, pointer_offset(self.program, number, bits))
            out.effect(f"store ptr {name}, ptr {place}")
        self._go(out, 0)
        seal = self._seal(out)
        out.effect(f"store i32 {seal}, ptr {self._of_job(out, seal_offset(self.program))}")
        out.effect("ret i32 0")
        return out.finish(symbol, self._header(symbol, linkage, given=self.functions["begin"]))

    def step(self, symbol: str, linkage: str) -> Function:
        """Goes on until a call of a kernel has been made and the next one is due, or all is done."""
        out, bits, found = FunctionWriter(), self.machine.abi.pointer_bits, operations(self.program.body)
        self._return_if(out, out.value("icmp eq ptr %job, null"), NULL_POINTER)
        for number, name in enumerate(self.parameters):
            place = self._of_job(out, pointer_offset(self.program, number, bits))
            out.effect(f"{name} = load ptr, ptr {place}")
        seal = out.value(f"load i32, ptr {self._of_job(out, seal_offset(self.program))}")
        self._return_if(out, out.value(f"icmp ne i32 {seal}, {self._seal(out)}"), WRONG_SEQUENCE)
        done = out.alloca("i1", 1)
        out.effect(f"store i1 0, ptr {done}")
        dispatch, wrong, end = out.label("dispatch"), out.label("wrong"), out.label("end")
        labels = [out.label("operation") for _ in found]
        out.jump(dispatch)
        out.start(dispatch)
        position = out.value(f"load i32, ptr {self._of_job(out, position_offset(self.program))}")
        cases = " ".join(f"i32 {number}, label %{label}" for number, label in enumerate([*labels, end]))
        out.effect(f"switch i32 {position}, label %{wrong} [{cases}]")
        calls = count()
        for number, (operation, label) in enumerate(zip(found, labels, strict=True)):
            out.start(label)
            self._operation(out, number, operation, done, calls)
            out.jump(dispatch)
        out.start(wrong)
        out.effect(f"ret i32 {WRONG_SEQUENCE}")
        out.start(end)
        out.effect(f"store i32 0, ptr {self._of_job(out, seal_offset(self.program))}")
        out.effect("ret i32 0")
        return out.finish(symbol, self._header(symbol, linkage, given=self.functions["step"]))

    def _operation(
        self, out: FunctionWriter, number: int, operation: Operation, done: str, calls: Iterator[int]
    ) -> None:
        match operation:
            case Call():
                self._return_if(out, out.value(f"load i1, ptr {done}"), AGAIN)
                self._call(out, operation, next(calls))
                out.effect(f"store i1 1, ptr {done}")
                self._go(out, number + 1)
            case JumpUnless():
                flag = self._flag(out, operation.condition)
                self._go(out, out.value(f"select i1 {flag}, i32 {number + 1}, i32 {operation.otherwise}"))
            case Jump():
                self._go(out, operation.target)
            case Enter():
                out.effect(f"store i64 0, ptr {self._of_job(out, passes_offset(operation.depth))}, align 4")
                self._go(out, number + 1)
            case Next():
                place = self._of_job(out, passes_offset(operation.depth))
                passes = out.value(f"load i64, ptr {place}, align 4")
                out.effect(f"store i64 {out.value(f'add i64 {passes}, 1')}, ptr {place}, align 4")
                self._go(out, operation.target)
            case Pass():
                passes = out.value(f"load i64, ptr {self._of_job(out, passes_offset(operation.depth))}, align 4")
                over, following = out.label("over"), out.label("following")
                self._go_on(out, operation.repeat, passes, over)
                self._go(out, number + 1)
                out.jump(following)
                out.start(over)
                self._go(out, operation.end)
                out.jump(following)
                out.start(following)

    def _of_job(self, out: FunctionWriter, offset: int) -> str:
        return out.value(f"getelementptr inbounds i8, ptr %job, {self.word} {offset}")

    def _go(self, out: FunctionWriter, target: int | str) -> None:
        out.effect(f"store i32 {target}, ptr {self._of_job(out, position_offset(self.program))}")

    def _seal(self, out: FunctionWriter) -> str:
        """What tells the arguments of a run from others, never 0."""
        seal = str(model_id(self.program))
        for name in self.parameters:
            address = out.value(f"ptrtoint ptr {name} to {self.word}")
            low = address if self.word == "i32" else out.value(f"trunc {self.word} {address} to i32")
            seal = out.value(f"add i32 {out.value(f'mul i32 {seal}, {SEAL_FACTOR}')}, {low}")
        return out.value(f"or i32 {seal}, 1")

    def run(self, symbol: str, linkage: str) -> Function:
        """The entry: checks its arguments and runs all steps in order."""
        out = FunctionWriter()
        self._check(out)
        self._steps(out, self.program.body, count())
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
            attributes = f"{more} {self.options.attributes}".strip()
            found.append(check_weights_function(self.program, self.machine, self.word, attributes))
        if self.program.threads and (self.options.addresses is None or self.options.workers):
            found += workers_functions(self.program, self.machine, f"{more} {self.options.attributes}".strip())
        return found

    def chunks(self) -> list[Function]:
        """What the functions that run kernels need where these are chunked."""
        found = [
            self._chunk(number, call, kernel)
            for number, call in enumerate(self.program.calls)
            if (kernel := self.kernels[call.kernel]).chunked
        ]
        if found:
            symbol = parallel_symbol(self.program.name)
            found.append(parallel_function(self.program.name, self.machine, function_attributes(self.machine, symbol)))
        return found

    def _chunk(self, number: int, call: Call, kernel: Kernel) -> Function:
        """``void NAME_chunk_<number>(ptr context, i32 chunk)``: one chunk of a call, with the arguments of the run."""
        out = FunctionWriter()
        for place, name in enumerate(self._in_context):
            at = out.value(f"getelementptr inbounds ptr, ptr %context, {self.word} {place}")
            out.effect(f"{name} = load ptr, ptr {at}")
        args = [f"ptr {self._pointer(out, self.program.buffers[name])}" for name in call.args]
        for level, (extent, stride) in enumerate(zip(chunk_extents(kernel), chunk_strides(kernel), strict=True)):
            value = "%chunk" if stride == 1 else out.value(f"sdiv i32 %chunk, {stride}")
            args.append(f"i32 {value if level == 0 else out.value(f'srem i32 {value}, {extent}')}")
        out.effect(f"call void @{self.program.owner}_{call.kernel}({', '.join(args)})")
        out.effect("ret void")
        symbol = self._chunk_symbol(number)
        attributes = function_attributes(self.machine, symbol, self.options.attributes)
        header = f"define internal void @{symbol}(ptr %context, i32 %chunk) {FREESTANDING} {attributes}"
        return out.finish(symbol, header)

    def _chunk_symbol(self, number: int) -> str:
        return f"{self.program.name}_chunk_{number}"

    @property
    def _in_context(self) -> list[str]:
        """The arguments of a run that kernels may need, in the order of the context."""
        both = zip(self.program.parameters, self.parameters, strict=True)
        return [name for item, name in both if item.role is not Role.THREADS]

    def _parallel(self, out: FunctionWriter, number: int, kernel: Kernel) -> None:
        """All chunks of a call."""
        names = self._in_context
        context = out.alloca(f"[{max(len(names), 1)} x ptr]", self.machine.abi.pointer_bits // 8)
        for place, name in enumerate(names):
            at = out.value(f"getelementptr inbounds ptr, ptr {context}, {self.word} {place}")
            out.effect(f"store ptr {name}, ptr {at}")
        task, chunks = self._chunk_symbol(number), chunk_count(kernel)
        function = parallel_symbol(self.program.name)
        out.effect(f"call void @{function}(ptr %threads, ptr @{task}, ptr {context}, i32 {chunks})")

    def _model_id(self, more: str) -> Function:
        out, symbol = FunctionWriter(), model_id_symbol(self.program)
        out.effect(f"ret i32 {model_id(self.program)}")
        attributes = function_attributes(self.machine, symbol, f"{more} {self.options.attributes}".strip())
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
        attributes = function_attributes(self.machine, symbol, f"{more} {self.options.attributes}".strip())
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

    def _steps(self, out: FunctionWriter, body: Sequence[Step], numbers: Iterator[int]) -> None:
        """``numbers`` counts calls, in the order of the text."""
        for step in body:
            match step:
                case Call():
                    self._call(out, step, next(numbers))
                case Branch():
                    self._branch(out, step, numbers)
                case Repeat():
                    self._loop(out, step, numbers)

    def _branch(self, out: FunctionWriter, step: Branch, numbers: Iterator[int]) -> None:
        then, orelse, end = out.label("then"), out.label("else"), out.label("end")
        out.branch(self._flag(out, step.condition), then, orelse)
        for label, body in ((then, step.then), (orelse, step.orelse)):
            out.start(label)
            self._steps(out, body, numbers)
            out.jump(end)
        out.start(end)

    def _loop(self, out: FunctionWriter, step: Repeat, numbers: Iterator[int]) -> None:
        """The number of the pass is in a variable of its own: what kernels see of it is a copy."""
        counter, test, end = out.alloca("i64", 8), out.label("test"), out.label("end")
        out.effect(f"store i64 0, ptr {counter}, align 8")
        out.jump(test)
        out.start(test)
        done = out.value(f"load i64, ptr {counter}, align 8")
        self._go_on(out, step, done, end)
        self._steps(out, step.body, numbers)
        out.effect(f"store i64 {out.value(f'add i64 {done}, 1')}, ptr {counter}, align 8")
        out.jump(test)
        out.start(end)

    def _go_on(self, out: FunctionWriter, step: Repeat, done: str, end: str) -> None:
        """To the block ``end`` where a loop is over after ``done`` passes, else its number is stored."""
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
        self._call(out, call, number)
        out.effect("ret i32 0")
        symbol = call_symbol(self.program, number)
        return out.finish(symbol, self._header(symbol))

    def _header(self, symbol: str, linkage: str = "", more: str = "", given: Sequence[str] | None = None) -> str:
        params = ", ".join(f"ptr {name}" for name in (self.parameters if given is None else given))
        attributes = function_attributes(self.machine, symbol, f"{more} {self.options.attributes}".strip())
        own = f"{linkage} " if linkage else ""
        return f"define {own}i32 @{symbol}({params}) {'noinline ' if linkage else ''}{FREESTANDING} {attributes}"

    def _check(self, out: FunctionWriter) -> None:
        used = [(item, name) for item, name in zip(self.program.parameters, self.parameters) if item.nbytes]
        for _, name in used:
            self._return_if(out, out.value(f"icmp eq ptr {name}, null"), NULL_POINTER)
        for item, name in used:
            if item.by_rows:
                function = out.value(f"load ptr, ptr {name}")
                self._return_if(out, out.value(f"icmp eq ptr {function}, null"), NULL_POINTER)
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
                if extent.step > 1:
                    rest = out.value(f"srem i64 {given}, {extent.step}")
                    self._return_if(out, out.value(f"icmp ne i64 {rest}, 0"), EXTENT_OUT_OF_RANGE)

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

    def _call(self, out: FunctionWriter, call: Call, number: int) -> None:
        kernel = self.kernels[call.kernel]
        if len(kernel.params) != len(call.args):
            reason = f"call of {call.kernel} with {len(call.args)} arguments for {len(kernel.params)} parameters"
            raise internal_error(reason)
        if kernel.chunked:
            self._parallel(out, number, kernel)
            return
        args = [f"ptr {self._pointer(out, self.program.buffers[name])}" for name in call.args]
        args += [f"i32 {scalar}" for scalar in call.scalars]
        made = f"@{self.program.owner}_{call.kernel}({', '.join(args)})"
        if not kernel.fetches:
            out.effect(f"call void {made}")
            return
        failed = out.value(f"call i32 {made}")
        self._return_if(out, out.value(f"icmp ne i32 {failed}, 0"), FAILED_ROWS)

    def _pointer(self, out: FunctionWriter, decl: BufferDecl) -> str:
        if decl.storage in (Storage.INPUT, Storage.OUTPUT, Storage.ROWS):
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
