"""WebAssembly: modules for browsers and Node.js, without a C library."""

from .environment import Environment, Tool
from .generic import SCALAR_DOTS
from .target import CLANG, Abi, Cpu, Helpers, Library, Registers, Target

LLD = Tool("wasm-ld", "apt install lld")
MVP = Cpu(
    "generic", "generic", "", (), (1,), Registers(scalar=24, vector=24), SCALAR_DOTS,
    frozenset({"sqrt", "floor", "ceil", "trunc", "round_even"}),
)  # fmt: skip

# The stack lies below the data, so that an overflow is a trap and no damage. What the caller passes goes behind
# __heap_base, where the module itself has nothing.
EXPORTS = ("--no-entry", "--export={function}", "--export=__heap_base", "--stack-first")

TARGETS = (
    Target(
        name="wasm32",
        family="WebAssembly",
        aliases=("wasm",),
        description="WebAssembly modules for browsers and Node.js",
        library=Library(
            file="{name}.wasm",
            linker=LLD,
            linker_flags=(*EXPORTS, "--gc-sections", "--strip-all"),
            compiler_flags=("-nostdlib", *(f"-Wl,{flag}" for flag in EXPORTS)),
        ),
        compiler="clang",
        arena_align=16,
        c_flags=("-ffreestanding",),
        abis=(
            Abi(
                name="wasm32",
                triple="wasm32-unknown-unknown",
                architecture="wasm",
                pointer_bits=32,
                cpus=(MVP,),
                environment=Environment(
                    compiler=CLANG,
                    emulator=Tool("node", "apt install nodejs"),
                    driver=(),
                    flags=("--target=wasm32", "-Dmain=driver_main"),
                    link=("-nostdlib", "-Wl,--no-entry", "-Wl,--export=driver_main", "-Wl,--allow-undefined"),
                    loader="run_module.cjs",
                ),
                helpers=Helpers(groups=("half",)),
                gcc=CLANG,
                archiver="llvm-ar",
                clang_triple="wasm32",
            ),
        ),
    ),
)
