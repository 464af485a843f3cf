"""Arm Cortex-M microcontrollers: bare metal, Thumb, no operating system."""

from dataclasses import replace

from .boards import CORTEX_M_GCC, board_environment
from .target import IN_ORDER, Abi, Cpu, Dot, ElementKind, Elf, Helpers, Registers, Target
from .timing import TIMINGS

F, I8, U8, I16, I32, I64 = (ElementKind(kind) for kind in ("f32", "i8", "u8", "i16", "i32", "i64"))
INTEGER = tuple(Dot("mul+add", 1, 1, x, I8, I32) for x in (I8, U8, I16))
MUL_ADD = (Dot("mul+add", 1, 1, F, F, F), *INTEGER)
HALFWORDS = (Dot("dot2_i16i16", 1, 2, I16, I16, I32), Dot("long_dot2_i16i16", 1, 2, I16, I16, I64))
"""SMLAD and SMLALD."""
FMA = (Dot("fma", 1, 1, F, F, F), *INTEGER, *HALFWORDS)
HELIUM_FMA = (Dot("fma", 4, 1, F, F, F), *INTEGER, *HALFWORDS)
FPV4 = frozenset({"fma", "sqrt"})
LONG = frozenset({"mul_high", "saturate8", "leading_zeros"})
DSP = LONG | {"dot2_i16i16", "long_dot2_i16i16", "widen_even", "widen_odd", "widen_even_add", "widen_odd_add"}
HELIUM = frozenset(
    {"reduce_add", "helium_compare", "helium_convert", "dot2_i16i16", "long_dot2_i16i16"}
) | LONG
V6M = frozenset({"thumb"})
V7M = V6M | {"long_multiply"}
V7EM = V7M | {"dsp", "fpu"}
V81M = V7M | {"mve", "fpu"}
FPV5 = FPV4 | {"floor", "ceil", "trunc", "round_even"}
DOUBLE = FPV5 | {"f64"}
GCC = "arm-none-eabi-"
ELF = Elf(machine=40, flags=0x05000000, unwind=(0x70000001,), code_symbol="$t")
ELF_HARD = replace(ELF, flags=ELF.flags | 0x400)
HELPERS = Helpers(
    provided=("__aeabi_*",), libc=("__aeabi_mem*",), groups=("half_aeabi",), convention="arm_aapcscc"
)  # fmt: skip


def _target(name: str, description: str, triple: str, cpu: Cpu, *aliases: str) -> Target:
    hard = triple.endswith("hf")
    cpu = replace(cpu, costs=True, timing=TIMINGS.get(name))
    return Target(
        name=name,
        family="Cortex-M",
        aliases=aliases,
        description=description,
        arena_align=16,
        scarce_ram=True,
        scarce_flash=True,
        c_flags=("-ffreestanding",),
        abis=(
            Abi(
                "eabihf" if hard else "eabi", triple, "arm", 32, (cpu,), board_environment(name),
                ELF_HARD if hard else ELF, HELPERS, cross_compile=GCC, gcc=CORTEX_M_GCC, clang_triple=triple,
                machine_code=triple.split("-")[0],
            ),
        ),
    )  # fmt: skip


def _cpu(
    name: str, features: str, flags: tuple[str, ...], dots: tuple[Dot, ...], has: frozenset[str], vector: int,
    extensions: frozenset[str],
) -> Cpu:
    flags = (f"-mcpu={name}", "-mthumb", *flags)
    registers = Registers(scalar=10, vector=vector)
    return Cpu(
        name, name, features, flags, (1,), registers, dots, has, pipeline=IN_ORDER, bytes_as=I8,
        extensions=extensions, short_instructions=extensions == V6M, long_narrow_loads=True,
        copied_bytes=() if extensions == V6M else (4,),
    )  # fmt: skip


def _helium(name: str) -> Cpu:
    """A core with eight vector registers, used in the ordinary way beside block instructions.

    C compilers are told the architecture: Cortex-M85 has a name in gcc 13 and clang 15 only. Clang's own vectorizer
    makes gathers that read too far there, and crashes (clang 14).
    """
    scalar = _cpu(name, "", (), HELIUM_FMA, DOUBLE | HELIUM, 8, V81M)
    return replace(
        scalar, c_flags=("-march=armv8.1-m.main+mve.fp+fp.dp", "-mthumb", "-mfloat-abi=hard"),
        clang_flags=("-fno-vectorize",), f32_lanes=(4, 1), scalar_operand=True, copied_bytes=(16, 4),
    )  # fmt: skip


SOFT = ("-mfloat-abi=soft",)

TARGETS = (
    _target(
        "cortex-m0", "Armv6-M, no FPU", "thumbv6m-none-eabi",
        _cpu("cortex-m0", "", SOFT, MUL_ADD, frozenset(), 0, V6M), "m0",
    ),
    _target(
        "cortex-m0plus", "Armv6-M, no FPU", "thumbv6m-none-eabi",
        _cpu("cortex-m0plus", "", SOFT, MUL_ADD, frozenset(), 0, V6M), "m0plus", "cortex-m0+",
    ),
    _target(
        "cortex-m3", "Armv7-M, no FPU", "thumbv7m-none-eabi",
        _cpu("cortex-m3", "", SOFT, MUL_ADD, LONG, 0, V7M), "m3",
    ),
    _target(
        "cortex-m4", "Armv7E-M with DSP and single-precision FPU", "thumbv7em-none-eabihf",
        _cpu("cortex-m4", "", ("-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"), FMA, FPV4 | DSP, 32, V7EM), "arm", "m4",
    ),
    _target(
        "cortex-m7", "Armv7E-M with DSP and FPU, dual issue", "thumbv7em-none-eabihf",
        _cpu("cortex-m7", "", ("-mfpu=fpv5-d16", "-mfloat-abi=hard"), FMA, DOUBLE | DSP, 32, V7EM), "m7",
    ),
    _target(
        "cortex-m33", "Armv8-M with DSP and single-precision FPU", "thumbv8m.main-none-eabihf",
        _cpu("cortex-m33", "", ("-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"), FMA, FPV5 | DSP, 32, V7EM), "m33",
    ),
    _target(
        "cortex-m55", "Armv8.1-M with Helium (MVE) and FPU", "thumbv8.1m.main-none-eabihf",
        _helium("cortex-m55"), "m55",
    ),
    _target(
        "cortex-m85", "Armv8.1-M with Helium (MVE) and FPU, dual issue", "thumbv8.1m.main-none-eabihf",
        _helium("cortex-m85"), "m85",
    ),
)  # fmt: skip
