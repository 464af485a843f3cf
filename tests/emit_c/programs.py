"""A small program with every kind of storage, for the tests of artifacts."""

from __future__ import annotations

import numpy as np
from ccml.ir import program as prog
from ccml.ir.build import load, store
from ccml.ir.loops import (
    Access,
    Alloc,
    Buffer,
    Call,
    Const,
    Convert,
    Kernel,
    Reduce,
    Space,
    Splat,
    Stmt,
    Type,
    Var,
    binary,
)
from ccml.ir.loops_rewrite import loop
from ccml.ir.program import BufferDecl, Interface, MemoryPlan, Pool, Program, Storage
from ccml.ir.types import DType, QuantParams, TensorType

ROWS, COLUMNS = 6, 48
LOC = 'dense/MatMul "*/ ??/'


def matrix_program(lanes: int, name: str = "kws", extra: dict[str, np.ndarray] | None = None) -> Program:
    """``scores = relu(weights @ input + bias)`` with ``hidden`` in the arena, and ``codes = input + 1`` in int8."""
    rng = np.random.default_rng(4)
    constants = {
        "weights": rng.standard_normal((ROWS, COLUMNS)).astype(np.float32),
        "bias": np.array([0.5, -0.0, 1e-45, -3.4e38, 2.0, 1e-3], np.float32),
        **(extra or {}),
    }
    buffers = {
        "in": BufferDecl("in", DType.F32, (COLUMNS,), Storage.INPUT),
        "hidden": BufferDecl("hidden", DType.F32, (ROWS,), Storage.ARENA),
        "out": BufferDecl("out", DType.F32, (ROWS,), Storage.OUTPUT),
        "codes": BufferDecl("codes", DType.I8, (COLUMNS,), Storage.OUTPUT),
    }
    for key, array in constants.items():
        buffers[key] = BufferDecl(key, DType.from_numpy(array.dtype), array.shape, Storage.CONSTANT)
    quant = QuantParams((0.25,), (-3,))
    return Program(
        name=name,
        target="test",
        inputs=(Interface("input", "serving/input:0", TensorType(DType.F32, (1, COLUMNS)), "in"),),
        outputs=(
            Interface("scores", "scores", TensorType(DType.F32, (1, ROWS)), "out"),
            Interface("int", "codes\u00e9", TensorType(DType.I8, (COLUMNS,), quant), "codes"),
        ),
        buffers=buffers,
        constants=constants,
        kernels=(_dense(lanes), _relu(), _codes()),
        body=(
            prog.Call("dense", ("in", "weights", "bias", "hidden"), LOC, ROWS * COLUMNS),
            prog.Call("relu", ("hidden", "out"), "relu"),
            prog.Call("codes", ("in", "codes"), "quantize"),
        ),
        plan=MemoryPlan((Pool("arena", {"hidden": 64}, 128, 16),)),
    )


def _parameter(name: str, dtype: DType, *shape: int, out: bool = False) -> Buffer:
    return Buffer(name, Type(dtype), shape, access=Access.WRITE if out else Access.READ)


def _dense(lanes: int) -> Kernel:
    x = _parameter("x", DType.F32, COLUMNS)
    weights, bias = _parameter("weights", DType.F32, ROWS, COLUMNS), _parameter("bias", DType.F32, ROWS)
    y = _parameter("y", DType.F32, ROWS, out=True)
    type_ = Type(DType.F32, lanes)
    acc = Buffer("acc", type_, (1,), Space.REG)
    row, column = Var("row"), Var("column")
    products = (load(x, column * lanes, lanes=lanes), load(weights, row, column * lanes, lanes=lanes), load(acc, 0))
    total = load(acc, 0) if lanes == 1 else Reduce("add", load(acc, 0))
    zero = Const(0.0, Type(DType.F32))
    body: tuple[Stmt, ...] = (
        Alloc(acc),
        store(acc[0], zero if lanes == 1 else Splat(zero, lanes)),
        *loop(column, COLUMNS // lanes, store(acc[0], Call("fma", products, type_))),
        store(y[row], total + load(bias, row)),
    )
    return Kernel("dense", (x, weights, bias, y), loop(row, ROWS, *body), loc=LOC)


def _relu() -> Kernel:
    x, y = _parameter("x", DType.F32, ROWS), _parameter("y", DType.F32, ROWS, out=True)
    i = Var("i")
    return Kernel("relu", (x, y), loop(i, ROWS, store(y[i], binary("max", load(x, i), 0.0))))


def _codes() -> Kernel:
    x, y = _parameter("x", DType.F32, COLUMNS), _parameter("y", DType.I8, COLUMNS, out=True)
    i = Var("i")
    value = Convert(Type(DType.I8), load(x, i)) + Const(1, Type(DType.I8))
    return Kernel("codes", (x, y), loop(i, COLUMNS, store(y[i], value)))
