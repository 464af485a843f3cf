"""C99 for any machine: scalar code, no assumption about the instruction set."""

from .target import Abi, Cpu, Dot, ElementKind, Registers, Target

F = ElementKind.F32

SCALAR_MUL_ADD = Dot("mul+add", 1, 1, F, F, F)

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
                    Cpu("generic", "x86-64", "", (), (1,), Registers(scalar=12, vector=12), (SCALAR_MUL_ADD,),
                        features=frozenset({"sqrt"})),
                ),
            ),
        ),
    ),
)  # fmt: skip
