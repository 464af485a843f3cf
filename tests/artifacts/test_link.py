"""Several models as one library: the bits of each alone, less flash than the sum, none taken for another."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx.parser
import pytest
from ccml.artifact.link import link_models, write_library
from ccml.driver import compile_model, lower, read, run_passes
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import Build, build_and_run
from ccml.targets import Machine
from elftools.elf.elffile import ELFFile

from tests.artifacts.built import SANITIZED
from tests.artifacts.commands import make
from tests.artifacts.machines import GENERIC, M4, V3, WASM, machine_id, runs_here
from tests.artifacts.routes import assert_same_bits, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import INT8, Model
from tests.models import needs_models
from tests.tools import needs

KWS8, DIGITS8 = INT8[0], INT8[3]
PAIR = (KWS8, DIGITS8)


def linked(folder: Path, models: tuple[Model, ...], machine: Machine, kinds: tuple[ccml.Emit, ...]) -> tuple:
    sources = [read(model.path, model.options) for model in models]
    compiled = [lower(source, run_passes(source, None, machine), machine, shared=False) for source in sources]
    programs = link_models("both", compiled)
    return programs, write_library(programs, compiled, kinds, folder)


def test_kernels_that_differ_in_the_sign_of_a_zero_stay_apart(tmp_path: Path) -> None:
    models = []
    for name, zero in (("plus", "0.0"), ("minus", "-0.0")):
        text = f"""<ir_version: 9, opset_import: ["" : 20]>
            g (float[4] x) => (float[4] y) <float zero = {{{zero}}}> {{ y = Mul (x, zero) }}"""
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
        models.append(read(tmp_path / f"{name}.onnx", ccml.ModelOptions(name=name)))
    compiled = [lower(source, run_passes(source, None, GENERIC), GENERIC, shared=False) for source in models]
    x = np.array([1, -1, 0, 7], np.float32)
    for model, sign in zip(link_models("both", compiled).models, (1, -1), strict=True):
        found = JitModel(replace(model, library=""), GENERIC).run({"x": x})["y"]
        np.testing.assert_array_equal(np.signbit(found), np.signbit(x * np.float32(sign * 0.0)))


@pytest.mark.check
@needs_models
@pytest.mark.parametrize("kind", [ccml.Emit.C, ccml.Emit.LIBRARY], ids=["c", "llvm"])
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
        pytest.param(WASM, marks=needs("clang", "wasm-ld", "node")),
    ],
    ids=machine_id,
)
def test_each_model_computes_what_it_does_alone(
    machine: Machine, kind: ccml.Emit, workshop: Workshop, tmp_path: Path
) -> None:
    programs, _ = linked(tmp_path / "out", PAIR, machine, (kind,))
    files = sorted(path for path in (tmp_path / "out").iterdir() if path.suffix in (".c", ".a"))
    for model, program in zip(PAIR, programs.models, strict=True):
        samples = list(workshop.samples(model, machine, 1))
        how = Build(flags=("-ffunction-sections", "-Wl,--gc-sections")) if machine is M4 else Build()
        found = build_and_run(program, machine, files, samples, include=tmp_path / "out", how=how)
        host = JitModel(workshop.program(model, GENERIC))
        assert_same_bits(stacked(found), stacked([host.run(sample) for sample in samples]))


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_MEDIAN = {"com.example::Median": EXAMPLES / "custom-operator" / "median.c"}
_MEDIAN_PYTHON = {"com.example::Median": f"{EXAMPLES / 'custom-operator' / 'median.py'}:median"}
_SENSOR = EXAMPLES / "custom-operator" / "sensor.onnx"
CUSTOM = tuple(
    (_SENSOR, ccml.ModelOptions(name=name, custom_ops=_MEDIAN, custom_ops_python=_MEDIAN_PYTHON))
    for name in ("left", "right")
)


@pytest.mark.parametrize("kind", [ccml.Emit.C, ccml.Emit.LIBRARY], ids=["c", "llvm"])
@pytest.mark.parametrize("apart", [pytest.param(False, marks=pytest.mark.check), True], ids=["inside", "external"])
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
    ],
    ids=machine_id,
)
def test_custom_operators_and_weights_elsewhere(
    machine: Machine, apart: bool, kind: ccml.Emit, tmp_path: Path
) -> None:
    """Models with the same operator share its C; each has its weights in a file of its own."""
    pairs = [*CUSTOM, (EXAMPLES / "anomaly" / "anomaly.onnx", ccml.ModelOptions())]
    sources = [read(path, options) for path, options in pairs]
    compiled = [lower(source, run_passes(source, None, machine), machine, shared=False) for source in sources]
    programs = link_models("trio", compiled, external_weights=apart)
    write_library(programs, compiled, (kind,), tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert ({"left.weights", "right.weights", "anomaly.weights"} <= written) == apart
    files = sorted(path for path in (tmp_path / "out").iterdir() if path.suffix in (".c", ".a"))
    for source, program in zip(sources, programs.models, strict=True):
        alone = compile_model(source.path, GENERIC, options=source.options)
        sample = next(iter(alone.samples()))
        (found,) = build_and_run(program, machine, files, [sample], include=tmp_path / "out")
        host = JitModel(alone.program, GENERIC).run(sample)
        for name, array in host.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)


@needs("gcc", "make")
def test_custom_operators_in_all_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By make as well; without a compiler their C is written beside the library, and the headers say so."""
    ccml.link(CUSTOM, "x86", tmp_path / "out", name="pair", cpu="x86-64-v3")
    make(tmp_path / "out", "CFLAGS=-Werror")
    monkeypatch.setattr("ccml.artifact.emit.compiles_custom", lambda machine: False)
    library = ccml.link(CUSTOM, "x86", tmp_path / "bare", name="pair", cpu="x86-64-v3", emit=["lib"])
    assert (tmp_path / "bare" / "pair_custom_0.c").is_file() and not (tmp_path / "bare" / "libpair.so").exists()
    assert "libpair is WITHOUT them" in (tmp_path / "bare" / "left.h").read_text().replace("\n   ", " ")
    assert library.totals.shared_kernels > 0


