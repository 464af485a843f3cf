"""Static types of the graph's inputs: symbolic dimensions are bound by name, or an input's whole shape is fixed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.types import DType, TensorType
from .tensors import MAX_ELEMENTS, MAX_RANK, dtype_of

log = logging.getLogger(__name__)

@dataclass(frozen=True)
class Range:
    """Extents that a symbolic dimension may have in a run: ``least`` (at least 0) to ``most`` (at least 1), multiples
    of ``step`` (both are such).

    The model is compiled once; each run is told the extent (docs/dynamic-shapes.md).
    """

    least: int
    most: int
    step: int = 1

    def __str__(self) -> str:
        if self.step < 2:
            return f"{self.least}..{self.most}"
        return f"{self.step}*{self.least // self.step}..{self.most // self.step}"


Dims = Mapping[str, int | Range]
"""What symbolic dimensions are bound to."""

Dimension = int | str | None
"""An extent, the name of a symbolic one, or unknown."""

_ANONYMOUS = ("", "?")
"""Names that exporters give to unknown dimensions: two of them need not be the same."""


def input_types(
    inputs: Sequence[onnx.ValueInfoProto], dims: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, TensorType]:
    """The type of every input, in order.

    ``dims`` binds symbolic dimensions by name; ``shapes`` fixes whole inputs, and with them the dimensions they name.
    Where only a first dimension stays open, the batch, it is 1, which is noted in the log.
    Raises one ``UNBOUND_DIMENSION`` for all dimensions that stay open, and ``BAD_OPTION`` for what does not fit.
    """
    declared: dict[str, tuple[DType, list[Dimension] | None]] = {}
    for value in inputs:
        if value.name in declared:
            raise CcmlError(ErrorCode.INVALID_MODEL, f"input '{value.name}' is defined twice")
        tensor = _tensor_type(value)
        declared[value.name] = (dtype_of(tensor.elem_type, value.name), _dimensions(tensor))
    bound = _bound_dimensions(declared, dims, shapes)
    resolved: dict[str, list[Dimension] | None] = {
        name: list(shapes[name]) if name in shapes else _resolved(dimensions, bound)
        for name, (_, dimensions) in declared.items()
    }
    open_dimensions = {name: found for name, found in resolved.items() if found is None or not _is_fixed(found)}
    if _only_batch_is_open(open_dimensions):
        _take_batch_as_one(open_dimensions)
    elif open_dimensions:
        raise _unbound(open_dimensions)
    types = {}
    for name, (dtype, _) in declared.items():
        types[name] = TensorType(dtype, tuple(extent for extent in resolved[name] or () if isinstance(extent, int)))
        _check_size(name, types[name])
    return types


def named_dimensions(value: onnx.ValueInfoProto) -> dict[str, list[int]]:
    """The axes of an input that have each symbolic dimension."""
    found: dict[str, list[int]] = {}
    for axis, dimension in enumerate(_dimensions(_tensor_type(value)) or ()):
        if isinstance(dimension, str):
            found.setdefault(dimension, []).append(axis)
    return found


def with_one_dimension(model: onnx.ModelProto, name: str, other: str) -> onnx.ModelProto:
    """``model``, in which the dimension ``other`` is called ``name``."""
    renamed = onnx.ModelProto()
    renamed.CopyFrom(model)
    for value in (*renamed.graph.input, *renamed.graph.value_info, *renamed.graph.output):
        for dim in value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") else ():
            if dim.dim_param == other:
                dim.dim_param = name
    return renamed


def check_ranges(ranges: Mapping[str, Range]) -> None:
    """Raises ``BAD_OPTION`` for a range without extents, or one whose ends are no multiples of its step."""
    for name, extents in ranges.items():
        if extents.step < 1 or extents.least % extents.step or extents.most % extents.step:
            reason = f"dimension {name}: {extents.least} and {extents.most} are no multiples of {extents.step}"
            raise CcmlError(ErrorCode.BAD_OPTION, reason)
        if not 0 <= extents.least <= extents.most or not extents.most:
            raise CcmlError(ErrorCode.BAD_OPTION, f"dimension {name} cannot be {extents}")


def has_open_dimensions(value: onnx.ValueInfoProto) -> bool:
    """Whether the model leaves an extent of the tensor ``value`` open. Raises where it is none."""
    dimensions = _dimensions(_tensor_type(value))
    return dimensions is None or not _is_fixed(dimensions)


def _take_batch_as_one(open_dimensions: Mapping[str, list[Dimension] | None]) -> None:
    name, first = next(iter(open_dimensions.items()))
    batch = first[0] if first else None
    option = f"--shape {name}=..." if batch is None else f"--dim {batch}=..."
    what = ", ".join(open_dimensions) + ("" if batch is None else f" ({batch})")
    log.warning("the first dimension of %s is taken as 1; %s sets it", what, option)
    for dimensions in open_dimensions.values():
        assert dimensions
        dimensions[0] = 1


def _resolved(dimensions: Sequence[Dimension] | None, bound: Mapping[str, int]) -> list[Dimension] | None:
    return None if dimensions is None else [bound.get(d, d) if isinstance(d, str) else d for d in dimensions]


def _is_fixed(dimensions: Sequence[Dimension]) -> bool:
    return all(isinstance(d, int) for d in dimensions)


def _only_batch_is_open(open_dimensions: Mapping[str, Sequence[Dimension] | None]) -> bool:
    """Whether nothing is open but one dimension, always the first: a name, or unknown in a single input."""
    names = set()
    for dimensions in open_dimensions.values():
        if not dimensions or isinstance(dimensions[0], int) or not _is_fixed(dimensions[1:]):
            return False
        names.add(dimensions[0])
    return len(names) == 1 and (None not in names or len(open_dimensions) == 1)


def _check_size(name: str, type_: TensorType) -> None:
    """Raises ``BAD_OPTION`` for a shape that no tensor can have."""
    shape = list(type_.shape)
    if any(extent < 0 for extent in shape):
        raise CcmlError(ErrorCode.BAD_OPTION, f"an input cannot have the shape {shape}", loc=name)
    if len(shape) > MAX_RANK or (not type_.size and prod(filter(None, shape)) > MAX_ELEMENTS):
        raise CcmlError(ErrorCode.BAD_OPTION, f"no tensor has the shape {shape}", loc=name)
    if type_.size > MAX_ELEMENTS:
        reason = f"an input of shape {shape} has {type_.size:,} elements ({type_.nbytes / 2**30:,.1f} GiB)"
        hint = f"at most {MAX_ELEMENTS:,} elements; bind smaller dimensions with --dim or --shape"
        raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=name, hint=hint)


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    """The type of a tensor, also of one that is optional."""
    type_ = value.type
    if type_.WhichOneof("value") == "optional_type":
        type_ = type_.optional_type.elem_type
    kind = type_.WhichOneof("value")
    if kind != "tensor_type":
        what = "no type" if kind is None else f"the type {kind.removesuffix('_type')}"
        reason = f"the input has {what}; only tensors are supported"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=value.name)
    return type_.tensor_type


def _dimensions(tensor: onnx.TypeProto.Tensor) -> list[Dimension] | None:
    if not tensor.HasField("shape"):
        return None
    found: list[Dimension] = []
    for dim in tensor.shape.dim:
        kind = dim.WhichOneof("value")
        if kind == "dim_value" and dim.dim_value >= 0:
            found.append(dim.dim_value)
        else:  # exporters also write -1, an empty name or "?" for "unknown"
            found.append(dim.dim_param if kind == "dim_param" and dim.dim_param not in _ANONYMOUS else None)
    return found


def _bound_dimensions(
    declared: Mapping[str, tuple[DType, list[Dimension] | None]],
    dims: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, int]:
    named = {d: None for _, dimensions in declared.values() for d in dimensions or () if isinstance(d, str)}
    for name, extent in dims.items():
        if name not in named:
            known = f"its symbolic dimensions are {', '.join(named)}" if named else "it has no symbolic dimensions"
            raise CcmlError(ErrorCode.BAD_OPTION, f"the model has no dimension {name}", hint=known)
        if extent < 1:
            raise CcmlError(ErrorCode.BAD_OPTION, f"dimension {name} cannot be {extent}")
    bound = dict(dims)
    for name, shape in shapes.items():
        if name not in declared:
            raise CcmlError(ErrorCode.BAD_OPTION, f"no input {name}", hint=f"the inputs are {', '.join(declared)}")
        dimensions = declared[name][1]
        if dimensions is None:
            continue
        if len(dimensions) != len(shape):
            raise CcmlError(
                ErrorCode.BAD_OPTION, f"the shape {list(shape)} has not the input's rank {len(dimensions)}", loc=name
            )
        for d, extent in zip(dimensions, shape):
            fixed = bound.setdefault(d, extent) if isinstance(d, str) else d
            if fixed is not None and fixed != extent:
                raise CcmlError(
                    ErrorCode.BAD_OPTION, f"the shape {list(shape)} contradicts the dimension {d} = {fixed}", loc=name
                )
    return bound


def _unbound(open_dimensions: Mapping[str, list[Dimension] | None]) -> CcmlError:
    """All open dimensions, and options that bind each of them."""
    where, options = [], []
    for name, dimensions in open_dimensions.items():
        if dimensions is None:
            where.append(f"{name} has no shape")
            options.append(f"--shape {name}=1,...")
            continue
        where.append(f"{name}[{', '.join('?' if d is None else str(d) for d in dimensions)}]")
        if None in dimensions:
            options.append(f"--shape {name}={','.join(str(d) if isinstance(d, int) else '1' for d in dimensions)}")
        else:
            options += [f"--dim {d}=1" for d in dimensions if isinstance(d, str)]
    return CcmlError(
        ErrorCode.UNBOUND_DIMENSION,
        f"the inputs have dimensions that are not fixed: {', '.join(where)}",
        hint=f"bind them, for example with {' '.join(dict.fromkeys(options))}",
    )
