"""The function that checks a file of weights, as LLVM IR: all that ``ir/weights.py`` says of the file."""

from __future__ import annotations

from ..ir.checksum import crc_table
from ..ir.identity import model_id
from ..ir.program import Program
from ..ir.weights import CHECKED, CONTENT, FORMAT, MAGIC
from ..targets import Machine
from .kernels import FREESTANDING
from .placement import constant_section, function_attributes
from .status import DAMAGED_WEIGHTS, MISALIGNED_POOL, NULL_POINTER, OTHER_MODEL
from .writer import Function, FunctionWriter


def check_weights_symbol(program: Program) -> str:
    """The name of that function."""
    return f"{program.name}_check_weights"


def check_weights_function(program: Program, machine: Machine, word: str, more: str) -> Function:
    """``i32 NAME_check_weights(ptr weights, word size)``, with ``more`` attributes; ``word`` is the integer as wide as
    a pointer."""
    assert program.weights is not None
    out, symbol = FunctionWriter(), check_weights_symbol(program)
    table = f"{program.name}_crc_table"

    def return_if(cond: str, code: int) -> None:
        bad, good = out.label("bad"), out.label("good")
        out.branch(cond, bad, good)
        out.start(bad)
        out.effect(f"ret i32 {code}")
        out.start(good)

    def head(position: int) -> str:
        place = out.value(f"getelementptr inbounds i8, ptr %weights, {word} {4 * position}")
        return out.value(f"load i32, ptr {place}, align 4")

    return_if(out.value("icmp eq ptr %weights, null"), NULL_POINTER)
    address = out.value(f"ptrtoint ptr %weights to {word}")
    low = out.value(f"and {word} {address}, {program.weights.align - 1}")
    return_if(out.value(f"icmp ne {word} {low}, 0"), MISALIGNED_POOL)
    return_if(out.value(f"icmp ult {word} %size, {CONTENT}"), DAMAGED_WEIGHTS)
    return_if(out.value(f"icmp ne i32 {head(0)}, {MAGIC}"), DAMAGED_WEIGHTS)
    return_if(out.value(f"icmp ne i32 {head(1)}, {FORMAT}"), DAMAGED_WEIGHTS)
    return_if(out.value(f"icmp ne i32 {head(2)}, {model_id(program)}"), OTHER_MODEL)
    return_if(out.value(f"icmp ult {word} %size, {program.weights.size}"), DAMAGED_WEIGHTS)
    loop, end, before = out.label("loop"), out.label("end"), out.block
    out.jump(loop)
    out.start(loop)
    position, checksum = out.fresh("at"), out.fresh("checksum")
    following, result = out.fresh("next"), out.fresh("result")
    out.effect(f"{position} = phi {word} [ {CHECKED}, %{before} ], [ {following}, %{loop} ]")
    out.effect(f"{checksum} = phi i32 [ -1, %{before} ], [ {result}, %{loop} ]")
    place = out.value(f"getelementptr inbounds i8, ptr %weights, {word} {position}")
    byte = out.value(f"zext i8 {out.value(f'load i8, ptr {place}, align 1')} to i32")
    mixed = out.value(f"xor i32 {checksum}, {byte}")
    half = out.value(_shifted(out, mixed, table, word))
    out.effect(f"{result} = {_shifted(out, half, table, word)}")
    out.effect(f"{following} = add {word} {position}, 1")
    out.branch(out.value(f"icmp ult {word} {following}, {program.weights.size}"), loop, end)
    out.start(end)
    return_if(out.value(f"icmp ne i32 {out.value(f'xor i32 {result}, -1')}, {head(3)}"), DAMAGED_WEIGHTS)
    out.effect("ret i32 0")
    words = ", ".join(f"i32 {value}" for value in crc_table())
    section = constant_section(machine, program.name)
    out.declarations.add(f"@{table} = internal constant [16 x i32] [{words}]{section}, align 4")
    attributes = function_attributes(machine, symbol, more)
    header = f"define i32 @{symbol}(ptr %weights, {word} %size) {FREESTANDING} {attributes}"
    return out.finish(symbol, header)


def _shifted(out: FunctionWriter, checksum: str, table: str, word: str) -> str:
    """The instruction that makes the checksum after half a byte."""
    index = out.value(f"and i32 {checksum}, 15")
    index = index if word == "i32" else out.value(f"zext i32 {index} to {word}")
    place = out.value(f"getelementptr inbounds [16 x i32], ptr @{table}, {word} 0, {word} {index}")
    found = out.value(f"load i32, ptr {place}, align 4")
    return f"xor i32 {out.value(f'lshr i32 {checksum}, 4')}, {found}"
