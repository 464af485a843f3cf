"""Models in several pools of memory: the bytes of the result stay, on every route, and pools keep their bounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ccml.driver import compile_model
from ccml.emit_c.artifact import write_c
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.emit_llvm.objects import emit_objects
from ccml.emulation import Build, build_and_run
from ccml.ir.program import Program
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.program.goal import Goal
from ccml.samples import random_samples
from ccml.targets import Machine, select
from ccml.verification.c_model import CModel

from tests.artifacts.commands import WARNINGS
from tests.artifacts.commands import run as command
from tests.artifacts.machines import GENERIC, runs_here
from tests.artifacts.zoo import INT8
from tests.cli.command_line import DIGITS
from tests.models import needs_models
from tests.passes.random_graphs import RandomGraph
from tests.schedule.chains import LARGE
from tests.schedule.graphs import random_inputs
from tests.tools import needs

BOARD = needs("arm-none-eabi-gcc", "qemu-system-arm")
M7 = select("cortex-m7")
HOST = host_machine()


def halved(graph_ram: int, *names: str) -> dict[str, int | None]:
    """A pool for about half of the tensors, and others for the rest."""
    return {names[0]: graph_ram // 2, **{name: None if name == names[-1] else 256 for name in names[1:]}}


def chain_in_pools(name: str, machine: Machine, *names: str) -> Program:
    """A model called "net"."""
    graph = replace(LARGE[name], name="net")
    ram = lower_graph(graph, machine, Goal(max_ram=1 << 20)).plan.ram
    return lower_graph(graph, machine, Goal(pools=halved(ram, *names)))


def outputs(
    program: Program, machine: Machine, route: str, how: Build, x: dict[str, np.ndarray], folder: Path
) -> dict[str, np.ndarray]:
    """By the C or LLVM artifact, the second time that it runs."""
    files = [path for path in write_c(program, machine, folder) if path.suffix == ".c"]
    if route == "llvm":
        files = []
        for file, image in emit_objects(program, machine):
            files.append(folder / file)
            files[-1].write_bytes(image)
    return build_and_run(program, machine, files, [x, x], include=folder, how=how)[1]


@needs("gcc")
@runs_here(GENERIC)
@pytest.mark.parametrize("in_pools", [False, True], ids=["apart", "in-pools"])
def test_c_on_this_machine(in_pools: bool, tmp_path: Path) -> None:
    """Three pools; a sanitizer would see what leaves them."""
    program = chain_in_pools("residual", GENERIC, "dtcm", "sram", "ext")
    assert sum(pool.ram > 0 for pool in program.plan.pools) >= 2
    how = Build(flags=("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"), in_arena=in_pools)
    x = random_inputs(LARGE["residual"])
    assert same(outputs(program, GENERIC, "c", how, x, tmp_path), evaluate_graph(LARGE["residual"], x))


def same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    return {n: a.tobytes() for n, a in found.items()} == {n: expected[n].tobytes() for n in found}


@BOARD
@pytest.mark.parametrize("in_pools", [False, True], ids=["apart", "in-pools"])
@pytest.mark.parametrize("route", ["c", "llvm"])
def test_on_a_board(route: str, in_pools: bool, tmp_path: Path) -> None:
    program = chain_in_pools("downsampling", M7, "dtcm", "sram")
    assert all(pool.size for pool in program.plan.pools)
    x = random_inputs(LARGE["downsampling"])
    found = outputs(program, M7, route, Build(in_arena=in_pools), x, tmp_path)
    assert same(found, evaluate_graph(LARGE["downsampling"], x))


@BOARD
@needs("gcc")
@needs_models
def test_a_model_on_a_board(tmp_path: Path) -> None:
    """Keyword spotting from LLVM's objects, as the C sources compute it here in one arena."""
    model = next(model for model in INT8 if model.name == "kws8")
    program = compile_model(model.path, M7, model.options, goal=Goal(pools={"dtcm": 9000, "sram": 9000})).program
    assert all(pool.size for pool in program.plan.pools)
    here = compile_model(model.path, GENERIC, model.options)
    x = next(iter(random_samples(program.inputs, 1)))
    assert same(outputs(program, M7, "llvm", Build(), x, tmp_path), CModel(here.program, here.machine).run(x))


@pytest.mark.parametrize("seed", range(12))
def test_random_float_graphs_in_process(seed: int) -> None:
    """As with one arena, to the bit: the same kernels run, with vectors."""
    graph = optimize(RandomGraph(seed).grow(10))
    apart = lower_graph(graph, HOST)
    ram = lower_graph(graph, HOST, Goal(max_ram=1 << 20)).plan.ram
    pooled = lower_graph(graph, HOST, Goal(pools=halved(ram, "near", "far")))
    x = random_inputs(graph)
    assert same(JitModel(pooled).run(x), JitModel(apart).run(x))


@needs("gcc")
def test_c_sources_in_process() -> None:
    """The way of ``verify --backend c``."""
    compiled = compile_model(DIGITS, GENERIC, goal=Goal(pools={"a": 3000, "b": None}))
    assert all(pool.size for pool in compiled.program.plan.pools)
    x = next(iter(random_samples(compiled.program.inputs, 1)))
    expected = JitModel(compile_model(DIGITS, HOST).program).run(x)
    for name, found in CModel(compiled.program, compiled.machine).run(x).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- the contract


