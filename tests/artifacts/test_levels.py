"""One library for all CPUs of an ABI: which code it chooses, and what that computes."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError
from ccml.passes.precision import FloatFormat
from ccml.program.placing import CODE, Placing
from ccml.report.budget import Budget
from ccml.targets import TARGETS, select
from elftools.elf.elffile import ELFFile
from onnx import TensorProto, helper, save

from tests.artifacts.commands import run
from tests.artifacts.test_cpu_guard import ARM, ERROR_CPU, MAIN, OK, SIZE, X86, Lesser, emulated, expected, network
from tests.custom_ops.cases import CASES
from tests.tools import needs

EVERY = (
    Lesser(select("x86"), X86, "gcc", ("Nehalem", "Haswell", "max"), ("qemu64",)),
    Lesser(select("linux-arm64"), ARM, "aarch64-linux-gnu-gcc", ("cortex-a53", "cortex-a76", "max"), ()),
)
EACH = pytest.mark.parametrize(
    "case", [pytest.param(each, marks=needs(each.emulator[0], each.compiler), id=each.machine.name) for each in EVERY]
)


def compiled(case: Lesser, model: Path, folder: Path, emit: Sequence[str]) -> ccml.api.Report:
    result = ccml.compile(model, case.machine.name, folder, cpu="all", emit=emit)
    return result.artifacts[0].report


@EACH
@needs("ld.lld")
def test_the_same_results_on_every_processor(case: Lesser, tmp_path: Path) -> None:
    """Of the archive and of the library, which does not begin on a processor that no level is for."""
    model, folder = network(tmp_path), tmp_path / "out"
    compiled(case, model, folder, ["lib"])
    (tmp_path / "main.c").write_text(MAIN)
    for link in ([folder / "libnet.a"], [folder / "libnet.so", f"-Wl,-rpath,{folder.resolve()}"]):
        run(case.compiler, "-O1", f"-I{folder}", tmp_path / "main.c", *link, "-o", tmp_path / "program")
        for cpu in (*case.fits, *case.lacks):
            codes, values = emulated(case, cpu, tmp_path / "program")
            assert codes == 2 * [OK if cpu in case.fits else ERROR_CPU], cpu
            assert values == (expected(model) if cpu in case.fits else [0] * SIZE), cpu


ROWS = 8
"""From which on instructions for matrices are worth their code."""
CHOICES = {
    "x86": {"Nehalem": "x86_64_v2", "Haswell": "x86_64_v3", "max": "x86_64_v3"},
    "linux-arm64": {
        "cortex-a53": "armv8_a", "cortex-a72": "armv8_a", "cortex-a76": "armv8_2_a_dotprod", "max": "armv8_2_a_i8mm",
    },
}
"""The emulator has no AVX-512."""


@EACH
def test_the_best_that_the_processor_can_run(case: Lesser, tmp_path: Path) -> None:
    """The object that chooses, with levels that say who they are."""
    report = compiled(case, network(tmp_path, ROWS), tmp_path / "out", ["obj"])
    names = ["".join(letter if letter.isalnum() else "_" for letter in level.cpu) for level in report.levels]
    stubs = "".join(
        f"int net_{name}_run(void *a, const void *x, void *y) {{ (void)a; (void)x; (void)y; return {100 + number}; }}\n"
        for number, name in enumerate(names)
    )
    main = (
        '#include <stdio.h>\nint net_run(void *, const void *, void *);\n'
        'int main(void) { int first = net_run(0, 0, 0); printf("%d %d\\n\\n", first, net_run(0, 0, 0)); return 0; }\n'
    )
    (tmp_path / "stubs.c").write_text(stubs + main)
    program = tmp_path / "program"
    run(case.compiler, "-O1", tmp_path / "stubs.c", tmp_path / "out" / "net.o", "-o", program)
    for cpu, wanted in CHOICES[case.machine.name].items():
        codes, _ = emulated(case, cpu, program)
        assert [names[code - 100] for code in codes] == [wanted, wanted], cpu


@EACH
def test_the_report_and_the_header_are_for_all(case: Lesser, tmp_path: Path) -> None:
    report = compiled(case, network(tmp_path, ROWS), tmp_path / "out", ["c", "obj"])
    integers = [cpu for cpu in case.machine.abi.cpus if not cpu.name.endswith(("16", "amx"))]
    cpus = sorted(integers, key=lambda cpu: len(cpu.requires), reverse=True)
    assert [level.cpu for level in report.levels] == [cpu.name for cpu in cpus]
    assert report.target.cpu == case.machine.cpu.name
    assert report.totals.arena_bytes == max(level.arena_bytes for level in report.levels)
    assert all(level.code_bytes for level in report.levels) and report.layers[0].code_bytes
    listed = {file.path for file in report.files}
    assert {"net.o", "net_data.o", "net.c"} <= listed and sum(path.endswith(".o") for path in listed) >= 4


def float_product(folder: Path) -> Path:
    """A product of two inputs, in floats."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["c"])], "g", sides[:2], sides[2:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


