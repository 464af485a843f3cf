"""The machine code of block instructions is what the assembly in the C runtime becomes."""

from __future__ import annotations

import pytest
from ccml.emit_llvm.coded import machine_code
from ccml.emit_llvm.elf import defined_symbols
from ccml.emit_llvm.machine_code import MACHINE_CODE
from ccml.emit_llvm.objects import emit_objects
from ccml.emulation.assemble import ARCHITECTURES, assembled
from ccml.schedule.lower import lower_graph
from ccml.targets import select

from tests.schedule.graphs import integer_conv_graph
from tests.tools import needs


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_table_is_up_to_date(architecture: str) -> None:
    """If not: python -m ccml.emulation.assemble"""
    assert {row: bytes.fromhex(code) for row, code in MACHINE_CODE[architecture].items()} == assembled(architecture)


@pytest.mark.parametrize("core", ["m0", "m3"])
def test_objects_hold_the_code_once(core: str) -> None:
    machine = select(core)
    program = lower_graph(integer_conv_graph((1, 5, 5, 8), (40, 1, 1, 8)), machine)
    row = "quad_words" if core == "m0" else "quad_pairs"
    ((_, image), *_) = emit_objects(program, machine)
    code = machine_code(row, machine)
    assert code is not None and image.count(code) == 1
    assert f"model_{row}" in defined_symbols(image)


def test_other_machines_compile_the_meaning() -> None:
    assert machine_code("quad_words", select("generic")) is None
    assert machine_code("quad_words", select("cortex-m4")) is None