CALLER = """
#include <stddef.h>
#include "net.h"

static unsigned char memory[NET_DTCM_SIZE + NET_SRAM_SIZE + 2 * NET_DTCM_ALIGN];

int call(const int8_t *x, int8_t *y)
{
  unsigned char *dtcm = memory + (NET_DTCM_ALIGN - (size_t)memory % NET_DTCM_ALIGN) % NET_DTCM_ALIGN;
  unsigned char *sram = dtcm + (NET_DTCM_SIZE + NET_SRAM_ALIGN - 1) / NET_SRAM_ALIGN * NET_SRAM_ALIGN;
  if (net_run(NULL, sram, x, y) != NET_ERROR_NULL || net_run(dtcm, NULL, x, y) != NET_ERROR_NULL) return 1;
  if (net_run(dtcm + 1, sram, x, y) != NET_ERROR_ALIGN || net_run(dtcm, sram + 1, x, y) != NET_ERROR_ALIGN) return 2;
  return net_run(dtcm, sram, x, y) != NET_OK;
}

int main(void)
{
  static int8_t x[NET_X_ELEMENTS], y[NET_T1_ELEMENTS];
  return call(x, y);
}
"""


@needs("gcc", "g++")
@pytest.mark.parametrize("route", ["c", "llvm"])
def test_the_header_in_c_and_cpp(route: str, tmp_path: Path) -> None:
    """A pointer for each pool, in order; NULL and bad addresses of any are refused; C99 and C++."""
    machine = select("x86", cpu="x86-64-v2")
    program = chain_in_pools("residual", machine, "dtcm", "sram")
    files = [path for path in write_c(program, machine, tmp_path) if path.suffix == ".c"]
    header = (tmp_path / "net.h").read_text()
    assert "int net_run(void *dtcm, void *sram, const int8_t *x, int8_t *t1);" in header
    if route == "llvm":
        files = [tmp_path / "net.o"]
        files[0].write_bytes(emit_objects(program, machine)[0][1])
    (tmp_path / "caller.c").write_text(CALLER)
    (tmp_path / "caller.cpp").write_text(CALLER)
    warnings = [flag for flag in WARNINGS if flag != "-std=c99"]
    for compiler, standard, caller in (("gcc", "-std=c99", "caller.c"), ("g++", "-std=c++11", "caller.cpp")):
        command(compiler, standard, *warnings, f"-I{tmp_path}", "-c", tmp_path / caller, "-o", tmp_path / "caller.o")
        command("gcc", "-std=c99", "-msse4.2", f"-I{tmp_path}", *files, tmp_path / "caller.o", "-o", tmp_path / "net")
        command(tmp_path / "net")


def test_offsets_name_their_pool(tmp_path: Path) -> None:
    """Code that adds an offset to another pool does not compile."""
    program = chain_in_pools("residual", M7, "dtcm", "sram")
    write_c(program, M7, tmp_path)
    header = (tmp_path / "net.h").read_text()
    for side in (*program.inputs, *program.outputs):
        place = program.plan.places[side.buffer]
        name = program.plan.pools[place.pool].name
        assert f"#define NET_{side.c_name.upper()}_{name.upper()}_OFFSET {place.offset} " in header
        assert f"#define NET_{name.upper()}_SIZE_WITH_IO {program.plan.pools[place.pool].ram}\n" in header


def test_a_tensor_named_like_a_pool(tmp_path: Path) -> None:
    """The pool keeps its name and its macros."""
    graph = LARGE["residual"]
    program = lower_graph(graph, M7, Goal(pools={"x": 4000, "sram": None}))
    write_c(program, M7, tmp_path)
    header = (tmp_path / f"{program.name}.h").read_text()
    assert "(void *x, void *sram, const int8_t *x_2, int8_t *t1);" in header
    assert f"#define CHAIN_X_SIZE {program.plan.pools[0].size}\n" in header
    assert "#define CHAIN_X_2_BYTES " in header


# ---------------------------------------------------------------- weights


SCRIPT = """
MEMORY { flash : ORIGIN = 0x0, LENGTH = 1M  qspi : ORIGIN = 0x90000000, LENGTH = 1M }
SECTIONS {
  .weights : { *(RULE) } > qspi
  .text : { *(.text*) *(.rodata*) } > flash
  /DISCARD/ : { *(.ARM*) *(.comment*) *(.bss*) *(.data*) }
}
"""


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("route", ["c", "llvm"])
def test_weights_in_a_section_of_their_own(route: str, tmp_path: Path) -> None:
    """A linker script puts them where it wants: the C sources' by the section that a macro names, the objects' by
    ``.rodata.NAME``. The map shows them there, every byte of them, and code elsewhere."""
    graph = LARGE["residual"]
    program = replace(lower_graph(graph, M7), name="net")
    files = [path for path in write_c(program, M7, tmp_path) if path.suffix == ".c"]
    if route == "llvm":
        files = [tmp_path / "net.o"]
        files[0].write_bytes(emit_objects(program, M7)[0][1])
    (tmp_path / "script.ld").write_text(SCRIPT.replace("RULE", ".qspi_weights" if route == "c" else ".rodata.net"))
    compiler = ["arm-none-eabi-gcc", *M7.cpu.c_flags, "-O2", '-DNET_WEIGHTS_SECTION=".qspi_weights"']
    link = ["-nostdlib", "-Wl,-e,net_run", f"-Wl,-T,{tmp_path / 'script.ld'}", "-lgcc"]
    command(*compiler, f"-I{tmp_path}", *files, *link, f"-Wl,-Map,{tmp_path / 'map'}", "-o", tmp_path / "net.elf")
    sizes = {}
    for line in (tmp_path / "map").read_text().splitlines():
        words = line.split()
        if line.startswith(".") and len(words) >= 3:
            sizes[words[0]] = (int(words[1], 16), int(words[2], 16))
    weights = sum(program.buffers[name].nbytes for name in program.constants)
    assert sizes[".weights"][0] == 0x90000000
    assert weights <= sizes[".weights"][1] <= weights + 16 * len(program.constants)
    assert sizes[".text"][0] == 0 < sizes[".text"][1]
