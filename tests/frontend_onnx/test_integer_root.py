"""The function IntegerRoot: the nearest integer to a root, in any runtime and on any machine; only it is int_sqrt."""

from __future__ import annotations

from math import isqrt
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.frontend_onnx import import_model
from ccml.frontend_onnx.feature_function import DOMAIN, OPSET
from ccml.frontend_onnx.integer_root import NAME, integer_root_function
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.artifacts.machines import ARM64_LINUX, GENERIC, V2, V3
from tests.frontend_onnx.compiled import compiled
from tests.schedule.block_cases import Route, by_c, by_objects
from tests.tools import needs

M4, M0 = (select(name) for name in ("cortex-m4", "cortex-m0plus"))


def numbers(roots: range) -> np.ndarray:
    """Where the nearest integer changes, squares and what is beside them, and what is beyond 2^30."""
    edges = [r * r + step for r in roots for step in (-1, 0, r, r + 1)]
    return np.unique(np.array([*edges, *range(99), 2**30 - 1, 2**30, 2**31, 2**32 - 1]).clip(0)).astype(np.uint32)


def nearest(x: np.ndarray) -> np.ndarray:
    """By exact arithmetic: twice the root, cut off, and half of that, upwards."""
    return np.array([(isqrt(4 * min(int(number), 1 << 30)) + 1) // 2 for number in x], np.uint32)


def model(size: int) -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node(NAME, ["x"], ["y"], domain=DOMAIN)], "roots",
        [helper.make_tensor_value_info("x", TensorProto.UINT32, [size])],
        [helper.make_tensor_value_info("y", TensorProto.UINT32, [size])],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, functions=[integer_root_function()], opset_imports=opsets, ir_version=9)


def test_the_body_means_the_nearest_root() -> None:
    x = numbers(range(1, 32769))
    (y,) = ReferenceEvaluator(model(len(x))).run(None, {"x": x})
    np.testing.assert_array_equal(y, nearest(x))


def test_all_roots_on_this_machine() -> None:
    x = numbers(range(1, 32769))
    proto = model(len(x))
    assert [node.op for node in import_model(proto).nodes] == ["int_sqrt"]
    (y,) = compiled(proto, {"x": x})
    np.testing.assert_array_equal(y, nearest(x))


def test_another_function_of_that_name_is_expanded() -> None:
    proto = model(3)
    (function,) = proto.functions
    function.node.append(helper.make_node("Add", [function.output[0]] * 2, ["twice"]))
    function.output[0] = "twice"
    assert all(node.op != "int_sqrt" for node in import_model(proto).nodes)
    (y,) = compiled(proto, {"x": np.array([0, 2, 9], np.uint32)})
    np.testing.assert_array_equal(y, [0, 2, 6])


MACHINES = [
    *[pytest.param(machine, by_c, marks=needs("gcc")) for machine in (V2, V3, GENERIC)],
    pytest.param(ARM64_LINUX, by_c, marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")),
    *[
        pytest.param(machine, route, marks=needs("arm-none-eabi-gcc", "qemu-system-arm"))
        for machine in (M4, M0)
        for route in (by_c, by_objects)
    ],
]


@pytest.mark.parametrize(("machine", "route"), MACHINES)
def test_elsewhere(machine: Machine, route: Route, tmp_path: Path) -> None:
    """By a float unit, and bit by bit."""
    x = numbers(range(1, 32769, 331))
    program = lower_graph(optimize(import_model(model(len(x)))), machine)
    (y,) = route(program, machine, {"x": x}, tmp_path).values()
    np.testing.assert_array_equal(y, nearest(x))
