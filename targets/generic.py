"""C99 for any machine: scalar code, no assumption about the instruction set."""

from .target import Abi, Cpu, Dot, ElementKind, Registers, Target

F, I8, U8, I16, I32 = (ElementKind(kind) for kind in ("f32", "i8", "u8", "i16", "i32"))

SCALAR_DOTS = (
    Dot("mul+add", 1, 1, F, F, F),
    Dot("mul+add", 1, 1, I8, I8, I32),
    Dot("mul+add", 1, 1, U8, I8, I32),
    Dot("mul+add", 1, 1, I16, I8, I32),
)

TARGETS = (
    Target(
        name="generic",
        description="portable C99, any machine with a C compiler; objects for the x86-64 baseline",
        hosted=True,
        page_align=4096,
        arena_align=16,
        shared_flags=("-shared",),
        abis=(
            Abi(
                "x86_64", "x86_64-unknown-linux-gnu", 64,
                cpus=(
                    Cpu("generic", "x86-64", "", (), (1,), Registers(scalar=12, vector=12), SCALAR_DOTS,
                        features=frozenset({"sqrt"})),
                ),
                host_architectures=("x86_64",),
            ),
        ),
    ),
)  # fmt: skip
