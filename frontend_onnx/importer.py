"""ModelProto -> Graph."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np
import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph, Value
from .cross_check import check_inferred_shapes, declared_differently
from .declared import model_extents
from .dense import dense_outputs
from .dims import input_types
from .external_data import stored_bytes
from .finish import finish
from .folding import FoldingBuilder
from .functions import model_functions
from .scope import Scope
from .text_check import check_text
from .versions import opset_imports
from .walk import Walker

log = logging.getLogger(__name__)


def import_model(
    model: onnx.ModelProto,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    name: str | None = None,
) -> Graph:
    """Imports ``model`` with static shapes.

    ``dims`` binds symbolic dimensions by name (``{"batch": 1}``); ``shapes`` fixes whole inputs
    (``{"input": (1, 576)}``). The graph's inputs keep the model's order, names and types, unused ones too; a value
    that an ONNX node puts out keeps its ONNX name. Everything wrong with the model or the options raises
    :class:`CcmlError`; all unsupported operators are reported at once.
    """
    check_text(model)
    opsets = opset_imports(model)
    scope = Scope(opsets)
    scope.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
    if model.graph.sparse_initializer:
        names = ", ".join(tensor.values.name for tensor in model.graph.sparse_initializer)
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, f"sparse initializers are not supported: {names}")
    builder = FoldingBuilder(stored_bytes(model))
    walker = Walker(builder, model_functions(model))
    free = [value for value in model.graph.input if value.name not in scope.initializers]
    types = input_types(free, dims or {}, shapes or {})
    inputs = []
    for onnx_name, type_ in types.items():
        value = Value(builder.names.fresh(onnx_name), type_)
        inputs.append(value)
        if not type_.size:
            value = builder.typed_constant(np.empty(type_.shape, type_.dtype.numpy), type_, f"{value.name}.empty")
        walker.bind(scope, onnx_name, value)
    scope.declare(model.graph.node, lambda: model_extents(model, types, scope.values))
    output_names = {value.name: builder.names.fresh(value.name) for value in model.graph.output}
    scope.names.update(output_names)
    scope.wanted.update(output_names)
    walker.walk(model.graph.node, scope)
    walker.problems.raise_any()
    outputs = [(target, walker.read(scope, onnx_name, onnx_name)) for onnx_name, target in output_names.items()]
    present = [(target, value) for target, value in outputs if isinstance(value, Value)]
    if not present or len(present) < len(outputs):
        raise CcmlError(ErrorCode.INVALID_MODEL, "the model has no outputs, or one that no node defines")
    check_inferred_shapes(model, types, scope, builder.extents)
    for difference in declared_differently(model.graph.output, dict(present), builder.extents):
        log.warning("%s", difference)
    results, extents = dense_outputs(builder, present)
    return finish(builder, name or model.graph.name or "model", inputs, results, extents)
