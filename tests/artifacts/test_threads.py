"""Threads: the same bits for any number of them and any order of chunks, by C and by LLVM, here and in emulation."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx
import onnx.parser
import pytest
from ccml.artifact.emit import Emit
from ccml.artifact.options import ArtifactOptions
from ccml.driver import Goal, compile_model
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import Build, build_and_run
from ccml.errors import CcmlError
from ccml.ir.chunks import chunk_count
from ccml.ir.external_weights import with_external_weights
from ccml.ir.program import Program
from ccml.program import chunking
from ccml.targets import Machine

from tests.artifacts.built import WARNINGS, run_artifact
from tests.artifacts.machines import ARM64_LINUX, M4, V3, runs_here
from tests.artifacts.routes import assert_same_bits, stacked
from tests.packaging.run import run
from tests.tools import needs

THREADS = Goal(threads=2)
"""What programs are split for; each test says how many threads run them."""


@pytest.fixture(autouse=True)
def everything_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of a few elements are split as well."""
    monkeypatch.setattr(chunking, "SMALLEST_PHASE", 1)
    monkeypatch.setattr(chunking, "SMALLEST_CHUNK", 1)


def convolutions(path: Path) -> Path:
    """Convolutions of all kinds, one of which is computed by Winograd's algorithm, whose chunks have memory of their
    own; pools, a concatenation, an addition, a reduction, a product and a softmax, of odd shapes."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[1, 3, 19, 13] x) => (float[1, 7] y, float[1, 40, 19, 13] b)
    {
      a = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)
      r = Relu(a)
      b = Conv<pads = [1, 1, 1, 1]>(r, w1, b1)
      d = Conv<pads = [2, 2, 2, 2], strides = [2, 2], group = 40>(b, w2)
      e = MaxPool<kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1, pads = [0, 0, 1, 1]>(b)
      f = Concat<axis = 1>(d, e)
      g = Conv(f, w3)
      h = Add(g, g)
      s = Sigmoid(h)
      t = Mul(s, h)
      m = GlobalAveragePool(t)
      n = Flatten(m)
      o = MatMul(n, w4)
      y = Softmax(o)
    }
    """
    model, rng = onnx.parser.parse_model(text), np.random.default_rng(1)
    shapes = {"w0": (24, 3, 3, 3), "b0": (24,), "w1": (40, 24, 3, 3), "b1": (40,), "w2": (40, 1, 5, 5),
              "w3": (17, 80, 1, 1), "w4": (17, 7)}  # fmt: skip
    for name, shape in shapes.items():
        array = (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


def attention(path: Path) -> Path:
    """Products of activations, softmax over rows, layer normalization."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[2, 21, 24] x) => (float[2, 21, 24] y)
    {
      q = MatMul(x, wq)
      k = Transpose<perm = [0, 2, 1]>(x)
      s = MatMul(q, k)
      p = Softmax(s)
      v = MatMul(p, x)
      r = Add(v, x)
      n = LayerNormalization(r, scale, bias)
      g = Erf(n)
      y = MatMul(g, wq)
    }
    """
    model, rng = onnx.parser.parse_model(text), np.random.default_rng(2)
    for name, shape in (("wq", (24, 24)), ("scale", (24,)), ("bias", (24,))):
        array = (rng.standard_normal(shape) / 5).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    onnx.save(model, path)
    return path


def samples_of(program: Program, count: int = 2) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [
        {side.name: rng.standard_normal(side.type.shape).astype(np.float32) for side in program.inputs}
        for _ in range(count)
    ]


def chunked(program: Program) -> Iterator[int]:
    return (chunk_count(kernel) for kernel in program.kernels if kernel.chunked)


def with_threads(number: int, *flags: str) -> Build:
    return Build(flags=(f"-DMODEL_THREADS={number}", *flags))


def expected(path: Path, machine: Machine, samples: list[dict[str, np.ndarray]]) -> Mapping[str, np.ndarray]:
    """By a program without chunks."""
    model = JitModel(compile_model(path, machine).program, machine)
    return stacked([model.run(sample) for sample in samples])


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64", "ld.lld")
def test_a_library_of_another_systems_c_library(tmp_path: Path) -> None:
    """Threads are functions of the C library, which Android calls libc.so."""
    path = convolutions(tmp_path / "net.onnx")
    assert ccml.verify(path, target="android", backend="llvm", samples=1, goal=THREADS).ok


@needs("gcc")
@runs_here(V3)
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
@pytest.mark.parametrize("make", [convolutions, attention])
def test_the_same_bits_by_any_number_of_threads(make, form: Emit, tmp_path: Path) -> None:
    path = make(tmp_path / "net.onnx")
    program = compile_model(path, V3, goal=THREADS).program
    assert sum(chunks > 2 for chunks in chunked(program)) >= 6, "most layers are in chunks"
    samples = samples_of(program)
    wanted = expected(path, V3, samples)
    for number in (0, 3, -1):
        found = run_artifact(program, V3, form, tmp_path / "out", samples, with_threads(number))
        assert_same_bits(stacked(found), wanted)


@needs("gcc")
@runs_here(V3)
def test_chunks_of_winograd_have_memory_of_their_own(tmp_path: Path) -> None:
    path = convolutions(tmp_path / "net.onnx")
    plain, split = (compile_model(path, V3, goal=goal).program for goal in (Goal(), THREADS))
    assert any(call.generator.startswith("winograd") for call in split.calls)
    sizes = [{name: decl.nbytes for name, decl in program.buffers.items()} for program in (plain, split)]
    larger = {name: size / sizes[0][name] for name, size in sizes[1].items() if size != sizes[0][name]}
    assert larger, "none has memory of its own"
    assert all(name.startswith("scratch") and times == int(times) >= 2 for name, times in larger.items())


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_on_arm(form: Emit, tmp_path: Path) -> None:
    path = convolutions(tmp_path / "net.onnx")
    samples, found = samples_of(compile_model(path, ARM64_LINUX).program), []
    for goal in (Goal(), THREADS):
        program = compile_model(path, ARM64_LINUX, goal=goal).program
        found.append(stacked(run_artifact(program, ARM64_LINUX, form, tmp_path / "out", samples, with_threads(3))))
    assert_same_bits(found[1], found[0])


@needs("gcc")
@runs_here(V3)
def test_no_data_races(tmp_path: Path) -> None:
    """ThreadSanitizer finds none in threads, chunks and what they wait for."""
    program = compile_model(convolutions(tmp_path / "net.onnx"), V3, goal=THREADS).program
    samples = samples_of(program, 6)
    build = with_threads(4, "-O1", "-g", "-fsanitize=thread")
    found = run_artifact(program, V3, Emit.C, tmp_path / "out", samples, build)
    assert len(found) == len(samples)


@needs("gcc")
@runs_here(V3)
def test_warnings(tmp_path: Path) -> None:
    program = compile_model(attention(tmp_path / "net.onnx"), V3, goal=THREADS).program
    run_artifact(program, V3, Emit.C, tmp_path / "out", samples_of(program), WARNINGS)


@needs("gcc")
@runs_here(V3)
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_in_slices(form: Emit, tmp_path: Path) -> None:
    path = convolutions(tmp_path / "net.onnx")
    ccml.compile(
        path, "x86", tmp_path / "out", emit=["c" if form is Emit.C else "lib"], goal=THREADS, cpu=V3.cpu.name,
        artifact=ArtifactOptions(slices=True, external_weights=True),
    )  # fmt: skip
    program = compile_model(path, V3, goal=THREADS).program
    (program,) = with_external_weights([replace(program, sliced=True)], V3.target.arena_align)
    samples = samples_of(program)
    pattern = "*.c" if form is Emit.C else "*.a"
    files = sorted((tmp_path / "out").glob(pattern))
    found = build_and_run(program, V3, files, samples, include=tmp_path / "out", how=with_threads(2))
    assert_same_bits(stacked(found), expected(path, V3, samples))


@needs("gcc")
@runs_here(V3)
def test_a_library_for_all_cpus(tmp_path: Path) -> None:
    path = convolutions(tmp_path / "net.onnx")
    ccml.compile(path, "x86", tmp_path / "out", cpu="all", emit=["lib"], goal=THREADS)
    program = compile_model(path, V3, goal=THREADS).program
    samples, library = samples_of(program), tmp_path / "out" / "libnet.so"
    found = [
        stacked(build_and_run(program, V3, [library], samples, include=tmp_path / "out", how=with_threads(number)))
        for number in (0, 3)
    ]
    assert_same_bits(*found)


@needs("gcc", "make")
@runs_here(V3)
@pytest.mark.parametrize("emitted", ["c", "lib"])
def test_several_models_in_one_library(emitted: str, tmp_path: Path) -> None:
    """Each has functions that start threads, and takes those of the other."""
    paths = [convolutions(tmp_path / "one.onnx"), attention(tmp_path / "two.onnx")]
    library = ccml.link(paths, "x86", tmp_path / "out", name="both", emit=[emitted], goal=THREADS)
    if emitted == "c":
        run("make", "libboth.a", cwd=library.folder)
    (library.folder / "main.c").write_text(LINKED)
    command = ["gcc", "-O1", "-Wall", "-Wextra", "main.c", "libboth.a", "-pthread", "-o", "main"]
    run(*command, cwd=library.folder)
    assert run("./main", cwd=library.folder).split() == ["0", "0", "0", "0", "1"]


LINKED = r"""
#include "both.h"
#include <stdio.h>
#include <string.h>

static unsigned char arena[BOTH_ARENA_SIZE] __attribute__((aligned(BOTH_ARENA_ALIGN)));
static float x1[ONE_X_ELEMENTS], y1[2][ONE_Y_ELEMENTS], b1[ONE_B_ELEMENTS];
static float x2[TWO_X_ELEMENTS], y2[2][TWO_Y_ELEMENTS];

int main(void)
{
  static ccml_workers workers;
  int i;
  for (i = 0; i < ONE_X_ELEMENTS; i++)
    x1[i] = (float)(i % 5);
  for (i = 0; i < TWO_X_ELEMENTS; i++)
    x2[i] = (float)(i % 3);
  printf("%d ", two_workers_start(&workers, 3));
  printf("%d %d ", one_run(arena, &workers.threads, x1, y1[0], b1), two_run(arena, &workers.threads, x2, y2[0]));
  printf("%d ", one_run(arena, NULL, x1, y1[1], b1) | two_run(arena, NULL, x2, y2[1]));
  printf("%d\n", memcmp(y1[0], y1[1], sizeof y1[0]) == 0 && memcmp(y2[0], y2[1], sizeof y2[0]) == 0);
  one_workers_stop(&workers);
  return 0;
}
"""

MISUSE = r"""
#include "net.h"
#include <stdio.h>
#include <string.h>

static unsigned char arena[NET_ARENA_SIZE + 1] __attribute__((aligned(NET_ARENA_ALIGN)));
static float x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS], again[NET_Y_ELEMENTS];

int main(void)
{
  static ccml_workers workers, others;
  static const ccml_threads nobody = {NULL, NULL};
  int run, same = 1;
  printf("%d %d %d ", net_workers_start(NULL, 2), net_workers_start(&workers, 0), net_workers_start(&workers, 65));
  net_workers_stop(&workers);
  net_workers_stop(NULL);
  printf("%d ", net_run(arena, &nobody, x, y));
  for (run = 0; run < 20; run++) {
    same &= net_workers_start(&workers, 1 + run % 4) == 0 && net_workers_start(&others, 2) == 0;
    same &= net_run(arena, &workers.threads, x, again) == 0 && memcmp(y, again, sizeof y) == 0;
    same &= net_run(arena, &others.threads, x, again) == 0 && memcmp(y, again, sizeof y) == 0;
    net_workers_stop(&workers);
    net_workers_stop(&workers);
    net_workers_stop(&others);
  }
  printf("%d %d %d\n", same, net_run(NULL, &nobody, x, y), net_run(arena + 1, &nobody, x, y));
  return 0;
}
"""


@needs("gcc")
@runs_here(V3)
@pytest.mark.parametrize("emitted", ["c", "lib"])
def test_starting_stopping_and_misuse(emitted: str, tmp_path: Path) -> None:
    ccml.compile(attention(tmp_path / "net.onnx"), "x86", tmp_path / "out", emit=[emitted], goal=THREADS)
    (tmp_path / "out" / "main.c").write_text(MISUSE)
    sources = sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix in (".c", ".a"))
    sources.sort(key=lambda name: name.endswith(".a"))
    flags = ["-O1", "-march=x86-64-v3", "-fsanitize=address,undefined", "-Wall", "-Wextra"]
    command = ["gcc", *flags, "-I.", *sources, "-pthread", "-o", "main"]
    subprocess.run(command, cwd=tmp_path / "out", check=True, capture_output=True)
    said = subprocess.run(["./main"], cwd=tmp_path / "out", check=True, capture_output=True, text=True).stdout
    assert said.split() == ["1", "8", "8", "0", "1", "1", "2"]


def test_where_there_are_no_threads(tmp_path: Path) -> None:
    path = attention(tmp_path / "net.onnx")
    with pytest.raises(CcmlError, match="--threads is not for cortex-m4"):
        compile_model(path, M4, goal=THREADS)
    for goal in (Goal(threads=2, max_ram=1 << 20), Goal(threads=2, pools={"fast": 1 << 16, "slow": None})):
        with pytest.raises(CcmlError, match="--threads does not go with"):
            compile_model(path, V3, goal=goal)


def test_without_threads_there_is_nothing_of_them(tmp_path: Path) -> None:
    ccml.compile(attention(tmp_path / "net.onnx"), "x86", tmp_path / "out")
    text = "".join(path.read_text() for path in (tmp_path / "out").glob("*.[ch]"))
    assert "thread" not in text.replace("may run on several threads at once", "").lower()
