"""Shared libraries for Android, and those that the Makefile builds: what a loader sees of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.emulation import build_and_run
from ccml.targets import Machine
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from tests.artifacts.commands import make
from tests.artifacts.machines import ANDROID, V3, machine_id, runs_here
from tests.artifacts.routes import assert_same_bits, in_process, make_case, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import FLOAT, KWS, Model
from tests.models import needs_models
from tests.tools import needs

PAGE = 16 << 10
pytestmark = needs_models


@needs("ld.lld")
@pytest.mark.parametrize("machine", ANDROID, ids=machine_id)
@pytest.mark.parametrize("model", FLOAT, ids=str)
def test_android(model: Model, machine: Machine, workshop: Workshop) -> None:
    """Pages of 16 KiB, no dependency, a name, a build ID, and one function for others to call; no other names."""
    library = workshop.machine_code(model, machine) / f"lib{model}.so"
    with library.open("rb") as stream:
        elf = ELFFile(stream)
        loaded = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_LOAD"]
        assert {segment["p_align"] for segment in loaded} == {PAGE}
        assert all(segment["p_vaddr"] % PAGE == segment["p_offset"] % PAGE for segment in loaded)
        assert not any(segment["p_flags"] & 3 == 3 for segment in loaded), "writable and executable"
        tags = dynamic_tags(elf)
        assert "DT_NEEDED" not in tags and "DT_TEXTREL" not in tags
        assert tags["DT_SONAME"] == f"lib{model}.so"
        assert exports(elf) == [f"{model}_model_id", f"{model}_run"]
        assert elf.get_section_by_name(".symtab") is None
        (note,) = elf.get_section_by_name(".note.gnu.build-id").iter_notes()
        assert len(note["n_desc"]) == 40


@runs_here(V3)
@needs("make", "gcc")
def test_a_plain_make_builds_both_libraries(workshop: Workshop, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sources = workshop.c_sources(KWS, V3)
    folder.mkdir()
    for source in sources.iterdir():
        (folder / source.name).symlink_to(source)
    make(folder, "CFLAGS=-Werror")
    assert (folder / "libkws.a").exists()
    case = make_case(workshop, KWS, V3, 2)
    found = build_and_run(case.program, V3, [folder / "libkws.so"], list(case.samples), include=folder)
    assert_same_bits(stacked(found), stacked(in_process(case)))
    with (folder / "libkws.so").open("rb") as stream:
        elf = ELFFile(stream)
        assert exports(elf) == ["kws_model_id", "kws_run"]
        assert dynamic_tags(elf)["DT_SONAME"] == "libkws.so"


def dynamic_tags(elf: ELFFile) -> dict[str, object]:
    """By name; the value of those that name a library is that name."""
    section = elf.get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    return {tag.entry.d_tag: getattr(tag, "soname", tag.entry.d_val) for tag in section.iter_tags()}


def exports(elf: ELFFile) -> list[str]:
    """The defined symbols that other programs can see."""
    symbols = elf.get_section_by_name(".dynsym").iter_symbols()
    return sorted(symbol.name for symbol in symbols if symbol.name and symbol["st_shndx"] != "SHN_UNDEF")
