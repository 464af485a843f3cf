"""Several models in one library that has code for all CPUs of an ABI: each model chooses among its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.errors import CcmlError

from tests.artifacts.commands import run
from tests.artifacts.test_cpu_guard import ERROR_CPU, OK, SIZE, Lesser, emulated, network
from tests.artifacts.test_levels import EACH, ROWS, state_model
from tests.tools import needs

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "trio.h"
#ifdef APART
static unsigned char weights[1 << 20] __attribute__((aligned(64)));
#define WEIGHTS weights,
static void *from(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(weights, 1, sizeof weights, file) == 0)
        exit(1);
    fclose(file);
    return weights;
}
#else
#define WEIGHTS
#define from(path) 0
#endif

static unsigned char arena[TRIO_ARENA_SIZE + 64] __attribute__((aligned(64)));
static unsigned char state[SUM_STATE_SIZE] __attribute__((aligned(64)));
static int8_t x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS], few[FEW_Y_ELEMENTS];

int main(void)
{
    float in[4] = {1, 2, 3, 4}, out[4] = {0, 0, 0, 0};
    int i, codes[3];
    for (i = 0; i < NET_X_ELEMENTS; i++)
        x[i] = (int8_t)(i - 20);
    (void)from("net.weights");
    codes[0] = net_run(arena, WEIGHTS x, y);
    (void)from("few.weights");
    codes[1] = few_run(arena, WEIGHTS x, few);
    codes[2] = 0;
    sum_reset(state);
    (void)from("sum.weights");
    for (i = 0; i < 2; i++)
        codes[2] |= sum_run(arena, state, WEIGHTS in, out);
    printf("%d %d %d\\n", codes[0], codes[1], codes[2]);
    for (i = 0; i < NET_Y_ELEMENTS; i++)
        printf("%d ", y[i]);
    for (i = 0; i < FEW_Y_ELEMENTS; i++)
        printf("%d ", few[i]);
    for (i = 0; i < 4; i++)
        printf("%d ", (int)out[i]);
    return 0;
}
"""


def linked(case: Lesser, folder: Path, **options: object) -> ccml.Library:
    """``net`` has code for every CPU, ``few`` for those that multiply bytes, ``sum`` computes with floats."""
    for name, rows in (("net", ROWS), ("few", 1)):
        shutil.move(network(folder, rows), folder / f"{name}_model.onnx")
    state_model(folder)
    models = [
        (folder / "net_model.onnx", ccml.ModelOptions(name="net")),
        (folder / "few_model.onnx", ccml.ModelOptions(name="few")),
        (folder / "net.onnx", ccml.ModelOptions(name="sum", states={"h": "hn"})),
    ]
    return ccml.link(models, case.machine.name, folder / "out", name="trio", **options)  # type: ignore[arg-type]


def wanted(folder: Path) -> list[int]:
    x = (np.arange(ROWS * SIZE) - 20).astype(np.int8).reshape(ROWS, SIZE)
    given = {"net": x, "few": x[:1]}
    found = [ccml.load(folder / f"{name}_model.onnx").run({"x": rows})["y"] for name, rows in given.items()]
    first = np.arange(1, 5)
    return [*(int(value) for each in found for value in each.reshape(-1)), *(int(v) for v in first * first + first)]


@pytest.mark.check
@EACH
@needs("ld.lld")
@pytest.mark.parametrize("weights", ["inside", "external"])
def test_the_same_results_on_every_processor(
    case: Lesser, weights: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the archive, the library and the sources, whose header asks for enough memory for all levels."""
    library = linked(case, tmp_path, emit=["c", "lib"], external_weights=weights == "external")
    levels = {report.model.name: [level.cpu for level in report.levels] for report in library.reports}
    assert len(levels["net"]) > len(levels["few"]) > len(levels["sum"]) >= 1 or case.machine.name == "x86"
    assert {cpus[-1] for cpus in levels.values()} == {least(case)}
    monkeypatch.chdir(tmp_path / "out")
    Path("main.txt").write_text(MAIN)
    flags = ["-DAPART"] * (weights == "external")
    sources = sorted(Path().glob("*.c"))
    for link in (["libtrio.a"], ["libtrio.so", "-Wl,-rpath,$ORIGIN"], sources):
        run(case.compiler, "-O1", *flags, "-I.", "-xc", "main.txt", "-xnone", *link, "-lm", "-o", "program")
        for cpu in (*case.fits, *(case.lacks if link is not sources else ())):
            codes, values = emulated(case, cpu, Path("program").resolve())
            assert codes == 3 * [OK if cpu in case.fits else ERROR_CPU], cpu
            assert values == wanted(tmp_path) or cpu not in case.fits, cpu


def least(case: Lesser) -> str:
    return min(case.machine.abi.cpus, key=lambda cpu: len(cpu.requires)).name


@EACH
def test_reports_and_the_number_of_levels(case: Lesser, tmp_path: Path) -> None:
    """Weights and code that levels share count once in what the library takes; memory is that of the dearest."""
    library = linked(case, tmp_path, emit=["obj"])
    images = {path.name for path in (tmp_path / "out").glob("*.o")}
    for report in library.reports:
        assert report.totals.arena_bytes == max(level.arena_bytes for level in report.levels)
        assert all(level.code_bytes for level in report.levels) and report.layers[0].code_bytes
        suffixes = {level.cpu.translate(str.maketrans("-.", "__")) for level in report.levels}
        assert {f"{report.model.name}_{suffix}.o" for suffix in suffixes} <= images
        assert report.totals.flash_bytes is not None and library.totals.flash_bytes is not None
        assert report.totals.flash_bytes < library.totals.flash_bytes
    totals, levels = library.totals, library.reports[0].levels
    assert totals.flash_bytes is not None and totals.code_bytes is not None
    assert levels[0].weight_bytes < totals.weight_bytes <= totals.flash_bytes - totals.code_bytes
    assert library.totals.arena_bytes == max(report.totals.arena_bytes for report in library.reports)


@pytest.mark.parametrize(
    ("target", "given", "every"),
    [
        ("x86", {}, True), ("linux-arm64", {}, True), ("android", {}, True), ("windows", {}, True), ("arm", {}, False),
        ("x86", {"cpu": "x86-64-v3"}, False), ("x86", {"emit": ["c"]}, False), ("x86", {"cpu": "all", "jobs": 2}, True),
    ],
)  # fmt: skip
def test_all_cpus_are_the_default(target: str, given: dict[str, object], every: bool, tmp_path: Path) -> None:
    """As for one model; where one CPU is named, or there is no machine code, it is for one."""
    model = network(tmp_path, ROWS)
    pair = [(model, ccml.ModelOptions(name=name)) for name in ("one", "two")]
    library = ccml.link(pair, target, tmp_path / "out", name="both", **{"emit": ["obj"], **given})  # type: ignore[arg-type]
    assert [len(report.levels) > 1 for report in library.reports] == [every, every]


def test_a_model_that_is_called_as_the_code_for_a_cpu(tmp_path: Path) -> None:
    pair = [(network(tmp_path), ccml.ModelOptions(name=name)) for name in ("net", "net_x86_64_v2")]
    with pytest.raises(CcmlError, match="called 'net_x86_64_v2'"):
        ccml.link(pair, "x86", tmp_path / "out", name="both")
    ccml.link(pair, "x86", tmp_path / "out", name="both", cpu="x86-64-v2")
