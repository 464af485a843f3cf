"""ccml: an ahead-of-time compiler from ONNX to C, objects and libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import Compiled, LoadedModel, ModelOptions, compile_model, find_machine, load, read
    from .errors import CcmlError, ErrorCode, ExitCode

__version__ = "0.1.0"

__all__ = [
    "CcmlError", "Compiled", "ErrorCode", "ExitCode", "LoadedModel", "ModelOptions", "compile_model", "find_machine",
    "load", "read",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Loads the compiler when it is first used: ``import ccml`` itself is instant."""
    if name not in __all__:
        raise AttributeError(f"module 'ccml' has no attribute '{name}'")
    from . import errors

    if hasattr(errors, name):
        return getattr(errors, name)
    from . import api

    return getattr(api, name)
