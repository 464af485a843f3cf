"""Names of models."""

from __future__ import annotations

from pathlib import Path

import pytest
from ccml.emit_c.model_name import model_name
from ccml.errors import CcmlError, ErrorCode


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("kws.onnx", "kws"),
        ("dir/mobilenet-v2 (1).onnx", "mobilenet_v2_1"),
        ("3d.onnx", "m_3d"),
        ("_x.onnx", "x"),
        ("übung.onnx", "bung"),
        ("math.onnx", "math_model"),
        ("String.onnx", "String_model"),
        ("-.onnx", "model"),
        ("a" * 90 + ".onnx", "a" * 64),
    ],
)
def test_from_a_file(file: str, name: str) -> None:
    assert model_name(Path(file), None) == name


@pytest.mark.parametrize("name", ["", "2x", "a-b", "a b", "é", "stdio", "_x", "a" * 65, "a\n"])
def test_refused(name: str) -> None:
    with pytest.raises(CcmlError) as caught:
        model_name(Path("m.onnx"), name)
    assert caught.value.kind is ErrorCode.BAD_OPTION


def test_accepted() -> None:
    assert model_name(Path("m.onnx"), "Wake_Word2") == "Wake_Word2"
