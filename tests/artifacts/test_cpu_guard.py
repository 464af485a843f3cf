"""Libraries on processors that lack what they were compiled for: an error code, not an illegal instruction."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.emit_llvm import jit
from ccml.targets import TARGETS, Machine, host, select
from elftools.elf.elffile import ELFFile
from onnx import TensorProto, helper, numpy_helper, save

from tests.artifacts.commands import make, run
from tests.tools import needs

OK, ERROR_CPU = 0, 3
SIZE = 64
MAIN = """
#include <stdio.h>
#include "net.h"
int main(void)
{
    static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
    static int8_t x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
    int i, codes[2];
    for (i = 0; i < NET_X_ELEMENTS; i++)
        x[i] = (int8_t)(i - 20);
    for (i = 0; i < 2; i++)
        codes[i] = net_run(arena, x, y);
    printf("%d %d\\n", codes[0], codes[1]);
    for (i = 0; i < NET_Y_ELEMENTS; i++)
        printf("%d ", y[i]);
    return NET_OK != 0 || NET_ERROR_CPU != 3;
}
"""


@dataclass(frozen=True)
class Lesser:
    """A machine, an emulator, and its processors: on which a library runs, and on which it must not."""

    machine: Machine
    emulator: tuple[str, ...]
    compiler: str
    fits: tuple[str, ...]
    lacks: tuple[str, ...]


X86 = ("qemu-x86_64",)
ARM = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
CASES = (
    Lesser(select("x86", cpu="x86-64-v2"), X86, "gcc", ("Nehalem", "max"), ("qemu64", "core2duo")),
    Lesser(select("x86", cpu="x86-64-v3"), X86, "gcc", ("Haswell", "max"), ("Nehalem", "IvyBridge")),
    Lesser(select("x86", cpu="x86-64-v3-vnni"), X86, "gcc", (), ("max", "Haswell", "qemu64")),
    Lesser(select("x86", cpu="x86-64-v4-vnni"), X86, "gcc", (), ("max", "Haswell", "qemu64")),
    Lesser(
        select("linux-arm64", cpu="armv8.2-a-dotprod"), ARM, "aarch64-linux-gnu-gcc",
        ("cortex-a76", "max"), ("cortex-a53", "cortex-a72"),
    ),
)  # fmt: skip
"""The emulator has neither AVX-512 nor AVX-VNNI; on machines with them, other tests run such code."""


def network(folder: Path, rows: int = 1) -> Path:
    """An int8 matrix product: dot products wherever a machine has them, with several rows products of matrices."""
    rng = np.random.default_rng(3)
    constants = {
        "s": np.float32(0.05), "z": np.int8(0), "out": np.float32(0.4),
        "w": rng.integers(-127, 128, (SIZE, SIZE)).astype(np.int8), "ws": np.float32(0.01),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "z"], ["wf"]),
        helper.make_node("MatMul", ["xf", "wf"], ["yf"]),
        helper.make_node("QuantizeLinear", ["yf", "out", "z"], ["y"]),
    ]
    sides = [helper.make_tensor_value_info(name, TensorProto.INT8, [rows, SIZE]) for name in "xy"]
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", sides[:1], sides[1:], weights)
    path = folder / "net.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=needs("make", each.emulator[0], each.compiler, "ld.lld"), id=each.machine.cpu.name)
     for each in CASES],
)  # fmt: skip
def test_an_error_code_where_the_processor_lacks_something(case: Lesser, tmp_path: Path) -> None:
    """By both routes, as static and as shared libraries."""
    model = network(tmp_path)
    wanted = expected(model)
    for name, folder in libraries(case, model, tmp_path).items():
        for kind in ("libnet.a", "libnet.so"):
            program = tmp_path / "program"
            link = [folder / kind] if kind.endswith(".a") else [folder / kind, f"-Wl,-rpath,{folder.resolve()}"]
            run(case.compiler, "-O1", f"-I{folder}", tmp_path / "main.c", *link, "-o", program)
            for cpu in (*case.fits, *case.lacks):
                codes, values = emulated(case, cpu, program)
                assert codes == 2 * [OK if cpu in case.fits else ERROR_CPU], (name, kind, cpu)
                assert values == (wanted if cpu in case.fits else [0] * SIZE), (name, kind, cpu)


def expected(model: Path) -> list[int]:
    x = (np.arange(SIZE) - 20).astype(np.int8)[None]
    return ccml.load(model).run({"x": x})["y"].reshape(-1).tolist()


def libraries(case: Lesser, model: Path, folder: Path) -> dict[str, Path]:
    (folder / "main.c").write_text(MAIN)
    machine = case.machine
    found = {}
    compilers = [case.compiler, "clang"] if shutil.which("clang") and case.emulator is X86 else [case.compiler]
    for compiler in compilers:
        found[compiler] = folder / compiler
        ccml.compile(model, machine.name, found[compiler], cpu=machine.cpu.name, emit=["c"])
        make(found[compiler], f"CC={compiler}", "CFLAGS=-Werror")
    found["llvm"] = folder / "llvm"
    ccml.compile(model, machine.name, found["llvm"], cpu=machine.cpu.name, emit=["lib"])
    return found


def emulated(case: Lesser, cpu: str, program: Path) -> tuple[list[int], list[int]]:
    """The codes of two runs and the output."""
    command = [*case.emulator, "-cpu", cpu, program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{cpu}: {done.returncode} {done.stderr}"
    codes, values = done.stdout.splitlines()
    return [int(code) for code in codes.split()], [int(value) for value in values.split()]


@needs("gcc")
def test_c_asks_for_what_the_compiler_was_told(tmp_path: Path) -> None:
    """Compiled for any processor, the C of a library for AVX-512 runs on any."""
    (tmp_path / "main.c").write_text(MAIN)
    model = network(tmp_path)
    ccml.compile(model, "x86", tmp_path / "out", cpu="x86-64-v4-vnni", emit=["c"])
    sources = sorted((tmp_path / "out").glob("*.c"))
    run("gcc", "-O1", f"-I{tmp_path / 'out'}", tmp_path / "main.c", *sources, "-o", tmp_path / "program")
    if shutil.which("qemu-x86_64"):
        assert emulated(CASES[0], "qemu64", tmp_path / "program") == ([OK, OK], expected(model))


def test_cortex_m_has_no_check(tmp_path: Path) -> None:
    model = network(tmp_path)
    ccml.compile(model, "cortex-m4", tmp_path / "out", emit=["c", "llvm"])
    for name in ("net.c", "net.ll"):
        assert not {"cpuid", "getauxval", "atomic"} & set(
            (tmp_path / "out" / name).read_text().replace("(", " ").split()
        )


@needs("ld.lld")
@pytest.mark.parametrize(
    ("name", "abi", "library"), [("android", "arm64-v8a", "libc.so"), ("linux-arm64", None, "libc.so.6")]
)
def test_what_asks_system_names_the_c_library(name: str, abi: str | None, library: str, tmp_path: Path) -> None:
    for cpu, wanted in (("armv8-a", None), ("armv8.2-a-dotprod", library)):
        ccml.compile(network(tmp_path), name, tmp_path / cpu, abi=abi, cpu=cpu, emit=["lib"])
        with (tmp_path / cpu / "libnet.so").open("rb") as stream:
            needed = [tag.needed for tag in ELFFile(stream).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
            assert needed == ([wanted] if wanted else [])


def test_every_feature_that_is_required_can_be_asked_for() -> None:
    for target in TARGETS:
        for abi in target.abis:
            for cpu in abi.cpus:
                asked = Machine(target, abi, cpu).asked_for
                assert len(asked) + len(set(cpu.requires) & set(abi.guaranteed)) == len(cpu.requires)


def test_the_native_arm_machine_takes_what_linux_says(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        def __init__(self, hwcap: int) -> None:
            class Function:
                def __call__(self, entry: int) -> int:
                    return hwcap if entry == 16 else 0

            self.getauxval = Function()

    monkeypatch.setattr(jit.llvm, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    monkeypatch.setattr(jit.llvm, "get_host_cpu_features", lambda: {"neon": True, "dotprod": False})
    for hwcap, cpu in ((0xFF, "armv8-a"), (0xFF | 1 << 20, "armv8.2-a-dotprod")):
        monkeypatch.setattr(jit.ctypes, "CDLL", lambda _, hwcap=hwcap: Library(hwcap))
        machine = host("aarch64", jit.host_features())
        assert machine is not None and machine.cpu.name == cpu
