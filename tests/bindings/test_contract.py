"""The contract as data says what the header says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import ccml
import pytest
from ccml.emit_c.contract import contract_of
from onnx import save
from pycparser import c_ast, c_parser

from tests.packaging.odd_models import ODD_MODELS
from tests.tools import needs


@needs("gcc")
@pytest.mark.parametrize("name", ODD_MODELS)
@pytest.mark.parametrize("target", ["generic", "cortex-m4"])
def test_parameters_and_macros_are_those_of_the_header(name: str, target: str, tmp_path: Path) -> None:
    """The prototype by pycparser, the values of macros by the preprocessor."""
    model, options = ODD_MODELS[name]
    save(model, tmp_path / "odd.onnx")
    contract = contract_of(ccml.compile_model(tmp_path / "odd.onnx", ccml.find_machine(target), options).program)
    ccml.compile(tmp_path / "odd.onnx", target, tmp_path / "out", emit=["c"], options=options)
    header = tmp_path / "out" / "odd.h"
    text = "".join(line for line in header.read_text().splitlines(True) if not line.startswith("#include"))
    types = "".join(f"typedef int {sign}int{bits}_t;\n" for sign in ("", "u") for bits in (8, 16, 32, 64))
    plain = subprocess.run(["gcc", "-E", "-P", "-D__attribute__(x)=", "-DODD_UNCHECKED", "-"],
                           input=types + text, capture_output=True, text=True, check=True).stdout  # fmt: skip
    functions = {node.name: node.type for node in c_parser.CParser().parse(plain).ext if node.name.startswith("odd")}
    assert set(functions) == {contract.run, contract.model_id, *([contract.reset] if contract.reset else [])}
    found = [(each.name, pointed_to(each.type)) for each in functions[contract.run].args.params]
    wanted = [(memory.parameter, "void") for memory in contract.memory]
    wanted += [(tensor.parameter, tensor.c_type) for tensor in contract.tensors]
    assert found == wanted
    macros = dict(re.findall(r"^#define (\w+) (\S+)", header.read_text(), re.MULTILINE))
    for memory in contract.memory:
        assert macros[f"{memory.stem}_SIZE"] == str(memory.size) and macros[f"{memory.stem}_ALIGN"] == str(memory.align)
    for tensor in contract.tensors:
        assert macros[f"{tensor.stem}_BYTES"] == str(tensor.nbytes)
        assert (tensor.pool is None) == (tensor.offset not in macros)
    assert {code for code in macros if "_ERROR_" in code} == {f"ODD_{code}" for code, _, _ in contract.errors}


def pointed_to(declared: c_ast.Node) -> str:
    (name,) = declared.type.type.names
    return str(name)
