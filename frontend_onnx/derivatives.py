"""Derivatives of operators: how the gradient of a result becomes gradients of the operands, as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..errors import CcmlError, ErrorCode

Parts = Sequence[str | None]


class Tape:
    """Nodes and constants under construction. ``types`` are those of the values around them, by name."""

    def __init__(self, opset: int, types: dict[str, onnx.TypeProto.Tensor], prefix: str) -> None:
        self.opset, self.prefix = opset, prefix
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._types = types
        self._count = 0

    def shape(self, name: str) -> tuple[int, ...]:
        """Raises ``UNSUPPORTED_FEATURE`` where it is not known."""
        type_ = self._types.get(name)
        if type_ is not None and type_.HasField("shape"):
            shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in type_.shape.dim)
            if min(shape, default=0) >= 0:
                return shape
        reason = f"the shape of '{name}' is not known, which its gradient needs"
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=self.prefix)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        made = helper.make_node(op, inputs, [self._fresh()], **attributes)
        made.name = made.output[0]
        self.nodes.append(made)
        return str(made.output[0])

    def constant(self, array: np.ndarray) -> str:
        name = self._fresh()
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def number(self, value: float, like: str) -> str:
        """A scalar of the type of ``like``."""
        return self.constant(np.asarray(value, helper.tensor_dtype_to_np_dtype(self._types[like].elem_type)))

    def ones(self, like: str) -> str:
        return self.node("Expand", self.number(1, like), self.constant(np.array(self.shape(like), np.int64)))

    def zeros(self, like: str) -> str:
        return self.node("Expand", self.number(0, like), self.constant(np.array(self.shape(like), np.int64)))

    def reshaped(self, x: str, shape: Sequence[int]) -> str:
        return self.node("Reshape", x, self.constant(np.array(shape, np.int64)))

    def total(self, x: str, axes: Sequence[int], keepdims: bool) -> str:
        if self.opset < 13:
            return self.node("ReduceSum", x, axes=list(axes), keepdims=int(keepdims))
        return self.node("ReduceSum", x, self.constant(np.array(axes, np.int64)), keepdims=int(keepdims))

    def like(self, part: str, shape: Sequence[int], operand: str) -> str:
        """A gradient of ``shape``, to which ``operand`` was broadcast, as one of the operand."""
        own = self.shape(operand)
        ahead = len(shape) - len(own)
        axes = [axis for axis in range(len(shape)) if axis < ahead or (own[axis - ahead] == 1 and shape[axis] != 1)]
        if axes:
            part = self.total(part, axes, keepdims=True)
        return part if tuple(shape) == own else self.reshaped(part, own)

    def replayed(
        self, path: Sequence[onnx.NodeProto], given: Mapping[str, str]
    ) -> tuple[list[onnx.NodeProto], dict[str, str]]:
        """The nodes of ``path`` once more, with other values ``given`` for some tensors; and how results are called."""
        names, made = dict(given), []
        for node in path:
            other = onnx.NodeProto()
            other.CopyFrom(node)
            for name in node.output:
                if name and name not in given:
                    names[name] = self._fresh()
                    if name in self._types:
                        self._types[names[name]] = self._types[name]
            del other.input[:], other.output[:]
            other.input.extend(names.get(name, name) for name in node.input)
            other.output.extend(names.get(name, name) for name in node.output)
            made.append(other)
        self.nodes += made
        return made, names

    def _fresh(self) -> str:
        self._count += 1
        return f"{self.prefix}_{self._count}"


Rule = Callable[[Tape, onnx.NodeProto, str], Parts]


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def _broadcast(tape: Tape, node: onnx.NodeProto, parts: Parts) -> Parts:
    """Gradients of the result's shape as such of the operands."""
    shape = tape.shape(node.output[0])
    return [None if part is None else tape.like(part, shape, name) for part, name in zip(parts, node.input)]


