"""Android's ABIs and 64-bit Arm Linux."""

from .target import Abi, Caches, Cpu, Dot, ElementKind, Registers, Target
from .x86 import V2

F = ElementKind.F32
ROUNDING = frozenset({"fma", "sqrt", "floor", "ceil", "trunc", "round_even"})

ARMV8 = Cpu(
    "armv8-a", "generic", "+neon", ("-march=armv8-a",), (4, 1), Registers(scalar=24, vector=32),
    (Dot("fma", 4, 1, F, F, F),), ROUNDING, Caches(l1=32 << 10, l2=256 << 10),
)  # fmt: skip
ARMV7 = Cpu(
    "armv7-a", "generic", "+v7,+neon,+vfp4,+thumb2", ("-march=armv7-a", "-mfpu=neon-vfpv4", "-mthumb"), (4, 1),
    Registers(scalar=10, vector=16), (Dot("fma", 4, 1, F, F, F),), frozenset({"fma", "sqrt"}),
    Caches(l1=32 << 10, l2=256 << 10),
)  # fmt: skip

TARGETS = (
    Target(
        name="android",
        description="Android, all ABIs of the NDK; --abi picks one",
        hosted=True,
        page_align=16384,
        arena_align=64,
        shared_flags=("-shared",),
        abis=(
            Abi("arm64-v8a", "aarch64-linux-android", 64, (ARMV8,), clang_triple="aarch64-linux-android21"),
            Abi("armeabi-v7a", "armv7-none-linux-androideabi", 32, (ARMV7,), clang_triple="armv7a-linux-androideabi21"),
            Abi("x86_64", "x86_64-linux-android", 64, (V2,), clang_triple="x86_64-linux-android21"),
        ),
    ),
    Target(
        name="linux-arm64",
        aliases=("arm64", "aarch64"),
        description="64-bit Arm Linux",
        hosted=True,
        page_align=65536,
        arena_align=64,
        shared_flags=("-shared",),
        abis=(
            Abi("aarch64", "aarch64-unknown-linux-gnu", 64, (ARMV8,), "aarch64-linux-gnu-", "aarch64-linux-gnu"),
        ),
    ),
)
