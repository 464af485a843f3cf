"""The node tests of the ONNX backend suite as imported graphs: whole, or with operands frozen into initializers.

``tests/onnx_suite`` runs the suite itself. Here are the meaning of what the importer makes of it, and tests that pass
only with operands that are constant: ``frozen_nodes.txt`` has a line for each, its name and these operands.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from ccml.driver import preferred_bytes
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.ir.extents import cropped
from ccml.ir.graph import Graph
from ccml.ir.strings import decoded, encoded_inputs, is_text
from ccml.ir.types import DType
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from onnx import numpy_helper

from tests.frontend_onnx.graphs import checked_import
from tests.onnx_suite.suite import exclusions

BY_VALUE = {"test_optional_has_element_empty_optional_input"}
"""Tests of which the backend alone knows what they are about: that an input is not there."""

FROZEN = Path(__file__).with_name("frozen_nodes.txt")


@dataclass(frozen=True)
class NodeTest:
    """One model with its first data set."""

    name: str
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    rtol: float
    atol: float


@cache
def node_tests() -> dict[str, NodeTest]:
    """All node tests of the installed onnx whose inputs and outputs are tensors."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    return {test.name: test for case in cases for test in _tensors_only(case)}


def _tensors_only(case: object) -> Iterator[NodeTest]:
    arrays, results = case.data_sets[0]  # type: ignore[attr-defined]
    graph = case.model.graph  # type: ignore[attr-defined]
    if len(arrays) != len(graph.input):
        return
    try:
        inputs = {info.name: _array(array) for info, array in zip(graph.input, arrays)}
        expected = {info.name: _array(array) for info, array in zip(graph.output, results)}
    except (TypeError, ValueError):
        return
    yield NodeTest(case.name, case.model, inputs, expected, case.rtol, case.atol)  # type: ignore[attr-defined]


def _array(given: object) -> np.ndarray:
    if isinstance(given, onnx.TensorProto):
        return numpy_helper.to_array(given)
    if isinstance(given, (np.ndarray, np.generic, int, float)):
        return np.asarray(given)
    raise TypeError(f"{type(given)} is not a tensor")


def frozen_tests() -> dict[str, tuple[str, ...]]:
    """Test name -> the inputs to freeze, for tests that the importer refuses without."""
    lines = [line.split() for line in FROZEN.read_text().splitlines() if line and not line.startswith("#")]
    return {name: tuple(frozen) for name, *frozen in lines}


def expected_to_pass() -> dict[str, tuple[str, ...]]:
    """Test name -> the inputs to freeze, mostly none."""
    listed = exclusions().keys() | frozen_tests().keys() | BY_VALUE
    whole: dict[str, tuple[str, ...]] = {name: () for name in node_tests() if name not in listed}
    return whole | {name: frozen for name, frozen in frozen_tests().items() if name in node_tests()}


@dataclass(frozen=True)
class NodeCase:
    """A test with some inputs frozen into initializers: its graph and what to feed it with."""

    test: NodeTest
    graph: Graph
    feeds: dict[str, np.ndarray]

    def judge(self, results: Mapping[str, np.ndarray]) -> None:
        """Compares outputs by name with those of the suite, by its own tolerance (of bfloat16 two steps, as ONNX's own
        runner has it); near 0 within 1e-6."""
        assert list(results) == list(self.test.expected)
        for name, expected in self.test.expected.items():
            result = results[name]
            if is_text(expected):
                assert result.shape == expected.shape
                np.testing.assert_array_equal(result.astype(object), expected.astype(object), name)
                continue
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), name
            wide = expected.dtype if expected.dtype.kind in "iub" else np.float64
            rtol = max(self.test.rtol, 2**-6) if expected.dtype.name == "bfloat16" else self.test.rtol
            np.testing.assert_allclose(
                result.astype(wide), expected.astype(wide), rtol=rtol, atol=max(self.test.atol, 1e-6),
                equal_nan=True, err_msg=name,
            )  # fmt: skip


def prepare(test: NodeTest, frozen: tuple[str, ...]) -> NodeCase:
    """Imports the test's model with these inputs frozen."""
    proto = onnx.ModelProto()
    proto.CopyFrom(test.model)
    proto.graph.initializer.extend(numpy_helper.from_array(test.inputs[name], name) for name in frozen)
    feeds = {name: array for name, array in test.inputs.items() if name not in frozen}
    with np.errstate(all="ignore"):
        graph = checked_import(proto, shapes={name: array.shape for name, array in feeds.items()})
    return NodeCase(test, graph, feeds)


def check_meaning(case: NodeCase) -> None:
    """By the NumPy meaning of the imported operators."""
    with np.errstate(all="ignore"):
        types = {value.name: value.type for value in case.graph.inputs}
        values = evaluate_graph(case.graph, encoded_inputs(types, case.feeds))
    outputs = cropped(case.graph.extents, {output.name: values[output.name] for output in case.graph.outputs})
    case.judge({name: decoded(array) if array.dtype == DType.CHAR.numpy else array for name, array in outputs.items()})


def check_jit(case: NodeCase) -> None:
    """Compiled into this process."""
    machine = host_machine()
    program = lower_graph(optimize(case.graph, bytes_as=preferred_bytes(machine)), machine)
    case.judge(JitModel(program, machine).run(case.feeds))
