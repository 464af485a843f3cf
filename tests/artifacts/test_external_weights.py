"""Weights in a file of their own: the same bits everywhere, weights of another training, damaged files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from ccml.artifact.emit import Emit, emit
from ccml.artifact.options import ArtifactOptions
from ccml.driver import compile_model
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import build_and_run
from ccml.ir.external_weights import weights_file, with_external_weights
from ccml.ir.identity import model_id
from ccml.ir.program import Program
from ccml.targets import Machine
from onnx import numpy_helper

from tests.artifacts.built import SANITIZED, run_artifact
from tests.artifacts.machines import GENERIC, M4, RISCV, V3, WASM, machine_id, runs_here
from tests.artifacts.routes import assert_same_bits, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import DIGITS, INT8, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = needs_models
KWS8 = INT8[0]


def external(workshop: Workshop, model: Model, machine: Machine) -> Program:
    (program,) = with_external_weights([workshop.program(model, machine)])
    return program


@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(GENERIC, marks=needs("gcc")),
        pytest.param(V3, marks=[needs("gcc"), runs_here(V3)]),
        pytest.param(M4, marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
        pytest.param(RISCV, marks=needs("riscv64-unknown-elf-gcc", "qemu-riscv32")),
        pytest.param(WASM, marks=needs("clang", "wasm-ld", "node")),
    ],
    ids=machine_id,
)
def test_the_same_bits_as_with_weights_inside(
    machine: Machine, form: Emit, workshop: Workshop, tmp_path: Path
) -> None:
    samples = list(workshop.samples(KWS8, machine, 2))
    found = run_artifact(external(workshop, KWS8, machine), machine, form, tmp_path / "out", samples)
    host = JitModel(workshop.program(KWS8, GENERIC))
    assert_same_bits(stacked(found), stacked([host.run(sample) for sample in samples]))
    assert not list((tmp_path / "out").glob("*_weights.*")), "the constants are in no other file"


@needs("gcc")
@runs_here(V3)
def test_a_library_for_all_cpus_has_one_file(tmp_path: Path) -> None:
    result = ccml.compile(
        DIGITS.path, "x86", tmp_path / "out", cpu="all", emit=["lib"], options=DIGITS.options,
        artifact=ArtifactOptions(external_weights=True), bindings=["python"],
    )  # fmt: skip
    report = result.artifacts[0].report
    assert report.totals.external_weight_bytes == (tmp_path / "out" / "digits.weights").stat().st_size
    assert report.options.weights == "external"
    image = onnx.load(DIGITS.path).graph.input[0].type.tensor_type.shape.dim[1:]
    shape = (1, *(dim.dim_value for dim in image))
    run = f"digits.Model().run(numpy.ones({shape}, 'f4'))['logits']"
    script = f"import digits, numpy; print({run}.tobytes().hex())"
    folder = tmp_path / "out" / "python" / "digits"
    said = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout
    (expected,) = ccml.load(DIGITS.path, DIGITS.options).run(np.ones(shape, np.float32)).values()
    found = np.frombuffer(bytes.fromhex(said.strip()), np.float32)
    np.testing.assert_allclose(found, expected.reshape(-1), rtol=1e-4)


def trained_again(path: Path, rng: np.random.Generator) -> None:
    """The digits model with other numbers in the same places."""
    model = onnx.load(DIGITS.path)
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.float32:
            changed = array + rng.normal(0, 0.01, array.shape).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(changed, tensor.name))
    onnx.save(model, path)


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_weights_of_another_training_fit_the_same_code(workshop: Workshop, tmp_path: Path) -> None:
    trained_again(tmp_path / "digits.onnx", np.random.default_rng(0))
    old = external(workshop, DIGITS, M4)
    (new,) = with_external_weights([compile_model(tmp_path / "digits.onnx", M4, DIGITS.options).program])
    assert model_id(new) == model_id(old)
    assert weights_file([new]) != weights_file([old])
    samples = list(workshop.samples(DIGITS, M4, 1))
    (tmp_path / "out").mkdir()
    emit(old, M4, (Emit.OBJECT,), tmp_path / "out")
    updated = replace(old, constants=new.constants)
    found = build_and_run(updated, M4, sorted((tmp_path / "out").glob("*.o")), samples, include=tmp_path / "out")
    whole = run_artifact(new, M4, Emit.OBJECT, tmp_path / "new", samples)
    assert_same_bits(stacked(found), stacked(whole))


def test_another_structure_is_another_model(workshop: Workshop) -> None:
    one, other = workshop.program(DIGITS, M4), workshop.program(DIGITS, GENERIC)
    assert len({model_id(program) for program in (one, other, *with_external_weights([one]))}) == 3
    first, second = with_external_weights([one]), with_external_weights([replace(one, body=one.body[:-1])])
    assert model_id(first[0]) != model_id(second[0])


MISUSE = r"""
#include "digits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char arena[DIGITS_ARENA_SIZE + 1] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
static float image[DIGITS_INPUT_ELEMENTS], logits[DIGITS_LOGITS_ELEMENTS];

