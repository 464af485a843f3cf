"""Inputs and outputs that are sequences or optionals, as tensors: what an artifact takes and gives.

A sequence ``x`` of three tensors becomes the inputs ``x_0``, ``x_1`` and ``x_2``, and a node that makes it of them; an
optional is there or not. Outputs become tensors likewise, when the walk over the model has told their lengths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import onnx
from onnx import helper

from ..errors import CcmlError, ErrorCode
from ..record import record
from .scope import Bound, Missing, StackedList, TensorList
from .skeleton import element_type

MAX_LENGTH = 4096
"""Tensors of a sequence at the interface."""

Members = str | tuple[str, ...] | None
"""The tensor that stands for an input or output, those of a sequence, or ``None`` for an optional that is empty."""


@record
class TensorInterface:
    """A model with tensors alone at its interface, and what these are of the inputs and outputs that it had."""

    model: onnx.ModelProto
    inputs: Mapping[str, Members]
    outputs: Mapping[str, Members]


def only_tensors(values: Collection[onnx.ValueInfoProto]) -> bool:
    return all(value.type.WhichOneof("value") in ("tensor_type", None) for value in values)


def is_optional(value: onnx.ValueInfoProto) -> bool:
    return value.type.WhichOneof("value") == "optional_type"


def is_sequence(value: onnx.ValueInfoProto) -> bool:
    """Whether it is a sequence, which may be optional."""
    return _content(value).WhichOneof("value") == "sequence_type"


def _content(value: onnx.ValueInfoProto) -> onnx.TypeProto:
    """The type, of an optional what it may hold."""
    return value.type.optional_type.elem_type if is_optional(value) else value.type


# ---------------------------------------------------------------- inputs


def with_tensor_inputs(
    model: onnx.ModelProto, lengths: Mapping[str, int], absent: Collection[str], named: Collection[str] = ()
) -> TensorInterface:
    """``model`` with sequences of these ``lengths`` as inputs, and without the optional inputs that are ``absent``.

    Tensors of a sequence may differ in shape: the names of their dimensions are kept where they are among ``named``.
    Raises ``BAD_OPTION`` for names that do not fit, and ``UNBOUND_DIMENSION`` where a length is not told.
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    free = [value for value in model.graph.input if value.name not in stored]
    _check_options(free, lengths, absent)
    if only_tensors(free):
        return TensorInterface(model, {value.name: value.name for value in free}, {})
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    kept = [value for value in model.graph.input if value.name in stored]
    inputs: dict[str, Members] = {}
    taken, makers = _Names(changed.graph), []
    for value in free:
        content = _content(value)
        if value.name in absent:
            inputs[value.name] = None
            makers.append(helper.make_node("Optional", [], [value.name], value.name, type=content))
        elif is_sequence(value):
            members = tuple(taken.fresh(f"{value.name}_{n}") for n in range(lengths[value.name]))
            inputs[value.name] = members
            element = _element(value, named)
            kept += [helper.make_value_info(name, element) for name in members]
            makers.append(_maker(value.name, members, element))
        else:
            inputs[value.name] = value.name
            kept.append(helper.make_value_info(value.name, content))
    nodes = [*makers, *changed.graph.node]
    del changed.graph.node[:], changed.graph.input[:]
    changed.graph.node.extend(nodes)
    changed.graph.input.extend(kept)
    return TensorInterface(changed, inputs, {})


def _check_options(free: Collection[onnx.ValueInfoProto], lengths: Mapping[str, int], absent: Collection[str]) -> None:
    sequences = [value.name for value in free if is_sequence(value)]
    optionals = [value.name for value in free if is_optional(value)]
    for names, known, what in ((lengths, sequences, "a sequence"), (absent, optionals, "optional")):
        for name in names:
            if name not in known:
                hint = f"these are: {', '.join(known)}" if known else "no input of the model is"
                raise CcmlError(ErrorCode.BAD_OPTION, f"no input {name} that is {what}", hint=hint)
    for name, length in lengths.items():
        if not 0 <= length <= MAX_LENGTH:
            reason = f"a sequence cannot have {length} tensors; 0 to {MAX_LENGTH} are possible"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, loc=name)
    missing = [name for name in sequences if name not in lengths and name not in absent]
    if missing:
        options = " ".join(f"--length {name}=1" for name in missing)
        raise CcmlError(
            ErrorCode.UNBOUND_DIMENSION, f"the inputs are sequences of any length: {', '.join(missing)}",
            hint=f"say how many tensors they have, for example with {options}",
        )  # fmt: skip


def _element(value: onnx.ValueInfoProto, named: Collection[str]) -> onnx.TypeProto:
    """The type of a sequence's tensors."""
    element = onnx.TypeProto()
    element.CopyFrom(_content(value).sequence_type.elem_type)
    kind = element.WhichOneof("value")
    if kind != "tensor_type":
        what = "things without a type" if kind is None else f"the type {kind.removesuffix('_type')}"
        reason = f"the input is a sequence of {what}; only those of tensors are supported"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=value.name)
    for dim in element.tensor_type.shape.dim:
        if dim.dim_param and dim.dim_param not in named:
            dim.Clear()
    return element


def _maker(name: str, members: tuple[str, ...], element: onnx.TypeProto) -> onnx.NodeProto:
    if not members:
        return helper.make_node("SequenceEmpty", [], [name], name, dtype=element.tensor_type.elem_type)
    return helper.make_node("SequenceConstruct", members, [name], name)


# ---------------------------------------------------------------- outputs


def with_tensor_outputs(
    model: onnx.ModelProto, found: Mapping[str, Bound]
) -> tuple[onnx.ModelProto, dict[str, Members]]:
    """``model`` with the tensors of its outputs as outputs, and their names. ``found`` is what a walk made of these.

    Raises ``UNSUPPORTED_FEATURE`` where no tensor is left.
    """
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph, taken = changed.graph, _Names(changed.graph)
    kept: list[onnx.ValueInfoProto] = []
    outputs: dict[str, Members] = {}
    for value in model.graph.output:
        bound = found.get(value.name)
        if isinstance(bound, StackedList):
            reason = "the output is a sequence whose length a run tells"
            hint = "let the model stack its tensors (ConcatFromSequence)"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=value.name, hint=hint)
        if isinstance(bound, TensorList):
            outputs[value.name] = members = tuple(
                taken.fresh(f"{value.name}_{number}") for number in range(len(bound.elements))
            )
            for number, (name, part) in enumerate(zip(members, bound.elements)):
                position = taken.fresh(f"{name}.position")
                graph.initializer.append(helper.make_tensor(position, onnx.TensorProto.INT64, [], [number]))
                graph.node.append(helper.make_node("SequenceAt", [value.name, position], [name], name))
                kept.append(helper.make_tensor_value_info(name, element_type(part.type), part.shape))
        elif bound is Missing.ABSENT:
            outputs[value.name] = None
        else:
            outputs[value.name] = value.name
            kept.append(helper.make_value_info(value.name, _content(value)))
    if not kept:
        empty = ", ".join(outputs)
        reason = f"there is nothing to compute: no tensor is in the outputs ({empty})"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason)
    del graph.output[:]
    graph.output.extend(kept)
    return changed, outputs


class _Names:
    """Names that no value of a graph has, nor of the graphs within."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self._taken = set(_names(graph))

    def fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    for value in (*graph.input, *graph.initializer):
        yield value.name
    for node in graph.node:
        yield from node.output
        for attribute in node.attribute:
            yield from _names(attribute.g)
