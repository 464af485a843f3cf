"""Every block instruction on all its ways: meaning by LLVM, printed C function, assembly on emulated boards."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.blocks import BLOCKS, has_block
from ccml.targets import Machine

from tests.schedule.block_cases import Route, assert_cases, routes, sampled_case


@pytest.mark.check
@routes("m0", "m3", "m4", "m55")
def test_samples(machine: Machine, route: Route, tmp_path: Path) -> None:
    """As the interpreter has them."""
    known = machine.cpu.extensions
    rows = [row for row in BLOCKS.values() if not known or has_block(row.name, known)]
    assert_cases([sampled_case(row.name, numbers) for row in rows for numbers in row.samples], machine, route, tmp_path)


@pytest.mark.parametrize("name", BLOCKS)
def test_rows_that_no_cpu_has_are_none(name: str) -> None:
    assert BLOCKS[name].extensions <= {"thumb", "long_multiply", "dsp", "fpu", "mve", "amx"}
