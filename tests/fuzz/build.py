"""A model under construction, whose values are computed at once: what a row of the operator table writes into.

A row asks for operands (:meth:`Builder.data`, :meth:`Builder.param`, ...) and adds nodes. Where the model already has
values, the operand is one of them, cast, cut or repeated as needed; so rows can be put behind each other at will.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.oracle import domain_version, evaluate

FLOATS = ("float32", "float64", "float16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
TYPES = (*FLOATS, *INTEGERS, "bool")
"""Element types of inputs and outputs."""

NARROW: Mapping[str, tuple[type, float, float]] = {
    "bfloat16": (ml_dtypes.bfloat16, -3, 3),
    "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, -3, 3),
    "float8_e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, -3, 3),
    "float8_e5m2": (ml_dtypes.float8_e5m2, -3, 3),
    "float8_e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, -3, 3),
    "float4_e2m1fn": (ml_dtypes.float4_e2m1fn, -3, 3),
    "int4": (ml_dtypes.int4, -8, 7),
    "uint4": (ml_dtypes.uint4, 0, 15),
    "int2": (ml_dtypes.int2, -2, 1),
    "uint2": (ml_dtypes.uint2, 0, 3),
}
"""Element types of values between operators, which NumPy does not have, and what all of them hold."""

NAMES = {int(helper.np_dtype_to_tensor_dtype(np.dtype(name))): name for name in TYPES}


def number(dtype: str) -> int:
    """Of an element type in ONNX."""
    kind = NARROW[dtype][0] if dtype in NARROW else dtype
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


LARGEST = 160
"""Elements of an operand that a row makes up."""


class NoOracleError(Exception):
    """Neither ONNX Runtime nor the reference evaluator can compute a node."""


class UnfitError(Exception):
    """A row cannot be applied as it was asked for."""


@dataclass(frozen=True)
class Tensor:
    """A value of the model, with its elements."""

    name: str
    array: np.ndarray
    constant: bool = False

    @property
    def dtype(self) -> str:
        return self.array.dtype.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


@dataclass
class Parts:
    """What a model is made of; those of several builders together are one model."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    opsets: list[int] = field(default_factory=list)
    """Of each node."""
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    steps: int = 0
    """By which integers may differ."""

    def add(self, other: Parts) -> None:
        self.nodes += other.nodes
        self.opsets += other.opsets
        self.inputs |= other.inputs
        self.constants |= other.constants
        self.outputs |= other.outputs
        self.steps = max(self.steps, other.steps)

    def model(self, opset: int) -> onnx.ModelProto:
        """Nodes of another operator set than ``opset`` are calls of functions that import theirs."""
        functions, nodes = [], []
        for node, own in zip(self.nodes, self.opsets):
            if own == opset or node.domain:
                nodes.append(node)
                continue
            name = f"F{len(functions)}_{node.op_type}"
            formal = [f"i{n}" if given else "" for n, given in enumerate(node.input)]
            results = [f"o{n}" for n in range(len(node.output))]
            body = onnx.NodeProto()
            body.CopyFrom(node)
            del body.input[:], body.output[:]
            body.input.extend(formal)
            body.output.extend(results)
            functions.append(
                helper.make_function(
                    "local", name, list(filter(None, formal)), results, [body], [helper.make_opsetid("", own)]
                )
            )
            nodes.append(helper.make_node(name, [given for given in node.input if given], node.output, domain="local"))
        graph = helper.make_graph(
            nodes, "fuzz",
            [_info(name, array) for name, array in self.inputs.items()],
            [_info(name, array) for name, array in self.outputs.items()],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )  # fmt: skip
        domains = {"": opset}
        for node in nodes:
            if node.domain:
                domains[node.domain] = max(domains.get(node.domain, 1), domain_version(node))
        opsets = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=functions)


def _info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, int(helper.np_dtype_to_tensor_dtype(array.dtype)), array.shape)


