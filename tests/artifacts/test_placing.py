"""Code and weights of chosen layers in sections of their own: where they are, and that a run computes the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.artifact.emit import Emit, emit
from ccml.emit_llvm.jit import JitModel
from ccml.emulation import build_and_run
from ccml.errors import CcmlError
from ccml.program.placing import CODE, WEIGHTS, Placing, placed
from elftools.elf.elffile import ELFFile

from tests.artifacts.commands import run
from tests.artifacts.machines import GENERIC, M4
from tests.artifacts.routes import assert_same_bits, stacked
from tests.artifacts.workshop import Workshop
from tests.artifacts.zoo import INT8
from tests.models import needs_models
from tests.tools import needs

KWS8 = INT8[0]
pytestmark = [needs_models, needs("arm-none-eabi-gcc", "qemu-system-arm")]


def sections(folder: Path) -> dict[str, int]:
    """Bytes by the name of the section, in all objects."""
    found: dict[str, int] = {}
    for path in folder.glob("*.o"):
        with path.open("rb") as stream:
            for section in ELFFile(stream).iter_sections():
                found[section.name] = found.get(section.name, 0) + section["sh_size"]
    return found


@pytest.mark.parametrize("form", [Emit.C, Emit.OBJECT], ids=["c", "llvm"])
def test_sections(form: Emit, workshop: Workshop, tmp_path: Path) -> None:
    """The kernel of a layer with the block instructions that it invokes, and the weights of another one."""
    plain = workshop.program(KWS8, M4)
    program = placed(plain, [Placing(CODE, "*", ".slow"), Placing(CODE, "3", ".itcm"), Placing(WEIGHTS, "2", ".dtcm")])
    emit(program, M4, (form,), tmp_path)
    if form is Emit.C:
        for source in sorted(tmp_path.glob("*.c")):
            flags = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", "-O2", "-ffreestanding"]
            run("arm-none-eabi-gcc", *flags, "-Werror", f"-I{tmp_path}", "-c", source, "-o", source.with_suffix(".o"))
    found = sections(tmp_path)
    call = plain.calls[2]
    assert found[".dtcm"] == sum(plain.buffers[name].nbytes for name in call.args if name in plain.constants)
    assert found[".itcm"] > 1000 and found[".slow"] > 1000
    samples = list(workshop.samples(KWS8, M4, 1))
    files = sorted(path for path in tmp_path.iterdir() if path.suffix == ".o")
    result = build_and_run(program, M4, files, samples, include=tmp_path)
    host = JitModel(workshop.program(KWS8, GENERIC))
    assert_same_bits(stacked(result), stacked([host.run(sample) for sample in samples]))


def test_layers_are_meant_by_number_name_or_pattern(workshop: Workshop) -> None:
    program = workshop.program(KWS8, M4)
    name = program.calls[1].loc.split(" + ")[0]
    for layer in ("1", name, f"{name[:-1]}?"):
        assert placed(program, [Placing(CODE, layer, ".x")]).sections == {(CODE, program.calls[1].kernel): ".x"}
    with pytest.raises(CcmlError, match="no code of a layer 'nothing' to place"):
        placed(program, [Placing(CODE, "nothing", ".x")])


@needs("gcc")
def test_as_a_compiler_of_another_kind_sees_it(workshop: Workshop, tmp_path: Path) -> None:
    """Without what GCC says of itself, and with what IAR's does: attributes, and plain C for everything else."""
    program = placed(workshop.program(KWS8, GENERIC), [Placing(CODE, "3", ".itcm"), Placing(WEIGHTS, "2", ".dtcm")])
    emit(program, GENERIC, (Emit.C,), tmp_path)
    for source in sorted(tmp_path.glob("*.c")):
        flags = ["-std=c99", "-ffreestanding", "-U__GNUC__", "-D__ICCARM__=9000000", "-Wall", "-Wextra", "-Werror"]
        run("gcc", *flags, f"-I{tmp_path}", "-c", source, "-o", source.with_suffix(".o"))
    assert {".itcm", ".dtcm"} <= sections(tmp_path).keys()
    samples = list(workshop.samples(KWS8, GENERIC, 1))
    result = build_and_run(program, GENERIC, sorted(tmp_path.glob("*.o")), samples, include=tmp_path)
    host = JitModel(workshop.program(KWS8, GENERIC))
    assert_same_bits(stacked(result), stacked([host.run(sample) for sample in samples]))
