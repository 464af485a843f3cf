"""Operators without a rule, computed at compile time by ``onnx.reference`` where all operands are constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, version_converter
from onnx.reference import ReferenceEvaluator

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType
from .folding import MAX_FOLDED_BYTES

FOLDABLE = frozenset({"Compress", "Det", "NonZero", "Unique"})
"""Deterministic, without subgraphs, and with results not much larger than the operands."""


MAX_ELEMENTS = 2**20
"""Of the operands: the reference has loops in Python."""


def fold_with_reference(
    node: onnx.NodeProto, attributes: Mapping[str, onnx.AttributeProto], arrays: Sequence[np.ndarray | None],
    opset: int, loc: str,
) -> list[np.ndarray]:  # fmt: skip
    """The node's outputs. Raises ``INVALID_MODEL`` where it cannot be computed."""
    elements = sum(array.size for array in arrays if array is not None)
    if elements > MAX_ELEMENTS:
        reason = f"{node.op_type} of constants with {elements} elements, which is computed at compile time"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=loc)
    names = [name if array is not None else "" for name, array in zip(node.input, arrays)]
    feeds = {name: array for name, array in zip(names, arrays) if array is not None}
    single = helper.make_node(node.op_type, names, list(node.output))
    single.attribute.extend(attributes.values())
    try:
        results = ReferenceEvaluator(_current(single, feeds, opset)).run(None, feeds)
    except Exception as problem:  # the reference raises whatever its NumPy code meets
        raise CcmlError(ErrorCode.INVALID_MODEL, f"{node.op_type} of constants fails: {problem}", loc=loc) from problem
    arrays_out = [np.asarray(result) for result in results]
    for array in arrays_out:
        if array.nbytes > MAX_FOLDED_BYTES or array.dtype.name not in {dtype.numpy.name for dtype in DType}:
            what = f"{array.dtype}{list(array.shape)}"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"{node.op_type} of constants gives {what}", loc=loc)
    return arrays_out


def _current(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> onnx.ModelProto:
    """A model of one node, in the newest operator set: the reference lacks old versions of some operators."""
    inputs = [
        helper.make_tensor_value_info(name, int(helper.np_dtype_to_tensor_dtype(array.dtype)), array.shape)
        for name, array in feeds.items()
    ]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
    graph = helper.make_graph([node], "fold", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    newest = onnx.defs.onnx_opset_version()
    same = onnx.defs.get_schema(node.op_type, opset, "").since_version
    if same == onnx.defs.get_schema(node.op_type, newest, "").since_version:
        return model
    return version_converter.convert_version(model, newest)
