"""Outputs with extents in artifacts: C by gcc with sanitizers, both routes on emulated boards, and the header."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from ccml.artifact.emit import Emit, emit
from ccml.emulation import build_and_run
from ccml.emulation.run import DEFAULT_BUILD, Build
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.test_control_flow import SANITIZED, WARNINGS
from tests.frontend_onnx.compiled import onnxruntime
from tests.frontend_onnx.extent_models import FEEDS, MODELS, proto
from tests.frontend_onnx.graphs import checked_import
from tests.tools import needs


def check(names: Sequence[str], machine: Machine, route: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    """The artifact of each model against ONNX Runtime."""
    pytest.importorskip("onnxruntime")
    samples = [{"x": x} for x in FEEDS]
    for name in names:
        made = proto(name)
        program = lower_graph(optimize(checked_import(made)), machine)
        own = folder / name.replace(" ", "_")
        own.mkdir()
        emit(program, machine, (route,), own)
        files = sorted(path for path in own.iterdir() if path.suffix in (".c", ".o"))
        found = build_and_run(program, machine, files, samples, include=own, how=how)
        for feeds, results in zip(samples, found, strict=True):
            for result, wanted in zip(results.values(), onnxruntime(made, feeds), strict=True):
                assert result.shape == wanted.shape, name
                np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5, err_msg=name)


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