class Builder:
    """``opset`` is that of the nodes of the row at work. Values in ``sources`` are taken as operands where a row asks
    for its operand number ``take`` (counted over the calls of :meth:`data`) or, with ``mixed``, for any."""

    def __init__(self, rng: np.random.Generator, opset: int, prefix: str = "", *, zero: float = 0.0) -> None:
        self.rng, self.opset, self.prefix, self.zero = rng, opset, prefix, zero
        self.parts = Parts()
        self.frozen = False
        self.sources: list[Tensor] = []
        self.take = 0
        self.taken = 0
        self.mixed = False
        self._asked = 0
        self._names = 0

    # ---- choices

    def flip(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def pick(self, choices: Sequence[Any]) -> Any:
        if not len(choices):
            raise UnfitError("there is no choice")
        return choices[int(self.rng.integers(len(choices)))]

    def between(self, low: int, high: int) -> int:
        """From ``low`` to ``high``, both included."""
        if low > high:
            raise UnfitError(f"nothing lies between {low} and {high}")
        return int(self.rng.integers(low, high + 1))

    def uniform(self, low: float, high: float) -> float:
        return round(float(self.rng.uniform(low, high)), 3)

    def some(self, **attributes: Any) -> dict[str, Any]:
        """Each attribute, or not."""
        return {name: value for name, value in attributes.items() if self.flip(0.6)}

    def dtype(self, types: Iterable[str]) -> str:
        """One of ``types``: that of the source, mostly, or float32, or any."""
        known = [name for name in (*TYPES, *NARROW) if name in set(types)]
        if not known:
            raise UnfitError("no type that ccml has")
        if self._due() and self.sources[-1].dtype in known and self.flip(0.9):
            return self.sources[-1].dtype
        return known[0] if self.flip(0.5) else str(self.pick(known))

    def shape(self, least: int = 0, most: int = 5, extents: Sequence[int] = (1, 1, 2, 3, 4, 5, 7)) -> tuple[int, ...]:
        """A shape of a rank within bounds: that of the source, mostly, where it fits."""
        if self._due() and least <= len(self.sources[-1].shape) <= most and self.flip(0.9):
            return self.sources[-1].shape
        rank = self.between(least, most)
        shape = [int(self.pick(extents)) for _ in range(rank)]
        while prod(shape) > LARGEST:
            shape[shape.index(max(shape))] = max(max(shape) // 2, 1)
        if rank and self.flip(self.zero):
            shape[self.between(0, rank - 1)] = 0
        return tuple(shape)

    def _due(self) -> bool:
        return bool(self.sources) and (self.mixed or self._asked <= self.take) and not (self.taken and not self.mixed)

    # ---- operands

    def values(self, dtype: str, shape: Sequence[int], low: float = -3.0, high: float = 3.0) -> np.ndarray:
        """Made-up elements; integers over all of the range of a byte now and then."""
        if dtype in NARROW:
            kind, least, most = NARROW[dtype]
            return self.values("int64", shape, max(low, least), min(high, most)).astype(kind)
        if dtype == "bool":
            return self.rng.random(tuple(shape)) < 0.5
        if dtype in FLOATS:
            return np.asarray(self.rng.uniform(low, high, tuple(shape))).astype(dtype)
        info = np.iinfo(dtype)
        if (low, high) == (-3.0, 3.0):
            low, high = (info.min, info.max) if info.bits == 8 and self.flip() else (-9, 9)
        if high < max(low, info.min):
            raise UnfitError(f"no {dtype} lies between {low} and {high}")
        return np.asarray(self.rng.integers(max(int(low), info.min), int(high) + 1, tuple(shape))).astype(dtype)

    def data(
        self, dtype: str, shape: Sequence[int], low: float = -3.0, high: float = 3.0, *, exact: bool = False
    ) -> Tensor:
        """An operand: a source, an input of the model, or where the builder is ``frozen`` an initializer.

        With ``exact`` the elements have to lie between ``low`` and ``high``, whatever the source holds.
        """
        if dtype in NARROW:
            return self.narrowed(self.data("float32", shape, *NARROW[dtype][1:], exact=True), dtype)
        here = self._asked == self.take or (self.mixed and self.flip(0.7))
        self._asked += 1
        if here and self.sources and (self.mixed or not self.taken):
            source = self.pick(self.sources) if self.mixed else self.sources[-1]
            if source.array.size or not prod(shape):
                self.taken += 1
                return self._adapted(source, dtype, tuple(shape), (low, high) if exact else None)
        if self.frozen:
            return self.param(self.values(dtype, shape, low, high))
        name = self._name("x")
        self.parts.inputs[name] = self.values(dtype, shape, low, high)
        return Tensor(name, self.parts.inputs[name])

    def narrowed(self, x: Tensor, dtype: str) -> Tensor:
        """``x`` in a type of :data:`NARROW`, which holds its elements."""
        return self.node("Cast", [x], to=number(dtype))[0]

    def param(self, array: np.ndarray | Sequence[Any] | float, dtype: str | None = None) -> Tensor:
        """An initializer."""
        name = self._name("c")
        self.parts.constants[name] = np.asarray(array, dtype)
        return Tensor(name, self.parts.constants[name], constant=True)

    def given(self, array: np.ndarray) -> Tensor:
        """Elements that an operand has to have, as an initializer or as an input of the model."""
        if self.frozen or self.flip(0.6):
            return self.param(array)
        name = self._name("x")
        self.parts.inputs[name] = array
        return Tensor(name, array)

    def ints(self, values: Iterable[int]) -> Tensor:
        return self.param(np.asarray(list(values), np.int64))

    def weight(self, dtype: str, shape: Sequence[int], low: float = -1.0, high: float = 1.0) -> Tensor:
        """An initializer mostly, else an operand that is computed or given at run time."""
        if self.flip(0.75):
            return self.param(self.values(dtype, shape, low, high))
        return self.data(dtype, shape, low, high, exact=True)

    def _adapted(self, x: Tensor, dtype: str, shape: tuple[int, ...], bounds: tuple[float, float] | None) -> Tensor:
        return self._with_shape(self._with_type(x, dtype, bounds), shape)

    def _with_type(self, x: Tensor, dtype: str, bounds: tuple[float, float] | None) -> Tensor:
        to = {"to": number(dtype)}
        integer = dtype in INTEGERS
        if x.dtype in FLOATS and integer and np.isnan(x.array).any():
            (x,) = self.node("IsNaN", [self.node("Cast", [x], to=TensorProto.FLOAT)[0]])
        if bounds is None and x.dtype in FLOATS and integer:
            bounds = (-100.0, 100.0)
        if bounds is not None:
            if dtype.startswith("uint"):
                bounds = (max(bounds[0], 0.0), bounds[1])
            if x.dtype in FLOATS and np.isnan(x.array).any():
                (x,) = self.node("IsNaN", [self.node("Cast", [x], to=TensorProto.FLOAT)[0]])
            if x.array.size and (x.array.min() < bounds[0] or x.array.max() > bounds[1] or integer):
                wide = "int64" if x.dtype in INTEGERS or x.dtype == "bool" else "float32"
                if x.dtype != wide:
                    (x,) = self.node("Cast", [x], to=number(wide))
                if self.opset < 12:
                    (x,) = self.node("Cast", [x], to=TensorProto.FLOAT)
                low, high = (self.param(np.asarray(bound, x.array.dtype)) for bound in bounds)
                if self.opset < 11:
                    (x,) = self.node("Clip", [x], min=float(bounds[0]), max=float(bounds[1]))
                else:
                    (x,) = self.node("Clip", [x, low, high])
        return x if x.dtype == dtype else self.node("Cast", [x], **to)[0]

    def _with_shape(self, x: Tensor, shape: tuple[int, ...]) -> Tensor:
        if x.shape == shape:
            return x
        size, wanted = x.array.size, prod(shape)
        if size != wanted:
            (x,) = self.node("Reshape", [x, self.ints([-1] if size else [0])])
            if size < wanted:
                (x,) = self.node("Concat", [x] * -(-wanted // size), axis=0)
            if x.array.size > wanted:
                if self.opset < 10:
                    (x,) = self.node("Slice", [x], starts=[0], ends=[wanted])
                else:
                    (x,) = self.node("Slice", [x, self.ints([0]), self.ints([wanted])])
        if x.shape == shape:
            return x
        return self.node("Reshape", [x, self.ints(shape)], **({"allowzero": 1} if 0 in shape else {}))[0]

    # ---- nodes

    def node(
        self, op_type: str, inputs: Sequence[Tensor | None], outputs: int | Sequence[bool] = 1, domain: str = "",
        **attributes: Any,
    ) -> list[Tensor]:
        """Adds a node and computes it; ``outputs`` is how many it has, or which of them."""
        present = [True] * outputs if isinstance(outputs, int) else list(outputs)
        names = [self._name("y") if there else "" for there in present]
        given = {name: value for name, value in attributes.items() if value is not None}
        operands = ["" if value is None else value.name for value in inputs]
        while operands and not operands[-1]:
            operands.pop()
        node = helper.make_node(op_type, operands, names, name=f"{self.prefix}{op_type}_{self._names}", domain=domain)
        node.attribute.extend(
            value if isinstance(value, onnx.AttributeProto) else helper.make_attribute(name, value)
            for name, value in given.items()
        )
        return self.add(node, [value for value in inputs if value is not None])

    def add(self, node: onnx.NodeProto, values: Sequence[Tensor]) -> list[Tensor]:
        arrays = {value.name: value.array for value in values}
        results = evaluate(node, [arrays.get(name) for name in node.input], self.opset)
        if results is None:
            raise NoOracleError(f"{node.op_type} of {', '.join(f'{v.dtype}{list(v.shape)}' for v in values)}: {node}")
        self.parts.nodes.append(node)
        self.parts.opsets.append(self.opset)
        constant = all(value.constant for value in values)
        return [Tensor(name, array, constant) for name, array in zip(filter(None, node.output), results)]

    def output(self, value: Tensor) -> None:
        self.parts.outputs[value.name] = value.array

    def start(self, sources: Sequence[Tensor], take: int = 0, *, mixed: bool = False) -> None:
        """Before another row: the values that it may take."""
        self.sources, self.take, self.mixed, self.taken, self._asked = list(sources), take, mixed, 0, 0

    def snapshot(self) -> tuple[int, dict[str, np.ndarray], dict[str, np.ndarray]]:
        return len(self.parts.nodes), dict(self.parts.inputs), dict(self.parts.constants)

    def restore(self, state: tuple[int, Mapping[str, np.ndarray], Mapping[str, np.ndarray]]) -> None:
        """Forgets what was added since."""
        count, inputs, constants = state
        del self.parts.nodes[count:], self.parts.opsets[count:]
        self.parts.inputs, self.parts.constants = dict(inputs), dict(constants)

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{self.prefix}{stem}{self._names}"
