"""Names of models."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from ccml.emit_c.model_name import model_name
from ccml.emit_c.symbols import assign_symbols
from ccml.emit_c.system_headers import SYSTEM_HEADERS
from ccml.emit_llvm.entry import run_symbol
from ccml.errors import CcmlError, ErrorCode
from ccml.program.build import lower_graph
from ccml.targets import select

from tests.schedule.graphs import conv_graph
from tests.tools import needs


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("kws.onnx", "kws"),
        ("dir/mobilenet-v2 (1).onnx", "mobilenet_v2_1"),
        ("3d.onnx", "m_3d"),
        ("_x.onnx", "x"),
        ("übung.onnx", "bung"),
        ("math.onnx", "math_model"),
        ("features.onnx", "features_model"),
        ("time.onnx", "time_model"),
        ("String.onnx", "String_model"),
        ("m.onnx", "m_model"),
        ("log.onnx", "log_model"),
        ("-.onnx", "model"),
        ("a__b_.onnx", "a_b"),
        ("v_net.onnx", "v_net"),
        ("a" * 63 + "_b.onnx", "a" * 63),
        ("a" * 90 + ".onnx", "a" * 64),
    ],
)
def test_from_a_file(file: str, name: str) -> None:
    assert model_name(Path(file), None) == name


REFUSED = ["", "2x", "a-b", "a b", "é", "stdio", "Features", "log", "C", "_x", "a" * 65, "a\n", "a__b", "a_"]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(CcmlError) as caught:
        model_name(Path("m.onnx"), name)
    assert caught.value.kind is ErrorCode.BAD_OPTION


def test_accepted() -> None:
    assert model_name(Path("m.onnx"), "Wake_Word2") == "Wake_Word2"


@pytest.mark.parametrize("name", ["v_net", "int", "u8", "Wake_Word2"])
def test_c_and_objects_have_the_same_symbols(name: str) -> None:
    machine = select("generic")
    program = replace(lower_graph(conv_graph((1, 4, 4, 2), (3, 1, 1, 2)), machine), name=name)
    assert assign_symbols(program).run == run_symbol(program) == f"{name}_run"


def test_names_of_graphs_become_prefixes() -> None:
    program = lower_graph(conv_graph((1, 4, 4, 2), (3, 1, 1, 2)), select("generic"))
    assert assign_symbols(replace(program, name="torch-jit-export")).run == "torch_jit_export_run"


TOOLCHAINS = ("gcc", "clang", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc")
LIBRARIES = ("/usr/include", "/usr/local/include")
"""Where whatever is installed has its headers, beside those of the C library."""


@pytest.mark.parametrize("compiler", [pytest.param(name, marks=needs(name)) for name in TOOLCHAINS])
def test_every_header_of_a_toolchain_is_known(compiler: str) -> None:
    said = subprocess.run([compiler, "-v", "-E", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True)
    searched = said.stderr.partition("search starts here:\n#include <...>")[2].partition("End of search list")[0]
    folders = [Path(line.strip()).resolve() for line in searched.splitlines() if line.startswith(" /")]
    found = {
        path.stem.lower() for folder in folders if not str(folder).startswith(LIBRARIES) for path in folder.glob("*.h")
    }
    assert "stddef" in found
    assert not {stem for stem in found if re.fullmatch(r"[a-z]\w*", stem)} - SYSTEM_HEADERS
