"""Runs the plain nest of one anchor, unfused, with a buffer for each operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ccml.emit_llvm.jit import JitKernel, host_machine
from ccml.instructions import INSTRUCTIONS
from ccml.ir.build import load, store
from ccml.ir.graph import NameSupply, Node, Value
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Access, Alloc, Block, Buffer, Expr, Kernel, Space, Type
from ccml.ir.loops_verify import verify_kernel
from ccml.ir.types import DType, TensorType
from ccml.ops.nests import NESTS
from ccml.ops.table import OPS
from ccml.schedule.legalize import legalize

INTERPRETED = 3000
"""Up to so many multiply-accumulates (or elements) a nest runs in the interpreter as well."""


class PlainContext:
    """The :class:`~ccml.ops.opdef.NestContext` of a kernel with one operator."""

    def __init__(self, node: Node) -> None:
        reads = {value.name: _buffer(value, Access.READ) for value in node.operands}
        writes = {value.name: _buffer(value, Access.WRITE) for value in node.outputs}
        self.buffers = {**reads, **writes}
        self._names = NameSupply(self.buffers)

    def read(self, value: Value, index: Sequence[Expr]) -> Expr:
        return load(self.buffers[value.name], *index)

    def computed(self, value: Value, index: Sequence[Expr]) -> tuple[Block, Expr]:
        return (), self.read(value, index)

    def write(self, value: Value, index: Sequence[Expr], element: Expr) -> Block:
        assert element.type == Type(value.dtype)
        return (store(self.buffers[value.name][index], element),)

    def scratch(self, stem: str, dtype: DType, shape: Sequence[int]) -> tuple[Buffer, Block]:
        buffer = Buffer(self.fresh(stem), Type(dtype), tuple(shape), Space.STACK)
        return buffer, (Alloc(buffer),)

    def fresh(self, stem: str) -> str:
        return self._names.fresh(stem)


def _buffer(value: Value, access: Access) -> Buffer:
    return Buffer(value.name, Type(value.dtype), value.shape, access=access)


def make_node(op: str, arrays: Sequence[np.ndarray | None], attrs: dict[str, Any]) -> Node:
    """The node of ``op`` over values ``x0``, ``x1``, ... of the types of ``arrays``."""
    inputs = tuple(
        None if array is None else Value(f"x{i}", TensorType(DType.from_numpy(array.dtype), array.shape))
        for i, array in enumerate(arrays)
    )
    types = OPS[op].infer([None if value is None else value.type for value in inputs], attrs)
    outputs = tuple(Value(f"y{i}", type_) for i, type_ in enumerate(types))
    return Node(op, inputs, outputs, attrs)


def make_kernel(node: Node) -> Kernel:
    ctx = PlainContext(node)
    body = legalize(NESTS[node.op](ctx, node), host_machine().cpu)
    return Kernel(node.op, tuple(ctx.buffers.values()), body)


def run_nest(op: str, *arrays: np.ndarray | None, **attrs: Any) -> list[np.ndarray]:
    """The outputs of the verified nest, compiled; where it is small the interpreter has to agree to the bit."""
    node = make_node(op, arrays, attrs)
    kernel = make_kernel(node)
    verify_kernel(kernel, instructions=INSTRUCTIONS)
    operands = {f"x{i}": np.ascontiguousarray(array) for i, array in enumerate(arrays) if array is not None}
    results = {value.name: np.zeros(value.shape, value.dtype.numpy) for value in node.outputs}
    JitKernel(kernel).run({**operands, **results})
    if _work(node) <= INTERPRETED:
        interpreted = {name: np.zeros_like(array) for name, array in results.items()}
        run_kernel(kernel, {**operands, **interpreted}, instructions=INSTRUCTIONS)
        for name, array in results.items():
            np.testing.assert_array_equal(interpreted[name], array)
    return list(results.values())


def _work(node: Node) -> int:
    macs = OPS[node.op].macs
    return macs(node) if macs else 40 * sum(value.type.size for value in node.operands)


def check_nest(
    op: str, *arrays: np.ndarray | None, rtol: float = 2e-6, atol: float = 1e-6, **attrs: Any
) -> list[np.ndarray]:
    """The nest against the meaning in the operator table; integers exactly."""
    expected = OPS[op].evaluate(arrays, attrs)
    results = run_nest(op, *arrays, **attrs)
    for result, wanted in zip(results, expected, strict=True):
        assert result.shape == wanted.shape and result.dtype == wanted.dtype
        if result.dtype.kind == "f":
            np.testing.assert_allclose(result, wanted, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(result, wanted)
    return results


def normal(*shape: int, dtype: type[Any] = np.float32, seed: int = 0) -> np.ndarray:
    """Standard normal numbers (integers: -20 to 20)."""
    rng = np.random.default_rng([seed, *shape])
    if np.dtype(dtype).kind in "iu":
        return rng.integers(-20 if np.dtype(dtype).kind == "i" else 0, 21, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
