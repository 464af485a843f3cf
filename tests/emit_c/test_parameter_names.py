"""Inputs and outputs that are called like macros of system headers: the header compiles before and behind those."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ccml.emit_c.artifact import write_c
from ccml.emit_c.names import parameter_name
from ccml.emit_c.symbols import assign_symbols
from ccml.ir.program import BufferDecl, Program, Storage
from ccml.targets import select

from tests.emit_c.harness import WARNINGS, compile_c
from tests.emit_c.programs import matrix_program
from tests.tools import needs

HEADERS = """
    aio.h arpa/inet.h assert.h complex.h ctype.h dirent.h errno.h fcntl.h fenv.h float.h inttypes.h iso646.h limits.h
    locale.h math.h net/if.h netdb.h netinet/in.h pthread.h regex.h setjmp.h signal.h stdarg.h stdbool.h stddef.h
    stdio.h stdlib.h string.h sys/socket.h sys/stat.h sys/types.h sys/wait.h termios.h threads.h time.h unistd.h
    wchar.h wctype.h linux/if.h sched.h stdnoreturn.h stdalign.h
"""


def macros(compiler: str, headers: list[str]) -> set[str]:
    """What a compiler and headers define without parameters and without a leading underscore."""
    text = "".join(f"#include <{header}>\n" for header in headers)
    command = [compiler, "-std=gnu11", "-D_GNU_SOURCE", "-dM", "-E", "-x", "c", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    words = (line.split()[1] for line in done.stdout.splitlines())
    return {word for word in words if word.isidentifier() and not word.startswith("_")}


def named(names: list[str]) -> Program:
    """The small program with a further input for each of the names."""
    program = matrix_program(4)
    extra = [replace(program.inputs[0], c_name=name, name=name, buffer=f"in{n}") for n, name in enumerate(names)]
    decls = {side.buffer: BufferDecl(side.buffer, side.type.dtype, (48,), Storage.INPUT) for side in extra}
    return replace(program, inputs=(*program.inputs, *extra), buffers=program.buffers | decls)


@needs("gcc")
def test_no_macro_of_c_and_posix_meets_a_parameter() -> None:
    defined = macros("gcc", HEADERS.split())
    assert {"errno", "I", "EOF", "linux", "st_atime"} <= defined
    assert not {parameter_name(word) for word in defined} & defined


@needs("gcc")
@pytest.mark.parametrize("before", [True, False])
def test_headers_before_and_behind(before: bool, tmp_path: Path) -> None:
    names = ["errno", "I", "EOF", "stdin", "NAN", "complex", "unix", "st_atime", "M_PIf", "PRId8", "min", "I_2", "i"]
    write_c(named(names), select("generic"), tmp_path)
    system = "".join(f"#include <{header}>\n" for header in HEADERS.split())
    own = '#include "kws.h"\n'
    (tmp_path / "main.c").write_text((system + own if before else own + system) + "int x;\n")
    compile_c(["gcc", "-std=gnu11", "-Werror", "-c", "-I.", str(tmp_path / "main.c"), "-o", str(tmp_path / "main.o")])
    compile_c(["gcc", *WARNINGS, "-c", str(tmp_path / "kws.c"), "-o", str(tmp_path / "kws.o")])


def test_parameters_that_differ_in_case_stay_apart() -> None:
    arguments = assign_symbols(named(["I", "i", "EOF", "eof"])).arguments
    assert arguments == ("input", "i", "i_2", "eof", "eof_2", "scores", "v_int")
