"""Weights alone become integers, activations stay floats: what makes large matrices small, and quick where memory is
the limit.

Matrices have 8 bits with a scale for each column, or 4 bits with a scale for each column of every block of rows. A
scale is chosen, and weights are rounded, so that the *outputs* change least for the inputs of the samples.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..ir.graph import AttrValue, Graph, GraphBuilder, NameSupply, Node, Value
from ..ops.table import infer_types
from ..passes.eliminate_dead_code import eliminate_dead_code
from ..record import record
from ..samples import Samples
from ..verification.runner import runner
from .observe import FloatRuns, spread
from .options import Mode, Precision, QuantizeOptions
from .partition import key, layer_names

log = logging.getLogger(__name__)

LEAST_ELEMENTS = 512
"""Smaller matrices are not worth a scale for each column."""
BLOCK = 32
_MOST_INPUTS = 1 << 12
"""Longer columns are rounded to nearest: second moments of their inputs would be too large a matrix."""
_DAMPINGS = (0.003, 0.03, 0.3)
_PARTS = np.linspace(1.0, 0.6, 21)
"""Of the largest weight of a column or block: what the outermost level is tried for."""


@record
class _Levels:
    """Stored are the integers from -``most`` - ``extra`` to ``most``."""

    most: int
    extra: int

    def rounded(self, weights: np.ndarray, steps: np.ndarray) -> np.ndarray:
        return np.clip(np.rint(weights / steps), -self.most - self.extra, self.most)


_LEVELS = {Mode.WEIGHTS8: _Levels(127, 0), Mode.WEIGHTS4: _Levels(7, 1)}


def quantize_weights(graph: Graph, samples: Samples, options: QuantizeOptions) -> Graph:
    """``graph``, which is prepared, with the matrices of its matmuls stored as integers."""
    layers = [node for node in graph.nodes if _matrix(graph, node) is not None and not _kept(node, options)]
    moments = _moments(graph, layers, samples, options)
    builder = GraphBuilder(infer_types, NameSupply.of(graph))
    builder.constants.update(graph.constants)
    for place, node in enumerate(graph.nodes):
        weights = _matrix(graph, node) if key(node) in moments else None
        if weights is None:
            builder.nodes.append(node)
            continue
        done = {"share": place / len(graph.nodes)}
        log.info("quantizing the weights of %s", node.loc or key(node), extra=done)
        real = _stored(builder, node, weights, moments[key(node)], options)
        builder.nodes.append(replace(node, inputs=(node.inputs[0], real, *node.inputs[2:])))
    return eliminate_dead_code(graph.with_nodes(builder.nodes, constants=builder.constants))


def _matrix(graph: Graph, node: Node) -> np.ndarray | None:
    weights = graph.constant(node.inputs[1]) if node.op == "matmul" else None
    known = weights is not None and graph.constant(node.inputs[0]) is None and weights.dtype == np.float32
    return weights if known and weights is not None and weights.ndim == 2 and weights.size >= LEAST_ELEMENTS else None


def _kept(node: Node, options: QuantizeOptions) -> bool:
    return options.layer(layer_names(node)).precision is Precision.FLOAT


# ---------------------------------------------------------------- what the inputs are like


def _moments(
    graph: Graph, layers: Sequence[Node], samples: Samples, options: QuantizeOptions
) -> dict[str, list[np.ndarray]]:
    """Second moments of the inputs of each layer, for even and for odd samples: ``[k, k]``, or ``[k]`` where that is
    too large."""
    names = list(dict.fromkeys(node.operands[0].name for node in layers))
    found: dict[str, list[np.ndarray]] = {}
    chosen = spread(samples.count, options.tuning_samples)
    first = 0
    for values in FloatRuns(runner(graph, names, len(chosen)), samples).batches(chosen):
        for name in names:
            for place, array in enumerate(values[name], first):
                rows = array.reshape(-1, array.shape[-1]).astype(np.float64)
                square = rows.T @ rows if rows.shape[1] <= _MOST_INPUTS else np.square(rows).sum(axis=0)
                folds = found.setdefault(name, [np.zeros_like(square), np.zeros_like(square)])
                folds[place % 2] += square
        first += len(next(iter(values.values())))
    return {key(node): found[node.operands[0].name] for node in layers}


# ---------------------------------------------------------------- weights


def _stored(
    builder: GraphBuilder, node: Node, weights: np.ndarray, folds: list[np.ndarray], options: QuantizeOptions
) -> Value:
    """The real value of the integers that stand for ``weights``."""
    depth, columns = weights.shape
    levels = _LEVELS[options.mode]
    block = depth if options.mode is Mode.WEIGHTS8 else min(BLOCK, depth)
    matrix = weights.astype(np.float64)
    own = options.layer(layer_names(node)).adaptive_rounding
    importance = np.sum([np.diagonal(fold) if fold.ndim == 2 else fold for fold in folds], axis=0)
    importance = importance + 1e-6 * importance.mean() if np.any(importance) else np.ones(depth)
    scales = _scales(matrix, block, importance, levels)
    steps = np.repeat(scales.astype(np.float64), block, axis=0)[:depth]
    integers = _rounded(matrix, steps, folds, levels, options.adaptive_rounding if own is None else own)
    stem = node.operands[1].name
    stored = builder.constant(integers.astype(np.int8), f"{stem}.q")
    if options.mode is Mode.WEIGHTS8:
        scale = tuple(scales.reshape(-1).astype(float).tolist())
        attrs: dict[str, AttrValue] = {"scale": scale, "zero_point": (0,) * columns, "axis": 1}
        return builder.emit1("dequantize", stored, loc=node.loc, name=f"{stem}.dq", **attrs)
    scale_value = builder.constant(scales, f"{stem}.scale")
    return builder.emit1("dequantize_blocks", stored, scale_value, loc=node.loc, name=f"{stem}.dq", axis=0, block=block)


def _scales(matrix: np.ndarray, block: int, importance: np.ndarray, levels: _Levels) -> np.ndarray:
    """float32, ``[blocks, columns]``: those with the least ``sum importance * (w - rounded(w))^2``."""
    starts = np.arange(0, matrix.shape[0], block)
    peaks = np.maximum.reduceat(np.abs(matrix), starts, axis=0)
    peaks[peaks == 0] = levels.most
    best, least = peaks / levels.most, np.full(peaks.shape, np.inf)
    for part in _PARTS:
        scales = (peaks * part / levels.most).astype(np.float32).astype(np.float64)
        scales = np.maximum(scales, np.finfo(np.float32).tiny)
        steps = np.repeat(scales, block, axis=0)[: matrix.shape[0]]
        apart = np.square(matrix - levels.rounded(matrix, steps) * steps) * importance[:, np.newaxis]
        error = np.add.reduceat(apart, starts, axis=0)
        best, least = np.where(error < least, scales, best), np.minimum(error, least)
    return best.astype(np.float32)


def _rounded(
    matrix: np.ndarray, steps: np.ndarray, folds: list[np.ndarray], levels: _Levels, adapt: bool
) -> np.ndarray:
    """As integers: to nearest, or with the compensation that serves best on samples it was not made from."""
    plain = levels.rounded(matrix, steps)
    if not adapt or folds[0].ndim < 2 or not all(np.any(fold) for fold in folds):
        return plain

    def held_out(attempt: Callable[[np.ndarray], np.ndarray]) -> float:
        apart = [attempt(folds[1 - n]) * steps - matrix for n in (0, 1)]
        return sum(float(np.sum(each * (fold @ each))) for each, fold in zip(apart, folds))

    best, least = plain, held_out(lambda _: plain)
    for damping in _DAMPINGS:
        try:
            error = held_out(lambda fold, damping=damping: _compensated(matrix, steps, fold, levels, damping))  # type: ignore[misc]
            if error < least:
                best, least = _compensated(matrix, steps, folds[0] + folds[1], levels, damping), error
        except np.linalg.LinAlgError:
            continue
    return best


def _compensated(
    matrix: np.ndarray, steps: np.ndarray, moments: np.ndarray, levels: _Levels, damping: float
) -> np.ndarray:
    """One row after the other is rounded, and those that are left take up its error (Frantar et al., "GPTQ: Accurate
    Post-Training Quantization for Generative Pre-trained Transformers", 2022, algorithm 1)."""
    hessian = moments + damping * np.mean(np.diagonal(moments)) * np.eye(len(moments))
    order = np.argsort(-np.diagonal(hessian), kind="stable")
    upper = np.linalg.cholesky(np.linalg.inv(hessian[np.ix_(order, order)])).T
    left, result = matrix[order], np.empty_like(matrix)
    for begin in range(0, len(order), BLOCK):
        end = min(begin + BLOCK, len(order))
        errors = np.empty((end - begin, matrix.shape[1]))
        for row in range(begin, end):
            step = steps[order[row]]
            result[order[row]] = levels.rounded(left[row], step)
            errors[row - begin] = (left[row] - result[order[row]] * step) / upper[row, row]
            left[row + 1 : end] -= np.outer(upper[row, row + 1 : end], errors[row - begin])
        left[end:] -= upper[begin:end, end:].T @ errors
    return result
