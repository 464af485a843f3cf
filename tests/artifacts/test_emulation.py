"""What ``ccml.emulation`` says when a model misbehaves, or when something is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.emit_c.header import public_header
from ccml.emit_c.symbols import assign_symbols
from ccml.emulation import build_and_run
from ccml.errors import CcmlError, ErrorCode
from ccml.ir.program import BufferDecl, Interface, MemoryPlan, Pool, Program, Storage
from ccml.ir.types import DType, TensorType
from ccml.targets import Machine

from tests.artifacts.machines import ARM64_LINUX, BOARDS, GENERIC, M4, machine_id, runs_here
from tests.tools import needs

ON_LINUX = pytest.param(GENERIC, marks=[needs("gcc"), runs_here(GENERIC)], id="x86")
ON_BOARDS = [
    pytest.param(machine, marks=needs("arm-none-eabi-gcc", "qemu-system-arm"), id=machine_id(machine))
    for machine in BOARDS
]
EVERYWHERE = [ON_LINUX, *ON_BOARDS]
ARENA_SIZE = 64


def program() -> Program:
    """Two inputs of different types, two outputs; no kernels, as the tests bring C code of their own."""
    sides = {"x": (DType.F32, (3,)), "n": (DType.I64, ()), "y": (DType.F32, (3,)), "m": (DType.I8, (5,))}
    interfaces = [Interface(name, f"the {name}", TensorType(*type_), name) for name, type_ in sides.items()]
    storage = {"x": Storage.INPUT, "n": Storage.INPUT}
    buffers = {n: BufferDecl(n, *type_, storage.get(n, Storage.OUTPUT)) for n, type_ in sides.items()}
    plan = MemoryPlan((Pool("arena", {}, ARENA_SIZE, 32),))
    return Program("toy", "", tuple(interfaces[:2]), tuple(interfaces[2:]), buffers, {}, (), (), plan)


def samples(count: int) -> list[dict[str, np.ndarray]]:
    return [{"the x": np.arange(3, dtype=np.float32) + n, "the n": np.array(10 * n)} for n in range(count)]


def run(machine: Machine, folder: Path, body: str, count: int = 1) -> list[dict[str, np.ndarray]]:
    """Runs a model whose function consists of ``body``."""
    model = program()
    (folder / "toy.h").write_text(public_header(model, machine, assign_symbols(model)))
    head = "int toy_run(void *arena, const float *x, const int64_t *n, float *y, int8_t *m)"
    helper = "volatile int zero;\nvolatile char *volatile kept;\nint deep(int level);\n"
    helper += "int deep(int level)\n{\n  volatile char space[1024];\n  kept = space;\n"
    helper += "  return level + (zero ? 0 : deep(level + 1)) + space[zero];\n}\n"
    used = "  (void)arena; (void)x; (void)n; (void)y; (void)m;"
    identity = "uint32_t toy_model_id(void)\n{\n  return TOY_MODEL_ID;\n}\n"
    function = f"{head}\n{{\n{used}\n{body}\n  return 0;\n}}\n"
    (folder / "toy.c").write_text(f'#define TOY_UNCHECKED\n#include "toy.h"\n{helper}{identity}{function}')
    return build_and_run(model, machine, [folder / "toy.c"], samples(count), include=folder)


@pytest.mark.parametrize("machine", EVERYWHERE)
def test_samples_come_and_outputs_go(machine: Machine, tmp_path: Path) -> None:
    body = "for (int i = 0; i < 3; i++) y[i] = 2 * x[i] + *n;\nfor (int i = 0; i < 5; i++) m[i] = (int8_t)(*n - i);"
    found = run(machine, tmp_path, body, 3)
    for n, result in enumerate(found):
        np.testing.assert_array_equal(result["the y"], 2 * samples(3)[n]["the x"] + np.float32(10 * n))
        np.testing.assert_array_equal(result["the m"], 10 * n - np.arange(5, dtype=np.int8))
    assert len(found) == 3


@pytest.mark.parametrize("machine", ON_BOARDS)
def test_weights_may_be_larger_than_memory_for_code(machine: Machine, tmp_path: Path) -> None:
    last = (3 << 20) - 1
    body = f"static const float w[] = {{1, 2, [{last}] = 7}};\ny[0] = w[0]; y[1] = w[1]; y[2] = w[{last} - *n];"
    (result,) = run(machine, tmp_path, body)
    assert result["the y"].tolist() == [1, 2, 7]


@pytest.mark.parametrize("machine", [ON_LINUX, ON_BOARDS[3]])
def test_memory_is_adverse(machine: Machine, tmp_path: Path) -> None:
    """Floats are NaN where the model has not written, also in the arena; tensors are aligned as little as they may."""
    body = "y[0] = ((float *)arena)[15]; y[1] = (uintptr_t)x % 64; y[2] = (uintptr_t)n % 64;"
    (result,) = run(machine, tmp_path, body)
    assert np.isnan(result["the y"][0])
    assert result["the y"][1:].tolist() == [4, 8]
    assert (result["the m"] == -1).all()


@pytest.mark.parametrize("machine", [ON_LINUX, ON_BOARDS[3]])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return 2;", "the model returned an error"),
        (f"((char *)arena)[{ARENA_SIZE}] = 0;", "the model wrote behind its working memory"),
    ],
)
def test_misbehaviour(machine: Machine, body: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match=reason) as caught:
        run(machine, tmp_path, body)
    assert caught.value.kind is ErrorCode.MISMATCH


@pytest.mark.parametrize("machine", ON_BOARDS)
@pytest.mark.parametrize("body", ["((volatile int *)0xF0000000)[zero] = 1;", "y[0] = deep(0);"], ids=["wild", "deep"])
def test_faults_are_reported(machine: Machine, body: str, tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="the processor took an exception: a fault, or a stack overflow"):
        run(machine, tmp_path, body)


@runs_here(GENERIC)
@needs("gcc")
def test_a_crash_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match="it ended with SIGSEGV"):
        run(GENERIC, tmp_path, "((volatile int *)16)[zero] = 1;")


def test_an_input_that_does_not_fit(tmp_path: Path) -> None:
    model = program()
    for wrong, reason in (
        ({"the x": np.zeros(3), "the n": np.array(1)}, r"the x: expected float32\[3\], got float64"),
        ({"the x": np.zeros(3, np.float32)}, "the n: this input is missing"),
    ):
        with pytest.raises(CcmlError, match=reason) as caught:
            build_and_run(model, GENERIC, [], [wrong], include=tmp_path)
        assert caught.value.kind is ErrorCode.BAD_INPUT


@runs_here(GENERIC)
@needs("gcc")
def test_what_a_compiler_says_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(CcmlError, match=r"nonsense.*undeclared") as caught:
        run(GENERIC, tmp_path, "nonsense;")
    assert caught.value.kind is ErrorCode.TOOLCHAIN


@pytest.mark.parametrize("machine", [GENERIC, M4, ARM64_LINUX], ids=machine_id)
def test_missing_tools(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CcmlError, match="gcc is not installed") as caught:
        run(machine, tmp_path, "")
    assert caught.value.kind is ErrorCode.TOOLCHAIN
