"""Runs in slices: the same bits as in one go, through branches and loops, and what goes wrong has an error code."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx.parser
import pytest
from ccml.artifact.emit import Emit
from ccml.artifact.options import ArtifactOptions
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import build_and_run
from ccml.ir.external_weights import with_external_weights
from ccml.ir.slices import Enter, Jump, JumpUnless, Next, Pass, operations
from ccml.ir.steps import Branch, Call, Repeat
from ccml.targets import Machine

from tests.artifacts.built import SANITIZED, run_artifact
from tests.artifacts.machines import GENERIC, M4, V3, WASM, machine_id, runs_here
from tests.artifacts.routes import assert_same_bits, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import INT8
from tests.models import needs_models
from tests.tools import needs

KWS8 = INT8[0]
FORMS = pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])


@needs_models
@FORMS
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(GENERIC, marks=needs("gcc")),
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
        pytest.param(WASM, marks=needs("clang", "wasm-ld", "node")),
    ],
    ids=machine_id,
)
def test_the_same_bits(machine: Machine, form: Emit, workshop: Workshop, tmp_path: Path) -> None:
    (program,) = with_external_weights([workshop.program(KWS8, machine)])
    samples = list(workshop.samples(KWS8, machine, 2))
    found = run_artifact(replace(program, sliced=True), machine, form, tmp_path / "out", samples)
    host = JitModel(workshop.program(KWS8, GENERIC))
    assert_same_bits(stacked(found), stacked([host.run(sample) for sample in samples]))


def loop_model(path: Path) -> None:
    """A loop whose passes a run tells, with a branch inside, a condition, and a state."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[4] x, int64 count, float[4] h) => (float[4] y, float[4] hn)
    {
      going = Constant<value = bool {1}>()
      y = Loop(count, going, x) <body = step (int64 number, bool before, float[4] carried)
        => (bool after, float[4] next) {
          limit = Constant<value = float {100.0}>()
          two = Constant<value = int64 {2}>()
          total = ReduceSum<keepdims = 0>(carried)
          after = Less(total, limit)
          odd = Mod(number, two)
          is_odd = Cast<to = 9>(odd)
          next = If(is_odd) <
            then_branch = g1 () => (float[4] a) { a = Add(carried, carried) },
            else_branch = g2 () => (float[4] b) { one = Constant<value = float {1.0}>()  b = Add(carried, one) }>
        }>
      hn = Add(h, y)
    }
    """
    onnx.save(onnx.parser.parse_model(text), path)


def expected(samples: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    state, found = np.zeros(4, np.float32), []
    for sample in samples:
        carried, number, going = sample["x"].copy(), 0, True
        while number < sample["count"] and going:
            going = carried.sum() < 100.0
            carried = carried * 2 if number % 2 else carried + 1
            number += 1
        state = state + carried
        found.append({"y": carried, "hn": state})
    return found


@FORMS
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(GENERIC, marks=needs("gcc")),
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
    ],
    ids=machine_id,
)
def test_loops_branches_and_states(machine: Machine, form: Emit, tmp_path: Path) -> None:
    loop_model(tmp_path / "net.onnx")
    options = ccml.ModelOptions(name="net", states={"h": "hn"})
    program = replace(compile_model(tmp_path / "net.onnx", machine, options).program, sliced=True)
    assert any(isinstance(step, Repeat) for step in program.body), "the loop is one of the run"
    x = np.array([0.5, -1, 2, 3], np.float32)
    samples = [{"x": x, "count": np.array(count, np.int64)} for count in (5, 0, 1, 50)]
    found = run_artifact(program, machine, form, tmp_path / "out", samples)
    assert_same_bits(stacked(found), stacked(expected(samples)))


def test_operations_of_branches_and_loops() -> None:
    """Every target is an operation or the end, and a walk comes by every call that a run makes."""
    a, b, c = (Call(name, ()) for name in "abc")
    repeat = Repeat((Branch("flag", (b,), ()),), limit=2)
    assert operations([a, repeat, Branch("flag", (), (c,))]) == [
        a, Enter(0), Pass(repeat, 0, 6), JumpUnless("flag", 5), b, Next(0, 2), JumpUnless("flag", 8), Jump(9), c,
    ]  # fmt: skip


MISUSE = r"""
#include "net.h"
#include <stdio.h>
#include <string.h>

