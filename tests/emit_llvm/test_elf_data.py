"""The writer of data-only ELF objects."""

from __future__ import annotations

import io

import pytest
from ccml.emit_llvm.elf import defined_symbols, undefined_symbols
from ccml.emit_llvm.elf_data import DataSymbol, data_object
from ccml.targets import Elf, select
from elftools.elf.elffile import ELFFile

SYMBOLS = [DataSymbol("m_a", b"abc", 1), DataSymbol("m_b", bytes(range(40)), 64), DataSymbol("m_empty", b"", 4)]
EABI5, HARD, COMPRESSED = 0x05000000, 0x400, 1


def elf_of(target: str, abi: str | None = None) -> Elf:
    elf = select(target, abi).abi.elf
    assert elf is not None
    return elf


@pytest.mark.parametrize(
    ("target", "abi", "bits", "machine", "flags"),
    [
        ("x86", "x86_64", 64, "EM_X86_64", 0),
        ("android", "arm64-v8a", 64, "EM_AARCH64", 0),
        ("android", "armeabi-v7a", 32, "EM_ARM", EABI5),
        ("cortex-m0", "eabi", 32, "EM_ARM", EABI5),
        ("cortex-m4", "eabihf", 32, "EM_ARM", EABI5 | HARD),
        ("riscv32", "ilp32", 32, "EM_RISCV", COMPRESSED),
    ],
)
def test_object(target: str, abi: str, bits: int, machine: str, flags: int) -> None:
    elf = ELFFile(io.BytesIO(data_object(elf_of(target, abi), bits, ".rodata.m", SYMBOLS)))
    assert (elf.elfclass, elf.little_endian, elf.header.e_machine, elf.header.e_flags) == (bits, True, machine, flags)
    data = elf.get_section_by_name(".rodata.m")
    assert (data["sh_flags"], data["sh_addralign"], data["sh_offset"] % 64) == (2, 64, 0)
    assert elf.get_section_by_name(".note.GNU-stack")["sh_flags"] == 0
    for wanted in SYMBOLS:
        (symbol,) = elf.get_section_by_name(".symtab").get_symbol_by_name(wanted.name)
        begin = symbol["st_value"]
        assert begin % wanted.align == 0
        assert data.data()[begin : begin + symbol["st_size"]] == wanted.data
        assert (symbol["st_info"]["bind"], symbol["st_info"]["type"]) == ("STB_GLOBAL", "STT_OBJECT")
        assert symbol["st_other"]["visibility"] == "STV_HIDDEN"


@pytest.mark.parametrize("bits", [32, 64])
def test_own_reader_reads_it(bits: int) -> None:
    image = data_object(elf_of("linux-arm64" if bits == 64 else "cortex-m3"), bits, ".rodata.m", SYMBOLS)
    assert defined_symbols(image) == ["m_a", "m_b", "m_empty"]
    assert undefined_symbols(image) == []


def test_reader_refuses_what_is_not_elf() -> None:
    with pytest.raises(ValueError, match="not a little-endian ELF object"):
        undefined_symbols(b"MZ" + bytes(100))
