"""Predicted instructions against those that QEMU counts, layer by layer."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from ccml.costs import build as build_module
from ccml.costs.build import Build, build_c, build_objects
from ccml.costs.image import Image
from ccml.costs.measure import measure
from ccml.costs.predict import object_costs, predict
from ccml.costs.simulate import simulate
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.targets import select

from tests.costs.assembly import assemble
from tests.schedule.graphs import conv_graph, integer_conv_graph, random_inputs
from tests.tools import needs

SAME = (1, 1, 1, 1)
GRAPHS = {
    "int8 conv": integer_conv_graph((1, 7, 9, 6), (10, 3, 3, 6), pad=SAME),
    "int8 depthwise": integer_conv_graph((1, 9, 8, 12), (12, 3, 3, 1), pad=SAME, group=12),
    "f32 conv": conv_graph((1, 6, 6, 4), (8, 3, 3, 4), pad=SAME, epilogue=("relu",)),
}
CORES = tuple(f"cortex-{core}" for core in ("m0plus", "m3", "m4", "m7", "m33", "m55", "m85"))
CASES = [
    *(("int8 conv", core) for core in CORES),
    *((name, core) for name in ("int8 depthwise", "f32 conv") for core in ("cortex-m0plus", "cortex-m4", "cortex-m55")),
]
ROUTES = {"c": build_c, "llvm": build_objects}


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("name", "core"), CASES)
def test_predictions_are_exact(name: str, core: str, route: str) -> None:
    """To the instruction: no branch of these kernels depends on the data of what the prediction does not follow,
    which is Helium's arithmetic."""
    graph, machine = GRAPHS[name], select(core)
    program = lower_graph(graph, machine)
    built, sample = ROUTES[route](program, machine), random_inputs(graph)
    costs, measured = predict(program, machine, built, sample), measure(program, machine, built, sample)
    assert costs is not None
    if core == "cortex-m55":
        assert abs(costs.instructions / measured.instructions - 1) < 0.03
    else:
        assert costs.instructions == measured.instructions
        assert costs.layers is not None
        assert tuple(layer.instructions for layer in costs.layers) == measured.layers
    _assert_right(graph, sample, measured.outputs)


@needs("arm-none-eabi-gcc", "qemu-system-arm", "gcc")
@pytest.mark.parametrize("route", ROUTES)
def test_predictions_with_several_pools(route: str) -> None:
    """The tensors' pointers come later among the arguments, some of them on the stack."""
    graph, machine = GRAPHS["int8 conv"], select("cortex-m7")
    program = lower_graph(graph, machine, Goal(pools={"dtcm": 400, "sram": 512, "ext": None}))
    assert sum(pool.ram > 0 for pool in program.plan.pools) >= 2
    built, sample = ROUTES[route](program, machine), random_inputs(graph)
    costs, measured = predict(program, machine, built, sample), measure(program, machine, built, sample)
    assert costs is not None
    assert costs.instructions == measured.instructions
    _assert_right(graph, sample, measured.outputs)


def _assert_right(graph: Graph, sample: dict[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
    """What was counted computed what it should."""
    name = graph.outputs[0].name
    expected = evaluate_graph(graph, sample)[name]
    np.testing.assert_allclose(outputs[name].reshape(-1), expected.reshape(-1), rtol=1e-5, atol=1e-5)


def test_without_a_toolchain_the_helpers_of_the_run_time_library_are_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their counts come from a table, their results are right: a float convolution on a core without an FPU."""
    machine = select("cortex-m0plus")
    program = lower_graph(GRAPHS["f32 conv"], machine)
    exact = object_costs(program, machine)
    monkeypatch.setattr(build_module.shutil, "which", lambda _: None)
    assumed = object_costs(program, machine)
    assert exact is not None
    assert assumed is not None
    assert {"__aeabi_fmul", "__aeabi_fadd"} <= set(assumed.assumed)
    if not exact.assumed:
        assert abs(assumed.instructions / exact.instructions - 1) < 0.1
        assert exact.stack_bytes is not None
        assert assumed.stack_bytes is not None
        assert exact.stack_bytes <= assumed.stack_bytes


def test_targets_without_a_cost_model_have_no_costs() -> None:
    machine = select("x86")
    assert object_costs(lower_graph(GRAPHS["int8 conv"], machine), machine) is None


@needs("arm-none-eabi-gcc")
def test_code_that_cannot_be_followed_has_no_costs(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning instead of a wrong number: for a model that returns an error, and for one that does not return."""
    machine = select("cortex-m4")
    program = lower_graph(GRAPHS["int8 conv"], machine)
    monkeypatch.setattr("ccml.costs.predict.simulate", partial(simulate, jumps=1000))
    for code in ("movs r0, #1\n bx lr", "1: b 1b"):
        image: Image = assemble(f"f:\n {code}")
        with caplog.at_level(logging.WARNING, "ccml"):
            assert predict(program, machine, Build(image, "f", {}, ())) is None
        assert "no costs are predicted" in caplog.text
        caplog.clear()


@needs("arm-none-eabi-gcc")
def test_layers_are_not_told_where_calls_do_not_match() -> None:
    """The total stays, and no layer gets the instructions of another."""
    machine = select("cortex-m4")
    program = lower_graph(GRAPHS["f32 conv"], machine)
    built = build_objects(program, machine)
    costs = predict(program, machine, replace(built, layer_of={}))
    known = predict(program, machine, built)
    assert costs is not None
    assert known is not None
    assert (costs.layers, costs.instructions) == (None, known.instructions)
