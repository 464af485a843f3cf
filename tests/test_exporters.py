"""Files of frameworks, with modules that stand for these: how they are loaded, and what becomes of their errors."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import ccml
import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from onnx import TensorProto, helper

from tests.cli.command_line import ccml as command_line


def _proto() -> onnx.ModelProto:
    sides = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2,)) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", sides[:1], sides[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _installed(monkeypatch: pytest.MonkeyPatch, name: str, **members: object) -> None:
    module = ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, module)


def _file(tmp_path: Path, name: str) -> Path:
    (tmp_path / name).write_bytes(b"PK\x03\x04" + bytes(60))
    return tmp_path / name


def test_a_program_of_torch_is_loaded_with_nothing_but_tensors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, object] = {}

    def load(path: Path) -> str:
        seen["only tensors"] = os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
        return f"program {path.name}"

    def export(program: str, *, dynamo: bool) -> SimpleNamespace:
        seen["exported"] = program, dynamo
        return SimpleNamespace(model_proto=_proto())

    _installed(monkeypatch, "torch", export=SimpleNamespace(load=load), onnx=SimpleNamespace(export=export))
    found = ccml.load(_file(tmp_path, "m.pt2")).run(np.float32([1, -2]))
    np.testing.assert_array_equal(found["y"], np.float32([-1, 2]))
    assert seen == {"only tensors": "1", "exported": ("program m.pt2", True)}
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_what_torch_raises_is_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def load(path: Path) -> None:
        raise RuntimeError("no archive")

    _installed(monkeypatch, "torch", export=SimpleNamespace(load=load))
    result = command_line("run", _file(tmp_path, "m.pt2"))
    assert (result.exit_code, "PyTorch does not export the model: RuntimeError: no archive" in result.stderr) == (
        1,
        True,
    )
    assert "torch.onnx.export" in result.stderr


def test_a_model_of_keras_is_loaded_in_safe_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, object] = {}

    def load_model(path: Path, **options: object) -> SimpleNamespace:
        seen.update(options)
        return SimpleNamespace(export=lambda target, format, verbose: onnx.save(_proto(), target))

    _installed(monkeypatch, "keras", __version__="3.12.1", saving=SimpleNamespace(load_model=load_model))
    found = ccml.load(_file(tmp_path, "m.keras")).run(np.float32([1, -2]))
    np.testing.assert_array_equal(found["y"], np.float32([-1, 2]))
    assert seen == {"compile": False, "safe_mode": True}


def test_a_keras_that_lets_files_run_code_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _installed(monkeypatch, "keras", __version__="3.8.0")
    with pytest.raises(CcmlError, match=r"3\.12 and newer") as caught:
        ccml.load(_file(tmp_path, "m.keras"))
    assert caught.value.kind is ErrorCode.TOOLCHAIN


@pytest.mark.parametrize(("name", "way"), [("m.pt2", "torch.onnx.export"), ("m.keras", "tf2onnx")])
def test_without_the_framework_the_error_names_the_converter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, way: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    result = command_line("compile", _file(tmp_path, name), "-t", "arm")
    assert (result.exit_code, "[E101]" in result.stderr, way in result.stderr) == (1, True, True)


@pytest.mark.parametrize("name", ["m.pkl", "m.pickle", "m.joblib"])
def test_pickles_are_not_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'touch " + str(tmp_path / "run").encode() + b"'\ntR.")
    result = command_line("run", tmp_path / name)
    assert (result.exit_code, "not opened" in result.stderr, "skl2onnx" in result.stderr) == (1, True, True)
    assert not (tmp_path / "run").exists()
