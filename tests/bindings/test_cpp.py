"""The C++ header: results, memory, and misuse that ends in a status, under sanitizers."""

from __future__ import annotations

import re
from pathlib import Path

import ccml
import numpy as np
import pytest
from onnx import save

from tests.packaging.odd_models import ODD_MODELS, often_or_in_check
from tests.packaging.packages import HOSTILE_OUTPUT, write_model
from tests.packaging.run import run
from tests.tools import needs

SANITIZED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror")
pytestmark = needs("gcc", "g++")

MAIN = """
#include "net.hpp"
#include <cstdio>
#include <vector>

static net::Memory memory;

int main()
{
  const std::array<float, 12> features = {FEATURES};
  std::vector<float> scores(5);
  std::int64_t best[1];
  net::Model model;
  if (model.run(features, scores, best) != net::Status::ok) return 1;
  for (float score : scores) std::printf("%.9g ", static_cast<double>(score));
  std::printf("%d\\n", static_cast<int>(best[0]));

  std::vector<float> again(5);
  net::Model fixed(memory);
  if (fixed.run(features, again, best) != net::Status::ok || again != scores) return 2;
  net::Model moved(std::move(model));
  if (moved.run(features, again, best) != net::Status::ok || again != scores) return 3;

  std::vector<float> few(11), many(13), six(6);
  if (moved.run(few, scores, best) != net::Status::size) return 4;
  if (moved.run(many, scores, best) != net::Status::size) return 5;
  if (moved.run(features, six, best) != net::Status::size) return 6;
  if (moved.run({nullptr, 12}, scores, best) != net::Status::error_null) return 7;
  if (net_run(memory.pool_0 + 1, features.data(), scores.data(), best) != NET_ERROR_ALIGN) return 8;
  static_assert(net::tensor_IN::elements == 12 && net::tensor_IN::shape[1] == 12);
  return net::to_string(net::Status::size)[0] == 'a' ? 0 : 9;
}
"""


def build(folder: Path, main: str, *flags: str) -> Path:
    """``main`` with the C of the model, both under sanitizers."""
    (folder / "main.cpp").write_text(main)
    run("gcc", "-c", "-O1", *SANITIZED, *folder.glob("*.c"), cwd=folder)
    command = ["g++", "-std=c++17", *SANITIZED, *WARNINGS, *flags, "main.cpp", *folder.glob("*.o"), "-o", "main"]
    run(*command, cwd=folder)
    return folder / "main"


@pytest.mark.parametrize("flags", [(), ("-fno-exceptions", "-fno-rtti")], ids=["plain", "embedded"])
def test_spans_of_the_right_size_run_and_others_do_not(tmp_path: Path, flags: tuple[str, ...]) -> None:
    write_model(tmp_path / "net.onnx")
    features = np.random.default_rng(5).standard_normal((1, 12)).astype(np.float32)
    wanted = ccml.load(tmp_path / "net.onnx").run(features)
    out = tmp_path / "out"
    ccml.compile(tmp_path / "net.onnx", "generic", out, emit=["c"], bindings=["cpp"])
    name = (out / "net.hpp").read_text().partition("struct tensor_")[2].partition(" ")[0]
    numbers = ", ".join(f"{value!r}f" for value in features[0].tolist())
    said = run(build(out, MAIN.replace("FEATURES", numbers).replace("tensor_IN", f"tensor_{name}"), *flags), cwd=out)
    *scores, best = said.split()
    np.testing.assert_allclose(np.array(scores, np.float32), wanted[HOSTILE_OUTPUT][0], rtol=1e-5)
    assert int(best) == wanted["class"][0]


@pytest.mark.parametrize("name", often_or_in_check(ODD_MODELS, "ranged", "state", "empty"))
def test_every_interface_has_a_header(name: str, tmp_path: Path) -> None:
    """States, strings, no inputs: the header compiles, alone and twice, and a model without elements runs."""
    model, options = ODD_MODELS[name]
    save(model, tmp_path / "odd.onnx")
    ccml.compile(tmp_path / "odd.onnx", "generic", tmp_path, emit=["c"], options=options, bindings=["cpp"])
    (tmp_path / "main.cpp").write_text('#include "odd.hpp"\n#include "odd.hpp"\nint main() { odd::Model model; }\n')
    run("g++", "-std=c++17", *WARNINGS, "-fsyntax-only", "main.cpp", cwd=tmp_path)


def test_without_an_operating_system_there_is_no_heap(tmp_path: Path) -> None:
    """Memory is then the caller's, and nothing of the library that needs a system is included."""
    write_model(tmp_path / "net.onnx")
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path, emit=["c"], bindings=["cpp"])
    source = """#include "net.hpp"
static net::Memory memory;
static_assert(!std::is_default_constructible_v<net::Model>);
net::Model &model();
net::Model &model() { static net::Model one(memory); return one; }
"""
    (tmp_path / "main.cpp").write_text(source)
    flags = ["-std=c++17", "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"]
    run("g++", *flags, *WARNINGS, "-fsyntax-only", "main.cpp", cwd=tmp_path)


@pytest.mark.parametrize("name", ["std", "class", "main"])
def test_a_namespace_that_cpp_has_another_meaning_for(name: str, tmp_path: Path) -> None:
    write_model(tmp_path / "net.onnx")
    options = ccml.ModelOptions(name=name)
    ccml.compile(tmp_path / "net.onnx", "generic", tmp_path, emit=["c"], options=options, bindings=["cpp"])
    main = f'#include "{name}.hpp"\nint main() {{ return std::size({name}_model::tensor_IN::shape) == 2 ? 0 : 1; }}\n'
    (tensor,) = re.findall(r"struct (tensor_in\w+)", (tmp_path / f"{name}.hpp").read_text())
    main = main.replace("tensor_IN", tensor)
    (tmp_path / "main.cpp").write_text(main)
    run("g++", "-std=c++17", *WARNINGS, "-fsyntax-only", "main.cpp", cwd=tmp_path)
