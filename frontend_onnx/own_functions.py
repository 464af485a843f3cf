"""Functions of models that ccml knows as operators of its own: where they are those that it writes, node by node."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from ..ir.graph import Value
from .block_fourier import block_fft_call
from .context import NodeContext
from .integer_root import integer_root_call


def own_function_call(ctx: NodeContext, function: onnx.FunctionProto) -> Sequence[Value] | None:
    """The results of a call of ``function`` where it is known, else ``None``: it is expanded as any other."""
    for known in (block_fft_call, integer_root_call):
        results = known(ctx, function)
        if results is not None:
            return results
    return None
