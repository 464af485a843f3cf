"""Accumulators stay in registers: the loops over k of compiled kernels touch no stack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest
from ccml.driver import compile_model
from ccml.emit_llvm.objects import emit_assembly
from ccml.targets import Machine, select

from tests.models import models_dir, needs_models

MACHINES = [
    *(select("x86", cpu=f"x86-64-{level}") for level in ("v3", "v4-vnni")),
    *(select("linux-arm64", cpu=cpu) for cpu in ("armv8-a", "armv8.2-a-dotprod")),
]
MODELS = (
    "mlperf_tiny_kws_dscnn", "mlperf_tiny_ic_resnet8", "mlperf_tiny_vww_mobilenetv1_025", "transformer_2l_d64",
    "mlperf_tiny_ic_resnet8_qdq_int8",
)  # fmt: skip
MULTIPLY_ADDS = re.compile(r"\s(vfmadd\w+ps|vpdpbusd|vpmaddwd|fmla|sdot|[su]mlal2?)\s")
VECTOR = re.compile(r"[xyz]mm\d|\b[qdv]\d")
STACK = re.compile(r"\(%rsp|\[sp")
LEAST = 24
"""Multiply-adds of a loop that is looked at: those of blocks, not of single elements or of what is left over."""


@cache
def loops(path: str, machine: Machine) -> list[tuple[str, list[str]]]:
    """The innermost loops of each function, by its name."""
    found, name, lines = [], "", []
    for line in [*emit_assembly(compile_model(path, machine).program, machine).splitlines(), "end:"]:
        head = re.match(r"([A-Za-z_]\w*):", line)
        if head is None:
            lines.append(line)
        else:
            found += [(name, body) for body in innermost(lines)]
            name, lines = head[1], []
    return found


def innermost(lines: list[str]) -> Iterator[list[str]]:
    """From a label to a jump back to it, without another such inside."""
    labels: dict[str, int] = {}
    start = -1
    for number, line in enumerate(lines):
        label = re.match(r"(\.L\w+):", line)
        if label is not None:
            labels[label[1]] = number
        jump = re.match(r"\s+(?:j\w+|b\.\w+|b|cbn?z|tbn?z)\s.*?(\.L\w+)\s*$", line)
        if jump is not None and labels.get(jump[1], -1) > start:
            start = labels[jump[1]]
            yield lines[start : number + 1]


WINDOWS = "a window over few channels: LLVM keeps activations that neighbouring rows share"
AHEAD = "LLVM loads weights of later steps ahead"
SHORT = "a short k is no loop any more: what is left are whole rows with their last steps"
WIDENED = "bytes are widened in registers"
KNOWN = {
    ("mlperf_tiny_kws_dscnn", "x86-64-v3"): {"conv_0": WINDOWS},
    ("mlperf_tiny_ic_resnet8", "armv8-a"): {"conv_0": WINDOWS},
    ("mlperf_tiny_ic_resnet8", "armv8.2-a-dotprod"): {"conv_0": WINDOWS},
    ("mlperf_tiny_vww_mobilenetv1_025", "x86-64-v3"): {"conv_0": WINDOWS, "conv_19": AHEAD},
    ("mlperf_tiny_ic_resnet8_qdq_int8", "x86-64-v3"): {"conv_4": SHORT},
    ("mlperf_tiny_ic_resnet8_qdq_int8", "x86-64-v4-vnni"): {"conv_4": SHORT},
    ("mlperf_tiny_ic_resnet8_qdq_int8", "armv8-a"): dict.fromkeys(("conv_3", "conv_4", "conv_5", "conv_7"), WIDENED),
    ("mlperf_tiny_ic_resnet8_qdq_int8", "armv8.2-a-dotprod"): {"conv_0": WINDOWS, "conv_1": WINDOWS, "conv_4": SHORT},
}
"""Kernels that still do, and why."""


@pytest.mark.check
@needs_models
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.cpu.name)
@pytest.mark.parametrize("model", MODELS)
def test_no_loop_over_k_spills(model: str, machine: Machine) -> None:
    blocks, spilled = 0, set()
    for name, body in loops(str(models_dir() / f"{model}.onnx"), machine):
        if sum(bool(MULTIPLY_ADDS.search(line)) for line in body) >= LEAST:
            blocks += 1
            if any(VECTOR.search(line) and STACK.search(line) for line in body):
                spilled.add(name.removeprefix(f"{model}_"))
    assert blocks
    assert spilled == KNOWN.get((model, machine.cpu.name), {}).keys()
