"""Several models in one program, with one arena."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from ccml.emit_c.symbols import assign_symbols
from ccml.emit_llvm.jit import JitModel

from tests.artifacts.commands import run
from tests.artifacts.machines import V3, runs_here
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import DIGITS, KWS, Model
from tests.models import needs_models
from tests.tools import needs

PAIR = (KWS, DIGITS)
pytestmark = [needs_models, needs("make", "gcc"), runs_here(V3)]


@pytest.mark.parametrize("kind", ["c", "llvm"])
def test_they_take_turns(kind: str, workshop: Workshop, tmp_path: Path) -> None:
    built = {
        model: workshop.built_by_make(model, V3, "CC=gcc") if kind == "c" else workshop.machine_code(model, V3)
        for model in PAIR
    }
    macros = [flag for model, role in zip(PAIR, ("FIRST", "SECOND")) for flag in role_macros(workshop, model, role)]
    includes = [f"-I{folder}" for folder in built.values()]
    libraries = [folder / f"lib{model}.a" for model, folder in built.items()]
    source = Path(__file__).with_name("two_models.c")
    run("gcc", "-O1", *macros, *includes, source, *libraries, "-o", tmp_path / "both")
    written = subprocess.run([tmp_path / "both"], capture_output=True, check=True).stdout
    assert written == 2 * b"".join(alone(workshop, model) for model in PAIR)


def role_macros(workshop: Workshop, model: Model, role: str) -> list[str]:
    """What ``two_models.c`` needs to know of a model; the sizes are macros of its header."""
    symbols = assign_symbols(workshop.program(model, V3))
    values = {
        "HEADER": f'"{model}.h"',
        "RUN": symbols.run,
        "ARENA_SIZE": f"{symbols.macro}_ARENA_SIZE",
        "ARENA_ALIGN": f"{symbols.macro}_ARENA_ALIGN",
        "INPUT": f"{symbols.stems[0]}_ELEMENTS",
        "OUTPUT": f"{symbols.stems[1]}_ELEMENTS",
    }
    return [f"-D{role}_{name}={value}" for name, value in values.items()]


def alone(workshop: Workshop, model: Model) -> bytes:
    """The outputs for zeros, by the model alone in this process."""
    program = workshop.program(model, V3)
    zeros = {side.name: np.zeros(side.type.shape, side.type.dtype.numpy) for side in program.inputs}
    (output,) = JitModel(program, V3).run(zeros).values()
    return output.tobytes()
