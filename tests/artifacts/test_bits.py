"""Integer inference gives the same bytes on every machine, by every compiler, at every optimisation.

The judge is the meaning of the operators in NumPy, on the graph that the kernels are made from.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ccml.driver import read, run_passes
from ccml.ops.evaluate import evaluate_graph
from ccml.samples import Samples
from ccml.targets import Machine, select

from tests.artifacts.machines import ANDROID, ARM64_LINUX, X86, machine_id
from tests.artifacts.routes import Case, Route, by_c_with, by_llvm, by_make, in_process
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import INT8, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = needs_models

HOST = [
    pytest.param(by_c_with("-O0"), marks=needs("gcc"), id="gcc-O0"),
    pytest.param(by_c_with("-O3"), marks=needs("gcc"), id="gcc-O3"),
    pytest.param(by_make("CC=clang"), marks=needs("make", "gcc", "clang"), id="clang"),
    pytest.param(in_process, id="jit"),
]
BOARD = needs("arm-none-eabi-gcc", "qemu-system-arm")
ALL_MODELS = [select("cortex-m0"), select("cortex-m4"), select("cortex-m55")]
"""The cores that run all models here; benchmarks/bit_matrix.py runs all on all."""

CORES = [select(f"cortex-{name}") for name in ("m0", "m3", "m4", "m7", "m33", "m55")]
ARM64_CPUS = [select("linux-arm64", cpu=cpu.name) for cpu in ARM64_LINUX.abi.cpus]
LINUX = {
    "arm64-v8a": needs("ld.lld", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armeabi-v7a": needs("ld.lld", "arm-linux-gnueabihf-gcc", "qemu-arm"),
    "x86": needs("ld.lld", "i686-linux-gnu-gcc", "qemu-i386"),
}


def meaning(case: Case) -> dict[str, np.ndarray]:
    """The outputs as the operators' definitions give them, computed once for all machines."""

    def build(path: Path) -> None:
        optimized = run_passes(read(case.model.path, case.model.options))
        values = [evaluate_graph(optimized, sample) for sample in case.samples]
        with path.open("wb") as stream:
            np.savez(stream, **{v.name: np.stack([each[v.name] for each in values]) for v in optimized.outputs})

    with np.load(case.workshop.once(f"{case.model.key()}-{len(list(case.samples))}.meaning", build)) as stored:
        return dict(stored)


def check(workshop: Workshop, model: Model, machine: Machine, route: Route, count: int | None) -> None:
    samples: Samples = workshop.samples(model, machine, count)
    case = Case(workshop, model, machine, samples)
    results = route(case)
    for name, expected in meaning(case).items():
        assert np.stack([result[name] for result in results]).tobytes() == expected.tobytes(), name


@pytest.mark.check
@pytest.mark.parametrize("route", HOST)
@pytest.mark.parametrize("machine", [*X86, select("generic")], ids=machine_id)
@pytest.mark.parametrize("model", INT8, ids=str)
def test_x86(model: Model, machine: Machine, route: Route, workshop: Workshop) -> None:
    check(workshop, model, machine, route, 20)


@pytest.mark.check
@BOARD
@pytest.mark.parametrize("route", [by_c_with(), by_llvm("a")], ids=["gcc", "llvm"])
@pytest.mark.parametrize(
    ("model", "machine"),
    [(model, core) for model in INT8 for core in CORES if model.name in ("kws8", "digits8") or core in ALL_MODELS],
    ids=lambda item: str(item) if isinstance(item, Model) else machine_id(item),
)
def test_cortex_m(model: Model, machine: Machine, route: Route, workshop: Workshop) -> None:
    check(workshop, model, machine, route, 2)


@pytest.mark.check
@pytest.mark.parametrize(
    "machine", [pytest.param(m, marks=LINUX[m.abi.name], id=machine_id(m)) for m in ANDROID if m.abi.name in LINUX]
)
@pytest.mark.parametrize("model", INT8, ids=str)
def test_android(model: Model, machine: Machine, workshop: Workshop) -> None:
    check(workshop, model, machine, by_llvm("so"), 3)


@pytest.mark.check
@needs("make", "aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("machine", ARM64_CPUS, ids=machine_id)
@pytest.mark.parametrize("model", INT8, ids=str)
def test_linux_arm64(model: Model, machine: Machine, workshop: Workshop) -> None:
    check(workshop, model, machine, by_make(), 3)
