"""Kernels compiled by a C compiler into one program, and run on arrays."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ccml.emit_c.amalgamation import runtime_header
from ccml.emit_c.kernel import kernel_function
from ccml.emit_c.requirements import Requirements
from ccml.emit_c.tree import print_c
from ccml.instructions import INSTRUCTIONS
from ccml.ir.interpret import run_kernel
from ccml.ir.loops import Access, Kernel

WARNINGS = (
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wdouble-promotion", "-Werror",
)  # fmt: skip

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """A kernel with an array for each parameter. The arrays are not changed."""

    kernel: Kernel
    arrays: Arrays

    def expected(self) -> Arrays:
        """What the interpreter of the loop IR makes of it."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        run_kernel(self.kernel, arrays, instructions=INSTRUCTIONS)
        return self._outputs(arrays)

    def _outputs(self, arrays: Arrays) -> Arrays:
        return {param.name: arrays[param.name] for param in self.kernel.params if param.access is not Access.READ}


def kernels_source(kernels: list[Kernel]) -> tuple[str, str]:
    """The runtime header that the kernels need, and their C text."""
    needs = Requirements()
    symbols = [f"kernel_{number}" for number in range(len(kernels))]
    functions = [
        print_c(kernel_function(kernel, symbol, needs, reserved=symbols)) for kernel, symbol in zip(kernels, symbols)
    ]
    return runtime_header(needs), '#include "runtime.h"\n' + "\n".join(functions)


def compile_cases(cases: list[Case], folder: Path, command: list[str]) -> Path:
    """A program that reads the arrays of all cases, runs them and writes back what they have written."""
    header, code = kernels_source([case.kernel for case in cases])
    (folder / "runtime.h").write_text(header)
    (folder / "cases.c").write_text(code + _main(cases))
    program = folder / "cases"
    compile_c([command[0], *WARNINGS, *command[1:], "-o", str(program), str(folder / "cases.c")])
    return program


def compile_c(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def run_cases(cases: list[Case], program: Path, runner: tuple[str, ...] = ()) -> list[Arrays]:
    sent = b"".join(case.arrays[param.name].tobytes() for case in cases for param in case.kernel.params)
    done = subprocess.run([*runner, str(program)], input=sent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    results, position = [], 0
    for case in cases:
        outputs = {}
        for param in case.kernel.params:
            if param.access is not Access.READ:
                like = case.arrays[param.name]
                outputs[param.name] = np.frombuffer(done.stdout, like.dtype, like.size, position).reshape(like.shape)
                position += like.nbytes
        results.append(outputs)
    return results


def assert_same_bits(actual: Arrays, expected: Arrays, what: str) -> None:
    """Equal to the last bit, but that any NaN equals any NaN."""
    for name, want in expected.items():
        got = actual[name]
        same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
        if got.dtype.kind == "f":
            same |= np.isnan(got) & np.isnan(want)
        if not same.all():
            where = tuple(int(axis[0]) for axis in np.nonzero(~same))
            raise AssertionError(f"{what}: {name}{list(where)} is {got[where]!r}, not {want[where]!r}")


def _main(cases: list[Case]) -> str:
    lines = [
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "static void *take(size_t bytes)",
        "{",
        "  void *memory = malloc(bytes);",
        "  if (memory == NULL || fread(memory, 1, bytes, stdin) != bytes) exit(2);",
        "  return memory;",
        "}",
        "int main(void)",
        "{",
    ]
    for number, case in enumerate(cases):
        params = case.kernel.params
        lines.append("  {")
        lines += [f"    void *p{i} = take({case.arrays[param.name].nbytes});" for i, param in enumerate(params)]
        lines.append(f"    kernel_{number}({', '.join(f'p{i}' for i in range(len(params)))});")
        for i, param in enumerate(params):
            if param.access is not Access.READ:
                lines.append(f"    fwrite(p{i}, 1, {case.arrays[param.name].nbytes}, stdout);")
            lines.append(f"    free(p{i});")
        lines.append("  }")
    return "\n" + "\n".join([*lines, "  return 0;", "}"]) + "\n"
