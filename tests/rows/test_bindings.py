"""Bindings for C++ and Python take an array, or a function that brings its rows."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ccml import ModelOptions
from ccml.api import compile as compile_model
from ccml.api import load

from tests.rows.networks import save_image
from tests.tools import needs

MAIN = """
#include <cmath>
#include <vector>
#include "cam.hpp"

static int row_of(void *context, std::size_t row, float *to)
{
  const std::vector<float> &image = *static_cast<const std::vector<float> *>(context);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t at = 0; at < 10; ++at) {
      to[channel * 10 + at] = image[(channel * 12 + row) * 10 + at];
    }
  }
  return 0;
}

int main()
{
  std::vector<float> image(cam::tensor_image::elements);
  for (std::size_t at = 0; at < image.size(); ++at) {
    image[at] = std::sin(static_cast<float>(at));
  }
  float first[4], second[4];
  cam::Model model;
  const cam_rows rows = {row_of, &image};
  if (model.run(rows, first) != cam::Status::ok || model.run(image, second) != cam::Status::ok) {
    return 1;
  }
  for (int at = 0; at < 4; ++at) {
    if (first[at] != second[at] || first[at] == 0.0f) {
      return 2;
    }
  }
  image.pop_back();
  return model.run(image, first) == cam::Status::size ? 0 : 3;
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_image(tmp_path / "cam.onnx")


@needs("g++")
def test_cpp(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compile_model(model, "x86", out, cpu="native", options=ModelOptions(rows=("image",)), bindings=["cpp"])
    (tmp_path / "main.cpp").write_text(MAIN)
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic", "-Werror"]
    built = ["g++", "-std=c++17", *warnings, "-I", out, tmp_path / "main.cpp", out / "libcam.a"]
    subprocess.run([*map(str, built), "-o", str(tmp_path / "main")], check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


def test_python(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ModelOptions(rows=("image",))
    compile_model(model, "x86", tmp_path / "out", cpu="native", options=options, bindings=["python"])
    monkeypatch.syspath_prepend(str(tmp_path / "out" / "python" / "cam"))
    try:
        bound = importlib.import_module("cam").Model()
    finally:
        sys.modules.pop("cam", None)
    image = np.random.default_rng(1).standard_normal((1, 3, 12, 10)).astype(np.float32)
    expected = load(model).run(image)["scores"]
    asked = []

    def row(number: int) -> np.ndarray:
        asked.append(number)
        return image[:, :, number, :]

    for given in (image, row):
        np.testing.assert_allclose(bound.run(given)["scores"], expected, rtol=1e-4, atol=1e-5)
    assert asked == list(range(12))
    with pytest.raises(ValueError, match="expected rows"):
        bound.run(lambda number: image[0])
    with pytest.raises(KeyError):
        bound.run({}.__getitem__)
