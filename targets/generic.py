"""C99 for any machine: scalar code, no assumption about the instruction set."""

from .target import Abi, Cpu, Dot, ElementKind, Registers, Target, shared_library, widened_bfloats
from .x86 import ELF, HELPERS, LINUX

F, I8, U8, I16, I32 = (ElementKind(kind) for kind in ("f32", "i8", "u8", "i16", "i32"))

SCALAR_DOTS = (
    Dot("mul+add", 1, 1, F, F, F),
    *widened_bfloats([Dot("mul+add", 1, 1, F, F, F)]),
    Dot("mul+add", 1, 1, I8, I8, I32),
    Dot("mul+add", 1, 1, U8, I8, I32),
    Dot("mul+add", 1, 1, I16, I8, I32),
)

SCALAR = Cpu(
    "generic", "x86-64", "", (), (1,), Registers(scalar=12, vector=12), SCALAR_DOTS,
    features=frozenset({"sqrt", "f64"}),
)  # fmt: skip

TARGETS = (
    Target(
        name="generic",
        family="x86",
        description="portable C99, any machine with a C compiler; objects for the x86-64 baseline",
        hosted=True,
        library=shared_library(page_align=4096),
        arena_align=16,
        abis=(
            Abi(
                name="x86_64",
                triple="x86_64-unknown-linux-gnu",
                architecture="x86",
                pointer_bits=64,
                cpus=(SCALAR,),
                elf=ELF,
                helpers=HELPERS,
                environment=LINUX,
                host_architectures=("x86_64",),
            ),
        ),
    ),
)
