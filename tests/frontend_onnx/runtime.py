"""Models whose values have declared shapes, so that operands can be computed at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.frontend_onnx.compiled import Oracle, check_compiled, crossed, reference
from tests.frontend_onnx.graphs import Operand


def declared(proto: onnx.ModelProto, feeds: Mapping[str, np.ndarray], oracle: Oracle = reference) -> onnx.ModelProto:
    """The model with the type of each value that a node puts out, as the oracle computes it."""
    names = [name for node in proto.graph.node for name in node.output if name]
    everything = with_outputs(proto, [helper.make_value_info(name, onnx.TypeProto()) for name in names])
    arrays = dict(zip(names, oracle(everything, feeds), strict=True))
    types = {
        name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    }
    outputs = [info.name for info in proto.graph.output]
    result = with_outputs(proto, [types[name] for name in outputs])
    result.graph.value_info.extend(info for name, info in types.items() if name not in outputs)
    return result


def with_outputs(proto: onnx.ModelProto, outputs: Iterable[onnx.ValueInfoProto]) -> onnx.ModelProto:
    """The model with other outputs."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    del result.graph.output[:]
    result.graph.output.extend(outputs)
    return result


def check_runtime(
    op_type: str, arrays: Sequence[Operand | None], opset: int, frozen: Sequence[int] = (), oracle: Oracle = reference,
    rtol: float = 1e-5, atol: float = 1e-5, **attrs: Any,
) -> None:  # fmt: skip
    """The operator alone, between pointwise operators and between transposes, as :func:`crossed` builds it.

    Operands that are not ``frozen`` are inputs of the model. Between transposes the first operand is the same.
    """
    proto, feeds = crossed(op_type, arrays, opset, frozen, **attrs)
    check_compiled(declared(proto, feeds, oracle), feeds, oracle, rtol, atol)