def _sum(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    return _broadcast(tape, node, [g] * len(node.input))


def _difference(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    return _broadcast(tape, node, [g, tape.node("Neg", g)])


def _product(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    a, b = node.input
    return _broadcast(tape, node, [tape.node("Mul", g, b), tape.node("Mul", g, a)])


def _quotient(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    above = tape.node("Div", g, node.input[1])
    return _broadcast(tape, node, [above, tape.node("Neg", tape.node("Mul", above, node.output[0]))])


def _power(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    """The exponent is a constant, or at least its gradient is not wanted: it would need the logarithm of the base."""
    x, exponent = node.input
    less = tape.node("Sub", exponent, tape.number(1, exponent))
    return _broadcast(tape, node, [tape.node("Mul", tape.node("Mul", g, exponent), tape.node("Pow", x, less)), None])


def _unary(slope: Callable[[Tape, str, str], str]) -> Rule:
    """``slope(tape, x, y)`` is what the gradient is multiplied by."""
    return lambda tape, node, g: [tape.node("Mul", g, slope(tape, node.input[0], node.output[0]))]


def _step(tape: Tape, x: str, _: str) -> str:
    return tape.node("Max", tape.node("Sign", x), tape.number(0, x))


def _bell(tape: Tape, x: str, y: str) -> str:
    """Of the logistic function: y (1 - y)."""
    return tape.node("Mul", y, tape.node("Sub", tape.number(1, x), y))


def _of_tanh(tape: Tape, x: str, y: str) -> str:
    return tape.node("Sub", tape.number(1, x), tape.node("Mul", y, y))


def _of_root(tape: Tape, x: str, y: str) -> str:
    return tape.node("Div", tape.number(0.5, x), y)


def _of_reciprocal(tape: Tape, x: str, y: str) -> str:
    return tape.node("Neg", tape.node("Mul", y, y))


def _as_before(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    """Of operators that give the same elements another shape."""
    return [tape.reshaped(g, tape.shape(node.input[0]))]


def _transpose(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    rank = len(tape.shape(node.input[0]))
    perm = _attributes(node).get("perm", list(range(rank))[::-1])
    return [tape.node("Transpose", g, perm=[int(axis) for axis in np.argsort(perm)])]


def _swapped(tape: Tape, x: str) -> str:
    """The last two dimensions the other way round."""
    rank = len(tape.shape(x))
    return tape.node("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])


def _matmul(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    a, b = node.input
    if min(len(tape.shape(a)), len(tape.shape(b))) < 2:
        raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, "the gradient of MatMul with a vector", loc=tape.prefix)
    batch = tape.shape(node.output[0])[:-2]
    left, right = tape.node("MatMul", g, _swapped(tape, b)), tape.node("MatMul", _swapped(tape, a), g)
    return [
        tape.like(left, (*batch, *tape.shape(a)[-2:]), a),
        tape.like(right, (*batch, *tape.shape(b)[-2:]), b),
    ]


def _gemm(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    attributes = _attributes(node)
    a, b = node.input[:2]
    trans_a, trans_b = (bool(attributes.get(key, 0)) for key in ("transA", "transB"))
    scaled = tape.node("Mul", g, tape.number(attributes.get("alpha", 1.0), a))
    left = _gemm_part(tape, (b, trans_b), (scaled, False), trans_a)
    right = _gemm_part(tape, (scaled, False), (a, trans_a), trans_b, behind=True)
    parts: list[str | None] = [left, right]
    if len(node.input) > 2 and node.input[2]:
        bias = tape.node("Mul", g, tape.number(attributes.get("beta", 1.0), a))
        parts.append(tape.like(bias, tape.shape(node.output[0]), node.input[2]))
    return parts


def _gemm_part(
    tape: Tape, one: tuple[str, bool], other: tuple[str, bool], transposed: bool, behind: bool = False
) -> str:
    """g b^T, or its transpose; with ``behind`` a^T g."""
    if behind:
        (g, _), (a, trans) = one, other
        return tape.node("Gemm", g, a, transA=1, transB=int(trans)) if transposed else tape.node(
            "Gemm", a, g, transA=int(not trans))  # fmt: skip
    (b, trans), (g, _) = one, other
    return tape.node("Gemm", b, g, transA=int(trans), transB=1) if transposed else tape.node(
        "Gemm", g, b, transB=int(not trans))  # fmt: skip


def _reduction(mean: bool) -> Rule:
    def rule(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
        shape, result = tape.shape(node.input[0]), tape.shape(node.output[0])
        if len(node.input) > 1 and node.input[1] and len(result) != len(shape):
            reason = f"the gradient of {node.op_type} with axes as an input, where keepdims is 0"
            raise CcmlError(ErrorCode.UNSUPPORTED_FEATURE, reason, loc=tape.prefix)
        axes = [axis % len(shape) for axis in _attributes(node).get("axes", range(len(shape)))] if shape else []
        kept = result if len(result) == len(shape) else [1 if d in axes else e for d, e in enumerate(shape)]
        whole = tape.node("Expand", tape.reshaped(g, kept), tape.constant(np.array(shape, np.int64)))
        count = float(np.prod(shape)) / max(float(np.prod(result)), 1)
        return [tape.node("Mul", whole, tape.number(1 / count, node.input[0])) if mean and count else whole]

    return rule


def _softmax(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    """y (g - sum of g y), along the axis; before operator set 13 along all dimensions from it on."""
    y, rank = node.output[0], len(tape.shape(node.input[0]))
    axis = _attributes(node).get("axis", -1 if tape.opset >= 13 else 1) % rank
    axes = [axis] if tape.opset >= 13 else list(range(axis, rank))
    return [tape.node("Mul", y, tape.node("Sub", g, tape.total(tape.node("Mul", g, y), axes, keepdims=True)))]


def _where(tape: Tape, node: onnx.NodeProto, g: str) -> Parts:
    cond, zero = node.input[0], tape.number(0, node.output[0])
    return _broadcast(tape, node, [None, tape.node("Where", cond, g, zero), tape.node("Where", cond, zero, g)])


RULES: Mapping[str, Rule] = {
    "Abs": _unary(lambda tape, x, _: tape.node("Sign", x)),
    "Add": _sum,
    "Cos": _unary(lambda tape, x, _: tape.node("Neg", tape.node("Sin", x))),
    "Div": _quotient,
    "Exp": _unary(lambda tape, _, y: y),
    "Flatten": _as_before,
    "Gemm": _gemm,
    "Identity": lambda tape, node, g: [g],
    "Log": lambda tape, node, g: [tape.node("Div", g, node.input[0])],
    "MatMul": _matmul,
    "Mul": _product,
    "Neg": lambda tape, node, g: [tape.node("Neg", g)],
    "Pow": _power,
    "Reciprocal": _unary(_of_reciprocal),
    "ReduceMean": _reduction(mean=True),
    "ReduceSum": _reduction(mean=False),
    "Relu": _unary(_step),
    "Reshape": _as_before,
    "Sigmoid": _unary(_bell),
    "Sin": _unary(lambda tape, x, _: tape.node("Cos", x)),
    "Softmax": _softmax,
    "Softplus": _unary(lambda tape, x, _: tape.node("Sigmoid", x)),
    "Sqrt": _unary(_of_root),
    "Squeeze": _as_before,
    "Sub": _difference,
    "Sum": _sum,
    "Tanh": _unary(_of_tanh),
    "Transpose": _transpose,
    "Unsqueeze": _as_before,
    "Where": _where,
}
"""ONNX operator -> its derivative. A rule is given the node and the gradient of its first result, and returns one for
each operand, or ``None`` where there is none."""
