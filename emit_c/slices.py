"""A run in slices, in C: the structure in which the caller keeps where it is, and the functions begin and step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pycparser import c_ast

from ..ir.program import Program
from ..ir.slices import Enter, Jump, JumpUnless, Next, Operation, Pass, loop_depth, operations
from ..ir.steps import Call, at_most, buffers_of
from . import tree
from .run_function import StepPrinter, checks, memory_pointers, parameter_declarations
from .spelling import pointee
from .symbols import Symbols
from .threads import chunked_calls, context_variable

_FACTOR = 31
"""Of the polynomial that the seal is, in the addresses that the run was begun with."""


def slice_count(program: Program) -> int:
    """Steps that a run takes at most; loops that nothing bounds count once."""
    return max(at_most(program.body, lambda number, call: 1), 1)


def job_declaration(program: Program, symbols: Symbols) -> Iterator[str]:
    """The structure as the header has it. LLVM's code knows its layout: counts, seal, position, pointers."""
    yield f"typedef struct {symbols.job} {{"
    if depth := loop_depth(program.body):
        yield f"  int64_t passes[{depth}];"
    yield "  uint32_t seal;"
    yield "  uint32_t position;"
    for item, name in zip(program.parameters, symbols.parameters, strict=True):
        yield f"  {'' if item.written else 'const '}{pointee(item, symbols.rows)} *{_field(name)};"
    yield f"}} {symbols.job};"


def begin_source(program: Program, symbols: Symbols, storage: Sequence[str], guarded: bool) -> str:
    """``NAME_begin``: the checks of the run function, then the arguments are kept. With it the seal by which
    ``NAME_step`` knows that it has been called."""
    names, macro = symbols.parameters, symbols.macro
    folded = "".join(
        f"    seal = seal * {_FACTOR}u + (uint32_t)(uintptr_t)job->{_field(name)};\n" for name in names
    )
    prefix = "".join(f"{word}\n" for word in storage)
    seal = f"""{prefix}static uint32_t {symbols.seal}(const {symbols.job} *job)
{{
    uint32_t seal = {macro}_MODEL_ID;
{folded}    return seal | 1u;
}}
"""
    body: list[c_ast.Node] = [_if(tree.binary("==", tree.name("job"), tree.name("NULL")), f"{macro}_ERROR_NULL")]
    if guarded:
        body.append(_if(tree.unary("!", tree.call(symbols.cpu_fits)), f"{macro}_ERROR_CPU"))
    body += checks(program, symbols)
    body += [tree.assign(_of_job(_field(name)), tree.name(name)) for name in names]
    body.append(tree.assign(_of_job("position"), tree.integer(0)))
    body.append(tree.assign(_of_job("seal"), tree.call(symbols.seal, tree.name("job"))))
    body.append(c_ast.Return(tree.name(f"{macro}_OK")))
    parameters = [tree.pointer_parameter("job", symbols.job, const=False), *parameter_declarations(program, symbols)]
    begin = tree.function(symbols.begin, parameters, tree.block(body), "int", storage=storage)
    return f"{seal}\n{tree.print_c(begin)}"


