"""Android's ABIs and 64-bit Arm Linux."""

from dataclasses import replace

from . import x86
from .detection import CpuFeature, Detection, HwcapBit
from .environment import linux
from .target import (
    Abi,
    Cache,
    Cpu,
    Dot,
    ElementKind,
    Elf,
    Helpers,
    Kit,
    Registers,
    Target,
    shared_library,
    widened_bfloats,
    widened_halves,
)
from .threading import POSIX

F, H, B, I8, U8, I16, I32 = (ElementKind(kind) for kind in ("f32", "f16", "bf16", "i8", "u8", "i16", "i32"))
ROUNDING = frozenset({"f64", "fma", "sqrt", "floor", "ceil", "trunc", "round_even"})

MULTIPLY_ADD = Dot("fma", 4, 1, F, F, F, temporaries=2)
"""Compilers load scalars ahead of it, in vector registers."""
BFLOATS = widened_bfloats([MULTIPLY_ADD])
FLOATS = (MULTIPLY_ADD, *widened_halves([MULTIPLY_ADD]), *BFLOATS)
WIDENING = tuple(Dot("mul+add", 4, 1, x, w, I32, temporaries=2) for x, w in ((I8, I8), (U8, I8), (I16, I8), (I16, I16)))
WIDENING_TWICE = tuple(replace(dot, lanes=8, registers=2) for dot in WIDENING)
"""SMLAL takes the lower halves of vectors, SMLAL2 the upper ones."""

CACHES = (Cache(512 << 10, 8.0), Cache(2 << 20, 4.0))
"""The second-level cache, and the third."""

HALVES = frozenset({"lower_halves", "upper_halves"})
FEATURES_OF_NEON = ROUNDING | HALVES | {"long_lanes", "mul_high", "maximum", "minimum", "pick_bytes"}

AS_WRITTEN = ("-fno-schedule-insns", "-fno-tree-ter")
"""Kernels load weights before they use them, as many as there are registers for. GCC would move loads of later steps up
before it counts registers, and spill, or each load down to its use, where two cannot become one LDP. When registers are
known, it still orders the instructions for the core."""

ARMV8 = Cpu(
    "armv8-a", "generic", "+neon", ("-march=armv8-a",), (4, 1), Registers(scalar=24, vector=30),
    (*FLOATS, *WIDENING_TWICE, *WIDENING), FEATURES_OF_NEON, lane_operand=True,
    gcc_flags=AS_WRITTEN, widening_lanes=(8, 4), caches=CACHES, ample_ram=True, short_loops=True,
)  # fmt: skip
ARMV8_DOT = Cpu(
    "armv8.2-a-dotprod", "generic", "+v8.2a,+neon,+dotprod", ("-march=armv8.2-a+dotprod",), (4, 1), ARMV8.registers,
    (*FLOATS, Dot("dot4_i8i8", 4, 4, I8, I8, I32), *WIDENING_TWICE[1:], *WIDENING[1:]), ARMV8.features | {"dot4_i8i8"},
    requires=("dotprod",), gcc_flags=AS_WRITTEN, lane_operand=True, widening_lanes=(8, 4), caches=CACHES,
    ample_ram=True, short_loops=True,
)  # fmt: skip
ARMV8_FP16 = replace(
    ARMV8_DOT, name="armv8.2-a-fp16", llvm_features=f"{ARMV8_DOT.llvm_features},+fullfp16",
    c_flags=("-march=armv8.2-a+dotprod+fp16",), requires=(*ARMV8_DOT.requires, "fullfp16"),
    dots=(MULTIPLY_ADD, Dot("fma", 8, 1, H, H, H, temporaries=2), *BFLOATS, *ARMV8_DOT.dots[len(FLOATS):]),
    features=ARMV8_DOT.features | {"f16"},
)  # fmt: skip
ARMV8_I8MM = replace(
    ARMV8_FP16, name="armv8.2-a-i8mm", llvm_features=f"{ARMV8_FP16.llvm_features},+i8mm",
    c_flags=("-march=armv8.2-a+dotprod+fp16+i8mm",), requires=(*ARMV8_FP16.requires, "i8mm"),
    dots=(*ARMV8_FP16.dots, Dot("mmla_i8i8", 4, 8, I8, I8, I32, rows=2)),
    features=ARMV8_FP16.features | {"mmla_i8i8"},
)  # fmt: skip
ARMV8_BF16 = replace(
    ARMV8_I8MM, name="armv8.2-a-bf16", llvm_features=f"{ARMV8_I8MM.llvm_features},+bf16",
    c_flags=("-march=armv8.2-a+dotprod+fp16+i8mm+bf16",), requires=(*ARMV8_I8MM.requires, "bf16"),
    dots=(
        *(dot for dot in ARMV8_I8MM.dots if dot.activation is not B),
        Dot("dot2_bf16", 4, 2, B, B, F), Dot("mmla_bf16", 4, 4, B, B, F, rows=2),
    ),
    features=ARMV8_I8MM.features | {"dot2_bf16", "mmla_bf16", "round_bf16"},
)  # fmt: skip
ARMV7 = Cpu(
    "armv7-a", "generic", "+v7,+neon,+vfp4,+thumb2", ("-march=armv7-a", "-mfpu=neon-vfpv4", "-mthumb"), (4, 1),
    Registers(scalar=10, vector=16), (Dot("fma", 4, 1, F, F, F), *BFLOATS, *WIDENING),
    frozenset({"f64", "fma", "sqrt"}), widening_lanes=(8, 4), caches=CACHES, ample_ram=True,
)  # fmt: skip

