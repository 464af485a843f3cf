"""What a custom operator computes: by the user's Python function, or by his C on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType, TensorType
from .attributes import Attrs, onnx_node, result_types
from .host import host_function
from .kernel import WORKSPACE_ALIGN, foreign_kernel
from .signature import AttributeValue

Arrays = Sequence[np.ndarray | None]


def evaluate_custom(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    """The results that are there. ``arrays`` are dense, ``None`` where an input is left out.

    Raises ``BAD_OPTION`` where the Python function is not there, fails, or gives other types than the node has.
    """
    if not attrs["meaning"]:
        return _by_c(arrays, attrs)
    function = load_function(str(attrs["meaning"]))
    given = [None if array is None else array.copy() for array in arrays]
    try:
        found = function(*given, **python_attributes(onnx_node(attrs)))
    except Exception as problem:
        reason = f"{attrs['operator']}: its Python function failed: {type(problem).__name__}: {problem}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(attrs["meaning"])) from problem
    results = found if isinstance(found, (tuple, list)) else (found,)
    return _checked(results, attrs)


def _checked(results: Sequence[Any], attrs: Attrs) -> tuple[np.ndarray, ...]:
    types = result_types(attrs)
    if len(results) < len(types):
        reason = f"{attrs['operator']}: its Python function gives {len(results)} results, the node has {len(types)}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(attrs["meaning"]))
    checked = []
    for number, (result, type_) in enumerate(zip(results, types)):
        if type_ is None:
            continue
        array = np.asarray(result)
        if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
            found = f"{array.dtype}{list(array.shape)}"
            reason = f"{attrs['operator']}: its Python function gives {found} as output {number}, not {type_}"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=str(attrs["meaning"]))
        checked.append(np.ascontiguousarray(array).reshape(type_.shape))
    return tuple(checked)


def _by_c(arrays: Arrays, attrs: Attrs) -> tuple[np.ndarray, ...]:
    types = [None if a is None else TensorType(DType.from_numpy(a.dtype), a.shape) for a in arrays]
    _, function = host_function(foreign_kernel(types, attrs))
    inputs = [np.ascontiguousarray(array) for array in arrays if array is not None]
    outputs = [np.zeros(type_.shape, type_.dtype.numpy) for type_ in result_types(attrs) if type_ is not None]
    size = attrs["workspace"]
    assert isinstance(size, int)
    memory = np.zeros(max(size, 0) + WORKSPACE_ALIGN, np.uint8)
    aligned = memory[-memory.ctypes.data % WORKSPACE_ALIGN :]
    pointers = [array.ctypes.data for array in (*inputs, *outputs)] + ([aligned.ctypes.data] if size > 0 else [])
    function(*pointers)
    return tuple(outputs)


@lru_cache(maxsize=64)
def load_function(where: str) -> Callable[..., Any]:
    """The function ``module:function`` or ``file.py:function``. Raises ``BAD_OPTION`` where it cannot be loaded."""
    source, _, name = where.rpartition(":")
    try:
        module = _module_of_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
        function = getattr(module, name, None)
    except Exception as problem:  # whatever the user's code raises
        reason = f"cannot be loaded: {type(problem).__name__}: {problem}"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=source) from problem
    if not callable(function):
        raise CcmlError(ErrorCode.BAD_OPTION, f"there is no function '{name}'", loc=source)
    return function


def _module_of_file(path: Path) -> Any:
    name = f"ccml_custom_{abs(hash(path.resolve()))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError("there is no such file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def plain_attributes(attributes: Sequence[AttributeProto]) -> dict[str, AttributeValue]:
    """Attributes as numbers, bytes, lists of these, and arrays. Raises :class:`ValueError` for other kinds."""
    found: dict[str, AttributeValue] = {}
    for attribute in attributes:
        match attribute.type:
            case AttributeProto.INT | AttributeProto.FLOAT | AttributeProto.STRING:
                found[attribute.name] = onnx.helper.get_attribute_value(attribute)
            case AttributeProto.INTS | AttributeProto.FLOATS | AttributeProto.STRINGS:
                found[attribute.name] = list(onnx.helper.get_attribute_value(attribute))
            case AttributeProto.TENSOR if attribute.t.data_type != onnx.TensorProto.STRING:
                found[attribute.name] = numpy_helper.to_array(attribute.t)
            case kind:
                name = AttributeProto.AttributeType.Name(kind).lower()
                raise ValueError(f"attribute '{attribute.name}' is of type {name}")
    return found


def python_attributes(node: onnx.NodeProto) -> dict[str, AttributeValue]:
    """The attributes of a node as a Python function gets them: texts as ``str``."""
    def text(value: AttributeValue) -> AttributeValue:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    found = plain_attributes(node.attribute)
    return {name: [text(v) for v in value] if isinstance(value, list) else text(value) for name, value in found.items()}
