"""What is the same for several layers, calls or levels is done once: counted, never timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ccml import driver
from ccml.ir.build import store
from ccml.ir.graph import Graph, Node
from ccml.ir.loops import F32, INDEX, Access, Binary, Buffer, Const, Expr, Let, Load, Type, Var
from ccml.ir.loops_text import parse_kernel
from ccml.ir.specialize import specialized
from ccml.program import lower_nodes, operations
from ccml.schedule import constant_matrices, contraction
from ccml.schedule.alike import Alike
from ccml.schedule.constant_matrices import ConstantMatrix
from ccml.schedule.kernel import KernelContext
from ccml.schedule.names import Names
from ccml.schedule.winograd_matrices import ALL
from ccml.targets import select
from onnx import TensorProto, helper, numpy_helper, save
from pytest import MonkeyPatch


@dataclass
class Counted:
    """A function, and how often it was called."""

    function: Callable[..., Any]
    calls: int = 0

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.calls += 1
        return self.function(*args, **more)


def counted(monkeypatch: MonkeyPatch, place: Any, name: str) -> Counted:
    found = Counted(getattr(place, name))
    monkeypatch.setattr(place, name, found)
    return found


def network(folder: Path, *channels: int) -> Path:
    """3x3 convolutions with so many channels one after the other, 3 at first, each behind a Relu."""
    rng, nodes, weights = np.random.default_rng(1), [], []
    for n, (before, after) in enumerate(zip((3, *channels), channels, strict=False)):
        array = rng.standard_normal((after, before, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(array, f"w{n}"))
        nodes.append(helper.make_node("Conv", [f"x{n}", f"w{n}"], [f"c{n}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{n}"], [f"x{n + 1}"]))
    x = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 3, 8, 8])
    y = helper.make_tensor_value_info(f"x{len(channels)}", TensorProto.FLOAT, [1, channels[-1], 8, 8])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


def test_records_are_values() -> None:
    one, other = (Binary("add", Var("i"), Const(1, INDEX)) for _ in range(2))
    assert one == other and hash(one) == hash(other)
    assert one != replace(other, op="sub")
    assert len({Type(F32.dtype), F32}) == len({Buffer("x", F32, (1,)), Buffer("x", F32, (1,))}) == 1


def test_literals_are_equal_by_their_bits() -> None:
    assert Const(0.0, F32) != Const(-0.0, F32)
    assert Const(0.0, F32) == Const(0.0, F32) != Const(0.0, Type(F32.dtype, 4))
    assert Const(float("nan"), F32) == Const(float("nan"), F32) != Const(0.0, F32)
    assert len({Const(float("nan"), F32), Const(float("nan"), F32), Const(-0.0, F32), Const(0.0, F32)}) == 3


def test_equal_layers_are_verified_once(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    verified = counted(monkeypatch, lower_nodes, "verify_scheduled")
    program = driver.compile_model(network(tmp_path, 16, 16, 16, 16), select("x86")).program
    assert len(program.calls) > len(program.kernels) == verified.calls


@pytest.mark.parametrize("channels", [(16,), (16, 24)])
def test_operations_are_counted_once_a_level(
    channels: tuple[int, ...], tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    compiled = driver.compile_model(network(tmp_path, *channels), select("x86"))
    lowered, found = counted(monkeypatch, driver, "lower"), counted(monkeypatch, operations, "operations")
    driver.lower_levels(compiled)
    assert found.calls == 1 + lowered.calls > 2


def test_a_matrix_is_planned_once(monkeypatch: MonkeyPatch) -> None:
    """Some rows of it are one more; another kernel plans none of them again."""
    constant_matrices._plan.cache_clear()
    planned = counted(monkeypatch, constant_matrices, "_paired_columns")
    x = Buffer("x", F32, (8, 8), access=Access.READ)
    y = Buffer("y", F32, (8, 8), access=Access.WRITE)

    def at(row: int, column: int) -> Load:
        return x[row, column]

    def use(row: int, column: int, value: Expr) -> tuple[Any, ...]:
        return (store(y[row, column], value),)

    matrix = ConstantMatrix(max(ALL.values(), key=lambda each: each.outputs).input, fused=True)
    names = Names(["x", "y"])
    assert matrix.both_sides([0, 1], at, use, names) != matrix.both_sides([2, 3], at, use, names)
    again = ConstantMatrix(matrix.matrix.copy(), fused=False)
    again.both_sides([2, 3], at, use, Names(["x", "y"]))
    assert planned.calls == 3


def test_the_kernel_of_a_call_is_made_once() -> None:
    kernel = parse_kernel("""\