ELF64 = Elf(machine=183)
ELF32 = Elf(machine=40, flags=0x05000000, unwind=(0x70000001,))
HELPERS32 = Helpers(groups=("half_aeabi", "integers_aeabi"), convention="arm_aapcscc")
NDK = Kit("ANDROID_NDK", "an Android NDK", "toolchains/llvm/prebuilt/*/bin")

# Android's libraries need nothing of Android, so programs for Linux on the same processor can load them. Those with
# hard floats refuse the mark of soft ones, although only pointers and integers pass the API.
LINUX64 = linux(
    "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross", "qemu-aarch64", "/usr/aarch64-linux-gnu",
    native=("aarch64", "arm64"),
)  # fmt: skip
LINUX32 = linux(
    "arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross", "qemu-arm", "/usr/arm-linux-gnueabihf",
    refused_flags=0x200,
)  # fmt: skip

_HWCAP, _HWCAP2 = 16, 26
# Documentation/arch/arm64/elf_hwcaps.rst of Linux.
FEATURES = {
    "dotprod": CpuFeature("__ARM_FEATURE_DOTPROD", HwcapBit(_HWCAP, 20)),
    "fullfp16": CpuFeature("__ARM_FEATURE_FP16_VECTOR_ARITHMETIC", HwcapBit(_HWCAP, 10)),
    "i8mm": CpuFeature("__ARM_FEATURE_MATMUL_INT8", HwcapBit(_HWCAP2, 13)),
    "bf16": CpuFeature("__ARM_FEATURE_BF16_VECTOR_ARITHMETIC", HwcapBit(_HWCAP2, 14)),
}
DETECTION = Detection(FEATURES, llvm_cpu="generic", llvm_features="+neon")

SPIN_HINT64, SPIN_HINT32 = "void @llvm.aarch64.hint(i32 1)", "void @llvm.arm.hint(i32 1)"

TARGETS = (
    Target(
        name="android",
        family="Android",
        description="Android, all ABIs of the NDK; --abi picks one",
        hosted=True,
        threads=POSIX,
        dispatch=True,
        library=shared_library(page_align=16384, c_library="libc.so", stripped=True),
        compiler="clang",
        kit=NDK,
        arena_align=64,
        abis=(
            Abi(
                name="arm64-v8a",
                triple="aarch64-linux-android",
                architecture="aarch64",
                pointer_bits=64,
                cpus=(ARMV8, ARMV8_DOT, ARMV8_FP16, ARMV8_I8MM, ARMV8_BF16),
                elf=ELF64,
                environment=LINUX64,
                clang_triple="aarch64-linux-android21",
                spin_hint=SPIN_HINT64,
                detection=DETECTION,
            ),
            Abi(
                name="armeabi-v7a",
                triple="armv7-none-linux-androideabi",
                architecture="arm",
                pointer_bits=32,
                cpus=(ARMV7,),
                elf=ELF32,
                helpers=HELPERS32,
                environment=LINUX32,
                clang_triple="armv7a-linux-androideabi21",
                spin_hint=SPIN_HINT32,
            ),
            Abi(
                name="x86_64",
                triple="x86_64-linux-android",
                architecture="x86",
                pointer_bits=64,
                cpus=(x86.V2,),
                elf=x86.ELF,
                helpers=x86.HELPERS,
                environment=x86.LINUX,
                clang_triple="x86_64-linux-android21",
                spin_hint=x86.SPIN_HINT,
                detection=x86.DETECTION,
                guaranteed=x86.V2.requires,
                llvm_options=x86.LLVM_OPTIONS,
            ),
            Abi(
                name="x86",
                triple="i686-linux-android",
                architecture="x86",
                pointer_bits=32,
                cpus=(x86.I686,),
                elf=x86.ELF32,
                helpers=x86.HELPERS32,
                environment=x86.LINUX32,
                clang_triple="i686-linux-android21",
                spin_hint=x86.SPIN_HINT,
                llvm_options=x86.LLVM_OPTIONS,
            ),
        ),
    ),
    Target(
        name="linux-arm64",
        family="64-bit Arm Linux",
        aliases=("arm64", "aarch64"),
        description="64-bit Arm Linux",
        hosted=True,
        threads=POSIX,
        dispatch=True,
        library=shared_library(page_align=65536),
        arena_align=64,
        abis=(
            Abi(
                name="aarch64",
                triple="aarch64-unknown-linux-gnu",
                architecture="aarch64",
                pointer_bits=64,
                cpus=(ARMV8, ARMV8_DOT, ARMV8_FP16, ARMV8_I8MM, ARMV8_BF16),
                elf=ELF64,
                environment=LINUX64,
                cross_compile="aarch64-linux-gnu-",
                gcc=LINUX64.compiler,
                clang_triple="aarch64-linux-gnu",
                spin_hint=SPIN_HINT64,
                host_architectures=("aarch64", "arm64"),
                detection=DETECTION,
            ),
        ),
    ),
)
