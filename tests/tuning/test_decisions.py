"""Whatever is decided about a layer's loops, it computes the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph
from ccml.ir.loops import Access
from ccml.ops.evaluate import evaluate_graph
from ccml.schedule.decision import TUNED, BlockShape, Decision
from ccml.targets import Machine, select
from ccml.tuning.single import Single, kernel_of, singles
from ccml.tuning.space import Candidate, candidates, neighbours

from tests.schedule.graphs import conv_graph, integer_conv_graph, random_inputs
from tests.schedule.test_winograd import levels
from tests.tuning.cases import BYTES, FLOATS

MOST = 14
"""Candidates of a case, spread over all that there are."""


def spread(found: list[Candidate], machine: Machine, single: Single) -> list[Candidate]:
    varied = [*found, *neighbours(single.context(machine), found[0])]
    return varied[:: max(1, len(varied) // MOST)]


def only(graph: Graph, machine: Machine) -> Single:
    (single,) = singles(graph, machine)
    return single


@pytest.mark.parametrize("machine", levels()[-2:], ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("make", FLOATS.values(), ids=FLOATS)
def test_floats(make: Callable[[], Graph], machine: Machine) -> None:
    graph = make()
    single = only(graph, machine)
    inputs, name = random_inputs(graph), graph.outputs[0].name
    expected = evaluate_graph(graph, inputs)[name]
    bound = 4e-6 * np.abs(expected).max()
    decided = spread(candidates(single.context(machine)), machine, single)
    assert len(decided) > 3
    for candidate in decided:
        program = single.lower(machine, candidate.decision, surrounded=False)
        assert program.calls[-1].generator == candidate.decision.generator + TUNED
        actual = JitModel(program, machine).run(inputs)[name]
        np.testing.assert_allclose(actual, expected, atol=bound, err_msg=str(candidate.decision))


def with_blocks(core: str) -> Machine:
    """The portable target as if it had a core's block instructions: what they mean, on this machine."""
    machine = select("generic")
    return replace(machine, cpu=replace(machine.cpu, name=core, extensions=select(core).cpu.extensions))


CORES = [with_blocks(core) for core in ("cortex-m4", "cortex-m55", "cortex-m0plus")]


@pytest.mark.parametrize("name", BYTES)
@pytest.mark.parametrize("machine", [*levels()[-2:], *CORES], ids=lambda machine: machine.cpu.name)
def test_bytes(name: str, machine: Machine) -> None:
    graph = BYTES[name]()
    single = only(graph, machine)
    inputs, output = random_inputs(graph), graph.outputs[0].name
    expected = evaluate_graph(graph, inputs)[output]
    for candidate in spread(candidates(single.context(machine)), machine, single):
        program = single.lower(machine, candidate.decision, surrounded=False)
        actual = JitModel(program, machine).run(inputs)[output]
        np.testing.assert_array_equal(actual, expected, err_msg=str(candidate.decision))


def test_a_surrounded_kernel_is_that_of_the_model() -> None:
    """Its tensors have the border that its loops read."""
    machine = levels()[-1]
    graph = FLOATS["3x3"]()
    single = only(graph, machine)
    for candidate in candidates(single.context(machine))[:3]:
        program = single.lower(machine, candidate.decision)
        inputs = random_inputs(graph)
        expected = evaluate_graph(graph, inputs)[graph.outputs[0].name]
        given = {program.inputs[0].name: inputs["x"]}
        (actual,) = JitModel(program, machine).run(given).values()
        np.testing.assert_allclose(actual, expected, atol=4e-6 * np.abs(expected).max())
        timed = kernel_of(program, single.node)
        assert {timed.kernel.params[number].access for number in timed.constants} == {Access.READ}


def test_what_does_not_fit_is_left_alone() -> None:
    machine = levels()[-1]
    graph = FLOATS["strided"]()
    single = only(graph, machine)
    plain = single.lower(machine, None)
    for decision in (Decision("winograd F(4x4,3x3)", BlockShape("fma", 8, 3, 2)), Decision("no generator")):
        program = single.lower(machine, decision)
        assert [call.generator for call in program.calls] == [call.generator for call in plain.calls]
        assert program.kernels == plain.kernels
    other = single.lower(machine, Decision("contraction", BlockShape("no instruction", 8, 3, 2)))
    assert other.kernels == plain.kernels


def test_keys_tell_apart_what_loops_depend_on() -> None:
    v3, v4 = select("x86", cpu="x86-64-v3"), select("x86", cpu="x86-64-v4")

    def key(machine: Machine = v3, x: tuple[int, ...] = (1, 8, 8, 4), **changed: object) -> str:
        return only(conv_graph(x, (8, 3, 3, 4), **changed), machine).key

    assert key() == key()
    others = [key(v4), key(x=(1, 8, 9, 4)), key(stride=(2, 2)), key(epilogue=["relu"]), key(bias=False)]
    assert len({key(), *others}) == 1 + len(others)


def test_keys_do_not_know_weights_or_scales() -> None:
    machine = select("cortex-m4")
    one = only(integer_conv_graph((1, 5, 5, 8), (8, 3, 3, 8)), machine)
    other = only(integer_conv_graph((1, 5, 5, 8), (8, 3, 3, 8), zero_point=5, scale=0.001), machine)
    assert one.key == other.key

