"""``onnx.shape_inference`` as a second opinion on the shapes that the importer found."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterator, Mapping, Sequence

import onnx
from onnx import shape_inference

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from ..ir.types import TensorType
from .node_order import in_order, names_read
from .skeleton import element_type, forget_shapes_of_bodies, skeleton
from .tensors import DTYPES

log = logging.getLogger(__name__)


def check_inferred_shapes(
    model: onnx.ModelProto, types: Mapping[str, TensorType], values: Mapping[str, object],
    bounded: Mapping[str, Container[int]],
) -> None:  # fmt: skip
    """Raises ``INVALID_MODEL`` where a static extent that ONNX infers differs from that of the imported value.

    The inference itself may fail (it knows less than the importer); then there is no second opinion. Nor is there one
    behind the nodes whose extents it counts otherwise than the operator's text (docs/conformance.md): a difference
    there is logged. ``values`` are those imported, by their ONNX names. Dimensions that are ``bounded``, by the names
    of imported values, have no extent to compare.
    """
    if model.functions:
        return  # the walk has expanded them with its own bounds; the inference recurses without
    try:
        bare = skeleton(model, types, values)
        forget_shapes_of_bodies(bare.graph)
        inferred = shape_inference.infer_shapes(bare, data_prop=True)
    except Exception:
        return
    disputed = _disputed_names(model.graph.node)
    noted = False
    for info in inferred.graph.value_info:
        value = values.get(info.name)
        if not isinstance(value, Value) or not info.type.tensor_type.HasField("shape"):
            continue
        dims = info.type.tensor_type.shape.dim
        extents = [d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in dims]
        same_rank = len(extents) == len(value.shape)
        free = bounded.get(value.name, ())
        if not same_rank or any(
            e is not None and e != own and axis not in free for axis, (e, own) in enumerate(zip(extents, value.shape))
        ):
            if info.name in disputed:
                if not noted:
                    log.warning(
                        "%s has the shape %s; onnx.shape_inference counts otherwise: %s",
                        info.name, list(value.shape), extents,
                    )  # fmt: skip
                noted = True
                continue
            raise CcmlError(
                ErrorCode.INVALID_MODEL,
                f"the shape is {list(value.shape)}, but onnx.shape_inference finds {extents}",
                loc=info.name,
            )


def declared_differently(
    declared: Sequence[onnx.ValueInfoProto], computed: Mapping[str, object], bounded: Mapping[str, Container[int]]
) -> Iterator[str]:
    """What the file says of its outputs that is not so: another element type, rank or static extent.

    The nodes and their constants decide; the header has what they compute.
    """
    for info in declared:
        tensor, value = info.type.tensor_type, computed.get(info.name)
        if not isinstance(value, Value) or not info.type.HasField("tensor_type"):
            continue
        dims = list(tensor.shape.dim) if tensor.HasField("shape") else None
        free = bounded.get(value.name, ())
        same_shape = dims is None or (
            len(dims) == len(value.shape)
            and all(axis in free or _may_be(*pair) for axis, pair in enumerate(zip(dims, value.shape)))
        )
        if not same_shape or DTYPES.get(tensor.elem_type, value.dtype) is not value.dtype:
            names = {number: name.lower() for name, number in onnx.TensorProto.DataType.items()}
            own = names[element_type(value.type)]
            yield (
                f"output {info.name}: the file declares {names.get(tensor.elem_type, '?')}{_text(dims)}, "
                f"but its nodes compute {own}{list(value.shape)}"
            )


def _may_be(dim: onnx.TensorShapeProto.Dimension, extent: int) -> bool:
    """Whether a declared dimension allows ``extent``; exporters write -1 for "unknown"."""
    return dim.WhichOneof("value") != "dim_value" or dim.dim_value in (-1, extent)


def _text(dims: Sequence[onnx.TensorShapeProto.Dimension] | None) -> str:
    if dims is None:
        return ""
    return f"[{', '.join(d.dim_param or (str(d.dim_value) if d.HasField('dim_value') else '?') for d in dims)}]"


def _disputed_names(nodes: Sequence[onnx.NodeProto]) -> set[str]:
    """The results of disputed nodes, and what depends on them."""
    found: set[str] = set()
    for node in (nodes[number] for number in in_order(nodes)):
        if _is_disputed(node) or not found.isdisjoint(names_read(node)):
            found.update(node.output)
    return found


def _is_disputed(node: onnx.NodeProto) -> bool:
    """Pools with ``ceil_mode``, of which a last window that would lie in the padding is ignored, but counted by the
    inference; ConvTranspose with SAME, which the inference lets become smaller than extent * stride, and with an
    ``output_shape`` smaller than the input's, where it stops in the middle of the dimensions; Resize and Upsample by
    scales, whose product with an extent, of float32 as the operator's text has it, can be a whole number that the
    inference's product of doubles stays below (6 by 7/6); STFT that leaves ``onesided`` to its default, which the
    inference takes for 0."""
    attributes = {attribute.name: attribute for attribute in node.attribute}
    if node.op_type in ("AveragePool", "LpPool", "MaxPool"):
        return "ceil_mode" in attributes and attributes["ceil_mode"].i != 0
    if node.op_type in ("Resize", "Upsample"):
        return not (len(node.input) > 3 and node.input[3])
    if node.op_type == "STFT":
        return "onesided" not in attributes
    same = "auto_pad" in attributes and attributes["auto_pad"].s.startswith(b"SAME")
    return node.op_type == "ConvTranspose" and (same or "output_shape" in attributes)
