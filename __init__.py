"""ccml: an ahead-of-time compiler from ONNX to C, objects and libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api import (
        Accuracy,
        Artifact,
        ArtifactOptions,
        BoardCheck,
        Budget,
        Emit,
        Firmware,
        FloatFormat,
        Goal,
        ImageOptions,
        LayerOptions,
        Library,
        LoadedModel,
        Mode,
        ModelOptions,
        Optimize,
        Precision,
        Profile,
        Quantization,
        QuantizedSource,
        QuantizeOptions,
        Range,
        RangeMethod,
        Report,
        Result,
        StateMemory,
        TimedProfile,
        Tuning,
        Verification,
        compile,
        compile_model,
        find_machine,
        link,
        load,
        profile,
        quantize,
        read_decisions,
        read_firmware,
        read_reports,
        time_layers,
        tune,
        verify,
        verify_log,
        write_page,
    )
    from .errors import CcmlError, ErrorCode, ExitCode

__version__ = "0.1.0"

_FROM_ERRORS = ("CcmlError", "ErrorCode", "ExitCode")

__all__ = [
    "Accuracy", "Artifact", "ArtifactOptions", "BoardCheck", "Budget", "CcmlError", "Emit", "ErrorCode", "ExitCode",
    "Firmware", "FloatFormat", "Goal", "ImageOptions", "LayerOptions", "Library", "LoadedModel", "Mode", "ModelOptions",
    "Optimize", "Precision", "Profile", "Quantization", "QuantizeOptions", "QuantizedSource", "Range",
    "RangeMethod", "Report", "Result", "StateMemory", "TimedProfile", "Tuning", "Verification", "compile",
    "compile_model", "find_machine", "link", "load", "profile", "quantize", "read_decisions", "read_firmware",
    "read_reports", "time_layers", "tune", "verify", "verify_log", "write_page",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Loads the compiler when it is first used: ``import ccml`` itself is instant."""
    if name not in __all__:
        raise AttributeError(f"module 'ccml' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(".errors" if name in _FROM_ERRORS else ".api", __name__), name)


def __dir__() -> list[str]:
    """All public names, loaded already or not."""
    return sorted({*globals(), *__all__})
