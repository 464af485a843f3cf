"""Custom operators, compiled: in this process, as C, as objects, and on emulated boards."""

from __future__ import annotations

from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.artifact.emit import Emit
from ccml.driver import compile_model
from ccml.emulation.run import DEFAULT_BUILD, Build
from ccml.targets import select
from onnx import helper

from tests.artifacts.built import SANITIZED, WARNINGS, run_artifact
from tests.custom_ops.cases import CASES, SAME, SCALE, Case, node
from tests.frontend_onnx.graphs import model, value
from tests.tools import needs

pytestmark = needs("gcc")


def check(name: str, target: str, route: Emit, folder: Path, how: Build = DEFAULT_BUILD) -> None:
    case = CASES[name]()
    path, options = case.write(folder)
    machine = select(target)
    program = compile_model(path, machine, options).program
    (found,) = run_artifact(program, machine, route, folder / "out", [case.feeds], how)
    for output, wanted in zip(case.proto.graph.output, case.expected(case.feeds), strict=True):
        np.testing.assert_allclose(found[output.name], wanted, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_in_this_process(name: str, tmp_path: Path) -> None:
    case = CASES[name]()
    path, options = case.write(tmp_path)
    found = ccml.load(path, options).run(case.feeds)
    for output, wanted in zip(case.proto.graph.output, case.expected(case.feeds), strict=True):
        assert found[output.name].dtype == wanted.dtype
        np.testing.assert_allclose(found[output.name], wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["several", "control flow", "functions", "attributes"])
def test_verified(name: str, tmp_path: Path) -> None:
    """The ONNX reference runs the same nodes, in functions and bodies, too."""
    path, options = CASES[name]().write(tmp_path)
    result = ccml.verify(path, options, samples=1)
    assert result.ok or result.unchecked
    assert result.reference == "onnx"


@pytest.mark.parametrize("name", ["several", "empty", "control flow"])
def test_c_with_sanitizers(name: str, tmp_path: Path) -> None:
    check(name, "generic", Emit.C, tmp_path, SANITIZED)


def test_c_without_warnings(tmp_path: Path) -> None:
    check("several", "generic", Emit.C, tmp_path, WARNINGS)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
@pytest.mark.parametrize("name", ["several", "control flow"])
def test_on_a_board(name: str, route: Emit, tmp_path: Path) -> None:
    check(name, "cortex-m4", route, tmp_path)


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
def test_on_arm64(tmp_path: Path) -> None:
    check("several", "linux-arm64", Emit.OBJECT, tmp_path)


@needs("riscv64-unknown-elf-gcc", "qemu-riscv32")
def test_on_riscv(tmp_path: Path) -> None:
    check("several", "riscv32", Emit.OBJECT, tmp_path)


@needs("clang", "wasm-ld", "node")
def test_in_webassembly(tmp_path: Path) -> None:
    path, options = CASES["several"]().write(tmp_path)
    assert ccml.verify(path, options, target="wasm32", backend="llvm", samples=1).ok


def test_results_in_place(tmp_path: Path) -> None:
    """Where the signature allows it, a result takes no memory of its own; else it lies beside its operand."""
    nodes = [helper.make_node("Neg", ["x"], ["a"]), node("Scale", ["a"], ["b"]), helper.make_node("Neg", ["b"], ["y"])]
    proto = model(nodes, [value("x", [1000])], ["y"])
    tensor, found = 4000, {}
    for toml in (SAME, SAME.replace('in_place = "x"', "")):
        path, options = Case(proto, {"Scale": (SCALE, toml)}, {}, lambda a: []).write(tmp_path)
        found[toml] = compile_model(path, select("cortex-m4"), options).program.plan.ram
    assert found[SAME] == tensor
    assert sorted(found.values()) == [tensor, 2 * tensor]


def test_the_same_bytes_every_time(tmp_path: Path) -> None:
    path, options = CASES["several"]().write(tmp_path)
    contents = []
    for number in range(2):
        ccml.compile(path, "x86", tmp_path / f"out{number}", options=options)
        contents.append({file.name: file.read_bytes() for file in (tmp_path / f"out{number}").iterdir()})
    assert contents[0] == contents[1]
