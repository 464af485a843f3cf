"""x86-64 servers and desktops, by instruction-set level of the psABI."""

from .target import Abi, Caches, Cpu, Dot, ElementKind, Registers, Target

F = ElementKind.F32
ROUNDING = frozenset({"sqrt", "floor", "ceil", "trunc", "round_even"})

V2 = Cpu(
    "x86-64-v2", "x86-64-v2", "", ("-march=x86-64-v2",), (4, 1), Registers(scalar=12, vector=16),
    (Dot("mul+add", 4, 1, F, F, F),), ROUNDING, Caches(l1=32 << 10, l2=256 << 10),
)  # fmt: skip
V3 = Cpu(
    "x86-64-v3", "x86-64-v3", "", ("-march=x86-64-v3",), (8, 4, 1), Registers(scalar=12, vector=16),
    (Dot("fma", 8, 1, F, F, F), Dot("fma", 4, 1, F, F, F)), ROUNDING | {"fma"}, Caches(l1=32 << 10, l2=512 << 10),
)  # fmt: skip
V4 = Cpu(
    "x86-64-v4", "x86-64-v4", "-prefer-256-bit", ("-march=x86-64-v4", "-mprefer-vector-width=512"), (16, 8, 4, 1),
    Registers(scalar=12, vector=32),
    (Dot("fma", 16, 1, F, F, F), Dot("fma", 8, 1, F, F, F), Dot("fma", 4, 1, F, F, F)), ROUNDING | {"fma"},
    Caches(l1=32 << 10, l2=1 << 20),
)  # fmt: skip

TARGETS = (
    Target(
        name="x86",
        aliases=("x86-64", "x86_64"),
        description="x86-64 Linux; --cpu picks the level (x86-64-v2, -v3, -v4, native)",
        hosted=True,
        page_align=4096,
        arena_align=64,
        shared_flags=("-shared",),
        abis=(Abi("x86_64", "x86_64-unknown-linux-gnu", 64, cpus=(V3, V2, V4), clang_triple="x86_64-linux-gnu"),),
    ),
)
