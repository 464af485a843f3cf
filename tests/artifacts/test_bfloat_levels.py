"""Libraries of products of bfloat16: for which processors they have code, and what is computed on each."""

from __future__ import annotations

import subprocess
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.passes.precision import FloatFormat
from onnx import TensorProto, helper, numpy_helper, save

from tests.artifacts.commands import run
from tests.tools import needs

ROWS, DEPTH, COLUMNS = 5, 19, 13
MAIN = """
#include <stdio.h>
#include "net.h"
int main(void)
{
    static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
    static float x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
    int i, code;
    for (i = 0; i < NET_X_ELEMENTS; i++)
        x[i] = (float)(i % 31 - 15);
    code = net_run(arena, x, y);
    printf("%d\\n", code);
    for (i = 0; i < NET_Y_ELEMENTS; i++)
        printf("%d ", (int)y[i]);
    return 0;
}
"""
OK, ERROR_CPU = 0, 3
BF16 = ccml.ModelOptions(precision=FloatFormat.BF16)


def weights() -> np.ndarray:
    """Small integers, whose products and sums no arithmetic rounds."""
    return np.random.default_rng(5).integers(-100, 101, (DEPTH, COLUMNS)).astype(np.float32)


def network(folder: Path) -> Path:
    sides = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, size])
        for name, size in (("x", DEPTH), ("y", COLUMNS))
    ]
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph([product], "g", sides[:1], sides[1:], [numpy_helper.from_array(weights(), "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


def expected() -> list[int]:
    x = (np.arange(ROWS * DEPTH) % 31 - 15).reshape(ROWS, DEPTH)
    return (x @ weights().astype(int)).reshape(-1).tolist()


@pytest.mark.parametrize(
    ("target", "floats", "bfloats"),
    [
        ("x86", ["x86-64-v4", "x86-64-v3", "x86-64-v2"], ["x86-64-v4-bf16", "x86-64-v4", "x86-64-v3", "x86-64-v2"]),
        ("linux-arm64", ["armv8-a"], ["armv8.2-a-bf16", "armv8-a"]),
        ("android", ["armv8-a"], ["armv8.2-a-bf16", "armv8-a"]),
    ],
)
def test_code_with_the_instructions_where_it_is_asked_for(
    target: str, floats: list[str], bfloats: list[str], tmp_path: Path
) -> None:
    model = network(tmp_path)
    for name, options, cpus in (("fp32", ccml.ModelOptions(), floats), ("bf16", BF16, bfloats)):
        result = ccml.compile(model, target, tmp_path / name, options=options, cpu="all", emit=["obj"])
        assert [level.cpu for level in result.artifacts[0].report.levels] == cpus


def outputs(emulator: tuple[str, ...], cpu: str, program: Path) -> tuple[int, list[int]]:
    command = [*emulator, "-cpu", cpu, str(program)]
    code, values = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(code), [int(value) for value in values.split()]


ARM = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
LINUX = (
    pytest.param(
        "linux-arm64", ARM, "aarch64-linux-gnu-gcc", "all", ("max", "cortex-a76", "cortex-a53"), (), id="arm64",
        marks=needs("qemu-aarch64", "aarch64-linux-gnu-gcc"),
    ),
    pytest.param(
        "linux-arm64", ARM, "aarch64-linux-gnu-gcc", "armv8.2-a-bf16", ("max",), ("cortex-a76",), id="arm64 alone",
        marks=needs("qemu-aarch64", "aarch64-linux-gnu-gcc"),
    ),
    pytest.param(
        "x86", ("qemu-x86_64",), "gcc", "all", ("max", "Nehalem"), ("qemu64",), id="x86", marks=needs("qemu-x86_64")
    ),
    pytest.param(
        "x86", ("qemu-x86_64",), "gcc", "x86-64-v4-bf16", (), ("max", "Nehalem"), id="x86 alone",
        marks=needs("qemu-x86_64"),
    ),
)  # fmt: skip


@pytest.mark.parametrize(("target", "emulator", "compiler", "cpu", "fits", "lacks"), LINUX)
def test_the_same_integers_on_every_processor(
    target: str, emulator: tuple[str, ...], compiler: str, cpu: str, fits: tuple[str, ...], lacks: tuple[str, ...],
    tmp_path: Path,
) -> None:  # fmt: skip
    """And an error code on one that the code is not for. The emulator of x86 has no AVX-512."""
    folder = tmp_path / "out"
    ccml.compile(network(tmp_path), target, folder, options=BF16, cpu=cpu, emit=["lib"])
    (tmp_path / "main.c").write_text(MAIN)
    run(compiler, "-O1", f"-I{folder}", tmp_path / "main.c", folder / "libnet.a", "-o", tmp_path / "program")
    for each in fits:
        assert outputs(emulator, each, tmp_path / "program") == (OK, expected()), each
    for each in lacks:
        assert outputs(emulator, each, tmp_path / "program")[0] == ERROR_CPU, each


def test_the_report_says_it(tmp_path: Path) -> None:
    result = ccml.compile(network(tmp_path), "x86", tmp_path / "out", options=BF16, cpu="x86-64-v3", emit=["c"])
    report = result.artifacts[0].report
    assert report.options.precision == "bf16"
    assert report.totals.weight_bytes <= DEPTH * COLUMNS * 4 * 0.75


@pytest.mark.parametrize("target", ["cortex-m0", "cortex-m4", "cortex-m7", "cortex-m55"])
def test_processors_without_vectors_refuse(target: str, tmp_path: Path) -> None:
    with pytest.raises(ccml.CcmlError, match=f"{target} has no code for products of bfloat16") as caught:
        ccml.compile(network(tmp_path), target, tmp_path / "out", options=BF16)
    assert caught.value.kind is ccml.ErrorCode.BAD_OPTION and "--quantize int8" in (caught.value.hint or "")
