"""32-bit RISC-V microcontrollers: bare metal, no operating system."""

from .environment import Environment, Tool
from .generic import SCALAR_DOTS
from .libgcc import SOFT_FLOAT, WIDE_INTEGERS
from .target import IN_ORDER, Abi, Cpu, Elf, Helpers, Registers, Target

GCC = Tool("riscv64-unknown-elf-gcc", "apt install gcc-riscv64-unknown-elf")
RVC = 1
"""The flag of compressed instructions in ELF headers (RISC-V ELF psABI, 8.1)."""

RV32IMC = Cpu(
    "rv32imc", "generic-rv32", "+m,+c", ("-march=rv32imc", "-mabi=ilp32"), (1,), Registers(scalar=20, vector=0),
    SCALAR_DOTS, frozenset({"mul_high", "leading_zeros"}), pipeline=IN_ORDER,
)  # fmt: skip

TARGETS = (
    Target(
        name="riscv32",
        family="32-bit RISC-V",
        aliases=("rv32", "rv32imc"),
        description="RV32IMC, bare metal, no FPU",
        arena_align=16,
        scarce_ram=True,
        scarce_flash=True,
        c_flags=("-ffreestanding",),
        abis=(
            Abi(
                name="ilp32",
                triple="riscv32-unknown-elf",
                architecture="riscv",
                pointer_bits=32,
                cpus=(RV32IMC,),
                # QEMU's user mode answers semihosting requests, so that no board and no system is needed.
                environment=Environment(
                    compiler=GCC,
                    emulator=Tool("qemu-riscv32", "apt install qemu-user"),
                    driver=("startup_riscv.c", "io_semihosting.c"),
                    link=("-nostdlib", "-lgcc", "-Wl,--gc-sections"),
                ),
                elf=Elf(machine=243, flags=RVC),
                helpers=Helpers(provided=(*SOFT_FLOAT, *WIDE_INTEGERS), groups=("half",)),
                cross_compile="riscv64-unknown-elf-",
                gcc=GCC,
                clang_triple="riscv32-unknown-elf",
            ),
        ),
    ),
)
