"""Integer recurrent layers on every machine, compiled here, against their meaning to the bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ccml.emit_llvm.jit import JitModel
from ccml.ir.graph import Graph, GraphBuilder, NameSupply, Value
from ccml.ir.steps import walk_calls
from ccml.ir.types import DType, TensorType
from ccml.ops.evaluate import evaluate_graph
from ccml.ops.table import infer_types
from ccml.passes.fuse import fuse
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.machines_here import distinct_machines, on_this_machine
from tests.ops.integer_recurrence import operands
from tests.schedule.block_cases import BOARD, Route, by_c, by_objects

OPERATORS = ("int_lstm", "int_gru", "int_rnn")
CASES: dict[str, dict[str, Any]] = {
    "int16": {"features": 7, "hidden": 11},
    "bytes": {"x": np.int8, "zero_point": -7, "features": 16, "hidden": 8, "states": False},
    "bytes that fill no vector": {
        "x": np.int8, "zero_point": 127, "features": 19, "hidden": 5, "direction": "bidirectional", "batch": 2,
    },
    "wide weights": {"weights": np.int16, "features": 5, "hidden": 9},
    "both directions": {"x": np.uint8, "zero_point": 131, "direction": "bidirectional", "seq": 5, "batch": 3},
    "lengths": {"direction": "bidirectional", "lengths": True, "batch": 3, "hidden": 16},
    "16 bits about another number than 0": {"zero_point": 3000, "features": 4, "hidden": 8},
    "many units": {"features": 3, "hidden": 150, "seq": 2, "batch": 1},
    "one unit": {"seq": 1, "batch": 1, "features": 1, "hidden": 1},
    "units in fours": {
        "x": np.int8, "zero_point": -3, "features": 35, "hidden": 36, "linear_before_reset": True, "seq": 4,
        "direction": "bidirectional", "lengths": True, "batch": 2,
    },
    "many units in fours, 16 bits": {
        "features": 70, "hidden": 132, "linear_before_reset": True, "seq": 2, "batch": 1,
    },
    "one step of four units": {
        "x": np.int8, "seq": 1, "batch": 1, "features": 1, "hidden": 4, "linear_before_reset": True,
    },
    "reset behind": {"features": 4, "hidden": 12, "linear_before_reset": True},
}
MACHINES = [on_this_machine(machine) for machine in distinct_machines()]


def layer(op: str, **case: Any) -> tuple[Graph, dict[str, np.ndarray]]:
    """A graph of one layer with constant weights, and its inputs."""
    if op != "int_gru":
        case.pop("linear_before_reset", None)
    arrays, attrs = operands(op, **case)
    builder = GraphBuilder(infer_types, NameSupply())
    inputs: dict[str, np.ndarray] = {}
    values: list[Value | None] = []
    for place, array in enumerate(arrays):
        if array is None or 1 <= place <= 5:
            values.append(None if array is None else builder.constant(array))
            continue
        value = Value(builder.names.fresh(f"x{place}"), TensorType(DType.from_numpy(array.dtype), array.shape))
        inputs[value.name] = array
        values.append(value)
    outputs = builder.emit(op, values, attrs, loc=op)
    given = tuple(value for value in values if value is not None and value.name in inputs)
    return Graph("net", given, outputs, tuple(builder.nodes), builder.constants), inputs


@pytest.mark.parametrize("place", range(len(MACHINES)), ids=lambda n: f"{MACHINES[n].name}-{MACHINES[n].cpu.name}")
@pytest.mark.parametrize("op", OPERATORS)
def test_bits(op: str, place: int) -> None:
    """A third of the cases on each machine, another one for each operator."""
    machine = MACHINES[place]
    for name in list(CASES)[(place + OPERATORS.index(op)) % 3 :: 3]:
        graph, inputs = layer(op, **CASES[name])
        expected = evaluate_graph(graph, inputs)
        program = lower_graph(fuse(graph), machine)
        for output, found in JitModel(program, machine).run(inputs).items():
            np.testing.assert_array_equal(found, expected[output], err_msg=f"{name} {output}")


@pytest.mark.parametrize("route", [pytest.param(each, marks=BOARD) for each in (by_c, by_objects)])
@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("int_lstm", "int16"), ("int_gru", "bytes"), ("int_gru", "reset behind"), ("int_rnn", "lengths"),
        ("int_gru", "bytes that fill no vector"), ("int_lstm", "bytes that fill no vector"),
        ("int_gru", "many units"), ("int_gru", "units in fours"), ("int_lstm", "units in fours"),
        ("int_gru", "many units in fours, 16 bits"), ("int_lstm", "many units in fours, 16 bits"),
        ("int_gru", "one step of four units"), ("int_lstm", "one step of four units"),
    ],
)  # fmt: skip
def test_bits_of_gates_with_helium(op: str, name: str, route: Route, tmp_path: Path) -> None:
    """All units of a gate at a time, or all gates of four units."""
    machine = select("cortex-m55")
    graph, inputs = layer(op, **CASES[name])
    expected = evaluate_graph(graph, inputs)
    found = route(lower_graph(fuse(graph), machine), machine, inputs, tmp_path)
    for value in graph.outputs:
        np.testing.assert_array_equal(found[value.name], expected[value.name], value.name)


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: f"{m.name}-{m.cpu.name}")
def test_constant_weights_have_a_generator(machine: Machine) -> None:
    """Bytes on all cores with packed arithmetic or vectors."""
    if machine.cpu.extensions & {"dsp", "mve"} or machine.cpu.caches:
        graph, _ = layer("int_lstm", features=8, hidden=8)
        program = lower_graph(fuse(graph), machine)
        expected = "helium recurrence" if "mve" in machine.cpu.extensions else "integer recurrence"
        assert [call.generator for call in walk_calls(program.body)] == [expected]


def test_inputs_of_bytes_are_multiplied_as_bytes() -> None:
    for dtype, expected in (
        (np.int8, {"helium_gemm_8x1_few_i32", "helium_gemm_4x1_s16s8_i32"}), (np.int16, {"helium_gemm_4x1_s16s8_i32"}),
    ):  # fmt: skip
        graph, _ = layer("int_gru", x=dtype, features=16, hidden=8)
        names = {block.name for block in lower_graph(fuse(graph), select("cortex-m55")).blocks}
        assert all(any(name.startswith(block) for name in names) for block in expected), names
        assert all(any(name.startswith(block) for block in expected) for name in names if "gemm" in name), names


def gate_blocks(graph: Graph) -> set[str]:
    """Of the block instructions for gates, those that the layer has on M55."""
    names = {block.name for block in lower_graph(fuse(graph), select("cortex-m55")).blocks}
    known = ("helium_gru", "helium_lstm", "helium_tanh")
    return {each for each in known if any(name.startswith(each) for name in names)}


@pytest.mark.parametrize(
    ("op", "case", "expected"),
    [
        ("int_gru", {"hidden": 8, "linear_before_reset": True}, "helium_gru"),
        ("int_lstm", {"hidden": 8}, "helium_lstm"),
        ("int_gru", {"hidden": 8}, "helium_tanh"),
        ("int_lstm", {"hidden": 8, "input_forget": True}, "helium_tanh"),
        ("int_lstm", {"hidden": 10}, "helium_tanh"),
        ("int_rnn", {"hidden": 8}, "helium_tanh"),
    ],
)  # fmt: skip
def test_gates_and_states_of_usual_layers_are_one_block(op: str, case: dict[str, Any], expected: str) -> None:
    """As far as its arithmetic is that of the layer."""
    graph, _ = layer(op, x=np.int8, features=16, **case)
    assert gate_blocks(graph) == {expected}


def test_blocks_of_gates_take_tables_that_do_not_decrease() -> None:
    graph, _ = layer("int_lstm", hidden=8)
    falling = {name: array[::-1].copy() for name, array in graph.constants.items() if array.dtype == np.uint16}
    assert gate_blocks(replace(graph, constants={**graph.constants, **falling})) == {"helium_tanh"}


def blocks_on_m4(least: int) -> set[str]:
    """The block instructions of a layer whose first weights of both kinds are the ``least`` of all."""
    graph, _ = layer("int_gru", x=np.int8, features=8, hidden=12)
    constants = dict(graph.constants)
    for name, array in graph.constants.items():
        if array.dtype == np.int8:
            constants[name] = np.maximum(array, least)
            constants[name].flat[0] = least
    program = lower_graph(fuse(replace(graph, constants=constants)), select("cortex-m4"))
    return {block.name for block in program.blocks}


def test_pairs_of_channels_share_halfwords_where_they_fit() -> None:
    """256 * -128 less something fits none."""
    names = blocks_on_m4(-127)
    assert names and all(name.startswith("gemm_4x1_s16s8_i32") for name in names), names
    names = blocks_on_m4(-128)
    assert names and all(name.startswith("gemm_8x1_s16s8_i32") for name in names), names
