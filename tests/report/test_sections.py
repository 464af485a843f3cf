"""Section sizes, compared with another reader of ELF files."""

from __future__ import annotations

import io
from pathlib import Path

import ccml
import pytest
from ccml.report.sections import Section, allocated_sections, grouped
from elftools.elf.elffile import ELFFile

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "digits.onnx"


@pytest.mark.parametrize("target", ["arm", "x86"])
def test_sections(tmp_path: Path, target: str) -> None:
    ccml.compile(DIGITS, target, tmp_path / "out", emit=["obj"])
    image = (tmp_path / "out" / "digits.o").read_bytes()
    expected = {
        section.name: section["sh_size"]
        for section in ELFFile(io.BytesIO(image)).iter_sections()
        if section["sh_flags"] & 2 and section["sh_size"]
    }
    found = list(allocated_sections(image))
    assert {section.name: section.size for section in found} == expected
    assert all(section.executable == section.name.startswith(".text") for section in found)


def test_grouped() -> None:
    sections = [Section(".text.a", 1, True), Section(".text.b", 2, True), Section(".rodata", 4, False)]
    assert grouped([*sections, Section("weights", 8, False)]) == {".rodata": 4, ".text": 3, "weights": 8}
