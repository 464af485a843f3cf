"""Code for the process that ccml runs in, where that is one of Windows or macOS: conventions of calls and registers.

Code for Windows is called by way of a compiler that knows these conventions; a process of these systems is not here.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import ccml
import numpy as np
import pytest
from ccml.driver import compile_model
from ccml.emit_llvm import backend
from ccml.emit_llvm.entry import run_symbol
from ccml.emit_llvm.jit import JitModel, host_machine
from ccml.targets import in_process, select
from onnx import TensorProto, helper, numpy_helper, save

from tests.tools import needs

CALLS = r"""
typedef int (__attribute__((ms_abi)) *run_type)(void *, void *, void *, void *, void *, void *);
int call(run_type run, void **p)
{
  register double kept __asm__("xmm7") = 1234.5;   /* a register that a function gives back as it was */
  __asm__ volatile("" : "+x"(kept));
  const int status = run(p[0], p[1], p[2], p[3], p[4], p[5]);
  return status;
}
"""
RUN_ON_X86 = pytest.mark.skipif(host_machine().abi.architecture != "x86", reason="needs an x86-64 processor")


def model(path: Path) -> Path:
    """Products of two inputs with weights, and a softmax of each: four pointers besides the arena."""
    rng = np.random.default_rng(2)
    sides = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 64]) for name in names]
             for names in (("a", "b"), ("p", "q"))]  # fmt: skip
    nodes = []
    for given, made in (("a", "p"), ("b", "q")):
        nodes += [helper.make_node("MatMul", [given, "w"], [f"{made}_s"]),
                  helper.make_node("Softmax", [f"{made}_s"], [made])]  # fmt: skip
    weights = numpy_helper.from_array(rng.standard_normal((64, 64)).astype(np.float32), "w")
    graph = helper.make_graph(nodes, "g", *sides, [weights])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@needs("gcc")
@RUN_ON_X86
def test_calls_as_windows_makes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bits as by the conventions of this system."""
    program = compile_model(model(tmp_path / "m.onnx"), host_machine()).program
    rng = np.random.default_rng(1)
    inputs = {name: rng.standard_normal((8, 64)).astype(np.float32) for name in ("a", "b")}
    wanted = JitModel(program).run(inputs)
    monkeypatch.setattr("sys.platform", "win32")
    found = JitModel(program)
    monkeypatch.undo()
    (tmp_path / "calls.c").write_text(CALLS)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "calls.c", "-o", "calls.so"], cwd=tmp_path, check=True)
    call = ctypes.CDLL(str(tmp_path / "calls.so")).call
    address = found._library.functions[run_symbol(program)]

    def run(*pointers: object) -> int:
        values = [getattr(each, "value", each) or 0 for each in pointers]
        return int(call(ctypes.c_void_p(address), (ctypes.c_void_p * 6)(*values)))

    found._run = run  # type: ignore[assignment]
    for name, array in found.run(inputs).items():
        np.testing.assert_array_equal(array, wanted[name])


MANY = "\n".join(f"  %v{n} = load volatile i64, ptr %p" for n in range(40))
SUMS = "\n".join(f"  store volatile i64 %v{n}, ptr %q" for n in range(40))
PRESSURE = f"define void @f(ptr %p, ptr %q) nounwind {{\n{MANY}\n{SUMS}\n  ret void\n}}"
"""Forty numbers at a time, for which no processor has registers."""


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_the_register_of_the_system_is_left_alone(system: str) -> None:
    """x18 on arm64, which interrupts or the system change at any time; Linux has it for everybody."""

    def registers(platform: str) -> set[str]:
        machine = in_process(select("linux-arm64"), platform)
        generator = backend.target_machine(machine, reloc="pic")
        text = f'target triple = "{backend.triple(machine)}"\n{PRESSURE}'
        return set(re.findall(r"\b[xw]\d+\b", generator.emit_assembly(backend.optimize(text, generator))))

    assert "x18" in registers("linux")
    assert "x18" not in registers(system) and "x17" in registers(system)


def test_large_frames_under_windows_are_probed_by_code_that_is_there() -> None:
    for name in ("x86", "linux-arm64"):
        assert "__chkstk" in in_process(select(name), "win32").abi.helpers.code
    assert in_process(select("x86"), "linux") == select("x86")
    assert ccml.find_machine("x86").abi.triple.endswith("linux-gnu")
