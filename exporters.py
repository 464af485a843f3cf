"""Models of frameworks that are installed: the framework itself exports them to ONNX.

Whoever opens such a file trusts the framework with it. What can be asked for to keep a file from running code of its
own is asked for: PyTorch's loader is bound to tensors, Keras is in its safe mode, and versions of it that are known to
have holes are refused. Pickles, such as those of scikit-learn, run code by design and are never opened.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx

from .errors import CcmlError, ErrorCode

Exporter = Callable[[Path], onnx.ModelProto]
_WEIGHTS_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""The variable by which every torch.load, the hidden ones of torch.export.load as well, refuses objects but tensors."""
_KERAS = (3, 12)
"""The first version whose safe mode has no hole that is publicly known."""


def find_exporter(path: Path) -> Exporter | None:
    """What exports a file of that suffix; ``None`` where there is nothing, or its framework is not installed."""
    framework, exporter = _EXPORTERS.get(path.suffix.lower(), ("", None))
    return exporter if exporter is not None and importlib.util.find_spec(framework) is not None else None


@contextmanager
def _tensors_only() -> Iterator[None]:
    before = os.environ.get(_WEIGHTS_ONLY)
    os.environ[_WEIGHTS_ONLY] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_WEIGHTS_ONLY]
        else:
            os.environ[_WEIGHTS_ONLY] = before


def _failed(path: Path, framework: str, problem: Exception, hint: str) -> CcmlError:
    reason = f"{framework} does not export the model: {type(problem).__name__}: {problem}"
    return CcmlError(ErrorCode.NOT_ONNX, reason, loc=str(path), hint=hint)


def from_torch(path: Path) -> onnx.ModelProto:
    """An exported program of PyTorch (``torch.export.save``)."""
    try:
        import torch

        with _tensors_only():
            program = torch.export.load(path)
        proto = torch.onnx.export(program, dynamo=True).model_proto
    except Exception as problem:  # PyTorch raises whatever it meets in the file
        hint = "export it in Python: torch.onnx.export(model, (example_input,), 'model.onnx', dynamo=True)"
        raise _failed(path, "PyTorch", problem, hint) from problem
    return _checked(proto, path)


def from_keras(path: Path) -> onnx.ModelProto:
    """A model of Keras (``model.save('model.keras')``)."""
    hint = "export it in Python: model.export('model.onnx', format='onnx')"
    try:
        import keras

        version = tuple(int(part) for part in keras.__version__.split(".")[:2])
        if version < _KERAS:
            needed = ".".join(map(str, _KERAS))
            reason = f"only Keras {needed} and newer keeps files from running code; this is {keras.__version__}"
            raise CcmlError(ErrorCode.TOOLCHAIN, reason, loc=str(path), hint=hint)
        model = keras.saving.load_model(path, compile=False, safe_mode=True)
        with tempfile.TemporaryDirectory() as folder:
            exported = Path(folder) / "model.onnx"
            model.export(exported, format="onnx", verbose=False)
            proto = onnx.load(exported)
    except CcmlError:
        raise
    except Exception as problem:  # Keras raises whatever it meets in the file
        raise _failed(path, "Keras", problem, hint) from problem
    return _checked(proto, path)


def _checked(proto: object, path: Path) -> onnx.ModelProto:
    if not isinstance(proto, onnx.ModelProto):
        raise CcmlError(ErrorCode.NOT_ONNX, f"the export gave {type(proto).__name__}, not an ONNX model", loc=str(path))
    return proto


_EXPORTERS: dict[str, tuple[str, Exporter]] = {".pt2": ("torch", from_torch), ".keras": ("keras", from_keras)}
"""By suffixes: the package that has to be there."""
