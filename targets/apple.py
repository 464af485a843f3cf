"""macOS and iOS: static libraries and dynamic ones, without a software development kit."""

from dataclasses import replace
from typing import Any

from . import x86
from .arm64 import ARMV8, ARMV8_DOT, SPIN_HINT64
from .detection import CpuFeature, Detection, SystemValue
from .environment import Environment
from .formats import MACHO_OBJECTS
from .target import CLANG, ZIG, Abi, Cpu, Library, Target
from .threading import APPLE

# All processors of Apple's since the M1, and the A13, have products of bytes.
M1 = replace(ARMV8_DOT, name="apple-m1", llvm_cpu="apple-m1", llvm_features="", clang_flags=("-mcpu=apple-m1",),
             c_flags=(), requires=("dotprod",))  # fmt: skip
A13 = replace(M1, name="apple-a13", llvm_cpu="apple-a13", clang_flags=("-mcpu=apple-a13",))
A7 = replace(ARMV8, name="apple-a7", llvm_cpu="apple-a7", llvm_features="", clang_flags=("-mcpu=apple-a7",), c_flags=())

# Named so since iOS 15: before, such a processor is taken for one without.
_DETECTION = Detection(
    {"dotprod": CpuFeature("__ARM_FEATURE_DOTPROD", SystemValue("hw.optional.arm.FEAT_DotProd"))}, llvm_cpu="apple-a7"
)


def _abi(name: str, system: str, architecture: str, cpus: tuple[Cpu, ...], linker_target: str,
         stub_target: str, **more: Any) -> Abi:  # fmt: skip
    return Abi(
        name=name, triple=system if system.count("-") > 2 else f"{system}-macho", clang_triple=system,
        architecture=architecture, pointer_bits=64, cpus=cpus,
        objects=MACHO_OBJECTS, environment=Environment(CLANG, None, ()), gcc=CLANG, archiver="llvm-ar",
        linker_target=linker_target, stub_target=stub_target, **more,
    )  # fmt: skip


TARGETS = (
    Target(
        name="apple",
        family="Apple",
        aliases=("macos",),
        description="macOS, iOS and its simulator; --abi picks one, --package xcframework has all",
        hosted=True,
        dispatch=True,
        threads=APPLE,
        library=Library(
            file="lib{name}.dylib",
            linker=ZIG,
            linker_flags=(
                "build-lib", "-dynamic", "-target", "{target}", "--name", "{name}", "-fstrip",
                "-install_name", "@rpath/lib{name}.dylib",
            ),
            compiler_flags=("-dynamiclib", "-install_name", "@rpath/lib{name}.dylib"),
            output="-femit-bin={path}",
            c_library="/usr/lib/libSystem.B.dylib",
        ),
        compiler="clang",
        arena_align=64,
        c_flags=("-ffreestanding",),
        abis=(
            _abi(
                "macos-arm64", "arm64-apple-macosx11.0.0", "aarch64", (M1,), "aarch64-macos.11.0",
                "arm64-macos", guaranteed=M1.requires, spin_hint=SPIN_HINT64,
            ),
            _abi(
                "macos-x86_64", "x86_64-apple-macosx10.13.0", "x86", (x86.V3, x86.V2), "x86_64-macos.10.13",
                "x86_64-macos", helpers=x86.HELPERS, detection=x86.DETECTION, llvm_options=x86.LLVM_OPTIONS,
                spin_hint=x86.SPIN_HINT,
            ),
            _abi(
                "ios-arm64", "arm64-apple-ios12.0.0", "aarch64", (A7, A13), "aarch64-ios.12.0", "arm64-ios",
                detection=_DETECTION, spin_hint=SPIN_HINT64, desktop=False,
            ),
            _abi(
                "ios-arm64-simulator", "arm64-apple-ios14.0.0-simulator", "aarch64", (M1,),
                "aarch64-ios.14.0-simulator", "arm64-ios-simulator", guaranteed=M1.requires, spin_hint=SPIN_HINT64,
                desktop=False,
            ),
        ),
    ),
)
