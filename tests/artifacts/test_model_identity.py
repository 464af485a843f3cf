"""Programs that were built with another model's header: an error code, and nothing is written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import ccml
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.tools import needs

pytestmark = needs("gcc")

MAIN = r"""
#include "net.h"
#include <stdio.h>

static unsigned char memory[256] __attribute__((aligned(64)));

int main(void)
{
  float x[NET_X_ELEMENTS] = {0}, y[NET_Y_ELEMENTS];
  int (*const run)(void *, void *, const float *, float *) = net_run;
  size_t touched = 0;
  for (size_t at = 0; at < sizeof memory; at++) {
    memory[at] = 0xA5;
  }
  net_reset(memory);
  for (size_t at = 0; at < sizeof memory; at++) {
    touched += memory[at] != 0xA5;
  }
  printf("%d %d %zu", net_run(memory + 128, memory, x, y), run(memory + 128, memory, x, y), touched);
  return 0;
}
"""


def save(path: Path, size: int, bias: float) -> None:
    """A sum that goes on from run to run, of ``size`` numbers."""
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name in ("x", "h", "y", "hn")}
    nodes = [helper.make_node("Add", ["x", "h"], ["hn"]), helper.make_node("Mul", ["hn", "b"], ["y"])]
    constant = onnx.numpy_helper.from_array(np.full(size, bias, np.float32) + np.arange(size, dtype=np.float32), "b")
    graph = helper.make_graph(nodes, "g", [values["x"], values["h"]], [values["y"], values["hn"]], [constant])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def said(folder: Path, headers: Path, *library: str) -> str:
    (folder / "main.c").write_text(MAIN)
    command = ["gcc", "-fsanitize=address,undefined", f"-I{headers}", "main.c", *library, "-o", "main"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("other", [(16, 1.0), (4, 2.0)], ids=["of another size", "with other weights"])
@pytest.mark.parametrize("emit", ["c", "lib"])
def test_another_models_header(emit: str, other: tuple[int, float], tmp_path: Path) -> None:
    for name, content in (("own", (4, 1.0)), ("other", other)):
        save(tmp_path / f"{name}.onnx", *content)
        options = ccml.ModelOptions(name="net", states={"h": "hn"})
        ccml.compile(tmp_path / f"{name}.onnx", "generic", tmp_path / name, emit=[emit], options=options)
    library = [str(path) for path in sorted((tmp_path / "own").iterdir()) if path.suffix in (".c", ".a")]
    includes = [f"-I{tmp_path / 'own'}"] if emit == "lib" else []
    if emit == "c":
        for source in library:
            command = ["gcc", "-c", source, "-o", f"{source}.o"]
            subprocess.run(command, cwd=tmp_path / "own", check=True, capture_output=True)
        library = [f"{source}.o" for source in library]
    assert said(tmp_path, tmp_path / "own", *library, *includes) == "0 0 16"
    assert said(tmp_path, tmp_path / "other", *library) == "5 5 0"