kernel copy(x: i8[2] const, y: i8[1] out, n: index)
  for i:n
    y[i] = x[i*2]
""")
    assert specialized(kernel, (3,), (10, 4)) is specialized(kernel, [3], [10, 4])
    assert specialized(kernel, (3,), (10, 4)) != specialized(kernel, (2,), (10, 4))


def mixed_layers(folder: Path) -> Path:
    """Pairs of equal layers with weights of their own: 3x3 and 1x1 convolutions, one of them before a Sigmoid, and
    depthwise ones, with biases that are all zeros or not; the last one has the weights of the one before."""
    array, rng, nodes, weights = np.zeros(0), np.random.default_rng(2), [], []
    names = iter(f"x{n}" for n in range(1, 100))
    x, kernels = "x0", ((3, 1), (3, 1), (1, 1), (1, 1), (3, 8), (3, 8), (1, 1), (1, 1))
    for number, (size, group) in enumerate(kernels):
        y = next(names)
        shape = (8, 8 // group, size, size)
        array = rng.standard_normal(shape).astype(np.float32) if number < len(kernels) - 1 else array
        bias = rng.standard_normal(8).astype(np.float32) * (number % 3 > 0)
        weights += [numpy_helper.from_array(array, f"w{number}"), numpy_helper.from_array(bias, f"b{number}")]
        attrs: dict[str, Any] = {"pads": [size // 2] * 4, "group": group}
        nodes.append(helper.make_node("Conv", [x, f"w{number}", f"b{number}"], [y], **attrs))
        x = next(names)
        nodes.append(helper.make_node("Sigmoid" if number == 3 else "Relu", [y], [x]))
    value = helper.make_tensor_value_info("x0", TensorProto.FLOAT, [1, 8, 12, 12])
    result = helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, 8, 12, 12])
    graph = helper.make_graph(nodes, "mixed", [value], [result], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "mixed.onnx")
    return folder / "mixed.onnx"


@pytest.mark.parametrize(("target", "cpu"), [("x86", None), ("x86", "x86-64-v4"), ("arm", None)])
def test_loops_of_alike_layers_are_made_once_and_are_theirs(
    target: str, cpu: str | None, tmp_path: Path, monkeypatch: MonkeyPatch
) -> None:
    """Each layer has the kernel and the packed weights that it would have without the others."""
    path, machine = mixed_layers(tmp_path), select(target, None, cpu)
    made = counted(monkeypatch, contraction, "contraction_block")
    program = driver.compile_model(path, machine).program
    with_sharing, made.calls = made.calls, 0
    monkeypatch.setattr(KernelContext, "loops", lambda self, make, *parts: make())
    without = driver.compile_model(path, machine).program
    assert with_sharing < made.calls
    assert program.kernels == without.kernels and program.body == without.body
    assert all(np.array_equal(array, without.constants[name]) for name, array in program.constants.items())


def test_loops_that_ask_for_constants_are_not_kept() -> None:
    """What depends on the values of weights, or packs more of them, is made for each layer."""
    alike = Alike("structure")

    node = Node("fused", (), (), {"body": Graph("body", (), (), ())})

    def context() -> KernelContext:
        return KernelContext(node, select("x86").cpu, {}, lambda value: np.zeros(1), alike=alike)

    def named(ctx: KernelContext) -> tuple[Any, ...]:
        return (Let(Var(ctx.names.fresh("a"), F32), Const(1.0, F32)),)

    def asking(ctx: KernelContext) -> tuple[Any, ...]:
        return named(ctx) if ctx.constant(None) is not None else ()

    def packing(ctx: KernelContext) -> tuple[Any, ...]:
        ctx.pack("w", np.zeros(1, np.float32))
        return named(ctx)

    for make, kept in ((named, True), (asking, False), (packing, False)):
        first, second = context(), context()
        blocks = [ctx.loops(partial(make, ctx), make) for ctx in (first, second)]
        assert blocks[0] == blocks[1] and (blocks[0] is blocks[1]) == kept
        assert first.names.taken() == second.names.taken()
        assert second.names.fresh("a") == "a_1"
    other = context()
    other.names.fresh("a")
    assert other.loops(partial(named, other), named) != named(context())