def step_function(program: Program, symbols: Symbols) -> c_ast.FuncDef:
    """``NAME_step``: goes on until a call of a kernel has been made and the next one is due, or all is done."""
    symbols.names.push()
    job, done = tree.name("job"), symbols.names.bind("done")
    macro, used = symbols.macro, buffers_of(program.body)
    body: list[c_ast.Node] = [
        tree.declare(done, "int", tree.integer(0)),
        _if(tree.binary("==", job, tree.name("NULL")), f"{macro}_ERROR_NULL"),
        _if(tree.binary("!=", _of_job("seal"), tree.call(symbols.seal, job)), f"{macro}_ERROR_SEQUENCE"),
    ]
    memory, constants, pointers = memory_pointers(program, symbols, used)
    needed = {pointer.init.name for pointer in pointers}
    chunked = bool(chunked_calls(program))
    for item, name in zip(program.parameters, symbols.parameters, strict=True):
        if item.name in used or name in needed or chunked:
            pointer = tree.pointer_parameter(name, pointee(item, symbols.rows), const=not item.written)
            pointer.type.quals = ["const"]
            pointer.init = _of_job(_field(name))
            body.append(pointer)
    body += [*pointers, *([context_variable(program, symbols)] if chunked else [])]
    printer = _SlicePrinter(StepPrinter(program, symbols, memory, constants, False), symbols, done)
    found = operations(program.body)
    cases = [printer.case(number, each) for number, each in enumerate(found)]
    cases.append(_case(len(found), [tree.assign(_of_job("seal"), tree.integer(0)), _return(f"{macro}_OK")]))
    cases.append(c_ast.Default([_return(f"{macro}_ERROR_SEQUENCE")]))
    switch = c_ast.Switch(_of_job("position"), tree.block(cases))
    body.append(c_ast.For(None, None, None, tree.block([switch])))
    symbols.names.pop()
    parameter = tree.pointer_parameter("job", symbols.job, const=False)
    return tree.function(symbols.step, [parameter], tree.block(body), "int", storage=())


class _SlicePrinter:
    """Prints an operation as a case of the switch."""

    def __init__(self, steps: StepPrinter, symbols: Symbols, done: str) -> None:
        self.steps, self.symbols, self.done = steps, symbols, done

    def case(self, number: int, operation: Operation) -> c_ast.Case:
        return _case(number, [*self._statements(number, operation), c_ast.Break()])

    def _statements(self, number: int, operation: Operation) -> list[c_ast.Node]:
        match operation:
            case Call():
                again = c_ast.If(tree.name(self.done), tree.block([_return(f"{self.symbols.macro}_AGAIN")]), None)
                made = tree.assign(tree.name(self.done), tree.integer(1))
                return [again, *self.steps.block([operation], 3), made, _go(number + 1)]
            case JumpUnless():
                condition = self.steps.element(operation.condition)
                return [_go_if(condition, number + 1, operation.otherwise)]
            case Jump():
                return [_go(operation.target)]
            case Enter():
                return [tree.assign(_passes(operation.depth), tree.integer(0)), _go(number + 1)]
            case Next():
                return [tree.unary("++", _passes(operation.depth)), _go(operation.target)]
            case Pass():
                return self._pass(number, operation)

    def _pass(self, number: int, operation: Pass) -> list[c_ast.Node]:
        repeat, passes = operation.repeat, _passes(operation.depth)
        over = tree.unary("!", self.steps.going_on(repeat, passes))
        found: list[c_ast.Node] = [c_ast.If(over, tree.block([_go(operation.end), c_ast.Break()]), None)]
        if repeat.number is not None:
            found.append(tree.assign(self.steps.element(repeat.number), passes))
        return [*found, _go(number + 1)]


def _field(name: str) -> str:
    """The field that keeps an argument: none of the other fields."""
    return f"{name}_" if name in ("passes", "seal", "position") else name


def _of_job(field: str) -> c_ast.Node:
    return c_ast.StructRef(tree.name("job"), "->", tree.name(field))


def _passes(depth: int) -> c_ast.Node:
    return c_ast.ArrayRef(_of_job("passes"), tree.integer(depth))


def _go(target: int) -> c_ast.Node:
    return tree.assign(_of_job("position"), tree.integer(target))


def _go_if(condition: c_ast.Node, then: int, otherwise: int) -> c_ast.Node:
    return c_ast.If(condition, tree.block([_go(then)]), tree.block([_go(otherwise)]))


def _case(number: int, statements: list[c_ast.Node]) -> c_ast.Case:
    return c_ast.Case(tree.integer(number), statements)


def _return(code: str) -> c_ast.Node:
    return c_ast.Return(tree.name(code))


def _if(condition: c_ast.Node, code: str) -> c_ast.Node:
    return c_ast.If(condition, tree.block([_return(code)]), None)
