"""Files that are no ONNX models: which format they have, and what converts them."""

from __future__ import annotations

from pathlib import Path

from ..record import record


@record
class FileKind:
    """A format of models by the suffixes of its files and by the bytes that they hold at an offset, if that is fixed.

    ``convert`` says how an ONNX model is made of it.
    """

    name: str
    convert: str
    suffixes: tuple[str, ...]
    magic: bytes = b""
    offset: int = 0


_TORCH = (
    "export it in Python: torch.onnx.export(model, (example_input,), 'model.onnx'); where torch is installed, files of "
    "torch.export.save (.pt2) are models as they are"
)
_KERAS = (
    "tf2onnx converts it, in Python: tf2onnx.convert.from_keras(model, output_path='model.onnx'); where Keras 3.12 is "
    "installed, .keras files are models as they are"
)

FILE_KINDS = (
    FileKind("an HDF5 file, as of Keras", _KERAS, (".h5", ".hdf5"), b"\x89HDF\r\n\x1a\n"),
    FileKind("a Keras model", _KERAS, (".keras",)),
    FileKind(
        "a frozen TensorFlow graph", "tf2onnx converts it: python -m tf2onnx.convert --graphdef model.pb "
        "--inputs NAME:0 --outputs NAME:0 --output model.onnx", (".pb",),
    ),
    FileKind("weights of PyTorch, not a model", _TORCH, (".safetensors",)),
    FileKind("a checkpoint or a program of PyTorch", _TORCH, (".pt", ".pth", ".ckpt", ".pt2")),
    FileKind(
        "an optimized model of ONNX Runtime", "give the .onnx file that it was made of", (".ort",), b"ORTM", 4,
    ),
    FileKind(
        "a pickled Python object, which is not opened, as it could run any code",
        "skl2onnx converts models of scikit-learn, in Python: skl2onnx.to_onnx(model, X[:1])",
        (".pkl", ".pickle", ".joblib"),
    ),
    FileKind(
        "a Core ML model", "export the model from the framework in which it was trained", (".mlmodel", ".mlpackage"),
    ),
    FileKind("an array of NumPy", "the model comes first; data are given with --input", (".npy",), b"\x93NUMPY"),
    FileKind("a file of NumPy arrays", "the model comes first; data are given with --input", (".npz",)),
    FileKind(
        "a ZIP archive", f"PyTorch and Keras save such files; from PyTorch, {_TORCH}", (".zip",), b"PK\x03\x04",
    ),
)  # fmt: skip
"""What a name ends in is looked at first, then what a file holds."""

_SAVED_MODEL = FileKind(
    "a SavedModel of TensorFlow",
    "tf2onnx converts it: python -m tf2onnx.convert --saved-model FOLDER --output model.onnx",
    (),
)


def file_kind(path: Path, head: bytes = b"") -> FileKind | None:
    """The format of a file that begins with ``head``, or of a folder, where it is one that people try."""
    if path.is_dir():
        return _SAVED_MODEL if (path / "saved_model.pb").is_file() else None
    suffix = path.suffix.lower()
    named = (kind for kind in FILE_KINDS if suffix in kind.suffixes)
    known = (k for k in FILE_KINDS if k.magic and head[k.offset : k.offset + len(k.magic)] == k.magic)
    return next(named, next(known, None))
