"""Every block instruction on all its ways: meaning by LLVM, printed C function, assembly on emulated boards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from ccml.blocks import BLOCKS, has_block
from ccml.targets import Machine

from tests.schedule.block_cases import Route, assert_cases, routes, sampled_case

T = TypeVar("T")
AT_ONCE = 100


@pytest.mark.check
@routes("m0", "m3", "m4", "m55")
def test_samples(machine: Machine, route: Route, tmp_path: Path) -> None:
    """As the interpreter has them. All that a run works on has to fit the stack of a board."""
    known = machine.cpu.extensions
    rows = [row for row in BLOCKS.values() if not known or has_block(row.name, known)]
    samples = [(row.name, numbers) for row in rows for numbers in row.samples]
    for number, some in enumerate(batched(samples, AT_ONCE)):
        assert_cases([sampled_case(*each) for each in some], machine, route, tmp_path / str(number))


def batched(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


@pytest.mark.parametrize("name", BLOCKS)
def test_rows_that_no_cpu_has_are_none(name: str) -> None:
    assert BLOCKS[name].extensions <= {"thumb", "long_multiply", "dsp", "fpu", "mve", "amx"}
