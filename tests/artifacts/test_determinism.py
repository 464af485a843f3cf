"""The same model and options give the same bytes: in another process, and under another hash seed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from ccml.targets import Machine

from tests.artifacts.commands import run
from tests.artifacts.machines import M4, V3, machine_id
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import DIGITS, FLOAT, Model
from tests.models import needs_models
from tests.tools import needs

pytestmark = needs_models

SEEDS = [seed for seed in ("1", "2", "3") if seed != os.environ.get("PYTHONHASHSEED")][:2]
"""That of this process is another: random, or what the user has set."""


@pytest.mark.check
@needs("gcc")
@pytest.mark.parametrize("machine", [V3, M4], ids=machine_id)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_compiled_elsewhere(model: Model, machine: Machine, workshop: Workshop, tmp_path: Path) -> None:
    """This process may have compiled other models before; the other one compiles just this."""
    here = contents(workshop.c_sources(model, machine)) | contents(workshop.machine_code(model, machine))
    compile_model(model, tmp_path, SEEDS[0], "--target", machine.name, "--cpu", machine.cpu.name, "--emit", "c,obj,lib")
    there = contents(tmp_path)
    assert there.pop("report.json")
    assert differences(here, there) == []


@needs("ld.lld")
def test_every_kind_of_file(tmp_path: Path) -> None:
    """The report, too; and libraries of another linker."""
    trees = []
    for seed in SEEDS:
        folder = tmp_path / seed
        compile_model(DIGITS, folder, seed, "--target", "android", "--abi", "all", "--emit", "c,obj,lib,asm,llvm")
        trees.append(contents(folder))
    assert len(trees[0]) > 3 * 11
    assert differences(*trees) == []


def compile_model(model: Model, folder: Path, seed: str, *arguments: str) -> None:
    """By the command line, in a process of its own."""
    dims = [f"--dim={name}={extent}" for name, extent in model.options.dims.items()]
    shapes = [f"--shape={name}={','.join(map(str, shape))}" for name, shape in model.options.shapes.items()]
    command = [sys.executable, "-m", "ccml", "compile", model.path, "--name", model.name, *dims, *shapes, *arguments]
    run(*command, "-o", folder, quiet=False, PYTHONHASHSEED=seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def differences(lhs: dict[str, bytes], rhs: dict[str, bytes]) -> list[str]:
    """The names of the files that only one side has, or that differ."""
    return sorted(name for name in lhs.keys() | rhs.keys() if lhs.get(name) != rhs.get(name))
