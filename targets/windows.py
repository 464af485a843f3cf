"""Windows on 64-bit processors: objects for Microsoft's linker and MinGW's, and DLLs without a C library."""

from . import x86
from .arm64 import ARMV8, ARMV8_DOT, SPIN_HINT64
from .detection import CpuFeature, Detection, SharedByte
from .environment import Environment, Tool
from .formats import COFF_OBJECTS
from .target import CLANG, Abi, Helpers, Library, Target
from .threading import WINDOWS

# void __chkstk(void): touches a page after the other of the stack that a function is about to take, so that the system
# makes them; the size is in rax (x64) or x15 (arm64, in units of 16 bytes). Every register but x16 and x17 is kept.
#
#         push r10; push r11; lea r10, [rsp+24]; mov r11, rax
#     1:  cmp r11, 4096; jb 2f; sub r10, 4096; test [r10], r10d; sub r11, 4096; jmp 1b
#     2:  sub r10, r11; test [r10], r10d; pop r11; pop r10; ret
_PROBE_X64 = (
    "41524153 4c8d542418 4989c3 4981fb00100000 7213 4981ea00100000 458512 4981eb00100000 ebe4 4d29da 458512 415b415a c3"
)
#         lsl x16, x15, #4; mov x17, sp
#     1:  cmp x16, #4096; b.lo 2f; sub x17, x17, #4096; ldr xzr, [x17]; sub x16, x16, #4096; b 1b
#     2:  sub x17, x17, x16; ldr xzr, [x17]; ret
_PROBE_ARM64 = (
    "f0ed7cd3 f1030091 1f0640f1 a3000054 310640d1 3f0240f9 100640d1 fbffff17 310210cb 3f0240f9 c0035fd6"
)

# KUSER_SHARED_DATA (ntddk.h), which Windows maps to this address in every process: ProcessorFeatures, a byte for each
# feature that IsProcessorFeaturePresent knows, begins at 0x274; 43 is PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE.
_SHARED_DATA, _PROCESSOR_FEATURES = 0x7FFE0000, 0x274
_ARM64 = Detection(
    {"dotprod": CpuFeature("__ARM_FEATURE_DOTPROD", SharedByte(_SHARED_DATA + _PROCESSOR_FEATURES + 43))},
    llvm_cpu="generic", llvm_features="+neon",
)  # fmt: skip

LLD = Tool("lld-link", "apt install lld")
MINGW = Tool("x86_64-w64-mingw32-gcc", "apt install gcc-mingw-w64-x86-64-win32")
WINE = Tool("wine", "apt install wine")

# LLVM's environment "itanium" is that of Microsoft's conventions without names of Microsoft's C library.
TARGETS = (
    Target(
        name="windows",
        family="Windows",
        description="Windows: static libraries and DLLs, for Microsoft's linker and MinGW's",
        hosted=True,
        dispatch=True,
        threads=WINDOWS,
        library=Library(
            file="{name}.dll",
            import_library="{name}.dll.lib",
            linker=LLD,
            linker_flags=(
                "/nologo", "/dll", "/noentry", "/nodefaultlib", "/opt:ref", "/brepro", "/export:{function}",
                "/implib:{folder}/{name}.dll.lib",
            ),
            compiler_flags=("-shared",),
            output="/out:{path}",
            c_library="kernel32.dll",
        ),
        compiler="clang",
        arena_align=64,
        c_flags=("-ffreestanding",),
        abis=(
            Abi(
                name="x64",
                triple="x86_64-windows-itanium",
                architecture="x86",
                pointer_bits=64,
                cpus=(x86.V3, x86.V2, x86.V3_VNNI, x86.V4, x86.V4_VNNI, x86.V4_BF16),
                objects=COFF_OBJECTS,
                helpers=Helpers(groups=("half",), code={"__chkstk": _PROBE_X64}),
                environment=Environment(MINGW, WINE, ("io_posix.c",), link=("-static",), suffix=".exe"),
                cross_compile="x86_64-w64-mingw32-",
                gcc=MINGW,
                archiver="llvm-ar",
                clang_triple="x86_64-w64-windows-gnu",
                detection=x86.DETECTION,
                llvm_options=x86.LLVM_OPTIONS,
                spin_hint=x86.SPIN_HINT,
            ),
            Abi(
                name="arm64",
                triple="aarch64-windows-itanium",
                architecture="aarch64",
                pointer_bits=64,
                cpus=(ARMV8, ARMV8_DOT),
                objects=COFF_OBJECTS,
                helpers=Helpers(code={"__chkstk": _PROBE_ARM64}),
                environment=Environment(CLANG, None, ()),
                gcc=CLANG,
                archiver="llvm-ar",
                clang_triple="aarch64-w64-windows-gnu",
                detection=_ARM64,
                spin_hint=SPIN_HINT64,
            ),
        ),
    ),
)
