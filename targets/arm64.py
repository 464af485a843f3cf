"""Android's ABIs and 64-bit Arm Linux."""

from .target import Abi, Cpu, Dot, ElementKind, Registers, Target
from .x86 import V2

F, I8, U8, I16, I32 = (ElementKind(kind) for kind in ("f32", "i8", "u8", "i16", "i32"))
ROUNDING = frozenset({"fma", "sqrt", "floor", "ceil", "trunc", "round_even"})

WIDENING = tuple(Dot("mul+add", 4, 1, x, I8, I32) for x in (I8, U8, I16))

ARMV8 = Cpu(
    "armv8-a", "generic", "+neon", ("-march=armv8-a",), (4, 1), Registers(scalar=24, vector=32),
    (Dot("fma", 4, 1, F, F, F), *WIDENING), ROUNDING,
)  # fmt: skip
ARMV8_DOT = Cpu(
    "armv8.2-a-dotprod", "generic", "+v8.2a,+neon,+dotprod", ("-march=armv8.2-a+dotprod",), (4, 1), ARMV8.registers,
    (Dot("fma", 4, 1, F, F, F), Dot("dot4_i8i8", 4, 4, I8, I8, I32), *WIDENING[1:]), ROUNDING | {"dot4_i8i8"},
    requires=("dotprod",),
)  # fmt: skip
ARMV7 = Cpu(
    "armv7-a", "generic", "+v7,+neon,+vfp4,+thumb2", ("-march=armv7-a", "-mfpu=neon-vfpv4", "-mthumb"), (4, 1),
    Registers(scalar=10, vector=16), (Dot("fma", 4, 1, F, F, F), *WIDENING), frozenset({"fma", "sqrt"}),
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
            Abi("arm64-v8a", "aarch64-linux-android", 64, (ARMV8, ARMV8_DOT), clang_triple="aarch64-linux-android21"),
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
            Abi(
                "aarch64",
                "aarch64-unknown-linux-gnu",
                64,
                (ARMV8, ARMV8_DOT),
                cross_compile="aarch64-linux-gnu-",
                clang_triple="aarch64-linux-gnu",
                host_architectures=("aarch64", "arm64"),
            ),
        ),
    ),
)
