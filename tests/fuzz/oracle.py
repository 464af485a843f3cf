"""What a single ONNX node computes: by ONNX Runtime without optimizations, and by the reference evaluator of ONNX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper
from onnx.reference import ReferenceEvaluator

from tests.fuzz import runtime
from tests.fuzz.definitions import DEFINITIONS, defined
from tests.fuzz.runtime import Arrays

_OLDEST_OF_RUNTIME, _NEWEST_OF_RUNTIME = 7, 26
"""Older operator sets (of the generator's, none that differs) and newer ones in which an operator is the same are given
to ONNX Runtime as these."""

_MICROSOFT = "com.microsoft"


def evaluate(
    node: onnx.NodeProto, arrays: Sequence[np.ndarray | None], opset: int, *, by: str = "first"
) -> Arrays | None:
    """The node's outputs for its operands; ``None`` where it cannot be computed.

    ``by`` is ``reference``, ``float32`` for ONNX Runtime in that type, or ``first`` for the first that can.
    """
    feeds = {name: array for name, array in zip(node.input, arrays) if name and array is not None}
    if node.op_type in DEFINITIONS and node.domain == _MICROSOFT:
        return defined(node.op_type, _attributes(node), arrays, len(node.output))
    if node.op_type == "QLinearReduceMean":
        return _quantized_mean(node, arrays)
    if node.op_type == "NhwcConv":
        return _convolved_channels_last(feeds, node, opset)
    if node.op_type == "ZipMap":
        return tuple(feeds.values())  # ccml gives the tensor, where others have dictionaries
    if _is_narrow(node, feeds):
        by = "reference"
    node = _in_double(_explicitly_padded(node, feeds), feeds)
    if node.op_type == "ReduceL2" and all(array.dtype.kind in "iu" for array in feeds.values()):
        return _norm_of_integers(node, feeds, opset)
    if node.op_type == "Gemm" and _beyond_doubles(feeds):
        return None
    if node.op_type in _SUMS and _overflows(node.op_type, feeds[node.input[0]]):
        return None
    if node.op_type == "QuantizeLinear" and float(np.abs(feeds[node.input[0]]).max(initial=0)) > 1e6:
        return None  # ONNX Runtime saturates to 32 bits before it adds the zero point, and that the wrong way
    if node.op_type in _LOSSES and not all(array.size for array in feeds.values()):
        return None  # ONNX Runtime calls the mean of no elements 0, which its definition as a function does not
    if node.op_type == "Bernoulli":  # ONNX Runtime has the complement of some types
        by = "reference"
    if node.op_type == "OneHot" and by == "first":  # the reference computes off + (on - off) in half floats
        by = "float32" if feeds[node.input[2]].dtype == np.float16 else by
    first = _FIRST if all(array.size for array in feeds.values()) else _FIRST[1:]
    for authority in {"first": first, "reference": (_by_reference,), "float32": (_by_runtime_in_float32,)}[by]:
        found = authority(node, feeds, opset)
        if found is not None:
            return found
    return None


def _is_narrow(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether the node has operands or results of types that NumPy does not have: ONNX Runtime takes no such arrays."""
    attributes = _attributes(node)
    to = attributes.get("to", 0) if node.op_type == "Cast" else attributes.get("output_dtype", 0)
    return any(array.dtype.num >= _REGISTERED for array in feeds.values()) or to >= onnx.TensorProto.BFLOAT16


_REGISTERED = 256
"""Numbers of NumPy's types from here on are those of types that others added."""


_FLATTENING = ("Hardmax", "Softmax", "LogSoftmax")
_LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _by_runtime(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> Arrays | None:
    if node.op_type in _RECURRENT and _attributes(node).get("layout"):
        return _with_layout_0(node, feeds, opset, _by_runtime)
    version = _equivalent(node.op_type, opset, node.domain)
    model = _model(node, feeds, version)
    try:
        # A recurrent node that it does not accept can end its process.
        compute = runtime.run_apart if node.op_type in _RECURRENT else runtime.run
        arrays = compute(model.SerializeToString(), feeds)
        if node.op_type == "MeanVarianceNormalization" and any(np.isnan(array).any() for array in arrays):
            return None  # it leaves out the epsilon of the operator's definition
        usual = all(array.size for array in (*feeds.values(), *arrays))
        return arrays if usual or _as_inferred(model, arrays) else None
    except Exception:  # ONNX Runtime has no common class of errors
        return None


def _by_reference(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> Arrays | None:
    attributes = _attributes(node)
    if node.op_type in _GENERATED and attributes.get("output_datatype") == _HALF:
        found = _by_reference(_with(node, "output_datatype", int(onnx.TensorProto.FLOAT)), feeds, opset)
        return None if found is None else tuple(array.astype(np.float16) for array in found)
    if node.domain == _MICROSOFT or node.op_type == "LRN":  # its sums are those of the first channels only
        return None
    if node.op_type in _RECURRENT and not attributes.keys().isdisjoint(("activations", "clip")):
        return None  # it does not clip, and knows the usual activations only
    if node.op_type in _FLATTENING and opset < 13:
        return None  # it knows the newest version only, which does not flatten
    if node.op_type == "Unique" and not attributes.get("sorted", 1):
        return None  # it always sorts
    if node.op_type == "ConvTranspose" and attributes.get("group", 1) > 1 and len(node.input) > 2:
        return None  # it adds the biases of the first group to all
    if node.op_type == "Resize" and _begins_elsewhere(node, feeds):
        return None
    model = _model(node, feeds, opset)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, dict(feeds))
        arrays = tuple(np.asarray(result) for result in results)
        if node.op_type == "MeanVarianceNormalization" and any(np.isnan(array).any() for array in arrays):
            return None  # a variance below 0, by rounding
        return arrays if _as_inferred(model, arrays) else None
    except Exception:  # the reference raises whatever its NumPy code meets
        return None


def _begins_elsewhere(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether the reference takes other places than the text (docs/conformance.md): where corners are aligned and the
    extent times the scale is no whole number, and from pytorch_half_pixel to one element."""
    attributes = _attributes(node)
    mode = attributes.get("coordinate_transformation_mode", b"half_pixel")
    scales, sizes = (feeds.get(node.input[n]) if len(node.input) > n else None for n in (2, 3))
    if mode not in (b"align_corners", b"pytorch_half_pixel"):
        return False
    given = sizes if scales is None or not scales.size else scales
    assert given is not None
    extents = np.array(feeds[node.input[0]].shape)[list(attributes.get("axes", range(given.size)))]
    exact = given.astype(np.float64) if given is sizes else extents * scales.astype(np.float64)
    policy = attributes.get("keep_aspect_ratio_policy", b"stretch")
    if given is sizes and policy != b"stretch":
        exact = extents * (min if policy == b"not_larger" else max)(exact / extents)
    return bool((exact != np.rint(exact)).any() if mode == b"align_corners" else (exact < 2).any())


def _in_double(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray]) -> onnx.NodeProto:
    """Statistics of float64 in float64, where ``stash_type`` would have them in float32: ccml is more exact there."""
    known = defs.has(node.op_type) and "stash_type" in defs.get_schema(node.op_type).attributes
    if not known or feeds[node.input[0]].dtype != np.float64 or node.op_type == "Range":
        return node
    return _with(node, "stash_type", int(onnx.TensorProto.DOUBLE))


_GENERATED = ("BlackmanWindow", "HammingWindow", "HannWindow")
_HALF = int(onnx.TensorProto.FLOAT16)


def _with(node: onnx.NodeProto, name: str, value: int) -> onnx.NodeProto:
    """The node with another value of an attribute."""
    other = onnx.NodeProto()
    other.CopyFrom(node)
    del other.attribute[:]
    other.attribute.extend(attribute for attribute in node.attribute if attribute.name != name)
    other.attribute.append(helper.make_attribute(name, value))
    return other


def _as_inferred(model: onnx.ModelProto, arrays: Arrays) -> bool:
    """Whether types and shapes are those of ONNX's shape inference; some of the reference's results are not."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
    for info, array in zip(inferred.graph.output, arrays):
        kind = info.type.tensor_type
        if kind.elem_type != helper.np_dtype_to_tensor_dtype(array.dtype):
            return False
        if kind.HasField("shape"):
            extents = [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
            fits = len(extents) == array.ndim
            if not fits or any(e is not None and e != own for e, own in zip(extents, array.shape)):
                return False
    return True


def _by_runtime_in_float32(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> Arrays | None:
    """ONNX Runtime has many operators for float32 only."""
    other = {array.dtype for array in feeds.values() if array.dtype in (np.float16, np.float64)}
    if len(other) != 1:
        return None
    single = {name: array.astype(np.float32) if array.dtype in other else array for name, array in feeds.items()}
    found = _by_runtime(node, single, opset)
    if found is None:
        return None
    (kind,) = other
    return tuple(array.astype(kind) if array.dtype == np.float32 else array for array in found)


def _convolved_channels_last(feeds: Mapping[str, np.ndarray], node: onnx.NodeProto, opset: int) -> Arrays | None:
    """By ONNX Runtime's Conv, whose channels are first: its NhwcConv is for GPUs."""
    first = {name: np.moveaxis(feeds[name], -1, 1) for name in node.input[:2]}
    attributes = _attributes(node)
    conv = helper.make_node("Conv", [name for name in node.input if name], list(node.output), **attributes)
    found = _by_runtime(conv, {**feeds, **first}, opset)
    return None if found is None else tuple(np.moveaxis(array, 1, -1) for array in found)


def _norm_of_integers(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> Arrays | None:
    """In float64: the sum of squares overflows in others' results, the norm does not."""
    kind = feeds[node.input[0]].dtype
    found = _by_reference(node, {**feeds, node.input[0]: feeds[node.input[0]].astype(np.float64)}, opset)
    if found is None or max(float(array.max(initial=0)) for array in found) >= float(np.iinfo(kind).max):
        return None
    return tuple(array.astype(kind) for array in found)


def _beyond_doubles(feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether operands are integers that float64 does not hold, in which the reference multiplies by alpha."""
    integers = (array.astype(np.float64) for array in feeds.values() if array.dtype.kind in "iu")
    return any(float(np.abs(array).max(initial=0)) >= 2**53 for array in integers)


_SUMS = ("ReduceMean", "ReduceProd", "ReduceSumSquare")


def _overflows(op_type: str, array: np.ndarray) -> bool:
    """Whether the sum or product over all elements may be no integer of their type: then runtimes saturate or wrap."""
    if array.dtype.kind not in "iu":
        return False
    sizes = np.abs(array.astype(np.float64))
    if op_type == "ReduceProd":
        return float(np.log2(np.maximum(sizes, 1)).sum()) > 8 * array.dtype.itemsize - 1
    return float((sizes if op_type == "ReduceMean" else sizes**2).sum()) > float(np.iinfo(array.dtype).max)


_POOLS = ("AveragePool", "LpPool", "MaxPool", "QLinearAveragePool")
_WEIGHTS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}


def _explicitly_padded(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray]) -> onnx.NodeProto:
    """SAME as the padding of docs/conformance.md, where others pad as if there were no dilations or by less than 0."""
    attributes = _attributes(node)
    mode = attributes.get("auto_pad", b"").decode()
    if node.op_type not in (*_POOLS, *_WEIGHTS) or not mode.startswith("SAME"):
        return node
    weights = feeds.get(node.input[_WEIGHTS[node.op_type]]) if node.op_type in _WEIGHTS else None
    extents = feeds[node.input[0]].shape[2:]
    kernel = attributes["kernel_shape"] if weights is None else weights.shape[2:]
    strides = attributes.get("strides", [1] * len(kernel))
    dilations = attributes.get("dilations", [1] * len(kernel))
    totals = [
        (-(-extent // stride) - 1) * stride + (taps - 1) * step + 1 - extent
        for extent, taps, stride, step in zip(extents, kernel, strides, dilations)
    ]
    if max(dilations) == 1 and min(totals) >= 0:
        return node
    totals = [max(total, 0) for total in totals]
    small, large = [total // 2 for total in totals], [total - total // 2 for total in totals]
    attributes["pads"] = small + large if mode == "SAME_UPPER" else large + small
    if weights is None:
        attributes["ceil_mode"] = 0
    del attributes["auto_pad"]
    return helper.make_node(node.op_type, node.input, node.output, domain=node.domain, **attributes)


def _quantized_mean(node: onnx.NodeProto, arrays: Sequence[np.ndarray | None]) -> Arrays | None:
    """By its definition; ONNX Runtime has the schema only."""
    x, scale, zero, result_scale, result_zero = (np.asarray(array) for array in arrays)
    attributes = _attributes(node)
    axes = tuple(attributes.get("axes", range(x.ndim)))
    if not x.size:
        return None
    real = (x.astype(np.float32) - zero) * scale
    mean = real.mean(axis=axes, keepdims=bool(attributes.get("keepdims", 1)), dtype=np.float32)
    steps = np.rint(mean / result_scale) + result_zero
    info = np.iinfo(x.dtype)
    return (np.clip(steps, info.min, info.max).astype(x.dtype),)


_RECURRENT = {"LSTM": (0, 5, 6), "GRU": (0, 5), "RNN": (0, 5)}
"""Operands of a layout that ``layout`` chooses."""


def _with_layout_0(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int, by: Callable[..., Arrays | None]
) -> Arrays | None:
    """ONNX Runtime has recurrent layers with the batch as second dimension only."""
    other = onnx.NodeProto()
    other.CopyFrom(node)
    del other.attribute[:]
    other.attribute.extend(attribute for attribute in node.attribute if attribute.name != "layout")
    moved = dict(feeds)
    for place in _RECURRENT[node.op_type]:
        if place < len(node.input) and node.input[place]:
            moved[node.input[place]] = np.swapaxes(feeds[node.input[place]], 0, 1)
    found = by(other, moved, opset)
    if found is None:
        return None
    ranks = {4: (2, 0, 1, 3), 3: (1, 0, 2)}
    return tuple(np.transpose(array, ranks[array.ndim]) for array in found)


_FIRST = (_by_runtime, _by_reference, _by_runtime_in_float32)


@lru_cache
def _equivalent(op_type: str, opset: int, domain: str) -> int:
    """An operator set that ONNX Runtime knows and in which the operator is the same as in ``opset``."""
    if domain or opset <= _NEWEST_OF_RUNTIME:
        return min(max(opset, _OLDEST_OF_RUNTIME), _NEWEST_OF_RUNTIME)
    same = defs.get_schema(op_type, opset, "").since_version
    if same <= _NEWEST_OF_RUNTIME:
        return _NEWEST_OF_RUNTIME
    return opset


def domain_version(node: onnx.NodeProto) -> int:
    """The version of its domain for a node that is not in the default one; TreeEnsemble is the newest operator."""
    if node.domain != "ai.onnx.ml":
        return 1
    return 5 if node.op_type == "TreeEnsemble" else 3


def _model(node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int) -> onnx.ModelProto:
    inputs = [
        helper.make_tensor_value_info(name, int(helper.np_dtype_to_tensor_dtype(array.dtype)), array.shape)
        for name, array in feeds.items()
    ]
    outputs = [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name]
    opsets = [helper.make_opsetid("", opset)]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, domain_version(node)))
    return helper.make_model(helper.make_graph([node], "node", inputs, outputs), opset_imports=opsets, ir_version=10)
