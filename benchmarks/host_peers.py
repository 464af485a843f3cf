"""The run-time libraries that compiled models are measured beside: what is installed, and what becomes of a model."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_EXECUTORCH = Path(__file__).with_name("executorch_program.py")

Converter = Callable[[Path, Path, Path], Path]
"""From an environment, an ONNX model and an empty folder to the model in the library's own form, in that folder."""


@dataclass(frozen=True)
class Peer:
    """``packages`` are installed from PyPI, ``alone`` without what these depend on: ``pnnx`` asks for PyTorch, but does
    without. Models with the ``suffix`` are read, as they are or by ``convert``."""

    packages: tuple[str, ...]
    alone: tuple[str, ...] = ()
    suffix: str = ".onnx"
    convert: Converter | None = None


def _to_mnn(environment: Path, model: Path, folder: Path) -> Path:
    made = folder / "model.mnn"
    command = [environment / "bin" / "mnnconvert", "-f", "ONNX", "--modelFile", model, "--MNNModel", made]
    _run(environment, [*command, "--bizCode", "none"], folder)
    return made


def _to_ncnn(environment: Path, model: Path, folder: Path) -> Path:
    """By the program in the package, whose Python around it asks for PyTorch."""
    copy = Path(shutil.copyfile(model, folder / "model.onnx"))
    (converter,) = environment.glob("lib/python*/site-packages/pnnx/pnnx")
    _run(environment, [converter, copy, "fp16=0"], folder)
    return folder / "model.ncnn.param"


def _to_executorch(environment: Path, model: Path, folder: Path) -> Path:
    program = folder / "model.pte"
    _run(environment, [environment / "bin" / "python", _EXECUTORCH, model, program], folder)
    return program


def _run(environment: Path, command: list[str | Path], folder: Path) -> None:
    words, inside = [str(part) for part in command], variables(environment)
    done = subprocess.run(words, cwd=folder, env=inside, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} ends with {done.returncode}: {done.stderr[-200:]}")


PEERS = {
    "onnxruntime": Peer(("onnxruntime>=1.20,<2", "numpy")),
    "openvino": Peer(("openvino>=2025,<2027", "numpy")),
    "mnn": Peer(("MNN>=3,<4", "numpy"), convert=_to_mnn),
    "ncnn": Peer(("ncnn>=1.0.20250503,<2", "numpy"), alone=("pnnx>=20250530",), convert=_to_ncnn),
    "executorch": Peer(("executorch>=1,<2", "onnx2torch>=1.5,<2", "numpy"), convert=_to_executorch),
    "litert": Peer(("ai-edge-litert>=2,<3", "numpy"), suffix=".tflite"),
}


def prepare(folder: Path) -> None:
    """An environment for each peer, with the versions that :data:`PEERS` names."""
    for name, peer in PEERS.items():
        venv.create(folder / name, with_pip=True)
        install = [str(python_of(folder, name)), "-m", "pip", "install", "-q"]
        subprocess.run([*install, *peer.packages], check=True)
        if peer.alone:
            subprocess.run([*install, "--no-deps", *peer.alone], check=True)


def variables(environment: Path) -> dict[str, str]:
    """Environment variables with which a command finds the ``pip`` of its own environment first: MNN's converter calls
    it."""
    return {**os.environ, "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def python_of(environments: Path, name: str) -> Path:
    return environments / name / "bin" / "python"


def prepared(environments: Path) -> list[str]:
    """The peers that have an environment in the folder."""
    return [name for name in PEERS if python_of(environments, name).exists()]


def version_of(environments: Path, name: str) -> str:
    package = PEERS[name].packages[0].split(">")[0]
    command = f"import importlib.metadata as m; print(m.version({package!r}))"
    found = subprocess.run([str(python_of(environments, name)), "-c", command], capture_output=True, text=True)
    return found.stdout.strip()


def model_for(name: str, environments: Path, model: Path, folder: Path) -> Path:
    """``model`` as the peer reads it. Raises ``RuntimeError`` where its converter fails."""
    convert = PEERS[name].convert
    if convert is None:
        return model
    folder.mkdir()
    made = convert((environments / name).resolve(), model.resolve(), folder)  # converters run in the folder
    if not made.exists():
        raise RuntimeError("its converter wrote no model")
    return made