static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
static unsigned char other[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));

int main(void)
{
  float x[NET_X_ELEMENTS] = {1, 2, 3, 4}, y[NET_Y_ELEMENTS], once[NET_Y_ELEMENTS];
  static net_job zeroed;
  net_job job, garbage;
  int steps = 0, status;
  memset(&garbage, 0xA5, sizeof garbage);
  memset(&job, 0, sizeof job);
  printf("%d %d %d ", net_step(NULL), net_step(&zeroed), net_step(&garbage));
  printf("%d %d %d ", net_begin(NULL, arena, x, y), net_begin(&job, NULL, x, y), net_begin(&job, arena + 1, x, y));
  printf("%d ", net_begin(&job, arena, x, y));
  do {
    status = net_step(&job);
    steps++;
  } while (status == NET_AGAIN);
  printf("%d %d %d ", steps == NET_NUM_SLICES, status, net_step(&job));
  printf("%d ", net_run(other, x, once) != 0 || memcmp(y, once, sizeof y) != 0);
  (void)net_begin(&job, arena, x, y);
  (void)net_step(&job);
  job.arena = other;
  printf("%d ", net_step(&job));
  (void)net_begin(&job, arena, x, y);
  job.position = 1000;
  printf("%d\n", net_step(&job));
  return 0;
}
"""


@needs("gcc")
@pytest.mark.parametrize("emitted", ["c", "lib"])
def test_what_is_wrong_has_an_error_code(emitted: str, tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[16] x) => (float[16] y) { a = Softmax(x)  b = CumSum(a, zero)  y = Softmax(b) }
    """
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.int64), "zero"))
    onnx.save(model, tmp_path / "net.onnx")
    result = ccml.compile(
        tmp_path / "net.onnx", "generic", tmp_path / "out", emit=[emitted], artifact=ArtifactOptions(slices=True)
    )
    assert result.artifacts[0].report.totals.slices == len(result.artifacts[0].report.layers) > 1
    (tmp_path / "out" / "main.c").write_text(MISUSE)
    sources = sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix in (".c", ".a"))
    sources.sort(key=lambda name: name.endswith(".a"))
    flags = [flag for flag in SANITIZED.flags if not flag.startswith("-D")]
    command = ["gcc", *flags, "-Wall", "-Wextra", "-I.", *sources, "-o", "main"]
    subprocess.run(command, cwd=tmp_path / "out", check=True, capture_output=True)
    said = subprocess.run(["./main"], cwd=tmp_path / "out", check=True, capture_output=True, text=True).stdout
    assert said.split() == ["1", "7", "7", "1", "1", "2", "0", "1", "0", "7", "0", "7", "7"]


@needs("gcc")
@runs_here(V3)
def test_a_library_for_all_cpus(tmp_path: Path) -> None:
    """The first call chooses the code, be it that of begin."""
    loop_model(tmp_path / "net.onnx")
    options = ccml.ModelOptions(name="net")
    ccml.compile(
        tmp_path / "net.onnx", "x86", tmp_path / "out", cpu="all", emit=["lib"], options=options,
        artifact=ArtifactOptions(slices=True),
    )  # fmt: skip
    program = replace(compile_model(tmp_path / "net.onnx", V3, options).program, sliced=True)
    x = np.array([0.5, -1, 2, 3], np.float32)
    samples = [{"x": x, "count": np.array(3, np.int64), "h": np.zeros(4, np.float32)}]
    found = build_and_run(program, V3, [tmp_path / "out" / "libnet.a"], samples, include=tmp_path / "out")
    assert_same_bits(stacked(found), stacked(expected(samples)))
