"""Object files, assembly and IR for every machine."""

from __future__ import annotations

import io
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ccml.emit_llvm.object_file import defined_symbols, undefined_symbols
from ccml.emit_llvm.objects import INLINE_CONSTANTS, emit_assembly, emit_ir, emit_objects
from ccml.errors import CcmlError
from ccml.ir.build import load, store
from ccml.ir.loops import Access, Binary, Buffer, Call, Convert, Expr, Kernel, Type, Var
from ccml.ir.loops_rewrite import loop
from ccml.ir.types import DType
from ccml.schedule.legalize import legalize
from ccml.targets import CpuidBit, Machine, select
from elftools.elf.elffile import ELFFile

from tests.emit_llvm.programs import ALL_MACHINES, HOSTED, asks_system, kernel, machine_id, program_of, scale_and_shift
from tests.tools import needs

each_machine = pytest.mark.parametrize("machine", ALL_MACHINES, ids=machine_id)
each_elf_machine = pytest.mark.parametrize(
    "machine", [machine for machine in ALL_MACHINES if machine.abi.elf is not None], ids=machine_id
)
LIBGCC = re.compile(
    "__(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord|fix|fixuns|float|floatun|extend|trunc)[sdi][fi]\\w*"
)
"""Helpers of arithmetic where the compiler's library has them under GCC's names."""


def is_helper(symbol: str) -> bool:
    return symbol.startswith("__aeabi_") or LIBGCC.fullmatch(symbol) is not None




def float_kernel(machine: Machine) -> Kernel:
    """Everything that the machine's features name, on its widest vectors, and a plain copy."""
    lanes, i = machine.cpu.f32_lanes[0], Var("i")
    vector = Type(DType.F32, lanes)
    x = Buffer("x", Type(DType.F32), (64 * lanes,), access=Access.READ)
    y, z = (Buffer(name, Type(DType.F32), (64 * lanes,), access=Access.WRITE) for name in "yz")
    value: Expr = load(x, i * lanes, lanes=lanes)
    for name in sorted(machine.cpu.features & {"sqrt", "floor", "ceil", "trunc", "round_even", "fma"}):
        value = Call(name, (value,) * (3 if name == "fma" else 1), vector)
    body = (
        *loop(i, 64, store(y[i * lanes], value / (value + value))),
        *loop(i, 64 * lanes, store(z[i], load(x, i))),
    )
    return Kernel("floats", (x, y, z), body)


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@each_machine
def test_float_code_needs_nothing_from_outside(machine: Machine) -> None:
    ((name, image),) = emit_objects(program_of(float_kernel(machine)), machine)
    assert name == "model.o"
    needed = undefined_symbols(image)
    if machine.name in ("cortex-m0", "cortex-m0plus", "cortex-m3"):
        assert needed
        assert all(symbol.startswith("__aeabi_f") for symbol in needed)
    elif machine.name == "riscv32":
        assert set(needed) == {"__addsf3", "__divsf3"}
    else:
        assert needed == asks_system(machine)


@each_machine
def test_loops_do_not_become_library_calls(machine: Machine) -> None:
    made = kernel("""
        kernel moves(x: i8[4096] const, y: i8[4096] out, z: i32[1024] out, s: i8[4096] out)
          stack t: i8[4096]
          for i:4096
            y[i] = x[i]
          for i:1024
            z[i] = 0i32
          for i:4096
            t[i] = x[i]
          for i:4096
            s[i] = t[4095-i]
    """)
    for small_code in (False, True):
        images = [image for _, image in emit_objects(replace(program_of(made), small_code=small_code), machine)]
        defined = {symbol for image in images for symbol in defined_symbols(image)}
        needed = {symbol for image in images for symbol in undefined_symbols(image)}
        assert needed - defined == set(asks_system(machine))
        assert needed & defined <= {"__chkstk"}, "what touches the pages of the stack on Windows"


