"""Inputs whose value is known when a model is compiled: they become initializers, and are no inputs any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..errors import CcmlError, ErrorCode

Numbers = Sequence[float]

MAX_FILLED = 2**24
"""Elements of an input that one number fills."""


def with_fixed_inputs(
    model: onnx.ModelProto, fixed: Mapping[str, Numbers], dims: Mapping[str, int] | None = None
) -> onnx.ModelProto:
    """``model`` with inputs replaced by constants, by name (``{"sr": (16000,)}``).

    A single number fills the declared shape, in which open dimensions count what ``dims`` say of their names, or 1;
    more numbers are all elements in order.
    Raises ``BAD_OPTION`` where there is no such input, or it cannot have the value.
    """
    if not fixed:
        return model
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in stored}
    for name in fixed:
        if name not in inputs:
            raise CcmlError(ErrorCode.BAD_OPTION, f"no input {name}", hint=f"the inputs are {', '.join(inputs)}")
    return with_constant_inputs(model, {name: _array(inputs[name], n, dims or {}) for name, n in fixed.items()})


def with_constant_inputs(model: onnx.ModelProto, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """``model`` with these of its inputs replaced by constants."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    kept = [value for value in model.graph.input if value.name not in arrays]
    del changed.graph.input[:]
    changed.graph.input.extend(kept)
    changed.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return changed


def _array(value: onnx.ValueInfoProto, numbers: Numbers, dims: Mapping[str, int]) -> np.ndarray:
    kind = value.type.tensor_type
    try:
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    except KeyError as problem:
        raise CcmlError(ErrorCode.BAD_OPTION, "the input is no tensor of numbers", loc=value.name) from problem
    wanted = np.asarray(numbers, np.float64)
    with np.errstate(all="ignore"):
        array = wanted.astype(dtype)
        lost = dtype.kind in "iub" and not np.array_equal(array.astype(np.float64), wanted)
    if dtype.kind == "O" or lost:
        text = ", ".join(f"{number:g}" for number in numbers)
        raise CcmlError(ErrorCode.BAD_OPTION, f"an input of {dtype} cannot be {text}", loc=value.name)
    if not kind.HasField("shape"):
        return array if len(numbers) > 1 else array.reshape(())
    extents = [dim.dim_value if dim.HasField("dim_value") else dims.get(dim.dim_param) for dim in kind.shape.dim]
    if len(numbers) == 1:
        shape = [1 if extent is None else extent for extent in extents]
        if prod(shape) > MAX_FILLED:
            raise CcmlError(ErrorCode.BAD_OPTION, f"shape {shape} is too large to be filled", loc=value.name)
        return np.full(shape, array[0])
    return _shaped(value.name, array, extents)


def _shaped(name: str, array: np.ndarray, extents: Sequence[int | None]) -> np.ndarray:
    known = prod(extent for extent in extents if extent is not None)
    free = extents.count(None)
    if free > 1 or (array.size != known if not free else not known or array.size % known):
        shape = ", ".join("?" if extent is None else str(extent) for extent in extents)
        raise CcmlError(ErrorCode.BAD_OPTION, f"{array.size} numbers do not fill [{shape}]", loc=name)
    return array.reshape([-1 if extent is None else extent for extent in extents])
