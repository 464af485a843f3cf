"""The model set: small real ONNX models with data, outside of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "models"


def models_dir() -> Path:
    """``CCML_MODELS``, or ``../shared/models`` relative to the repository."""
    return Path(os.environ.get("CCML_MODELS") or _BESIDE)


needs_models = pytest.mark.skipif(
    not (models_dir() / "README.md").is_file(), reason=f"needs the model set in {models_dir()} (or CCML_MODELS)"
)
