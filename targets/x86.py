"""x86-64 servers and desktops, by instruction-set level of the psABI."""

from dataclasses import replace

from .detection import CpuFeature, CpuidBit, Detection
from .environment import linux
from .target import (
    TILES,
    Abi,
    Cache,
    CacheLines,
    CacheSets,
    Cpu,
    Dot,
    ElementKind,
    Elf,
    Helpers,
    Registers,
    Target,
    shared_library,
    widened_bfloats,
    widened_halves,
)  # fmt: skip
from .threading import POSIX

F, B, I8, U8, I16, I32 = (ElementKind(kind) for kind in ("f32", "bf16", "i8", "u8", "i16", "i32"))
ROUNDING = frozenset({"f64", "sqrt", "floor", "ceil", "trunc", "round_even"})
LANES = frozenset({"long_lanes", "mul_high", "saturating_lanes"})

# Constants and weights that are used after or around an innermost loop must not occupy the registers that the schedule
# has filled with accumulators: GCC would rather spill these.
NO_HOISTING = ("-fno-tree-loop-im", "-fno-gcse", "-fno-move-loop-invariants")


# Products of pairs, and what takes bytes apart into them.
PAIRS = frozenset({"dot2_i16i16", "even_bytes", "odd_bytes", "widen_even", "widen_odd"})
# 64 sets of lines of 64 bytes; larger caches have more ways, and some second caches give twice as much.
SETS = CacheSets(period=4096, ways=8, refill=32.0)
# The second-level cache, and a share of the third: what of a model's weights is still there when it is run again.
CACHES = (Cache(1 << 20, 16.0), Cache(4 << 20, 3.0))
# The same of CPUs with AVX-512, of which those of servers have large second caches and slow meshes to the third.
SERVER_CACHES = (Cache(1 << 20, 16.0), Cache(3 << 19, 9.0), Cache(4 << 20, 5.0))
PREFETCH = CacheLines(size=64, distance=1024, near=16 << 10, fewest=64 << 10)
# The lanes of the widest vectors: kernels for all processors read the same weights, which are in a library once.
PANEL = 16


def _multiply_add(name: str, *widths: int) -> tuple[Dot, ...]:
    floats = tuple(Dot(name, lanes, 1, F, F, F) for lanes in widths)
    return floats + widened_halves(floats) + widened_bfloats(floats, group=2)


def _pairs(*widths: int) -> tuple[Dot, ...]:
    """PMADDWD, and an addition: two products of 16 bits a lane. Four bytes are taken apart into two pairs, those of
    weights while compiling or, for half of the memory, in each step."""
    pair = tuple(Dot("dot2_i16i16", lanes, 2, I16, I16, I32, temporaries=2, latency=1) for lanes in widths)
    apart = [replace(dot, group=4, passes=2, parts=2) for dot in pair]
    bytes_ = (replace(dot, activation=x, weight=w) for dot in apart for x in (I8, U8) for w in (I16, I8))
    return (*bytes_, *pair)


def _vnni(*widths: int) -> tuple[Dot, ...]:
    """VPDPBUSD: four products of unsigned and signed bytes a lane; 16-bit activations in pairs."""
    bytes_ = tuple(Dot("dot4_u8i8", lanes, 4, x, I8, I32) for lanes in widths for x in (I8, U8))
    return bytes_ + tuple(Dot("dot2_i16i16", lanes, 2, I16, I16, I32) for lanes in widths)


