"""Which code this or another machine can run, by what its processor has."""

from __future__ import annotations

import pytest
from ccml.emit_llvm import jit
from ccml.errors import CcmlError, ErrorCode
from ccml.targets import host

X86 = {
    "generic": "sse2",
    "x86-64-v2": "cx16 popcnt sahf sse3 ssse3 sse4.1 sse4.2",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v4-vnni": "avx512vnni",
    "x86-64-v4-bf16": "avx512bf16",
    "x86-64-v4-amx": "amx-tile amx-int8",
}
"""What each level of the psABI adds to the one before."""


@pytest.mark.parametrize("level", X86)
def test_a_level_needs_all_of_its_features(level: str) -> None:
    levels = list(X86)
    has = {feature for name in levels[: levels.index(level) + 1] for feature in X86[name].split()}
    machine = host("x86_64", has)
    assert machine is not None and machine.cpu.name == level
    for missing in X86[level].split():
        below = host("x86_64", has - {missing})
        assert below is not None and levels.index(below.cpu.name) == max(levels.index(level) - 1, 0)


def test_registers_that_linux_does_not_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles are nothing that a process has before it asks."""
    has = dict.fromkeys((feature for names in X86.values() for feature in names.split()), True)
    monkeypatch.setattr(jit.llvm, "get_host_cpu_features", lambda: has)
    monkeypatch.setattr(jit.llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    for granted, level in ((True, "x86-64-v4-amx"), (False, "x86-64-v4-bf16")):
        monkeypatch.setattr(jit, "_granted", lambda linux, state, answer=granted: answer)
        machine = host("x86_64", jit.host_features())
        assert machine is not None and machine.cpu.name == level


def test_products_of_bytes_without_avx512() -> None:
    """AVX-VNNI, of processors without AVX-512; with AVX-512 these registers are wider."""
    v3 = {feature for name in list(X86)[:3] for feature in X86[name].split()}
    for has, cpu in ((v3 | {"avxvnni"}, "x86-64-v3-vnni"), (v3 | {"avxvnni", *X86["x86-64-v4"].split()}, "x86-64-v4")):
        machine = host("x86_64", has)
        assert machine is not None and machine.cpu.name == cpu


@pytest.mark.parametrize(
    ("features", "cpu"),
    [
        ((), "armv8-a"), (("neon", "dotprod"), "armv8.2-a-dotprod"),
        (("neon", "dotprod", "fullfp16"), "armv8.2-a-fp16"), (("neon", "i8mm"), "armv8-a"),
        (("neon", "dotprod", "fullfp16", "i8mm"), "armv8.2-a-i8mm"),
        (("neon", "dotprod", "bf16"), "armv8.2-a-dotprod"),
        (("neon", "dotprod", "fullfp16", "i8mm", "bf16"), "armv8.2-a-bf16"),
    ],
)  # fmt: skip
def test_arm(features: tuple[str, ...], cpu: str) -> None:
    machine = host("aarch64", features)
    assert machine is not None and (machine.name, machine.cpu.name) == ("linux-arm64", cpu)


def test_a_machine_without_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit.llvm, "get_process_triple", lambda: "sparc-sun-solaris")
    with pytest.raises(CcmlError, match="no in-process compilation on sparc") as caught:
        jit.host_machine.__wrapped__()
    assert caught.value.kind is ErrorCode.TOOLCHAIN
    assert "x86_64" in (caught.value.hint or "")
