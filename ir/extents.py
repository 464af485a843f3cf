"""Dimensions of a model's inputs and outputs whose extent is an argument or a result of each run.

Shapes are the bounds. The elements within the extents lie one behind the other at the beginning of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from types import MappingProxyType

import numpy as np

from ..errors import CcmlError, ErrorCode
from ..record import record
from .strings import decoded, encoded_inputs
from .types import DType, TensorType


@record
class Extent:
    """``value`` is the input (an argument) or the output (a result) that holds the extent: one i64, ``least`` to
    ``bound``, and a multiple of ``step``. ``dims`` are the dimensions that have it, each as the name of an input or
    output and an axis."""

    value: str
    dims: tuple[tuple[str, int], ...]
    bound: int
    least: int = 0
    step: int = 1


def axes_of(extents: Iterable[Extent], name: str) -> dict[int, Extent]:
    """The extents of an input or output by its axes."""
    return {axis: extent for extent in extents for tensor, axis in extent.dims if tensor == name}


def filled(
    extents: Sequence[Extent], types: Mapping[str, TensorType], arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Inputs as a program takes them: arrays of the bounds' shapes, strings as bytes, and the extents that shapes say.

    An extent that is given as well has to agree. Raises ``BAD_INPUT`` that names the tensor.
    """
    found = encoded_inputs(types, arrays)
    arrays = dict(found)
    for extent in extents:
        if extent.value not in types:
            continue
        sizes = {arrays[n].shape[a]: n for n, a in extent.dims if n in arrays and a < arrays[n].ndim}
        if extent.value in arrays:
            sizes[int(arrays[extent.value])] = extent.value
        if len(sizes) > 1:
            listed = ", ".join(f"{name} has {size}" for size, name in sizes.items())
            raise _bad(extent.value, f"different extents: {listed}")
        for size, name in sizes.items():
            if not extent.least <= size <= extent.bound:
                raise _bad(name, f"{extent.value} is {size}, not in {extent.least}..{extent.bound}")
            if size % extent.step:
                raise _bad(name, f"{extent.value} is {size}, not a multiple of {extent.step}")
            found[extent.value] = np.asarray(size, np.int64)
    for name, shape in ((name, type_.shape) for name, type_ in types.items()):
        if name in arrays and axes_of(extents, name) and len(shape) == arrays[name].ndim:
            expected = dense_shape(extents, name, shape, found)
            if expected == arrays[name].shape != shape:
                whole = np.zeros(prod(shape), arrays[name].dtype)
                whole[: arrays[name].size] = arrays[name].reshape(-1)
                found[name] = whole.reshape(shape)
    return found


def _bad(name: str, reason: str) -> CcmlError:
    return CcmlError(ErrorCode.BAD_INPUT, reason, loc=name)


def dense_shape(
    extents: Sequence[Extent], name: str, shape: Sequence[int], counts: Mapping[str, np.ndarray]
) -> tuple[int, ...]:
    """The shape that a tensor has in a run; ``counts`` holds the values of the extents."""
    axes = axes_of(extents, name)
    return tuple(int(counts[axes[axis].value]) if axis in axes else size for axis, size in enumerate(shape))


def cropped(
    extents: Sequence[Extent], arrays: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray] = MappingProxyType({})
) -> dict[str, np.ndarray]:
    """Outputs in the shapes that they have in a run, and bytes of strings as strings; ``given`` are the inputs. Values
    of extents are left out, but for those of states, which no shape tells."""
    counts = {extent.value for extent in extents if extent.dims}
    found = {}
    for name, array in arrays.items():
        if name not in counts:
            shape = dense_shape(extents, name, array.shape, {**given, **arrays})
            array = array if shape == array.shape else array.reshape(-1)[: prod(shape)].reshape(shape)
            found[name] = decoded(array) if array.dtype == DType.CHAR.numpy else array
    return found
