"""The run function of an artifact in C: checks of its arguments, then the steps of the program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

from pycparser import c_ast

from ..ir.loops import Kernel
from ..ir.program import Program, Storage
from ..ir.steps import Branch, Call, Repeat, Step, buffers_of
from ..ir.types import DType
from ..ir.weights import FORMAT, MAGIC
from . import tree
from .spelling import MEMORY_TYPES, pointee
from .symbols import Symbols, comment_text
from .threads import (
    chunk_function,
    chunk_numbers,
    chunked_calls,
    context_fields,
    context_variable,
    parallel_call,
)

_PLACED = (Storage.ARENA, Storage.STATE)
"""What the run function finds at its place in a pool."""

_TESTS = 16
"""Of one condition: printing a syntax tree takes stack by its depth."""


def guarded_run(program: Program, symbols: Symbols) -> c_ast.FuncDef:
    """The run function of a model whose code not every processor has."""
    unfit = tree.unary("!", tree.call(symbols.cpu_fits))
    arguments = (tree.name(name) for name in symbols.parameters)
    body = [_refuse(unfit, f"{symbols.macro}_ERROR_CPU"), c_ast.Return(tree.call(symbols.checked_run, *arguments))]
    storage = (f"{symbols.macro}_ANY_CPU",)
    parameters = parameter_declarations(program, symbols)
    return tree.function(symbols.run, parameters, tree.block(body), "int", storage=storage)


def run_function(
    program: Program, symbols: Symbols, symbol: str, storage: Sequence[str] = (), layer_hook: bool = False
) -> c_ast.FuncDef:
    """Checks of the arguments, then the steps in order; with ``layer_hook``, behind each call its number for
    measurements."""
    symbols.names.push()
    body: list[c_ast.Node] = list(checks(program, symbols))
    used = buffers_of(program.body)
    memory, constants, pointers = memory_pointers(program, symbols, used)
    body += pointers
    chunked = chunked_calls(program)
    if chunked:
        body.append(context_variable(program, symbols))
    else:
        body += [tree.discard(name) for pool, name in zip(program.plan.all_pools, symbols.memory) if not pool.size]
        body += [tree.discard(symbols.threads)] if symbols.threads is not None else []
    for item, argument in zip(program.interfaces, symbols.arguments):
        if item.buffer not in used and not item.type.size and not chunked:
            body.append(tree.discard(argument))
    body.extend(StepPrinter(program, symbols, memory, constants, layer_hook).block(program.body, 1))
    body.append(c_ast.Return(tree.name(f"{symbols.macro}_OK")))
    symbols.names.pop()
    return tree.function(symbol, parameter_declarations(program, symbols), tree.block(body), "int", storage=storage)


def chunk_functions(program: Program, symbols: Symbols) -> Iterator[c_ast.FuncDef]:
    """The functions that run one chunk of a call each."""
    for number, (call, kernel) in chunked_calls(program).items():
        symbols.names.push()
        memory, constants, pointers = memory_pointers(program, symbols, call.args)
        needed = {pointer.init.name for pointer in pointers}
        arguments = zip(program.interfaces, symbols.arguments, strict=True)
        needed |= {argument for item, argument in arguments if item.buffer in call.args}
        printer = StepPrinter(program, symbols, memory, constants, False)
        body = [*context_fields(program, symbols, needed), *pointers, printer.chunk(call, kernel)]
        symbols.names.pop()
        yield chunk_function(symbols, number, body if needed else [tree.discard("context"), *body])


def memory_pointers(
    program: Program, symbols: Symbols, used: Collection[str]
) -> tuple[list[str], str, list[c_ast.Decl]]:
    """What the bytes of the pools and of the file of weights are called, and the declarations of those that calls with
    the buffers ``used`` need."""
    memory = [symbols.names.bind(_memory_name(symbols, pool)) for pool in symbols.memory]
    constants, found = symbols.names.bind("constants"), list[c_ast.Decl]()
    for pool, argument, name in zip(program.plan.all_pools, symbols.memory, memory):
        if any(program.buffers[buffer].storage in _PLACED and buffer in pool.offsets for buffer in used):
            found.append(_bytes_of(argument, name))
    if symbols.weights is not None and not program.constants.keys().isdisjoint(used):
        found.append(_bytes_of(symbols.weights, constants, const=True))
    return memory, constants, found


def reset_function(program: Program, symbols: Symbols, storage: Sequence[str] = ()) -> c_ast.FuncDef:
    """Every byte of the states 0, then those elements that begin with another number."""
    plan, argument = program.plan, symbols.state
    assert plan.state is not None and argument is not None
    symbols.names.push()
    memory, counter = symbols.names.bind("memory"), symbols.names.bind("i")
    size = tree.name(f"{symbols.state_stem}_SIZE")
    body: list[c_ast.Node] = [_bytes_of(argument, memory), _fill(counter, size, tree.name(memory), 0)]
    for item, stem in zip(program.states, symbols.state_stems, strict=True):
        if item.initial:
            elements = _pool_pointer(memory, plan.state.offsets[item.buffer], program.buffers[item.buffer].dtype)
            body.append(_fill(counter, tree.name(f"{stem}_ELEMENTS"), elements, item.initial))
    symbols.names.pop()
    parameter = tree.pointer_parameter(argument, "void", const=False)
    return tree.function(symbols.reset, [parameter], tree.block(body), "void", storage=storage)


def _fill(counter: str, count: c_ast.Node, elements: c_ast.Node, number: int) -> c_ast.For:
    """``for (ptrdiff_t i = 0; i < count; ++i) elements[i] = number;``"""
    start = c_ast.DeclList([tree.declare(counter, MEMORY_TYPES[DType.INDEX], tree.integer(0))])
    store = tree.assign(c_ast.ArrayRef(elements, tree.name(counter)), tree.integer(number))
    return c_ast.For(
        start, tree.binary("<", tree.name(counter), count), tree.unary("++", tree.name(counter)), tree.block([store])
    )


def _bytes_of(argument: str, name: str, *, const: bool = False) -> c_ast.Decl:
    """``unsigned char *const name = argument;``"""
    quals = ["const"] if const else []
    pointer = c_ast.PtrDecl(["const"], c_ast.TypeDecl(name, quals, None, c_ast.IdentifierType(["unsigned char"])))
    return c_ast.Decl(name, [], [], [], [], pointer, tree.name(argument), None)


def _memory_name(symbols: Symbols, pool: str) -> str:
    """What the bytes of a pool are called in the run function."""
    return "memory" if len(symbols.memory) == 1 else f"{pool}_memory"


def parameter_declarations(program: Program, symbols: Symbols) -> list[c_ast.Decl]:
    return [
        tree.pointer_parameter(name, pointee(item, symbols.rows), const=not item.written)
        for item, name in zip(program.parameters, symbols.parameters, strict=True)
    ]


def checks(program: Program, symbols: Symbols) -> Iterator[c_ast.Node]:
    """NULL is an error where there is anything to point at."""
    needed = [name for item, name in zip(program.parameters, symbols.parameters) if item.nbytes]
    for first in range(0, len(needed), _TESTS):
        tests = [tree.binary("==", tree.name(name), tree.name("NULL")) for name in needed[first : first + _TESTS]]
        missing = reduce(lambda one, other: tree.binary("||", one, other), tests)
        yield _refuse(missing, f"{symbols.macro}_ERROR_NULL")
    for parameter, name in zip(program.parameters, symbols.parameters):
        if parameter.by_rows:
            function = c_ast.StructRef(tree.name(name), "->", tree.name("row"))
            yield _refuse(tree.binary("==", function, tree.name("NULL")), f"{symbols.macro}_ERROR_NULL")
    for pool, argument, stem in zip(program.plan.all_pools, symbols.memory, symbols.memory_stems):
        if pool.size and pool.align > 1:
            yield _refuse_misaligned(symbols, argument, f"{stem}_ALIGN")
    if symbols.weights is not None:
        yield _refuse_misaligned(symbols, symbols.weights, f"{symbols.macro}_WEIGHTS_ALIGN")
        yield from _weights_fit(symbols, symbols.weights)
    for item, argument in zip(program.interfaces, symbols.arguments):
        for extent in (each for each in program.extents if each.value == item.name and item in program.inputs):
            value = c_ast.ArrayRef(tree.name(argument), tree.integer(0))
            low = tree.binary("<", value, tree.integer(extent.least))
            high = tree.binary(">", value, tree.integer(extent.bound))
            outside = tree.binary("||", low, high)
            if extent.step > 1:
                rest = tree.binary("%", value, tree.integer(extent.step))
                outside = tree.binary("||", outside, tree.binary("!=", rest, tree.integer(0)))
            yield _refuse(outside, f"{symbols.macro}_ERROR_EXTENT")


def _refuse_misaligned(symbols: Symbols, argument: str, align: str) -> c_ast.Node:
    rest = tree.binary("%", tree.cast("uintptr_t", tree.name(argument)), tree.name(align))
    return _refuse(tree.binary("!=", rest, tree.integer(0)), f"{symbols.macro}_ERROR_ALIGN")


def _weights_fit(symbols: Symbols, argument: str) -> Iterator[c_ast.Node]:
    """The words at the head of the file of weights; all of it is looked at by ``check_weights`` alone."""

    def differs(position: int, wanted: c_ast.Node) -> c_ast.Node:
        words = tree.cast("const uint32_t", tree.name(argument), pointer=True)
        return tree.binary("!=", c_ast.ArrayRef(words, tree.integer(position)), wanted)

    damaged = tree.binary("||", differs(0, tree.integer(MAGIC, "u")), differs(1, tree.integer(FORMAT, "u")))
    yield _refuse(damaged, f"{symbols.macro}_ERROR_WEIGHTS")
    yield _refuse(differs(2, tree.name(f"{symbols.macro}_MODEL_ID")), f"{symbols.macro}_ERROR_MODEL")


def _refuse(condition: c_ast.Node, code: str) -> c_ast.Node:
    return c_ast.If(condition, tree.block([c_ast.Return(tree.name(code))]), None)


class StepPrinter:
    """Prints steps: calls with a comment each, ``if`` and ``for`` around them."""

    def __init__(
        self, program: Program, symbols: Symbols, memory: Sequence[str], constants: str, layer_hook: bool
    ) -> None:
        self.program, self.symbols, self.memory, self.layer_hook = program, symbols, memory, layer_hook
        self.constants = constants
        self.arguments = dict(zip((item.buffer for item in program.interfaces), symbols.arguments, strict=True))
        self.kernels = {kernel.name: kernel for kernel in program.kernels}
        self.number = 0

    def chunk(self, call: Call, kernel: Kernel) -> c_ast.Node:
        """The call of one chunk of a kernel."""
        return tree.call(self.symbols.kernels[call.kernel], *map(self._pointer, call.args), *chunk_numbers(kernel))

    def block(self, body: Sequence[Step], depth: int) -> list[c_ast.Node]:
        found: list[c_ast.Node] = []
        for step in body:
            match step:
                case Call():
                    heading = f"layer {self.number}: {step.summary}" if step.summary else f"layer {self.number}"
                    kernel = self.kernels[step.kernel]
                    call = parallel_call(self.symbols, self.number, kernel) if kernel.chunked else self._call(step)
                    found += [self._comment((heading, comment_text(step.loc)), depth), call]
                    if self.layer_hook:
                        found.append(tree.call(self.symbols.layer_done, tree.integer(self.number)))
                    self.number += 1
                case Branch():
                    found += [self._comment((comment_text(step.loc),), depth), self._branch(step, depth)]
                case Repeat():
                    found += [self._comment((comment_text(step.loc),), depth), self._loop(step, depth)]
        return found

    def _comment(self, paragraphs: Sequence[str], depth: int) -> c_ast.Node:
        return tree.Comment(tree.comment_lines(paragraphs, indent=2 * depth))

    def _call(self, call: Call) -> c_ast.Node:
        pointers = map(self._pointer, call.args)
        made = tree.call(self.symbols.kernels[call.kernel], *pointers, *map(tree.integer, call.scalars))
        if not self.kernels[call.kernel].fetches:
            return made
        return _refuse(tree.binary("!=", made, tree.integer(0)), f"{self.symbols.macro}_ERROR_ROWS")

    def _branch(self, step: Branch, depth: int) -> c_ast.Node:
        condition, then = self.element(step.condition), self.block(step.then, depth + 1)
        orelse = self.block(step.orelse, depth + 1)
        if not then:
            return c_ast.If(tree.unary("!", condition), tree.block(orelse), None)
        return c_ast.If(condition, tree.block(then), tree.block(orelse) if orelse else None)

    def _loop(self, step: Repeat, depth: int) -> c_ast.Node:
        """``for (int64_t pass = 0; pass < limit && pass < count[0] && condition[0]; ++pass)``."""
        self.symbols.names.push()
        counter = self.symbols.names.bind("pass")
        counted = step.limit is not None or step.count is not None or step.number is not None
        test = self.going_on(step, tree.name(counter))
        body = self.block(step.body, depth + 1)
        if step.number is not None:
            body.insert(0, tree.assign(self.element(step.number), tree.name(counter)))
        self.symbols.names.pop()
        if not counted:
            return c_ast.While(test, tree.block(body))
        start = c_ast.DeclList([tree.declare(counter, MEMORY_TYPES[DType.I64], tree.integer(0))])
        return c_ast.For(start, test, tree.unary("++", tree.name(counter)), tree.block(body))

    def going_on(self, step: Repeat, passes: c_ast.Node) -> c_ast.Node:
        """Whether there is another pass of a loop, where ``passes`` are done."""
        tests = [] if step.limit is None else [tree.binary("<", passes, tree.integer(step.limit))]
        if step.count is not None:
            tests.append(tree.binary("<", passes, self.element(step.count)))
        if step.condition is not None:
            tests.append(self.element(step.condition))
        return reduce(lambda one, other: tree.binary("&&", one, other), tests)

    def _pointer(self, name: str) -> c_ast.Node:
        buffer = self.program.buffers[name]
        if buffer.storage in _PLACED:
            place = self.program.plan.places[name]
            return _pool_pointer(self.memory[place.pool], place.offset, buffer.dtype)
        if buffer.storage is not Storage.CONSTANT:
            return tree.name(self.arguments[name])
        if self.program.weights is None:
            return tree.name(self.symbols.constants[name])
        return _pool_pointer(self.constants, self.program.weights.offsets[name], buffer.dtype, const=True)

    def element(self, name: str) -> c_ast.Node:
        """The only element of a buffer."""
        buffer = self.program.buffers[name]
        if buffer.storage not in _PLACED:
            return c_ast.ArrayRef(self._pointer(name), tree.integer(0))
        if buffer.dtype is DType.BOOL:
            place = self.program.plan.places[name]
            return c_ast.ArrayRef(tree.name(self.memory[place.pool]), tree.integer(place.offset))
        return tree.unary("*", self._pointer(name))


def _pool_pointer(memory: str, offset: int, dtype: DType, *, const: bool = False) -> c_ast.Node:
    """``(float *)(void *)(memory + offset)``: by void, as the plan sees to the alignment."""
    place = tree.binary("+", tree.name(memory), tree.integer(offset)) if offset else tree.name(memory)
    quals = "const " if const else ""
    return tree.cast(f"{quals}{MEMORY_TYPES[dtype]}", tree.cast(f"{quals}void", place, pointer=True), pointer=True)
