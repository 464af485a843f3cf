"""Accumulators stay in registers: the loops over k of compiled kernels touch no stack."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.driver import ModelOptions, compile_model
from ccml.ir.program import Program
from ccml.passes.precision import FloatFormat
from ccml.targets import Machine, select
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array
from pytest import MonkeyPatch

from tests.models import models_dir, needs_models
from tests.schedule import test_recurrent
from tests.schedule.assembly import Compiled, by_gcc, by_llvm, innermost
from tests.tools import needs

ARM64 = [select("linux-arm64", cpu=cpu) for cpu in ("armv8-a", "armv8.2-a-dotprod")]
MACHINES = [*(select("x86", cpu=f"x86-64-{level}") for level in ("v3", "v4-vnni")), *ARM64]
OF_BFLOATS = [
    *(select("x86", cpu=f"x86-64-{level}") for level in ("v3", "v4-bf16")),
    *(select("linux-arm64", cpu=cpu) for cpu in ("armv8-a", "armv8.2-a-bf16")),
]
MODELS = (
    "mlperf_tiny_kws_dscnn", "mlperf_tiny_ic_resnet8", "mlperf_tiny_vww_mobilenetv1_025", "transformer_2l_d64",
    "mlperf_tiny_ic_resnet8_qdq_int8",
)  # fmt: skip
MULTIPLY_ADDS = re.compile(r"\s(vfmadd\w+ps|vpdpbusd|vpmaddwd|vdpbf16ps|fmla|bfmmla|bfdot|sdot|[su]mlal2?)\s")
VECTOR = re.compile(r"[xyz]mm\d|\b[qdv]\d")
WRITTEN = re.compile(r"\s(vmov\w+\s+%[xyz]mm\d+, (?!.*%rsp).*\(|st[rp]\s+[qd](?!.*\[sp))")
STACK = re.compile(r"\(%rsp|\[sp")
LEAST = 12
"""Multiply-adds of a loop that is looked at: those of blocks, not of single elements or of what is left over."""


def loops(text: str) -> list[tuple[str, list[str]]]:
    """The innermost loops of each function, by its name."""
    found, name, lines = [], "", []
    for line in [*text.splitlines(), "end:"]:
        head = re.match(r"([A-Za-z_]\w*):", line)
        if head is None:
            lines.append(line)
        else:
            found += [(name, body) for body in innermost(lines)]
            name, lines = head[1], []
    return found


def spilling(program: Program, machine: Machine, folder: Path, compiled: Compiled = by_llvm) -> tuple[int, set[str]]:
    """How many loops over k there are, which write no results, and the kernels with some that touch the stack."""
    blocks, spilled = 0, set()
    for name, body in loops(compiled(program, machine, folder)):
        products = sum(bool(MULTIPLY_ADDS.search(line)) for line in body)
        if products >= LEAST and not any(WRITTEN.search(line) for line in body):
            blocks += 1
            if any(VECTOR.search(line) and STACK.search(line) for line in body):
                spilled.add(name)
    return blocks, spilled


def contractions(folder: Path) -> Path:
    """Products of every width in vectors, with nothing behind them and with functions that take many constants."""
    rng = np.random.default_rng(5)
    inputs, nodes, outputs, weights = [], [], [], []
    for vectors in range(1, 9):
        for behind in ("", "Relu", "Gelu", "Sigmoid"):
            name = f"{behind or 'plain'}{vectors}"
            weights.append(from_array(rng.standard_normal((96, 16 * vectors)).astype(np.float32), f"w_{name}"))
            inputs.append(make_tensor_value_info(f"x_{name}", TensorProto.FLOAT, [57, 96]))
            outputs.append(make_tensor_value_info(f"y_{name}", TensorProto.FLOAT, [57, 16 * vectors]))
            product = f"product_{name}" if behind else f"y_{name}"
            nodes.append(make_node("MatMul", [f"x_{name}", f"w_{name}"], [product]))
            if behind:
                nodes.append(make_node(behind, [product], [f"y_{name}"]))
    graph = make_graph(nodes, "contractions", inputs, outputs, weights)
    path = folder / "contractions.onnx"
    onnx.save(make_model(graph, opset_imports=[make_opsetid("", 20)], ir_version=9), path)
    return path


@pytest.mark.check
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.cpu.name)
def test_no_width_and_no_function_behind_makes_loops_over_k_spill(machine: Machine, tmp_path: Path) -> None:
    blocks, spilled = spilling(compile_model(contractions(tmp_path), machine).program, machine, tmp_path)
    assert blocks >= 20
    assert not spilled


@pytest.mark.parametrize("op", ["LSTM", "GRU"])
def test_products_ahead_leave_the_registers_of_a_recurrence(op: str, tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    machine = select("x86", cpu="x86-64-v4")
    monkeypatch.setattr(test_recurrent, "SEQ", 32)
    path = test_recurrent.model(tmp_path / "m.onnx", op, features=128, hidden=128)
    blocks, spilled = spilling(compile_model(path, machine).program, machine, tmp_path)
    assert blocks
    assert not spilled


def model_program(model: str, machine: Machine, precision: FloatFormat = FloatFormat.FP32) -> Program:
    return compile_model(models_dir() / f"{model}.onnx", machine, ModelOptions(precision=precision)).program


WINDOWS = "a window over few channels: LLVM keeps activations that neighbouring rows share"
KNOWN = {
    ("mlperf_tiny_vww_mobilenetv1_025", "x86-64-v3"): {"conv_0": WINDOWS},
}
HOISTED = "GCC moves constants of what follows out of the loops; to forbid it makes other models slower"
KNOWN_IN_C = {
    ("transformer_2l_d64", "armv8-a"): {"matmul_4": HOISTED},
    ("transformer_2l_d64", "armv8.2-a-dotprod"): {"matmul_4": HOISTED},
    ("mlperf_tiny_ic_resnet8_qdq_int8", "armv8-a"): {"conv_5": HOISTED},
    ("mlperf_tiny_ic_resnet8_qdq_int8", "armv8.2-a-dotprod"): {"conv_0": HOISTED, "conv_4": HOISTED},
}
"""Kernels that still do, and why."""


@pytest.mark.check
@needs_models
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("model", MODELS)
def test_no_loop_over_k_spills(model: str, machine: Machine, tmp_path: Path) -> None:
    blocks, spilled = spilling(model_program(model, machine), machine, tmp_path)
    assert blocks
    known = KNOWN.get((model, machine.cpu.name), {})
    assert {name.removeprefix(f"{model}_") for name in spilled} == known.keys()


@pytest.mark.check
@needs_models
@needs("aarch64-linux-gnu-gcc")
@pytest.mark.parametrize("machine", ARM64, ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("model", MODELS)
def test_no_loop_over_k_spills_in_c(model: str, machine: Machine, tmp_path: Path) -> None:
    blocks, spilled = spilling(model_program(model, machine), machine, tmp_path, by_gcc)
    assert blocks
    known = KNOWN_IN_C.get((model, machine.cpu.name), {})
    assert {name.removeprefix(f"{model}_") for name in spilled} == known.keys()


@pytest.mark.check
@needs_models
@pytest.mark.parametrize("machine", OF_BFLOATS, ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("model", MODELS[:4])
def test_no_loop_over_k_of_bfloat16_spills(model: str, machine: Machine, tmp_path: Path) -> None:
    blocks, spilled = spilling(model_program(model, machine, FloatFormat.BF16), machine, tmp_path)
    assert blocks
    assert not spilled