@each_elf_machine
def test_only_the_entry_is_visible(machine: Machine) -> None:
    program, _ = scale_and_shift()
    ((_, image),) = emit_objects(program, machine)
    flags = [feature.flag for feature in machine.asked_for if isinstance(feature.flag, CpuidBit)]
    asked = ["small_cpuid", "small_xgetbv"] if flags else []
    asked += ["small_request_state"] if any(flag.granted for flag in flags) else []
    found = defined_symbols(image)
    assert set(found) - set(asked) == {"small_scale", "small_shift", "small_run", "small_model_id"}
    assert len(found) == len(set(found))
    elf = ELFFile(io.BytesIO(image))
    symbols = [s for s in elf.get_section_by_name(".symtab").iter_symbols() if s["st_info"]["bind"] == "STB_GLOBAL"]
    visible = [s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF" and s["st_other"]["visibility"] == "STV_DEFAULT"]
    assert set(visible) == {"small_run", "small_model_id"}
    sections = {section.name for section in elf.iter_sections()}
    assert {".text.small_run", ".text.small_scale", ".rodata.small"} <= sections
    assert elf.get_section_by_name(".rodata.small")["sh_flags"] == 2, "allocated, not merged with other data"


@each_elf_machine
def test_bare_metal_objects_hold_nothing_for_an_operating_system(machine: Machine) -> None:
    (_, image), _ = emit_objects(scale_and_shift(pad=INLINE_CONSTANTS)[0], machine)
    sections = {section.name: section["sh_type"] for section in ELFFile(io.BytesIO(image)).iter_sections()}
    assert (".note.GNU-stack" in sections) == machine.target.hosted
    is_hosted_arm = machine.target.hosted and machine.abi.architecture == "arm"
    assert ("SHT_ARM_EXIDX" in sections.values()) == is_hosted_arm


@each_machine
def test_same_bytes_twice(machine: Machine) -> None:
    program, _ = scale_and_shift()
    assert emit_objects(program, machine) == emit_objects(scale_and_shift()[0], machine)


@each_machine
def test_half_precision_brings_its_own_helpers(machine: Machine) -> None:
    """Conversions that the machine lacks come in ``model_runtime.o``, weak and hidden."""
    i = Var("i")
    x = Buffer("x", Type(DType.F16), (8,), access=Access.READ)
    y = Buffer("y", Type(DType.F16), (8,), access=Access.WRITE)
    value = Convert(Type(DType.F16), Convert(Type(DType.F32), load(x, i)) + load_as_f64(x, i))
    objects = emit_objects(program_of(Kernel("halves", (x, y), loop(i, 8, store(y[i], value)))), machine)
    provided = {symbol for _, image in objects for symbol in defined_symbols(image)}
    missing = {symbol for _, image in objects for symbol in undefined_symbols(image)} - provided
    missing -= set(asks_system(machine))
    assert all(map(is_helper, missing))
    assert not missing or not machine.target.hosted
    assert [name for name, _ in objects[1:]] in ([], ["model_runtime.o"])
    if machine.abi.elf is None:
        return
    for _, image in objects[1:]:
        for symbol in ELFFile(io.BytesIO(image)).get_section_by_name(".symtab").iter_symbols():
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL":
                assert (symbol["st_info"]["bind"], symbol["st_other"]["visibility"]) == ("STB_WEAK", "STV_HIDDEN")


def load_as_f64(x: Buffer, i: Expr) -> Expr:
    """x[i] squared in double precision, back in f32."""
    wide = Convert(Type(DType.F64), load(x, i))
    return Convert(Type(DType.F32), Binary("mul", wide, wide))


def chain(dtype: DType, *functions: str) -> Kernel:
    """The functions one behind the other."""
    i, real = Var("i"), Type(dtype)
    x, y = (Buffer(name, real, (8,), access=access) for name, access in zip("xy", (Access.READ, Access.WRITE)))
    value: Expr = load(x, i)
    for name in functions:
        value = Call(name, (value,), real)
    return Kernel("chain", (x, y), loop(i, 8, store(y[i], value)))


@each_machine
@pytest.mark.parametrize("dtype", [DType.F16, DType.F64])
def test_functions_of_halves_and_doubles_need_no_c_library(dtype: DType, machine: Machine) -> None:
    made = chain(dtype, "sqrt", "floor", "ceil", "trunc", "round_even")
    images = emit_objects(program_of(replace(made, body=legalize(made.body, machine.cpu))), machine)
    defined = {name for _, image in images for name in defined_symbols(image)}
    needed = {name for _, image in images for name in undefined_symbols(image)} - defined
    needed -= set(asks_system(machine))
    assert all(map(is_helper, needed)), needed
    assert machine.name.startswith(("cortex", "riscv")) or not needed


def test_what_nothing_provides_is_an_internal_error() -> None:
    """A core that is said to have instructions for doubles, but has none."""
    machine = select("cortex-m4")
    wrong = replace(machine, cpu=replace(machine.cpu, features=machine.cpu.features | {"f64"}))
    with pytest.raises(CcmlError, match=r"internal error: .* calls sqrt"):
        emit_objects(program_of(chain(DType.F64, "sqrt")), wrong)


@each_elf_machine
def test_large_weights_go_into_an_object_of_their_own(machine: Machine) -> None:
    program, _ = scale_and_shift(pad=INLINE_CONSTANTS)
    (code_name, code), (data_name, data) = emit_objects(program, machine)
    assert (code_name, data_name) == ("small.o", "small_data.o")
    needed = {symbol for symbol in undefined_symbols(code) if not is_helper(symbol)}
    assert needed - set(asks_system(machine)) == {"small_w", "small_b"}
    assert defined_symbols(data) == ["small_w", "small_b", "small_dead"]
    assert len(data) > INLINE_CONSTANTS


def test_assembly_and_ir() -> None:
    program, _ = scale_and_shift()
    machine = select("cortex-m4")
    assert "vmul.f32" in emit_assembly(program, machine)
    assert 'target triple = "thumbv7em-unknown-none-eabihf"' in emit_ir(program, machine)
    assert "datalayout" in emit_ir(program, machine, optimized=True)


@pytest.mark.parametrize("name", ["cortex-m55", "cortex-m85"])
def test_helium_converts_and_multiplies_apart(name: str) -> None:
    """One instruction for both would take the 7 from the register that is stored, and have no encoding."""
    text = """
        kernel k(x: i32[4] const, f: f32[4] const, y: f32[4] out, z: i32[4] out, n: i32[1] out)
          n[0] = 7i32
          y[0 : 4] = convert<f32x4>(x[0 : 4]) * splat<4>(0.0078125f32)
          z[0 : 4] = convert<i32x4>(f[0 : 4] * splat<4>(128.0f32))
    """
    program, machine = program_of(kernel(text)), select(name)
    assert not re.search(r"vcvt\.\S+\s+q\d, q\d, ", emit_assembly(program, machine))
    assert all(image for _, image in emit_objects(program, machine))


@pytest.mark.parametrize(("taps", "small", "loop"), [(9, False, False), (9, True, True), (200, False, True)])
def test_only_short_sums_are_unrolled_and_not_in_small_code(taps: int, small: bool, loop: bool) -> None:
    text = f"""
        kernel k(x: f32[300] const, w: f32[300] const, y: f32[50] out)
          for i:50
            reg acc: f32[1]
            acc[0] = 0.0f32
            for k:{taps}
              acc[0] = acc[0] + x[i+k] * w[k]
            y[i] = acc[0]
    """
    machine = select("cortex-m4")
    program = replace(program_of(kernel(text)), small_code=small)
    assert (" phi float " in emit_ir(program, machine, optimized=True)) == loop


@needs("arm-none-eabi-gcc")
@pytest.mark.parametrize("pad", [0, INLINE_CONSTANTS], ids=["inline", "data object"])
@pytest.mark.parametrize("name", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55"])
def test_bare_metal_objects_link_with_gcc(name: str, pad: int, tmp_path: Path) -> None:
    """Float ABIs agree: a mismatch of the attributes is an error of the linker."""
    machine = select(name)
    program, _ = scale_and_shift(pad=pad)
    paths = []
    for file_name, image in emit_objects(program, machine):
        (tmp_path / file_name).write_bytes(image)
        paths.append(tmp_path / file_name)
    main = tmp_path / "main.c"
    main.write_text("""
        int small_run(void *, const float *, float *);
        float x[32], y[32]; char arena[144] __attribute__((aligned(16)));
        float twice(float v) { return 2 * v; }
        void _start(void) { small_run(arena, x, y); y[0] = twice(y[0]); for (;;); }
    """)
    flags = [flag for flag in machine.cpu.c_flags if flag.startswith("-m")]
    command = [
        "arm-none-eabi-gcc",
        *flags,
        "-nostartfiles",
        "-Wl,--fatal-warnings,--gc-sections",
        "-o",
        tmp_path / "a.elf",
    ]
    run(*command, main, *paths)
    assert "small_run" in run("arm-none-eabi-nm", tmp_path / "a.elf")


@needs("readelf")
@pytest.mark.parametrize("machine", HOSTED, ids=machine_id)
def test_readelf_has_no_complaints(machine: Machine, tmp_path: Path) -> None:
    program, _ = scale_and_shift(pad=INLINE_CONSTANTS)
    for name, image in emit_objects(program, machine):
        (tmp_path / name).write_bytes(image)
        assert "Warning" not in run("readelf", "-aW", "--lint", tmp_path / name)
