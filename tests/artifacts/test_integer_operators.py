"""Operators of integer inference that the models of the model set do not have, on all kinds of machines."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from ccml.ir.graph import Graph
from ccml.ir.types import DType
from ccml.targets import Machine

from tests.artifacts.machines import RISCV, WASM, machine_id
from tests.artifacts.small_graphs import CORES, HOST, assert_bits, assert_bits_in_process
from tests.integerize.building import Qdq, random_bytes
from tests.tools import needs

MACHINES = [
    *(pytest.param(machine, marks=needs("gcc"), id=machine_id(machine)) for machine in HOST),
    *(
        pytest.param(machine, marks=needs("arm-none-eabi-gcc", "qemu-system-arm"), id=machine_id(machine))
        for machine in CORES
    ),
    pytest.param(RISCV, marks=needs("riscv64-unknown-elf-gcc", "qemu-riscv32"), id="riscv32"),
    pytest.param(WASM, marks=needs("clang", "wasm-ld", "node"), id="wasm32"),
]


def normalizations() -> Graph:
    rng = np.random.default_rng(0)
    q = Qdq()
    outputs = []
    for number, (op, dtype) in enumerate(product(("normalize", "rms_normalize"), (DType.I8, DType.U8))):
        x = q.input((2, 5, 33), 0.01, 7, dtype, f"x{number}")
        outputs.append(q.quantize(q.op(op, x, axes=(2,), epsilon=1e-5), 0.03, 1, dtype))
    x = q.input((2, 33), 0.001, 0, DType.I16, "wide")
    outputs.append(q.quantize(q.op("normalize", x, axes=(1,), epsilon=1e-6), 0.001, 0, DType.I16))
    x = q.input((2, 6, 5), 0.02, 3, DType.I8, "scaled")
    scaled = q.op("mul", q.op("normalize", x, axes=(1, 2), epsilon=1e-5), q.constant(rng.normal(1, 0.3, (6, 1))))
    outputs.append(q.quantize(q.op("add", scaled, q.constant(rng.normal(0, 1, (6, 1)))), 0.03, -9))
    return q.graph(*outputs)


def stored_weights() -> Graph:
    """Products of floats by integers, whose sums are exact: activations and scales are powers of two, or small
    integers, so that every order of summation gives the same bits."""
    rng = np.random.default_rng(0)
    q = Qdq()
    outputs = []
    for number, (k, n, block, lim) in enumerate(((64, 19, 32, 8), (40, 33, 40, 128), (30, 5, 3, 8))):
        x = q.input((3, k), 0.25, 0, DType.I8, f"x{number}")
        x = q.op("mul", x, q.builder.constant(np.full((3, k), 0.5, np.float32)))
        scale = 2.0 ** rng.integers(-3, 3, (-(-k // block), n))
        w = [rng.integers(-lim, lim, (k, n)).astype(np.int8), scale.astype(np.float32)]
        operands = [q.builder.constant(array) for array in w]
        if number != 1:
            operands.append(q.builder.constant(rng.integers(-lim, lim, scale.shape).astype(np.int8)))
        outputs.append(q.op("relu", q.op("weight_matmul", x, *operands, block=block)))
    return q.graph(*outputs)


def sixteen_bits() -> Graph:
    """Sums, products, bounds and rescalings of 16-bit tensors, alone and with bytes."""
    q = Qdq()
    x, y = (q.input((2, 3, 17), 0.000713, 0, DType.I16, name) for name in ("x", "y"))
    narrow = q.input((1, 3, 17), 0.0517, 9, DType.U8, "z")
    wanted = [
        q.op("add", x, y), q.op("sub", narrow, x), q.op("mul", x, y), q.op("mul", x, narrow),
        q.op("relu", q.op("add", x, narrow)), q.op("max", x, y), q.op("clip", x, lo=-3.0, hi=9.0),
    ]  # fmt: skip
    outputs = [q.quantize(value, 0.001177, 0, DType.I16) for value in wanted]
    return q.graph(*outputs, q.quantize(q.op("add", x, y), 0.2, 3))


GRAPHS = {"sixteen_bits": sixteen_bits, "normalizations": normalizations, "stored_weights": stored_weights}


@pytest.mark.parametrize("name", GRAPHS)
def test_in_process(name: str) -> None:
    graph = GRAPHS[name]()
    assert_bits_in_process(graph, [random_bytes(graph, seed) for seed in range(3)])


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", GRAPHS)
def test_by_c(name: str, machine: Machine, tmp_path: Path) -> None:
    graph = GRAPHS[name]()
    assert_bits(graph, [random_bytes(graph, seed) for seed in range(3)], machine, tmp_path / "c")