@needs("ld.lld")
def test_levels_with_the_same_code_are_one(tmp_path: Path) -> None:
    """Floats gain nothing from products of bytes: the library asks nothing, and imports nothing."""
    result = ccml.compile(float_product(tmp_path), "linux-arm64", tmp_path / "out", cpu="all", emit=["lib"])
    assert [level.cpu for level in result.artifacts[0].report.levels] == ["armv8-a"]
    with (tmp_path / "out" / "libnet.so").open("rb") as stream:
        assert not list(ELFFile(stream).get_section_by_name(".dynamic").iter_tags("DT_NEEDED"))


def test_every_abi(tmp_path: Path) -> None:
    """Of which some have a single CPU: their code is what it is without the option."""
    result = ccml.compile(network(tmp_path), "android", tmp_path / "out", abi="all", cpu="all", emit=["obj"])
    found = {artifact.report.target.abi: len(artifact.report.levels) for artifact in result.artifacts}
    assert found["arm64-v8a"] == 2 and found["armeabi-v7a"] == 0


@pytest.mark.parametrize("cpu", [None, "all"])
def test_one_artifact_for_each_abi(cpu: str | None, tmp_path: Path) -> None:
    """Each is made, and told of, once."""
    model, abis = network(tmp_path), [abi.name for abi in select("android").target.abis]
    for abi, wanted in ((None, abis[:1]), ("all", abis)):
        result = ccml.compile(model, "android", tmp_path / str(abi), abi=abi, cpu=cpu, emit=["obj"])
        assert [artifact.report.target.abi for artifact in result.artifacts] == wanted


@pytest.mark.parametrize(
    ("target", "given", "every"),
    [
        ("x86", {}, True), ("linux-arm64", {}, True), ("android", {}, True), ("windows", {}, True),
        ("x86", {"cpu": "x86-64-v3"}, False), ("x86", {"cpu": "native"}, False), ("x86", {"emit": ["c"]}, False),
        ("x86", {"artifact": ccml.ArtifactOptions(places=(Placing(CODE, "*", ".fast"),))}, False),
    ],
)  # fmt: skip
def test_all_cpus_are_the_default(target: str, given: Mapping[str, Any], every: bool, tmp_path: Path) -> None:
    """Where one is chosen, or there is no machine code, or it has a place of its own, it is for one."""
    result = ccml.compile(network(tmp_path), target, tmp_path / "out", **{"emit": ["obj"], **given})
    assert (len(result.artifacts[0].report.levels) > 1) == every


