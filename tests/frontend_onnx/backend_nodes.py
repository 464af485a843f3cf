"""The node tests of the ONNX backend suite, and which of them are expected to pass.

``backend_nodes.txt`` has one line a test: its name, then the inputs that are frozen into initializers, because the
importer needs them constant (shapes, axes, scales). Run this file to write the table anew; the difference to the
last one shows what was gained or lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import onnx
from ccml.errors import CcmlError
from onnx import numpy_helper

from tests.frontend_onnx.graphs import run

TABLE = Path(__file__).with_suffix(".txt")


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


def expected_to_pass() -> dict[str, tuple[str, ...]]:
    """Test name -> the inputs to freeze."""
    lines = [line.split() for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    return {name: tuple(frozen) for name, *frozen in lines}


def check(test: NodeTest, frozen: tuple[str, ...]) -> None:
    """Imports with these inputs frozen, evaluates, and compares with the suite's results."""
    proto = onnx.ModelProto()
    proto.CopyFrom(test.model)
    proto.graph.initializer.extend(numpy_helper.from_array(test.inputs[name], name) for name in frozen)
    feeds = {name: array for name, array in test.inputs.items() if name not in frozen}
    with np.errstate(all="ignore"):
        results = run(proto, feeds, shapes={name: array.shape for name, array in feeds.items()})
    for result, (name, expected) in zip(results, test.expected.items(), strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), name
        wide = np.float64 if expected.dtype.kind == "f" else expected.dtype
        atol = 2e-3 if expected.dtype == np.float16 else max(test.atol, 1e-6)
        np.testing.assert_allclose(
            result.astype(wide), expected.astype(wide), rtol=test.rtol, atol=atol, equal_nan=True, err_msg=name
        )


def _choices(test: NodeTest) -> list[tuple[str, ...]]:
    """Sets of inputs to freeze, the smallest first."""
    rest = list(test.inputs)[1:]
    parameters = tuple(n for n in rest if test.inputs[n].ndim <= 1 and test.inputs[n].dtype.kind in "iub")
    small = tuple(n for n in rest if test.inputs[n].ndim <= 1)
    return list(dict.fromkeys([(), parameters, small, tuple(rest), tuple(test.inputs)]))


def _passes(attempt: Callable[[], None]) -> bool:
    try:
        attempt()
    except (CcmlError, AssertionError):
        return False
    return True


def write_table() -> None:
    lines = ["# Written by backend_nodes.py: test name, inputs frozen into initializers"]
    for test in node_tests().values():
        found = next((frozen for frozen in _choices(test) if _passes(partial(check, test, frozen))), None)
        if found is not None:
            lines.append(" ".join([test.name, *found]))
    TABLE.write_text("\n".join(lines) + "\n")
    print(f"{len(lines) - 1} of {len(node_tests())} tests with tensors pass")


if __name__ == "__main__":
    write_table()
