"""What is read of WebAssembly objects, against LLVM's own tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.emit_llvm.object_file import defined_symbols, undefined_symbols
from ccml.emit_llvm.objects import INLINE_CONSTANTS, emit_objects
from ccml.ir.types import DType
from ccml.report.sections import sections_of
from ccml.targets import select

from tests.artifacts.commands import run
from tests.emit_c.cases import conversions
from tests.emit_llvm.programs import program_of, scale_and_shift
from tests.tools import needs

WASM = select("wasm32")


@needs("llvm-nm")
@pytest.mark.parametrize("pad", [0, INLINE_CONSTANTS])
def test_symbols(pad: int, tmp_path: Path) -> None:
    objects = emit_objects(scale_and_shift(pad=pad)[0], WASM)
    assert [name for name, _ in objects] == ["small.o"]
    ((_, image),) = objects
    assert defined_symbols(image) == ["small_scale", "small_shift", "small_run", "small_model_id"]
    assert undefined_symbols(image) == []
    (tmp_path / "small.o").write_bytes(image)
    listed = [line.split()[1:] for line in run("llvm-nm", "--no-sort", tmp_path / "small.o").splitlines()]
    assert [name for kind, name in listed if kind == "T"] == defined_symbols(image)


@needs("llvm-nm")
def test_symbols_of_helpers(tmp_path: Path) -> None:
    objects = emit_objects(program_of(conversions(DType.F16, 1).kernel), WASM)
    (_, code), (name, helpers) = objects
    assert name == "model_runtime.o"
    needed = set(undefined_symbols(code))
    assert needed and needed <= set(defined_symbols(helpers))
    (tmp_path / "code.o").write_bytes(code)
    listed = [line.split() for line in run("llvm-nm", tmp_path / "code.o").splitlines()]
    assert {words[-1] for words in listed if words[-2] == "U"} == needed


@needs("llvm-readobj")
def test_sections(tmp_path: Path) -> None:
    objects = emit_objects(scale_and_shift()[0], WASM)
    (tmp_path / "small.o").write_bytes(objects[0][1])
    said = run("llvm-readobj", "--sections", tmp_path / "small.o")
    sizes = {part.split()[0]: int(part.split("Size: ")[1].split()[0]) for part in said.split("Type: ")[1:]}
    found = sections_of(objects)
    assert [(section.name, section.size) for section in found if section.executable] == [(".text", sizes["CODE"])]
    data = [section for section in found if not section.executable]
    assert {section.name for section in data} == {".rodata.small"}
    assert 0 < sum(section.size for section in data) < sizes["DATA"]