@needs_models
@needs("make", "arm-none-eabi-gcc")
def test_less_flash_than_the_sum_and_one_arena(workshop: Workshop, tmp_path: Path) -> None:
    """In the objects of both routes, counted by a reader of its own."""
    programs, library = linked(tmp_path / "out", PAIR, M4, (ccml.Emit.C, ccml.Emit.OBJECT))
    alone = [workshop.machine_code(model, M4) for model in PAIR]
    together = flash((tmp_path / "out").glob("*.o"))
    assert together < sum(flash(folder.glob("*.o")) for folder in alone)
    assert library.totals.flash_bytes == together
    make(tmp_path / "out", "CFLAGS=-Werror", "CROSS_COMPILE=arm-none-eabi-")
    by_gcc = [workshop.built_by_make(model, M4, "CROSS_COMPILE=arm-none-eabi-") / "build" for model in PAIR]
    assert flash((tmp_path / "out" / "build").glob("*.o")) < sum(flash(folder.glob("*.o")) for folder in by_gcc)
    assert library.totals.shared_kernels > 0
    assert library.totals.arena_bytes == max(program.plan.pools[0].size for program in programs.models)
    assert [report.model.name for report in ccml.read_reports(tmp_path / "out")] == [model.name for model in PAIR]


def flash(objects: object) -> int:
    total = 0
    for path in objects:
        with path.open("rb") as stream:
            sections = ELFFile(stream).iter_sections()
            total += sum(s["sh_size"] for s in sections if s["sh_flags"] & 2 and s["sh_type"] != "SHT_ARM_EXIDX")
    return total


def save(path: Path, op: str, size: int = 64) -> Path:
    text = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[{size}] x, float[{size}] h) => (float[{size}] y, float[{size}] hn)
    {{ a = {op}(x, w)  b = CumSum(a, zero)  y = Mul(b, w)  hn = Add(h, y) }}
    """
    model = onnx.parser.parse_model(text)
    weights = np.linspace(1, 2, size, dtype=np.float32)
    for name, array in (("w", weights), ("zero", np.array(0, np.int64))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


STATES = ccml.ModelOptions(states={"h": "hn"})
MAIN = r"""
#include "both.h"
#include <stdio.h>

static unsigned char arena[BOTH_ARENA_SIZE + 1] __attribute__((aligned(BOTH_ARENA_ALIGN > 8 ? BOTH_ARENA_ALIGN : 8)));
static unsigned char one[ONE_STATE_SIZE] __attribute__((aligned(64))), two[TWO_STATE_SIZE] __attribute__((aligned(64)));

