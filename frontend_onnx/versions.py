"""Which operator sets a model may use."""

from __future__ import annotations

import onnx

from ..errors import CcmlError, ErrorCode

OLDEST_OPSET = 1
NEWEST_OPSET = onnx.defs.onnx_opset_version()

RULES_OPSET = 28
"""The newest operator set whose definitions the rules were written by. A later version of the onnx package may know
operators in a newer form; attributes that came with that form are refused (``node_check.py``)."""


def opset_imports(model: onnx.ModelProto) -> dict[str, int]:
    """Versions by domain; ``ai.onnx`` is the default domain. Raises where the default domain's is not supported."""
    opsets = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    version = opsets.get("")
    if version is None and not opsets:
        raise CcmlError(ErrorCode.INVALID_MODEL, "the model imports no operator set")
    if version is not None and version < OLDEST_OPSET:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"there is no operator set {version}")
    if version is not None and version > NEWEST_OPSET:
        raise CcmlError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"the model uses operator set {version}; ccml supports {OLDEST_OPSET} to {NEWEST_OPSET}",
            hint="a newer version of the onnx package can help",
        )
    return opsets
