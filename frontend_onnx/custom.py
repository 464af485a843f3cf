"""Nodes whose C the user gives (``ccml.custom_ops``), as nodes ``custom`` of the graph IR."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import helper

from ..custom_ops.attributes import NO_WORKSPACE, packed_node, spell_result
from ..custom_ops.constants import constants
from ..custom_ops.meaning import plain_attributes
from ..custom_ops.operators import CustomOperator
from ..custom_ops.signature import AttributeValue
from ..errors import CcmlError, ErrorCode
from ..ir.graph import AttrValue, Value
from ..ir.types import DType, TensorType
from ..ops.custom import CUSTOM
from .context import NodeContext
from .scope import Missing, Results, Site

Key = tuple[str, str]
ABSENT = -1


class CustomNodes:
    """The custom operators that the user gives, and what ``model`` says of their nodes."""

    def __init__(self, model: onnx.ModelProto, operators: Mapping[Key, CustomOperator]) -> None:
        self._operators = operators
        self._inputs: dict[Key, int] = {}
        self._outputs: dict[Key, int] = {}
        self._types: dict[str, int] = {}
        if not operators:
            return
        for node in _nodes(model):
            key = _key(node)
            self._inputs[key] = max(self._inputs.get(key, 0), len(node.input))
            self._outputs[key] = max(self._outputs.get(key, 0), len(node.output))
        for info in _declared(model):
            if info.type.HasField("tensor_type"):
                self._types.setdefault(info.name, info.type.tensor_type.elem_type)

    def of(self, node: onnx.NodeProto) -> CustomOperator | None:
        """The operator of a node, where the user gives it."""
        return self._operators.get(_key(node))

    def results(self, context: NodeContext, site: Site, operator: CustomOperator) -> Results:
        """The outputs of a node; :attr:`Missing.ABSENT` for those that it leaves out."""
        if site.lists or any(v is not None and v.name in context.builder.strings for v in site.inputs):
            what = "sequences" if site.lists else "strings"
            raise context.unsupported(f"custom operators take no {what}")
        inputs = self._padded(context, site, operator)
        proto, attributes = _resolved(context, site, operator)
        first = inputs[0].dtype if inputs and inputs[0] is not None else DType.F32
        dtypes = [first if value is None else value.dtype for value in inputs]
        types = [None if value is None else value.type for value in inputs]
        outputs = self._outputs_of(context, site, operator, types, attributes)
        given = [type_ if name else None for type_, name in zip(outputs, _names(site, len(outputs)))]
        results = [first if type_ is None else type_.dtype for type_ in outputs]
        signature = operator.signature
        workspace = signature.number("workspace", types, attributes, site.loc)
        macs = signature.number("macs", types, attributes, site.loc)
        try:
            lines = constants(
                types, dtypes, given, results, attributes, NO_WORKSPACE if workspace is None else workspace
            )
        except (ValueError, KeyError) as problem:
            raise context.unsupported(str(problem)) from problem
        places = [signature.inputs.index(o.in_place) if o.in_place is not None and signature.inputs else ABSENT
                  for o in signature.outputs or ()]  # fmt: skip
        attrs: dict[str, AttrValue] = {
            "operator": operator.name, "function": operator.function, "file": operator.file, "code": operator.code,
            "constants": lines, "node": packed_node(proto), "meaning": operator.meaning,
            "inputs": tuple(dtype.value for dtype in dtypes),
            "results": tuple(spell_result(d, None if t is None else t.shape) for d, t in zip(results, given)),
            "in_place": tuple(places[: len(given)] or [ABSENT] * len(given)),
            "workspace": NO_WORKSPACE if workspace is None else workspace, **({} if macs is None else {"macs": macs}),
        }  # fmt: skip
        made = iter(context.emit_all(CUSTOM, *inputs, **attrs))
        return [Missing.ABSENT if type_ is None else next(made) for type_ in given]

    def _padded(self, context: NodeContext, site: Site, operator: CustomOperator) -> list[Value | None]:
        """As many inputs as the function has parameters for."""
        signature, found = operator.signature, list(site.inputs)
        count = self._inputs.get(_key(site.node), len(found)) if signature.inputs is None else len(signature.inputs)
        if len(found) > count:
            raise context.invalid(f"{operator.name} has {len(found)} inputs, {signature.file} says {count}")
        found += [None] * (count - len(found))
        for name, value in zip(signature.inputs or (), found):
            if value is None and name not in signature.optional:
                hint = f"'{name}?' in the list 'inputs' of {signature.file} makes it optional"
                reason = f"{operator.name}: the input {name} is left out"
                raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=site.loc, hint=hint)
        return found

    def _outputs_of(
        self, context: NodeContext, site: Site, operator: CustomOperator, types: Sequence[TensorType | None],
        attributes: Mapping[str, AttributeValue],
    ) -> list[TensorType | None]:  # fmt: skip
        """The types of all outputs that the function has parameters for: by the signature, else as the model says."""
        signature, names = operator.signature, site.node.output
        if signature.outputs is not None:
            if len(names) > len(signature.outputs):
                said = f"{signature.file} says {len(signature.outputs)}"
                raise context.invalid(f"{operator.name} has {len(names)} outputs, {said}")
            return list(signature.output_types(types, attributes, site.loc))
        count = self._outputs.get(_key(site.node), len(names))
        return [self._declared_type(site, operator, n) if n < len(names) else None for n in range(count)]

    def _declared_type(self, site: Site, operator: CustomOperator, position: int) -> TensorType | None:
        name = site.node.output[position]
        if not name:
            return None
        extents, element = site.declared(position), self._types.get(name, 0)
        if extents is None or None in extents or not element:
            there = "beyond " + str([e if e is not None else "?" for e in extents]) if extents else "at all"
            what = "element type" if extents is not None and None not in extents else "shape"
            raise CcmlError(
                ErrorCode.UNSUPPORTED_FEATURE,
                f"{operator.name}: the model does not declare the {what} of {name}"
                f"{f' {there}' if what == 'shape' else ''}",
                loc=site.loc,
                hint=f"write {operator.signature.file} beside the C file, with [[outputs]] and their shapes, or "
                "declare it in the model (value_info)",
            )
        dtype = DType.from_numpy(helper.tensor_dtype_to_np_dtype(element))
        return TensorType(dtype, tuple(extent for extent in extents if extent is not None))


def check_used(model: onnx.ModelProto, operators: Mapping[Key, CustomOperator]) -> None:
    """Raises ``BAD_OPTION`` for an operator of which the model has no node."""
    if not operators:
        return
    there = {_key(node) for node in _nodes(model)}
    for key, operator in operators.items():
        if key not in there:
            others = [f"{domain}::{name}" for domain, name in sorted(there) if domain not in ("", "ai.onnx.ml")]
            close = difflib.get_close_matches(operator.name, others, 1)
            hint = f"did you mean '{close[0]}'?" if close else None
            if hint is None and others:
                hint = f"operators of other domains that it has: {', '.join(others)}"
            reason = f"--custom-op {operator.name}: the model has no node of that operator"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint=hint)


def _key(node: onnx.NodeProto) -> Key:
    return "" if node.domain == "ai.onnx" else node.domain, node.op_type


def _names(site: Site, count: int) -> list[str]:
    return [*site.node.output, *[""] * (count - len(site.node.output))]


def _resolved(
    context: NodeContext, site: Site, operator: CustomOperator
) -> tuple[onnx.NodeProto, dict[str, AttributeValue]]:
    """The node without names of values, and its attributes, with those that the signature gives a default."""
    try:
        attributes = plain_attributes(list(site.attributes.values()))
    except ValueError as problem:
        raise context.unsupported(f"custom operators take numbers, texts and tensors; {problem}") from problem
    proto = onnx.NodeProto(op_type=site.node.op_type, domain=site.node.domain)
    proto.attribute.extend(site.attributes.values())
    for name, value in operator.signature.attributes.items():
        if name not in attributes:
            attributes[name] = value
            proto.attribute.append(helper.make_attribute(name, value))
    return proto, attributes


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [inner for attribute in node.attribute for inner in attribute.g.node]


def _declared(model: onnx.ModelProto) -> Iterator[onnx.ValueInfoProto]:
    graphs = [model.graph, *(a.g for node in _nodes(model) for a in node.attribute if a.HasField("g"))]
    for graph in graphs:
        yield from (*graph.value_info, *graph.output)
    for function in model.functions:
        yield from function.value_info