V2 = Cpu(
    "x86-64-v2", "x86-64-v2", "", ("-march=x86-64-v2",), (4, 1), Registers(scalar=12, vector=16),
    (*_multiply_add("mul+add", 4), *_pairs(4)), ROUNDING | {*PAIRS, *LANES},
    gcc_flags=NO_HOISTING, sets=SETS, caches=CACHES, prefetch=PREFETCH, panel=PANEL, ample_ram=True, few_passes=True,
    bytes_as=U8, lookups_apart=True, requires=("cx16", "popcnt", "sahf", "sse3", "ssse3", "sse4.1", "sse4.2"),
)  # fmt: skip
V3 = Cpu(
    "x86-64-v3", "x86-64-v3", "", ("-march=x86-64-v3",), (8, 4, 1), Registers(scalar=12, vector=16),
    (*_multiply_add("fma", 8, 4), *_pairs(8, 4)), ROUNDING | {"fma", *PAIRS, *LANES},
    gcc_flags=NO_HOISTING, sets=SETS, caches=CACHES, prefetch=PREFETCH, panel=PANEL, ample_ram=True, few_passes=True,
    bytes_as=U8, lookups_apart=True,
    requires=(*V2.requires, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
)  # fmt: skip
V3_VNNI = Cpu(
    "x86-64-v3-vnni", "x86-64-v3", "+avxvnni", (*V3.c_flags, "-mavxvnni"), V3.f32_lanes, V3.registers,
    (*_multiply_add("fma", 8, 4), *_vnni(8, 4)), V3.features | {"dot4_u8i8"}, gcc_flags=NO_HOISTING,
    sets=SETS, caches=CACHES, prefetch=PREFETCH, panel=PANEL, ample_ram=True, few_passes=True,
    bytes_as=U8, lookups_apart=True, requires=(*V3.requires, "avxvnni"),
)  # fmt: skip
V4 = Cpu(
    "x86-64-v4", "x86-64-v4", "-prefer-256-bit", ("-march=x86-64-v4", "-mprefer-vector-width=512"), (16, 8, 4, 1),
    Registers(scalar=12, vector=32), (*_multiply_add("fma", 16, 8, 4), *_pairs(16, 8, 4)),
    ROUNDING | {"fma", *PAIRS, *LANES, "pick_words"}, gcc_flags=NO_HOISTING,
    sets=SETS, caches=SERVER_CACHES, prefetch=PREFETCH, panel=PANEL, ample_ram=True, few_passes=True,
    bytes_as=U8, requires=(*V3.requires, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
)  # fmt: skip
V4_VNNI = Cpu(
    "x86-64-v4-vnni", "x86-64-v4", "-prefer-256-bit,+avx512vnni", (*V4.c_flags, "-mavx512vnni"), V4.f32_lanes,
    V4.registers, (*_multiply_add("fma", 16, 8, 4), *_vnni(16, 8, 4)), V4.features | {"dot4_u8i8"},
    gcc_flags=NO_HOISTING, sets=SETS, caches=SERVER_CACHES, prefetch=PREFETCH, panel=PANEL, ample_ram=True,
    few_passes=True, bytes_as=U8, requires=(*V4.requires, "avx512vnni"),
)  # fmt: skip

V4_BF16 = replace(
    V4_VNNI, name="x86-64-v4-bf16", llvm_features=f"{V4_VNNI.llvm_features},+avx512bf16",
    c_flags=(*V4_VNNI.c_flags, "-mavx512bf16"), requires=(*V4_VNNI.requires, "avx512bf16"),
    dots=(
        *(dot for dot in V4_VNNI.dots if dot.activation is not B),
        *(Dot("dot2_bf16", lanes, 2, B, B, F, passes=2) for lanes in (16, 8, 4)),
    ),
    features=V4_VNNI.features | {"dot2_bf16"},
)  # fmt: skip

# All processors with tiles have what those with bfloat16 have.
V4_AMX = replace(
    V4_BF16, name="x86-64-v4-amx", c_flags=(*V4_BF16.c_flags, "-mamx-int8"), extensions=TILES,
    requires=(*V4_BF16.requires, "amx-tile", "amx-int8"),
)  # fmt: skip

# What Android's ABI for 32 bits promises (Android NDK, ABIs): floats are computed by SSE, as everywhere else.
I686 = Cpu(
    "i686", "i686", "+ssse3", ("-march=i686", "-mssse3", "-mfpmath=sse"), (4, 1), Registers(scalar=4, vector=8),
    (*_multiply_add("mul+add", 4), *_pairs(4)), frozenset({"f64", "sqrt", *PAIRS}), gcc_flags=NO_HOISTING,
)  # fmt: skip

# It would add up products of a step before it adds them to accumulators, which shortens chains that the schedule has
# made short enough, and takes registers that are full of accumulators.
LLVM_OPTIONS = ("-x86-machine-combiner=false",)

ELF = Elf(machine=62)
ELF32 = Elf(machine=3)
HELPERS = Helpers(groups=("half",))
HELPERS32 = Helpers(groups=("half", "long_division"))
LINUX = linux("x86_64-linux-gnu-gcc", "gcc", "qemu-x86_64", "/usr/x86_64-linux-gnu", native=("x86_64", "AMD64"))
LINUX32 = linux("i686-linux-gnu-gcc", "gcc-i686-linux-gnu libc6-dev-i386-cross", "qemu-i386", "/usr/i686-linux-gnu")

_YMM, _ZMM = 0x6, 0xE6
# Registers of tiles: their configuration, and what they hold, which Linux grants a process on request.
_TILES, _TILE_DATA = 0x600E6, 18
_EXTENDED = 0x80000001


def _features(
    leaf: int, register: str, state: int = 0, subleaf: int = 0, **bits: tuple[str, int]
) -> dict[str, CpuFeature]:
    """Of bits of a register, by name: the compilers' macro and the number of the bit."""
    return {
        name.replace("_", "."): CpuFeature(macro, CpuidBit(leaf, register, bit, state, subleaf))
        for name, (macro, bit) in bits.items()
    }


# AMD64 Architecture Programmer's Manual, volume 3, appendix D; Intel 64 Software Developer's Manual, volume 2, CPUID.
FEATURES = {
    **_features(
        1, "ecx", sse3=("__SSE3__", 0), ssse3=("__SSSE3__", 9), cx16=("__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16", 13),
        sse4_1=("__SSE4_1__", 19), sse4_2=("__SSE4_2__", 20), movbe=("__MOVBE__", 22), popcnt=("__POPCNT__", 23),
        xsave=("__XSAVE__", 26),
    ),
    **_features(1, "ecx", _YMM, fma=("__FMA__", 12), avx=("__AVX__", 28), f16c=("__F16C__", 29)),
    **_features(7, "ebx", bmi=("__BMI__", 3), bmi2=("__BMI2__", 8)),
    **_features(7, "ebx", _YMM, avx2=("__AVX2__", 5)),
    **_features(7, "eax", _YMM, subleaf=1, avxvnni=("__AVXVNNI__", 4)),
    **_features(7, "eax", _ZMM, subleaf=1, avx512bf16=("__AVX512BF16__", 5)),
    **_features(
        7, "ebx", _ZMM, avx512f=("__AVX512F__", 16), avx512dq=("__AVX512DQ__", 17), avx512cd=("__AVX512CD__", 28),
        avx512bw=("__AVX512BW__", 30), avx512vl=("__AVX512VL__", 31),
    ),
    **_features(7, "ecx", _ZMM, avx512vnni=("__AVX512VNNI__", 11)),
    "amx-tile": CpuFeature("__AMX_TILE__", CpuidBit(7, "edx", 24, _TILES, granted=_TILE_DATA), "__AMXTILE__"),
    "amx-int8": CpuFeature("__AMX_INT8__", CpuidBit(7, "edx", 25, _TILES, granted=_TILE_DATA), "__AMXINT8__"),
    **_features(_EXTENDED, "ecx", sahf=("__LAHF_SAHF__", 0), lzcnt=("__LZCNT__", 5)),
}  # fmt: skip
DETECTION = Detection(FEATURES, llvm_cpu="x86-64", c_attribute='target("arch=x86-64")')

SPIN_HINT = "void @llvm.x86.sse2.pause()"

TARGETS = (
    Target(
        name="x86",
        family="x86",
        aliases=("x86-64", "x86_64"),
        description="x86-64 Linux; --cpu picks the level (x86-64-v2, -v3, -v4, those with -vnni, -bf16, -amx; native)",
        hosted=True,
        threads=POSIX,
        dispatch=True,
        library=shared_library(page_align=4096),
        arena_align=64,
        abis=(
            Abi(
                name="x86_64",
                triple="x86_64-unknown-linux-gnu",
                architecture="x86",
                pointer_bits=64,
                cpus=(V3, V2, V3_VNNI, V4, V4_VNNI, V4_BF16, V4_AMX),
                elf=ELF,
                helpers=HELPERS,
                environment=LINUX,
                clang_triple="x86_64-linux-gnu",
                machine_code="x86_64",
                host_architectures=("x86_64",),
                detection=DETECTION,
                llvm_options=LLVM_OPTIONS,
                spin_hint=SPIN_HINT,
            ),
        ),
    ),
)
