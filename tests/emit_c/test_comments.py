"""What generated C says for people: each kernel and each call is headed by what it computes, and for which nodes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from ccml.emit_c.artifact import write_c
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.schedule.graphs import integer_conv_graph

MACHINES = [select(name) for name in ("generic", "cortex-m4")]


def source(machine: Machine, folder: Path, loc: str) -> str:
    program = lower_graph(integer_conv_graph((1, 9, 9, 8), (16, 3, 3, 8)), machine)
    calls = tuple(replace(call, loc=loc) for call in program.calls)
    write_c(replace(program, body=calls), machine, folder)
    return (folder / "model.c").read_text()


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_kernels_and_calls_have_a_head(machine: Machine, tmp_path: Path) -> None:
    text = source(machine, tmp_path, "block/conv + block/relu")
    kernels, run = text.split("int model_run(")
    head = r"conv 3x3.*: i8\[1,9,9,8\] -> i8\[1,\d,\d,16\]\n +block/conv \+ block/relu \*/\n"
    assert re.search(r"/\* " + head + r"(static|CCML)", kernels)
    assert re.search(r"/\* layer 0: " + head + r" +model_\w+\(", run)


def test_long_names_are_wrapped(tmp_path: Path) -> None:
    loc = ";".join(f"functional_1/block_{number}/convolution" for number in range(20))
    text = source(MACHINES[0], tmp_path, loc)
    comments = re.findall(r"/\*.*?\*/", text, re.DOTALL)
    assert max(len(line) for comment in comments for line in comment.splitlines()) <= 120
    assert "\n   functional_1/block_0/convolution" in text
