"""Cases: single operators, ordered pairs of them, random graphs, and networks of real sizes."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from onnx import TensorProto, numpy_helper

from tests.fuzz.build import NARROW, Builder, NoOracleError, Parts, Tensor, UnfitError
from tests.fuzz.networks import OPSET, REAL, network
from tests.fuzz.oracle import evaluate
from tests.fuzz.table import ROWS, common_opset, has_extents, operators, opsets

_TRIES = 12


@dataclass(frozen=True)
class Case:
    """``parts`` of a model whose outputs are known; ``name`` says which operators, and the seed that made it."""

    name: str
    parts: Parts
    opset: int


def single(operator: str, seed: int, prefix: str = "") -> Case | None:
    """A node of an operator, of any operator set, type and shape (with extents of 0 too); ``None`` where no attempt
    could be computed by ONNX Runtime or the reference."""
    rng = np.random.default_rng([seed, crc32(operator.encode())])
    for _ in range(_TRIES):
        opset = int(rng.choice(opsets(operator)))
        builder = Builder(rng, opset, prefix, zero=0.04)
        builder.frozen = rng.random() < (0.3 if has_extents(operator) else 0.05)
        results = _written(builder, operator)
        if results is not None:
            for value in results:
                builder.output(value)
            return Case(f"{operator}@{opset}#{seed}", builder.parts, opset)
    return None


def pair(first: str, second: str, seed: int, prefix: str = "") -> Case | None:
    """The second operator takes a result of the first; what is not taken by then is another output now and then."""
    rng = np.random.default_rng([seed, crc32(f"{first} {second}".encode())])
    model_opset = common_opset(first, second)
    for attempt in range(_TRIES):
        builder = Builder(rng, model_opset, prefix, zero=0.02 if attempt < _TRIES // 2 else 0.0)
        builder.frozen = has_extents(first) or has_extents(second)
        builder.opset = min(model_opset, ROWS[first].until)
        made = _written(builder, first)
        usable = [value for value in made or () if value.array.size] or list(made or ())
        if not usable:
            continue
        builder.frozen = has_extents(second)
        builder.opset = min(model_opset, ROWS[second].until)
        builder.start([builder.pick(usable)], builder.pick([0, 0, 1, 2]) if attempt < _TRIES // 2 else 0)
        results = _written(builder, second)
        if results is None or (not builder.taken and attempt < _TRIES - 1 and _takes_operands(second)):
            continue
        for value in results:
            builder.output(value)
        if not builder.taken or builder.flip(0.2):
            for value in made or ():
                builder.output(value)
        return Case(f"{first} > {second}#{seed}", builder.parts, model_opset)
    return None


def graph(seed: int, prefix: str = "") -> Case | None:
    """A graph of 3 to 12 operators whose operands are inputs, constants, or results of any operator before."""
    rng = np.random.default_rng([seed, 1])
    opset = int(rng.choice([7, 9, 11, 13, 17, 18, 21, 23, 25]))
    names = [name for name in operators() if min(opsets(name)) <= opset <= ROWS[name].until]
    builder = Builder(rng, opset, prefix, zero=0.02)
    values: list[Tensor] = []
    used: list[str] = []
    steps = builder.between(3, 12)
    for _ in range(4 * steps):
        name = str(builder.pick(names))
        builder.frozen = has_extents(name) or builder.flip(0.03)
        sources = [value for value in values if value.constant] if has_extents(name) else values[-6:]
        builder.start(sources, mixed=True)
        results = _written(builder, name)
        if results:
            values += [value for value in results if value.array.size <= 4000 and _tame(value.array)]
            used.append(name)
            for value in results:
                if not _tame(value.array) or builder.flip(0.15):
                    builder.output(value)
        if len(used) == steps:
            break
    if not values:
        return None
    for value in values[-2:]:
        builder.output(value)
    return Case(f"graph {', '.join(used)}@{opset}#{seed}", builder.parts, opset)


def sized(seed: int) -> Case | None:
    """A network of float layers of real sizes."""
    made = network(seed, REAL).graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in made.initializer}
    (given,) = made.input
    shape = [dim.dim_value for dim in given.type.tensor_type.shape.dim]
    inputs = {given.name: np.random.default_rng([seed, 5]).normal(size=shape).astype(np.float32)}
    values = inputs | constants
    for node in made.node:
        results = evaluate(node, [values.get(name) for name in node.input], OPSET)
        if results is None:
            return None
        values |= zip(filter(None, node.output), results)
    outputs = {value.name: values[value.name] for value in made.output}
    parts = Parts(list(made.node), [OPSET] * len(made.node), inputs, constants, outputs)
    return Case(f"network {', '.join(sorted({node.op_type for node in made.node}))}#{seed}", parts, OPSET)


def _written(builder: Builder, operator: str) -> list[Tensor] | None:
    state = builder.snapshot()
    try:
        results = ROWS[operator].write(builder)
        return [builder.node("Cast", [x], to=TensorProto.FLOAT)[0] if x.dtype in NARROW else x for x in results]
    except (NoOracleError, UnfitError):
        builder.restore(state)
        return None
    except (IndexError, ValueError):  # rows look at elements, and there may be none
        if not builder.zero:
            raise
        builder.restore(state)
        return None


_SOURCES = ("BlackmanWindow", "Constant", "ConstantOfShape", "HammingWindow", "HannWindow", "If", "Range")


def _takes_operands(operator: str) -> bool:
    return operator not in _SOURCES


def _tame(array: np.ndarray) -> bool:
    """Whether further operators can be applied: nothing infinite or huge."""
    return array.dtype.kind != "f" or bool(np.isfinite(array).all() and (np.abs(array) < 1e4).all())