int main(void)
{
  /* Memory of exactly the size, so that sanitizers see what is read behind it. */
  unsigned char *file = aligned_alloc(DIGITS_WEIGHTS_ALIGN, DIGITS_WEIGHTS_FILE_SIZE);
  FILE *stream = fopen("digits.weights", "rb");
  if (stream == NULL || fread(file, 1, DIGITS_WEIGHTS_FILE_SIZE, stream) != DIGITS_WEIGHTS_FILE_SIZE) {
    return 1;
  }
  printf("%d %d\n", digits_check_weights(file, DIGITS_WEIGHTS_FILE_SIZE), digits_run(arena, file, image, logits));
  printf("%d %d\n", digits_check_weights(NULL, 64), digits_run(arena, NULL, image, logits));
  printf("%d %d\n", digits_check_weights(file + 2, 64), digits_run(arena, file + 2, image, logits));
  printf("%d %d\n", digits_check_weights(file, DIGITS_WEIGHTS_FILE_SIZE - 1), digits_check_weights(file, 0));
  int undetected = 0;
  for (size_t at = 0; at < DIGITS_WEIGHTS_FILE_SIZE; at += at < 80 ? 1 : 97) {
    file[at] ^= 0x10;
    undetected += digits_check_weights(file, DIGITS_WEIGHTS_FILE_SIZE) == 0;
    file[at] ^= 0x10;
  }
  printf("%d\n", undetected);
  file[9] ^= 1;
  printf("%d %d\n", digits_check_weights(file, DIGITS_WEIGHTS_FILE_SIZE), digits_run(arena, file, image, logits));
  memset(file, 0xFF, 64);
  printf("%d %d\n", digits_check_weights(file, DIGITS_WEIGHTS_FILE_SIZE), digits_run(arena, file, image, logits));
  free(file);
  return 0;
}
"""


@needs("gcc")
@runs_here(V3)
@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_what_is_wrong_has_an_error_code(form: Emit, workshop: Workshop, tmp_path: Path) -> None:
    emit(external(workshop, DIGITS, V3), V3, (form,), tmp_path)
    (tmp_path / "main.c").write_text(MISUSE)
    files = sorted(path.name for path in tmp_path.iterdir() if path.suffix in (".c", ".o"))
    flags = [flag for flag in SANITIZED.flags if not flag.startswith("-D")]
    command = ["gcc", *flags, "-mavx2", "-mfma", "-I.", *files, "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    said = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    fine, null, misaligned, truncated, undetected, other, damaged = said.splitlines()
    assert (fine, null, misaligned, truncated) == ("0 0", "1 1", "2 2", "6 6")
    assert (undetected, other, damaged) == ("0", "5 5", "6 6")
