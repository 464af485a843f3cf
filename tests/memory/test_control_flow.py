"""Branches and loops: when tensors live, plans that the checker refuses, and code by both printers."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel
from ccml.errors import CcmlError
from ccml.ir.program_text import print_program
from ccml.ir.steps import Branch, Call, Repeat
from ccml.memory.check import check_plan
from ccml.memory.layout import plan_memory
from ccml.memory.lifetimes import Lifetime, lifetimes
from ccml.targets import select

from tests.memory.flow_programs import counted, counting, program
from tests.tools import needs

COPY_IN, COPY_OUT = Call("copy", ("x", "s")), Call("copy", ("s", "y"))
CASES = [([1, 2, 3, 4], 0), ([1, 2, 3, 4], 5), ([90, 0, 0, 0], 9), ([200, 0, 0, -7], 3), ([-500, 1, 1, 1], 1000)]


def feeds(x: list[int], count: int) -> dict[str, np.ndarray]:
    return {"x": np.array(x, np.int32), "count": np.array([count], np.int64)}


def test_lifetimes() -> None:
    """Calls: copy 0, small 1, loop 2..3, then 4, else 5..6. What a loop hands on lives in all of it."""
    found = counting()
    kernels = {kernel.name: kernel for kernel in found.kernels}
    assert lifetimes(found.body, kernels) == {
        "x": Lifetime(0, 0), "s": Lifetime(0, 5, True), "flag": Lifetime(1, 4, True), "n": Lifetime(2, 3, True),
        "count": Lifetime(2, 3, True), "y": Lifetime(4, 6), "t": Lifetime(5, 6),
    }  # fmt: skip


def test_what_a_pass_makes_for_itself_lives_in_a_pass() -> None:
    inside = (Call("double", ("s", "t")), Call("copy", ("t", "u")), Call("copy", ("u", "y")))
    found = program((COPY_IN, Repeat(inside, limit=2, loc="l")), {"s": 0, "t": 16, "u": 32})
    lives = lifetimes(found.body, {kernel.name: kernel for kernel in found.kernels})
    assert lives["t"] == Lifetime(1, 2) and lives["u"] == Lifetime(2, 3)
    assert lives["s"] == Lifetime(0, 3, True)


@pytest.mark.parametrize("target", ["x86", "cortex-m4"])
def test_plans_are_sound(target: str) -> None:
    """Branches share memory: t and u are never there at the same time, nor (in place) s and u."""
    branch = Branch(
        "flag",
        (Call("double", ("s", "t")), Call("copy", ("t", "y"))),
        (Call("double", ("s", "u")), Call("copy", ("u", "y"))),
        "choice",
    )
    for body in (counting().body, (COPY_IN, Call("small", ("s", "flag")), branch)):
        found = program(body, {})
        kernels = {kernel.name: kernel for kernel in found.kernels}
        plan = plan_memory(found.body, kernels, found.buffers, select(target).target)
        check_plan(replace(found, plan=plan))
        places = plan.places
        if "u" in places:
            assert places["u"].offset == places["s" if target == "cortex-m4" else "t"].offset


@pytest.mark.parametrize(
    ("offsets", "complaint"),
    [
        ({"s": 0, "t": 16, "n": 8, "flag": 40}, "s, but byte 8 of arena belongs to n"),
        ({"s": 0, "t": 16, "n": 32, "flag": 4}, "s, but byte 4 of arena belongs to flag"),
        ({"s": 0, "t": 16, "n": 33, "flag": 48}, "n is misaligned"),
    ],
)
def test_faults_of_plans_are_found(offsets: dict[str, int], complaint: str) -> None:
    check_plan(counting())
    with pytest.raises(CcmlError, match=complaint):
        check_plan(program(counting().body, offsets))


def test_what_only_one_branch_makes_is_not_there_behind() -> None:
    branch = Branch("flag", (Call("copy", ("x", "t")),), (Call("copy", ("x", "u")),), "choice")
    body = (COPY_IN, Call("small", ("s", "flag")), branch, Call("copy", ("t", "y")))
    with pytest.raises(CcmlError, match="reads t, but byte 16 of arena belongs to nobody"):
        check_plan(program(body, {"s": 0, "t": 16, "u": 32, "flag": 48}))


def test_a_pass_that_destroys_what_the_next_one_reads() -> None:
    """In the first pass s is still there; t, which overwrites it, comes after its last use in the text."""
    body = (COPY_IN, Repeat((Call("copy", ("s", "y")), Call("copy", ("x", "t"))), limit=3, loc="l"))
    check_plan(program(body, {"s": 0, "t": 16}))
    with pytest.raises(CcmlError, match="reads s, but byte 0 of arena belongs to"):
        check_plan(program(body, {"s": 0, "t": 0}))


def test_a_loop_may_have_no_pass() -> None:
    body = (Repeat((COPY_IN,), count="count", loc="l"), COPY_OUT)
    with pytest.raises(CcmlError, match="reads s, but byte 0 of arena belongs to nobody"):
        check_plan(program(body, {"s": 0}))


@pytest.mark.parametrize(("x", "count"), CASES)
def test_compiled_by_llvm(x: list[int], count: int) -> None:
    model = JitModel(replace(counting(), taps={"state": "s"}))
    assert model.run(feeds(x, count))["y"].tolist() == counted(x, count)
    seen = model.observe(feeds(x, count))
    assert seen["y"].tolist() == counted(x, count)
    assert seen["state"].tolist() in (counted(x, count), [value // 2 for value in counted(x, count)])


@needs("gcc")
def test_compiled_from_c(tmp_path: Path) -> None:
    write_c(counting(), select("x86"), tmp_path)
    text = (tmp_path / "m.c").read_text()
    assert "for (int64_t pass = 0; pass < 20 && pass < count[0] && memory[40]; ++pass)" in text
    assert "if (memory[40])" in text
    lines = [f"  {{int32_t x[4] = {{{', '.join(map(str, x))}}}, y[4]; int64_t count = {count};\n"
             "   if (m_run(arena, x, &count, y)) return 1;\n"
             '   printf("%d %d %d %d\\n", y[0], y[1], y[2], y[3]);}\n' for x, count in CASES]  # fmt: skip
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "m.h"\nstatic _Alignas(64) unsigned char arena[64];\nint main(void) {\n'
        + "".join(lines) + "  return 0;\n}\n"
    )
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-fsanitize=address,undefined"]
    gcc = shutil.which("gcc")
    assert gcc is not None
    files = [str(path) for path in tmp_path.glob("*.c")]
    subprocess.run([gcc, *flags, *files, "-o", str(tmp_path / "main"), "-lm"], check=True, cwd=tmp_path)
    out = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True).stdout
    assert [list(map(int, line.split())) for line in out.splitlines()] == [counted(*case) for case in CASES]


def test_the_text_shows_it() -> None:
    text = print_program(counting())
    assert '  repeat 20 and count as n while flag:   @"rounds"\n    call step(n, s)\n' in text
    assert '  if flag:   @"choice"\n    call copy(s, y)\n  else:\n    call double(s, t)\n' in text
