"""``QuantizeLinear`` of the ONNX reference evaluator, which rounds what is half way between two integers as told.

A sum of products of integers with a scale may come to lie half way. Float32 sums of the dequantized products are beside
it by their rounding, on either side; a step more or less then goes on through all layers behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

NEAR, RELATIVE = 1e-3, 1e-6
"""How far from half way sums in float32 are taken to be such, in steps, and as a part of the result."""


def tied_rounding(model: onnx.ModelProto, told: Mapping[str, np.ndarray]) -> list[type[OpRun]]:
    """The operator, if ``model`` has it; ``told`` has results by name, of which those are taken that are ties."""
    if all(node.op_type != "QuantizeLinear" for node in model.graph.node):
        return []
    return [_operator(max(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), told)]


def _operator(opset: int, told: Mapping[str, np.ndarray]) -> type[OpRun]:
    from onnx.reference.ops import load_op

    base: Any = load_op("", "QuantizeLinear", opset)

    def run(self: Any, x: np.ndarray, scale: np.ndarray, *others: Any, **attributes: Any) -> tuple[np.ndarray, ...]:
        (result,) = base._run(self, x, scale, *others, **attributes)
        wanted = told.get(self.onnx_node.output[0])
        if wanted is None or wanted.shape != result.shape or scale.size != 1 or result.dtype.kind not in "iu":
            return (result,)
        steps = x.astype(np.float64) / float(scale.reshape(()))
        half = np.abs(np.abs(steps - np.trunc(steps)) - 0.5)
        tied = (half <= NEAR + RELATIVE * np.abs(steps)) & (np.abs(wanted.astype(np.int64) - result) <= 1)
        return (np.where(tied, wanted, result).astype(result.dtype),)

    schema = onnx.defs.get_schema("QuantizeLinear", opset, "")
    return type("QuantizeLinear", (base,), {"op_domain": "", "op_schema": schema, "_run": run})
