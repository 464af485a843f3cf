"""Extents in artifacts, arguments and results: C by gcc with sanitizers, both routes on emulated boards, the header."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit, emit
from ccml.emit_c.compiler_flags import all_flags
from ccml.emulation.run import DEFAULT_BUILD, Build
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import SANITIZED, WARNINGS, run_artifact
from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.extent_models import FEEDS, FILLED, MODELS, NOT_OF_NOTHING, proto
from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.ranged_models import RANGED
from tests.tools import needs


def check(names: Sequence[str], machine: Machine, route: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    """The artifact of each model against ONNX Runtime."""
    pytest.importorskip("onnxruntime")
    for name in names:
        samples = [{"x": x} for x in (FILLED if name in NOT_OF_NOTHING else FEEDS)]
        made = proto(name)
        program = lower_graph(optimize(checked_import(made)), machine)
        found = run_artifact(program, machine, route, folder / name.replace(" ", "_"), samples, how)
        for feeds, results in zip(samples, found, strict=True):
            for result, wanted in zip(results.values(), onnxruntime(made, feeds), strict=True):
                assert result.shape == wanted.shape, name
                np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5, err_msg=name)


@pytest.mark.check
@needs("gcc")
def test_sanitized(tmp_path: Path) -> None:
    check(list(MODELS), select("generic"), Emit.C, tmp_path, SANITIZED)


@needs("gcc")
def test_without_warnings(tmp_path: Path) -> None:
    check(["two counts", "scatter", "softmax over"], select("generic"), Emit.C, tmp_path, WARNINGS)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_on_a_board(route: Emit, tmp_path: Path) -> None:
    check(["two counts", "contraction", "flat"], select("cortex-m4"), route, tmp_path)


def test_the_header_tells_bounds_and_arguments(tmp_path: Path) -> None:
    machine = select("generic")
    emit(lower_graph(optimize(checked_import(proto("nonzero"))), machine), machine, (Emit.C,), tmp_path)
    header = (tmp_path / "g.h").read_text()
    for line in (
        "/* Output 0: columns, i64[2, 0..12], row-major. */",
        "#define G_COLUMNS_DIM1_MIN 0",
        "#define G_COLUMNS_DIM1_MAX 12 /* columns_extent1 holds the extent */",
        "int64_t *columns, int64_t *places, int64_t *columns_extent1",
    ):
        assert line in header


MAIN = r"""
#include <string.h>
#include "g.h"
int main(void) {
  static unsigned char arena[G_ARENA_SIZE + 1] __attribute__((aligned(G_ARENA_ALIGN)));
  float x[G_X_ELEMENTS], y[G_Y_ELEMENTS], before[G_Y_ELEMENTS];
  memset(x, 0, sizeof x);
  memset(y, 7, sizeof y);
  memset(before, 7, sizeof before);
  for (int64_t batch = -1; batch < 12; ++batch) {
    const int expected = batch >= 1 && batch <= 8 ? G_OK : G_ERROR_EXTENT;
    if (expected == G_OK) continue;
    if (g_run(arena, &batch, x, y) != expected || memcmp(y, before, sizeof y) != 0) return 1;
  }
  const int64_t most = 8;
  return g_run(arena, &most, x, y) == G_OK && memcmp(y, before, sizeof y) != 0 ? 0 : 2;
}
"""


@needs("gcc")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_an_extent_out_of_range_is_an_error_and_writes_nothing(route: Emit, tmp_path: Path) -> None:
    case = RANGED["mlp"]()
    machine = select("x86")
    program = lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), machine)
    emit(program, machine, (route,), tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    files = [str(path) for path in sorted(tmp_path.iterdir()) if path.suffix in (".c", ".o")]
    flags = ["-std=c99", *all_flags(machine, "gcc"), f"-I{tmp_path}", "-o", str(tmp_path / "main")]
    subprocess.run(["gcc", *files, *flags, "-lm"], check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


def check_ranged(name: str, machine: Machine, route: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    """One artifact with the least and the greatest extents, and some between, against ONNX Runtime."""
    pytest.importorskip("onnxruntime")
    case = RANGED[name]()
    program = lower_graph(optimize(checked_import(case.proto, dims=case.ranges)), machine)
    rng = np.random.default_rng(1)
    steps = (0.0, 0.4, 1.0)
    numbers = [
        {key: extent.least + round(step * (extent.most - extent.least)) for key, extent in case.ranges.items()}
        for step in steps
    ]
    samples = [case.arrays(extents, rng) for extents in numbers]
    found = run_artifact(program, machine, route, folder, samples, how)
    for feeds, results in zip(samples, found, strict=True):
        for result, wanted in zip(results.values(), onnxruntime(case.proto, feeds), strict=True):
            assert result.shape == wanted.shape, name
            np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=2e-5, err_msg=name)


@needs("gcc")
@pytest.mark.parametrize("name", RANGED)
def test_ranges_sanitized(name: str, tmp_path: Path) -> None:
    check_ranged(name, select("generic"), Emit.C, tmp_path, SANITIZED)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_ranges_on_a_board(route: Emit, tmp_path: Path) -> None:
    check_ranged("encoder", select("cortex-m4"), route, tmp_path)