int main(void)
{
  float x[64], y[64];
  for (int i = 0; i < 64; i++) {
    x[i] = (float)i;
  }
  one_reset(one);
  two_reset(two);
  for (int turn = 0; turn < 2; turn++) {
    printf("%d ", one_run(arena, one, x, y));
    printf("%.9g ", (double)y[63]);
    printf("%d ", two_run(arena, two, x, y));
    printf("%.9g\n", (double)y[63]);
  }
  printf("%.9g %.9g\n", (double)((float *)one)[63], (double)((float *)two)[63]);
  return 0;
}
"""


@needs("gcc")
@pytest.mark.parametrize("emit", ["c", "lib"])
def test_models_take_turns(emit: str, tmp_path: Path) -> None:
    """One arena, states apart; equal constants are there once."""
    options = [(save(tmp_path / f"{name}.onnx", op), STATES) for name, op in (("one", "Add"), ("two", "Sub"))]
    library = ccml.link(options, "generic", tmp_path / "out", name="both", emit=[emit])
    assert library.totals.weight_bytes < sum(report.totals.weight_bytes for report in library.reports)
    (tmp_path / "out" / "main.c").write_text(MAIN)
    files = sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix in (".c", ".a"))
    files.sort(key=lambda name: name.endswith(".a"))
    flags = [flag for flag in SANITIZED.flags if not flag.startswith("-D")]
    command = ["gcc", *flags, "-Wall", "-Wextra", "-I.", *files, "-o", "main"]
    subprocess.run(command, cwd=tmp_path / "out", check=True, capture_output=True)
    said = subprocess.run(["./main"], cwd=tmp_path / "out", check=True, capture_output=True, text=True).stdout
    turns, states = said.splitlines()[:2], said.splitlines()[2]
    x = {"x": np.arange(64, dtype=np.float32)}
    y = {name: ccml.load(tmp_path / f"{name}.onnx", STATES).run(x)["y"][63] for name in ("one", "two")}
    assert turns == [f"0 {y['one']:.9g} 0 {y['two']:.9g}"] * 2
    assert states == f"{2 * y['one']:.9g} {2 * y['two']:.9g}"


@needs("gcc")
def test_the_header_of_a_model_alone_is_that_of_another_library(tmp_path: Path) -> None:
    """Its arena is planned by itself, and it may have been compiled with other kernels."""
    pairs = [(save(tmp_path / "one.onnx", "Add"), STATES), (save(tmp_path / "two.onnx", "Sub"), STATES)]
    ccml.link(pairs, "generic", tmp_path / "out", name="both", emit=["lib"])
    ccml.compile(tmp_path / "one.onnx", "generic", tmp_path / "alone", emit=["c"],
                 options=ccml.ModelOptions(name="one", states={"h": "hn"}))  # fmt: skip
    main = '#include "one.h"\nint main(void) { static unsigned char m[4096] __attribute__((aligned(64))); float x[64];'
    (tmp_path / "main.c").write_text(main + " return one_run(m, m + 2048, x, x); }\n")
    library = tmp_path / "out" / "libboth.a"
    subprocess.run(["gcc", f"-I{tmp_path / 'alone'}", "main.c", library, "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main"], cwd=tmp_path, check=False).returncode == 5


def test_a_folder_is_that_of_the_library(tmp_path: Path) -> None:
    """Linked again with another model, what was the first one's goes; what others wrote stays."""
    names = ("one", "two", "three")
    paths = {name: save(tmp_path / f"{name}.onnx", "Add", size) for name, size in zip(names, (4, 5, 6))}
    ccml.link([paths["one"], paths["two"]], "generic", tmp_path / "out", name="both", emit=["c"])
    (tmp_path / "out" / "own.txt").write_text("mine")
    ccml.link([paths["one"], paths["three"]], "generic", tmp_path / "out", name="both", emit=["c"])
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"one.h", "three.h", "both.h", "own.txt", "three_report.json"} <= found
    assert not {"two.h", "two.c", "two_report.json"} & found
    listed = json.loads((tmp_path / "out" / "report.json").read_text())["linked"]
    assert listed == {"one": "one_report.json", "three": "three_report.json"}


@pytest.mark.parametrize(
    ("names", "whole", "said"),
    [
        (("one", "one"), "both", "two models, or a model and the library, are called 'one'"),
        (("one", "both"), "both", "are called 'both'"),
        (("one",), "both", "one model needs no linking"),
    ],
)
def test_names_that_clash(names: tuple[str, ...], whole: str, said: str, tmp_path: Path) -> None:
    path = save(tmp_path / "net.onnx", "Add", 4)
    pairs = [(path, ccml.ModelOptions(name=name)) for name in names]
    with pytest.raises(ccml.CcmlError, match=said):
        ccml.link(pairs, "generic", tmp_path / "out", name=whole)
    assert not (tmp_path / "out").exists()


def test_alone_and_linked_are_different_models(tmp_path: Path) -> None:
    """By their numbers: each header fits its own library only."""
    paths = [save(tmp_path / f"{name}.onnx", op) for name, op in (("one", "Add"), ("two", "Sub"))]
    library = ccml.link(paths, "generic", tmp_path / "out", name="both", emit=["c"])
    alone = ccml.compile(paths[0], "generic", tmp_path / "alone", emit=["c"]).artifacts[0].report
    numbers = {report.model.id for report in (alone, *library.reports)}
    assert len(numbers) == 3
    assert compile_model(paths[0], GENERIC).program.library == ""
