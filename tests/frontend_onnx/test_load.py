"""Files that are not models, damaged models, and data in other files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError, ErrorCode
from ccml.frontend_onnx import import_model, load_model
from onnx import helper, numpy_helper

from tests.frontend_onnx.graphs import model, run, value

W = np.arange(12, dtype=np.float32).reshape(3, 4)


def simple() -> onnx.ModelProto:
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 3])], ["y"], {"w": W})


def load_error(path: Path) -> CcmlError:
    with pytest.raises(CcmlError) as caught:
        load_model(path)
    return caught.value


def test_a_model_is_read(tmp_path: Path) -> None:
    onnx.save(simple(), tmp_path / "m.onnx")
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run(load_model(tmp_path / "m.onnx"), {"x": x})[0], x @ W)


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04 a zip file", b"\x89PNG\r\n\x1a\n" + bytes(100), b"import torch\n" * 20, bytes(range(256))],
    ids=["empty", "zip", "png", "text", "bytes"],
)
def test_what_is_not_a_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    error = load_error(tmp_path / "m.onnx")
    assert error.kind is ErrorCode.NOT_ONNX and "m.onnx" in str(error)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    assert load_error(tmp_path / "none.onnx").kind is ErrorCode.NOT_ONNX
    assert load_error(tmp_path).kind is ErrorCode.NOT_ONNX


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_model(tmp_path: Path, keep: float) -> None:
    content = simple().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(content[: int(len(content) * keep)])
    assert load_error(tmp_path / "m.onnx").kind in (ErrorCode.NOT_ONNX, ErrorCode.INVALID_MODEL)


def test_a_model_without_operator_sets(tmp_path: Path) -> None:
    proto = simple()
    del proto.opset_import[:]
    onnx.save(proto, tmp_path / "m.onnx")
    assert load_error(tmp_path / "m.onnx").kind is ErrorCode.INVALID_MODEL


# ---------------------------------------------------------------- external data


def with_external(folder: Path, location: str, **entries: object) -> Path:
    """A model whose weights are said to be in ``location``."""
    proto = simple()
    tensor = proto.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, entry in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(entry))
    folder.mkdir(exist_ok=True)
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    return folder / "m.onnx"


def test_external_data_is_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(bytes(8) + W.tobytes() + bytes(3))
    proto = load_model(with_external(tmp_path, "sub/w.bin", offset=8, length=W.nbytes))
    np.testing.assert_array_equal(numpy_helper.to_array(proto.graph.initializer[0]), W)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(run(proto, {"x": x})[0], x @ W)


@pytest.mark.parametrize(
    "location", ["../w.bin", "sub/../../w.bin", "/etc/passwd", "", "C:/w.bin", "\\\\server\\w.bin"]
)
def test_external_data_outside_of_the_folder(tmp_path: Path, location: str) -> None:
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    error = load_error(with_external(tmp_path / "models", location))
    assert error.kind is ErrorCode.EXTERNAL_DATA and error.loc == "w"


def test_external_data_behind_a_symbolic_link(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    path = with_external(tmp_path / "models", "w.bin")
    (path.parent / "w.bin").symlink_to(tmp_path / "w.bin")
    error = load_error(path)
    assert error.kind is ErrorCode.EXTERNAL_DATA and "symbolic link" in str(error)


def test_external_data_in_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "w.bin").write_bytes(W.tobytes())
    path = with_external(tmp_path / "models", "data/w.bin")
    (path.parent / "data").symlink_to(tmp_path / "other")
    assert load_error(path).kind is ErrorCode.EXTERNAL_DATA


def test_missing_external_data(tmp_path: Path) -> None:
    error = load_error(with_external(tmp_path, "w.bin"))
    assert error.kind is ErrorCode.EXTERNAL_DATA and "missing" in str(error) and error.hint


@pytest.mark.parametrize("entries", [{"offset": 8, "length": 48}, {"offset": -4}, {"offset": "x"}, {"offset": 100}])
def test_external_data_beyond_its_file(tmp_path: Path, entries: dict[str, object]) -> None:
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    assert load_error(with_external(tmp_path, "w.bin", **entries)).kind is ErrorCode.EXTERNAL_DATA


def test_external_data_of_the_wrong_size(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(W.tobytes()[:-4])
    with pytest.raises(CcmlError, match="takes 48") as caught:
        load_model(with_external(tmp_path, "w.bin"))
    assert caught.value.kind is ErrorCode.EXTERNAL_DATA and caught.value.loc == "w"


def test_many_tensors_cannot_read_the_same_large_data(tmp_path: Path) -> None:
    """A small model would take as much memory as it likes."""
    (tmp_path / "w.bin").write_bytes(W.tobytes())
    proto = onnx.load(with_external(tmp_path, "w.bin"), load_external_data=False)
    for number in range(5):
        proto.graph.initializer.add().CopyFrom(proto.graph.initializer[0])
        proto.graph.initializer[-1].name = f"w{number}"
    path = tmp_path / "many.onnx"
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(CcmlError, match="want 288 bytes of data, and the data files have 48") as caught:
        load_model(path)
    assert caught.value.kind is ErrorCode.EXTERNAL_DATA


def test_external_data_that_was_not_loaded(tmp_path: Path) -> None:
    proto = onnx.load(with_external(tmp_path, "w.bin"), load_external_data=False)
    with pytest.raises(CcmlError) as caught:
        import_model(proto)
    assert caught.value.kind is ErrorCode.EXTERNAL_DATA
