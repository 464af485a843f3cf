"""The machine code of block instructions is what the assembly in the C runtime becomes."""

from __future__ import annotations

import io

import pytest
from ccml.emit_llvm.coded import block_functions, machine_code
from ccml.emit_llvm.elf import defined_symbols
from ccml.emit_llvm.machine_code import MACHINE_CODE
from ccml.emit_llvm.objects import emit_ir, emit_objects
from ccml.emulation.assemble import architectures, table
from ccml.program.build import lower_graph
from ccml.targets import select
from elftools.elf.elffile import ELFFile

from tests.schedule.graphs import integer_conv_graph
from tests.tools import needs

CORES = ("m0", "m3", "m4", "m7", "m33", "m55", "m85")


@needs("arm-none-eabi-gcc")
def test_the_table_is_up_to_date() -> None:
    """If not: python -m ccml.emulation.assemble"""
    written = {row: {key: bytes.fromhex(code) for key, code in codes.items()} for row, codes in MACHINE_CODE.items()}
    assert written == table()


def test_every_assembled_architecture_is_that_of_a_core() -> None:
    assert {select(core).abi.triple.split("-")[0] for core in CORES} | {"x86_64"} == set(architectures())


@pytest.mark.parametrize("core", CORES)
def test_objects_hold_the_code_once(core: str) -> None:
    """And not its meaning beside it."""
    machine = select(core)
    program = lower_graph(integer_conv_graph((1, 5, 5, 8), (40, 1, 1, 8)), machine)
    codes, compiled = block_functions(program, machine)
    ((_, image), *_) = emit_objects(program, machine)
    assert codes
    assert [image.count(code) for code in codes.values()] == [1] * len(codes)
    symbols = set(defined_symbols(image))
    assert symbols >= {f"model_{row}" for row in codes}
    replaced = {block.name for block in program.blocks} - {block.name for block in compiled}
    assert replaced
    assert not symbols & {f"model_{meaning}" for meaning in replaced}


@pytest.mark.parametrize("core", ["m0", "m4"])
def test_all_code_is_marked_as_thumb_code(core: str) -> None:
    """Debuggers take what follows a literal pool for data otherwise."""
    machine = select(core)
    program = lower_graph(integer_conv_graph((1, 5, 5, 8), (40, 1, 1, 8)), machine)
    ((_, image), *_) = emit_objects(program, machine)
    elf = ELFFile(io.BytesIO(image))
    code = {n for n, part in enumerate(elf.iter_sections()) if part["sh_flags"] & 4 and part.data_size}
    symbols = elf.get_section_by_name(".symtab").iter_symbols()
    assert code <= {symbol["st_shndx"] for symbol in symbols if symbol.name == "$t" and symbol["st_value"] == 0}


def test_kernels_that_only_call_blocks_are_compiled_for_size() -> None:
    machine = select("m4")
    for graph, small in (
        (integer_conv_graph((1, 5, 5, 8), (40, 1, 1, 8)), True),
        (integer_conv_graph((1, 5, 5, 3), (40, 3, 3, 3)), False),
    ):
        lines = emit_ir(lower_graph(graph, machine), machine).splitlines()
        (head,) = (line for line in lines if line.startswith("define") and "@model_conv_0(" in line)
        assert ("optsize" in head) == small


def test_cores_with_the_same_instructions_share_code() -> None:
    assert machine_code("gemm_packed_2x4_i8", select("m4")) == machine_code("gemm_packed_2x4_i8", select("m33"))


def test_other_machines_compile_the_meaning() -> None:
    assert machine_code("gemm_1x4_words", select("generic")) is None
    assert machine_code("gemm_1x4_words", select("cortex-m4")) is None