def test_what_would_fit_is_told_for_all_cpus(tmp_path: Path) -> None:
    """The flash of a hint is that of what the same command would write."""
    model, options = network(tmp_path), {"cpu": "all", "emit": ["lib"]}
    flash = ccml.compile(model, "x86", tmp_path / "a", **options).artifacts[0].report.totals.flash_bytes
    with pytest.raises(CcmlError, match="flash") as caught:
        ccml.compile(model, "x86", tmp_path / "b", **options, budget=Budget(max_flash=flash // 2))
    (told,) = re.findall(r"flash ([\d,]+) of", caught.value.hint)
    assert int(told.replace(",", "")) > flash // 2


def test_code_for_several_cpus_can_ask() -> None:
    """What does its processor have: where an ABI has several CPUs, that can be found out."""
    for target in TARGETS:
        for abi in target.abis:
            assert len(abi.cpus) == 1 or abi.detection is not None


def state_model(folder: Path) -> Path:
    """y = h + x, which becomes h."""
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "h", "y", "hn")]
    nodes = [helper.make_node("Add", ["x", "h"], ["y"]), helper.make_node("Mul", ["y", "y"], ["hn"])]
    graph = helper.make_graph(nodes, "g", sides[:2], sides[2:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


@needs("gcc")
def test_states(tmp_path: Path) -> None:
    """Reset and kept by whatever level is chosen."""
    options = ccml.ModelOptions(states={"h": "hn"})
    ccml.compile(state_model(tmp_path), "x86", tmp_path / "out", cpu="all", emit=["lib"], options=options)
    (tmp_path / "main.c").write_text("""
#include <stdio.h>
#include "net.h"
int main(void)
{
    static unsigned char arena[NET_ARENA_SIZE + 64] __attribute__((aligned(64)));
    static unsigned char state[NET_STATE_SIZE] __attribute__((aligned(64)));
    float x[4] = {1, 2, 3, 4}, y[4];
    int i, step, bad = 0;
    net_reset(state);
    for (step = 0; step < 3; step++)
        bad |= net_run(arena, state, x, y);
    for (i = 0; i < 4; i++)
        printf("%g ", y[i]);
    return bad;
}
""")
    run("gcc", f"-I{tmp_path / 'out'}", tmp_path / "main.c", tmp_path / "out" / "libnet.a", "-o", tmp_path / "program")
    h = np.zeros(4)
    for _ in range(3):
        y = h + np.arange(1, 5)
        h = y * y
    assert run(tmp_path / "program").split() == [f"{value:g}" for value in y]


@needs("gcc")
def test_custom_operators(tmp_path: Path) -> None:
    """Compiled for each level, with its flags."""
    path, options = CASES["several"]().write(tmp_path)
    result = ccml.compile(path, "x86", tmp_path / "out", cpu="all", emit=["obj", "lib"], options=options)
    model = ccml.load(path, options).compiled.program
    foreign = [kernel.name for kernel in model.kernels if kernel.foreign is not None]
    levels = [level.cpu.replace("-", "_") for level in result.artifacts[0].report.levels]
    wanted = {f"{model.name}_{level}_{name}.o" for level in levels for name in foreign}
    assert levels and foreign and wanted <= {path.name for path in (tmp_path / "out").iterdir()}
    ctypes.CDLL(str(tmp_path / "out" / f"lib{model.name}.so"))


def test_what_saves_little_is_left_out(tmp_path: Path) -> None:
    """Of a product of one row, products of matrices compute half for nothing."""
    found = {
        rows: [level.cpu for level in compiled(EVERY[1], network(tmp_path, rows), tmp_path / str(rows), ["obj"]).levels]
        for rows in (1, ROWS)
    }
    assert found == {
        1: ["armv8.2-a-dotprod", "armv8-a"], ROWS: ["armv8.2-a-i8mm", "armv8.2-a-dotprod", "armv8-a"],
    }  # fmt: skip


def test_arithmetic_of_halves_is_there_where_it_is_asked_for(tmp_path: Path) -> None:
    for precision, cpus in ((FloatFormat.FP32, ["armv8-a"]), (FloatFormat.FP16, ["armv8.2-a-fp16", "armv8-a"])):
        options, folder = ccml.ModelOptions(precision=precision), tmp_path / precision.value
        result = ccml.compile(float_product(tmp_path), "linux-arm64", folder, options=options, cpu="all", emit=["obj"])
        assert [level.cpu for level in result.artifacts[0].report.levels] == cpus
