"""Sequences of runs that hand on their states: by the JIT, in C, on boards; against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit, emit
from ccml.driver import Compiled, ModelOptions, compile_source, import_source
from ccml.emit_llvm.jit import JitModel, StateMemory, host_machine
from ccml.emulation import build_and_run
from ccml.emulation.run import DEFAULT_BUILD, Build
from ccml.program.goal import Goal, Optimize
from ccml.targets import Machine, select

from tests.artifacts.test_control_flow import SANITIZED, WARNINGS
from tests.machines_here import on_this_machine
from tests.state.models import MODELS, Stateful
from tests.tools import needs

pytest.importorskip("onnxruntime")


def compiled(case: Stateful, machine: Machine, goal: Goal | None = None) -> Compiled:
    source = import_source("kept.onnx", case.model, ModelOptions(states=case.states))
    return compile_source(source, machine, goal=goal or Goal())


def close(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray], name: str) -> None:
    for output, array in found.items():
        np.testing.assert_allclose(array, wanted[output], rtol=2e-5, atol=2e-5, err_msg=f"{name}: {output}")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("target", ["x86", "cortex-m4", "cortex-m55"])
def test_by_the_jit(name: str, target: str) -> None:
    """As scheduled for each target; a new sequence begins with what a reset gives."""
    case = MODELS[name]()
    program = compiled(case, on_this_machine(select(target))).program
    assert {state.name for state in program.states if state.copied} == case.copied
    model, feeds = JitModel(program, on_this_machine(select(target))), case.feeds()
    wanted = case.expected(feeds)
    for _ in range(2):
        for feed, results in zip(feeds, wanted, strict=True):
            found = model.run(feed)
            states = {state.output: model.state.values[state.name] for state in program.states}
            assert not found.keys() & states.keys()
            close({**found, **states}, results, name)
        model.state.reset()


@pytest.mark.parametrize("name", ["LSTM", "TensorScatter"])
def test_streams_of_layers_leave_states_alone(name: str) -> None:
    case = MODELS[name]()
    machine = on_this_machine(select("cortex-m4"))
    model, feeds = JitModel(compiled(case, machine, Goal(Optimize.RAM)).program, machine), case.feeds()
    for feed, results in zip(feeds, case.expected(feeds), strict=True):
        close(model.run(feed), results, name)


def test_two_sequences_at_a_time() -> None:
    """Each goes on with its own states, whatever runs in between."""
    case = MODELS["GRU"]()
    program = compiled(case, host_machine()).program
    model, feeds = JitModel(program, host_machine()), case.feeds()
    wanted = case.expected(feeds)
    first, second = StateMemory(program), StateMemory(program)
    close(model.run(feeds[0], first), wanted[0], "first")
    close(model.run(feeds[0], second), wanted[0], "second")
    close(model.run(feeds[1], second), wanted[1], "second")
    close(model.run(feeds[1], first), wanted[1], "first")


def check(
    names: Sequence[str], machine: Machine, route: Emit, folder: Path, how: Build = DEFAULT_BUILD
) -> None:
    """The artifact of each model: outputs and states behind each run."""
    for name in names:
        case = MODELS[name]()
        program = compiled(case, machine).program
        own = folder / name.replace(" ", "_")
        own.mkdir()
        emit(program, machine, (route,), own)
        files = sorted(path for path in own.iterdir() if path.suffix in (".c", ".o", ".so"))
        feeds = case.feeds()
        found = build_and_run(program, machine, files, feeds, include=own, how=how)
        for results, wanted in zip(found, case.expected(feeds), strict=True):
            assert results.keys() == wanted.keys()
            close(results, wanted, name)


@needs("gcc")
def test_sanitized(tmp_path: Path) -> None:
    check(list(MODELS), select("generic"), Emit.C, tmp_path, SANITIZED)


@needs("gcc")
def test_without_warnings(tmp_path: Path) -> None:
    check(["pointwise", "TensorScatter", "exchanged"], select("x86"), Emit.C, tmp_path, WARNINGS)


@needs("gcc")
def test_a_shared_library_exports_reset(tmp_path: Path) -> None:
    check(["LSTM"], select("x86"), Emit.LIBRARY, tmp_path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
@pytest.mark.parametrize("target", ["cortex-m0plus", "cortex-m55"])
@pytest.mark.parametrize("route", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_on_a_board(route: Emit, target: str, tmp_path: Path) -> None:
    check(["LSTM", "window", "TensorScatter", "read late"], select(target), route, tmp_path)


def test_what_scatters_into_a_cache_writes_one_row() -> None:
    """A cache of 100 times the rows takes no more instructions where only the update is made."""
    from ccml.memory.traffic import kernel_traffic

    bytes_written = []
    for rows in (16, 1600):
        case = MODELS["TensorScatter"]()
        for side in (*case.model.graph.input, *case.model.graph.output):
            dims = side.type.tensor_type.shape.dim
            if side.name in ("past", "present"):
                dims[2].dim_value = rows
        onnx.checker.check_model(case.model)
        program = compiled(case, select("cortex-m55")).program
        (call,) = (call for call in program.calls if call.generator == "scatter" or "scatter" in call.kernel)
        bytes_written.append(sum(kernel_traffic(program.kernel(call.kernel)).values()))
    assert bytes_written[0] == bytes_written[1]
