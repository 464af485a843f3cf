"""Weights are fetched before they are read: what loops ask for is what later ones read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_assembly
from ccml.ir.loops import INDEX, Access, Binary, Block, Buffer, Const, Expr, For, Kernel, Prefetch, Space, Type, Var
from ccml.ir.loops_rewrite import stmt_loads, walk_stmts
from ccml.ir.types import DType
from ccml.schedule.prefetch import Stream
from ccml.targets import select
from ccml.targets.target import CacheLines
from onnx import TensorProto, save
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array
from onnxruntime import InferenceSession

LINE = 64
X86 = select("x86", cpu="x86-64-v3")
V4 = select("x86", cpu="x86-64-v4")


def value(expr: Expr, names: dict[Var, int]) -> int:
    match expr:
        case Const(number):
            return int(number)
        case Var():
            return names[expr]
        case Binary("add", x, y):
            return value(x, names) + value(y, names)
        case Binary("mul", x, y):
            return value(x, names) * value(y, names)
        case Binary("floordiv", x, y):
            return value(x, names) // value(y, names)
        case Binary("floormod", x, y):
            return value(x, names) % value(y, names)
        case Binary("min", x, y):
            return min(value(x, names), value(y, names))
    raise TypeError(expr)


def accesses(block: Block, names: dict[Var, int]) -> Iterator[tuple[str, bool, int, int]]:
    """Of constants: the buffer, whether it is read, the first byte and how many, in the order of execution."""
    for stmt in block:
        if isinstance(stmt, Prefetch):
            buffer, index = stmt.pointer.buffer, stmt.pointer.index
            yield buffer.name, False, offset(buffer.strides, index, names) * buffer.dtype.size, 1
        elif isinstance(stmt, For):
            for count in range(value(stmt.extent, names)):
                yield from accesses(stmt.body, {**names, stmt.var: count})
        else:
            for load in stmt_loads(stmt):
                if load.buffer.name.startswith("w") and len(load.buffer.shape) > 1:
                    size = load.buffer.dtype.size
                    first = offset(load.buffer.strides, load.index, names)
                    yield load.buffer.name, True, first * size, load.lanes * size


def offset(strides: tuple[int, ...], index: tuple[Expr, ...], names: dict[Var, int]) -> int:
    return sum(value(part, names) * stride for part, stride in zip(index, strides, strict=True))


def late(kernel: Kernel) -> tuple[int, int]:
    """Lines of constants that are read before they are fetched, and all lines that are read."""
    fetched: set[tuple[str, int]] = set()
    read: dict[tuple[str, int], bool] = {}
    for buffer, is_read, first, count in accesses(kernel.body, {}):
        lines = {(buffer, byte // LINE) for byte in (first, first + count - 1)}
        if is_read:
            for line in lines:
                read.setdefault(line, line in fetched)
        else:
            fetched |= lines
    return sum(not early for early in read.values()), len(read)


def product(tmp_path: Path, depth: int, columns: int, rows: int, taps: int = 1) -> Kernel:
    """The kernel of a 1-D convolution, which for one tap is a product of matrices."""
    weights = np.random.default_rng(0).normal(size=(columns, depth, taps)).astype(np.float32)
    node = make_node("Conv", ["x", "w"], ["y"], pads=[taps // 2, taps // 2])
    x = make_tensor_value_info("x", TensorProto.FLOAT, [1, depth, rows])
    y = make_tensor_value_info("y", TensorProto.FLOAT, [1, columns, rows])
    graph = make_graph([node], "g", [x], [y], [from_array(weights, "w")])
    model = make_model(graph, opset_imports=[make_opsetid("", 17)])
    path = tmp_path / "product.onnx"
    path.write_bytes(model.SerializeToString())
    kernels = compile_model(path, X86).program.kernels
    return next(kernel for kernel in kernels if any(len(param.shape) > 2 for param in kernel.params))


@pytest.mark.parametrize(
    ("depth", "columns", "rows", "taps"), [(256, 128, 24, 1), (200, 96, 49, 1), (1000, 48, 7, 1), (96, 80, 21, 3)]
)
def test_all_but_the_first_block_is_fetched_before_it_is_read(
    tmp_path: Path, depth: int, columns: int, rows: int, taps: int
) -> None:
    kernel = product(tmp_path, depth, columns, rows, taps)
    missed, lines = late(kernel)
    blocks = max(param.shape[1] for param in kernel.params if len(param.shape) > 2)
    assert blocks > 1
    assert missed <= lines / blocks


def test_few_weights_stay_where_they_are(tmp_path: Path) -> None:
    kernel = product(tmp_path, 64, 64, 24)
    assert not any(isinstance(stmt, Prefetch) for stmt in walk_stmts(kernel.body))


def test_the_instruction_is_there(tmp_path: Path) -> None:
    product(tmp_path, 256, 128, 24)
    program = compile_model(tmp_path / "product.onnx", X86).program
    assert "prefetcht0" in emit_assembly(program, X86)


def test_of_no_passages_none_fetches() -> None:
    """Halfwords are multiplied in pairs: a tap of one halfword leaves the loop over pairs empty."""
    lines = CacheLines(size=64, distance=256, near=0, fewest=0)
    weights = Buffer("w", Type(DType.I16), (4096,), access=Access.READ)
    stream = Stream(weights, 512, (INDEX(0),), 16, INDEX(512), (), lines)
    assert stream.next_block(INDEX(0), 0) == ()
    assert len(stream.next_block(INDEX(0), 4)) == 4  # 1024 bytes, a quarter of 16 lines


def depthwise(path: Path, channels: int, side: int) -> Path:
    weights = np.random.default_rng(1).standard_normal((channels, 1, 5, 5)).astype(np.float32)
    x, y = (make_tensor_value_info(name, TensorProto.FLOAT, (1, channels, side, side)) for name in "xy")
    relu, conv = make_node("Relu", ["x"], ["h"]), make_node("Conv", ["h", "w"], ["y"], group=channels, pads=[2] * 4)
    graph = make_graph([relu, conv], "g", [x], [y], [from_array(weights, "w")])
    save(make_model(graph, opset_imports=[make_opsetid("", 17)], ir_version=8), path)
    return path


def fetched_and_loaded(path: Path) -> tuple[set[str], set[str]]:
    """Places of activations in the innermost loops over channels, without the channel: what is fetched and loaded."""
    program = compile_model(path, V4).program
    (kernel,) = (kernel for kernel in program.kernels if any(buffer.shape[-3:-1] == (5, 5) for buffer in kernel.params))
    fetched, loaded = set(), set()
    for stmt in walk_stmts(kernel.body):
        if isinstance(stmt, Prefetch) and stmt.pointer.buffer.space is Space.GLOBAL:
            fetched.add(f"{stmt.pointer.buffer.name} {stmt.pointer.index[:-1]}")
        loaded |= {f"{load.buffer.name} {load.index[:-1]}" for load in stmt_loads(stmt) if len(load.buffer.shape) > 2}
    return fetched, loaded


def test_pixels_of_large_depthwise_layers_are_fetched(tmp_path: Path) -> None:
    """Each pixel and tap is a stream of channels. What the second cache keeps, and few channels, need none of that."""
    path = depthwise(tmp_path / "m.onnx", 256, 24)
    fetched, loaded = fetched_and_loaded(path)
    assert fetched == loaded and loaded
    x = np.random.default_rng(2).standard_normal((1, 256, 24, 24)).astype(np.float32)
    (expected,) = InferenceSession(path).run(None, {"x": x})
    (found,) = JitModel(compile_model(path, host_machine()).program).run({"x": x}).values()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)
    assert not fetched_and_loaded(depthwise(tmp_path / "small.onnx", 256, 9))[0]
    assert not fetched_and_loaded(depthwise(tmp_path / "few.onnx", 64, 56))[0]
