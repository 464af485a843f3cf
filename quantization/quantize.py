"""Post-training quantization: a float graph and typical inputs become a graph of quantize and dequantize pairs.

The steps: equalize channels across layers; observe the float model; find the range of every tensor that is stored; tune
the weights and biases layer by layer; write it down. Where a quality is demanded, ``mixed.py`` then raises precision.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Graph
from ..ops.recurrent import RECURRENCES
from ..passes.eliminate_dead_code import eliminate_dead_code
from ..passes.fold_affine import fold_affine
from ..passes.pipeline import clean_up
from ..record import record
from ..samples import Samples
from ..verification.accuracy import both_finite
from ..verification.runner import work_of
from .attempts import Aim
from .execute import GoodEnough, evaluate_samples
from .halves import widen_halves
from .judged import Judged, floats_of
from .meter import Meter
from .mixed import MixedPrecision, raise_precision
from .nibbles import with_nibbles
from .observe import spread
from .options import DEFAULT_OPTIONS, Mode, QuantizeOptions
from .quantizer import Quantized, Quantizer, known_names
from .standardized import standardized
from .weights_only import quantize_weights

log = logging.getLogger(__name__)

FLOOR = 21.0
"""The SQNR in dB, on some samples of the calibration, that a model has at least where no other is demanded."""
FLOOR_SAMPLES, MOST_FLOOR_SAMPLES = 8, 32
_CLEARLY = 6.0
"""Decibels above :data:`FLOOR` on the least samples, beyond which no more are looked at."""
_AIMED = FLOOR + 3.0
"""What models that miss it are given precision for: the samples that tell how much it takes are few."""
FLOOR_HEADROOM = 16.0
"""How far 16 bits reach beyond what was observed in models that need them: what loses much in bytes often has values
far beyond the usual ones, and 12 bits are little beside the noise of its weights."""
_FLOOR_WORK = 1 << 29
"""Of one evaluation on these samples, as ``work_of`` counts it, if more than the least are looked at."""
COMPARED_SAMPLES = 32
"""Samples of the calibration on which models with other widths of tensors are compared."""
_COMPARED_WORK = 1 << 26
"""Of an evaluation of the models that are compared, at most."""
_WORTHWHILE = 1.0
"""Decibels by which 16 bits for some tensors have to be nearer than bytes alone, which take less time and flash."""

WEIGHTS_WORTH = 0.5
"""In dB, what weights of 16 bits in recurrent layers win at least where they are taken."""

Score = Callable[[Mapping[str, np.ndarray]], float]
"""How good outputs (``[samples, ...]``, by name) are; larger is better."""


@record
class QuantizedModel:
    """``graph`` is ``original`` with quantize and dequantize nodes: its values have the same names and meaning, with
    ``.q`` and ``.dq`` behind the name where they are stored and read again.

    ``original`` computes what the given graph computes; it was prepared and equalized. ``mixed`` says what was given
    more precision, if that was asked for.
    """

    original: Graph
    graph: Graph
    mixed: MixedPrecision | None = None


_AS_IT_IS = "it compiles to integers as it is, without --quantize; --io int8 makes its interface integer"


def prepare(graph: Graph, samples: Samples | None = None) -> Graph:
    """``graph`` as it is to be quantized: in float32, batch normalizations folded, nothing left that is constant. With
    ``samples`` of its inputs it may go on standardizing these in floats (``standardized.py``)."""
    plain = clean_up(widen_halves(eliminate_dead_code(graph)))
    return clean_up(fold_affine(plain, () if samples is None else standardized(plain, samples)))


# OpenBLAS's threads wait for the next product in a loop. Where products take microseconds, and others want the
# processors, nearly all of the time goes there.
in_one_thread = threadpool_limits.wrap(limits=1, user_api="blas")


@in_one_thread
def quantize_graph(
    graph: Graph,
    samples: Samples,
    options: QuantizeOptions = DEFAULT_OPTIONS,
    *,
    test: Samples | None = None,
    score: Score | None = None,
    meter: Meter | None = None,
    steering: bool = False,
) -> QuantizedModel:
    """Quantizes an imported float graph, with ``samples`` as typical inputs.

    ``test`` are the samples that ``options.min_sqnr`` and ``options.max_accuracy_drop`` are about (by default
    ``samples``), and ``score`` is what accuracy means (by default top-1 agreement with the float model). ``meter``
    tells what models take on the device that they are for; where its limits are ``steering``, the result has the
    best SQNR within them, or what these options demand at the least cost.

    Raises ``BUDGET`` where there is no such model, ``BAD_INPUT`` that names the tensor for samples that hold NaN or
    infinity or make such values, ``BAD_OPTION`` for a graph that is quantized already or an override of no layer, and
    ``ACCUMULATOR_OVERFLOW``.
    """
    if any(node.op in ("quantize", "dequantize", "dequantize_blocks") for node in graph.nodes):
        raise CcmlError(ErrorCode.BAD_OPTION, "the model is quantized already", loc=graph.name, hint=_AS_IT_IS)
    samples.require_finite()
    if options.mode is not Mode.INT8:  # limits are checked when the model is compiled
        prepared = prepare(graph)
        options.require_known_layers(known_names(prepared))
        return QuantizedModel(prepared, quantize_weights(prepared, samples, options))
    prepared = prepare(graph, None if options.integer_io else samples)
    quantizer = Quantizer.of(prepared, samples, options)
    demanding = options.max_accuracy_drop is not None or options.min_sqnr not in (None, 0)
    if not demanding and not steering:
        return _undemanding(quantizer, samples, options)
    if steering:
        quantizer = quantizer.of_bytes
    quantizer, result = _of_better_weights(quantizer, quantizer.quantize())
    judged = samples if test is None else test
    wanted = evaluate_samples(quantizer.graph, judged)
    demand = _demand(wanted, options, score) if demanding else None
    if options.weight_bits == 4:
        quantizer, result = with_nibbles(quantizer, result, judged, demand)
    aim = Aim(demand, partial(_least_sqnr, wanted=wanted), meter, _goal(options), _asked(options))
    quantizer, result, mixed = raise_precision(quantizer, result, Judged(judged), aim)
    return QuantizedModel(quantizer.graph, result.graph, mixed)


def _undemanding(quantizer: Quantizer, samples: Samples, options: QuantizeOptions) -> QuantizedModel:
    """The model with what costs little, and a floor below which no model is of use."""
    quantizer, result = _of_better_weights(*_of_better_widths(quantizer))
    if options.weight_bits == 4:
        quantizer, result = with_nibbles(quantizer, result, samples, None)
    elif options.min_sqnr is None:
        return _with_floor(quantizer, result)
    return QuantizedModel(quantizer.graph, result.graph)


def _goal(options: QuantizeOptions) -> float:
    """The SQNR that is demanded, if nothing else is."""
    return np.inf if options.min_sqnr is None or options.max_accuracy_drop is not None else options.min_sqnr


def _asked(options: QuantizeOptions) -> str:
    """The demand as on the command line."""
    sqnr = [] if options.min_sqnr in (None, 0) else [f"--min-sqnr {options.min_sqnr:g}"]
    drop = [] if options.max_accuracy_drop is None else [f"--max-accuracy-drop {options.max_accuracy_drop:g}"]
    return " ".join([*sqnr, *drop])


def _of_better_widths(quantizer: Quantizer) -> tuple[Quantizer, Quantized]:
    """Of bytes alone, and of 16 bits for some tensors, what is nearer the float model on calibration samples. Parts of
    noise are measured one at a time, and in models of few outputs the whole may be another. Both have the weights that
    were tuned for the latter, which mostly is the one. Large models, whose noise is the sum of very many parts, are not
    compared."""
    wider = quantizer.wider
    if wider is None or work_of(quantizer.graph) > _COMPARED_WORK:
        best = wider or quantizer
        return best, best.quantize()
    wide = wider.quantize_roughly()
    numbers = spread(quantizer.samples.count, COMPARED_SAMPLES)
    samples, wanted = quantizer.samples.at(np.asarray(numbers)), quantizer.float_outputs(numbers)
    graphs = (quantizer.rewritten(wide.tuned), wide.graph)
    plain, better = (_least_sqnr(evaluate_samples(each, samples), wanted) for each in graphs)
    if better > plain + _WORTHWHILE:
        return wider, wider.with_exact_scales(wide)
    return quantizer, quantizer.quantize()


def _of_better_weights(quantizer: Quantizer, result: Quantized) -> tuple[Quantizer, Quantized]:
    """Weights of 16 bits for recurrent layers where those of 8 bits cost more than :data:`WEIGHTS_WORTH`: errors return
    in each step, and others leave these layers in float."""
    if not any(result.tuned and node.op in RECURRENCES for node in quantizer.graph.nodes):
        return quantizer, result
    wide = replace(quantizer, halfwords=True)
    parts = wide.partition()
    graph = wide.write(parts, wide.encodings(parts), result.tuned)
    numbers = spread(quantizer.samples.count, COMPARED_SAMPLES)
    judged, wanted = quantizer.samples.at(np.asarray(numbers)), quantizer.float_outputs(numbers)
    plain, better = (_least_sqnr(evaluate_samples(each, judged), wanted) for each in (result.graph, graph))
    return (wide, replace(result, graph=graph)) if better > plain + WEIGHTS_WORTH else (quantizer, result)


def _least_sqnr(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> float:
    return min((sqnr(found[name], array) for name, array in floats_of(wanted).items()), default=math.inf)


def _with_floor(quantizer: Quantizer, plain: Quantized) -> QuantizedModel:
    """A model of bytes that would be of little use gets more precision unasked: by calibration samples, each
    with ranges that others made."""
    few = _FLOOR_WORK // max(1, work_of(quantizer.graph))
    done = QuantizedModel(quantizer.graph, plain.graph)
    if quantizer.options.activations != "int8":
        return done
    counts = sorted({FLOOR_SAMPLES, max(FLOOR_SAMPLES, min(MOST_FLOOR_SAMPLES, few))})
    for count in counts:
        judged = Judged.of_calibration(quantizer.samples, count)
        wanted = quantizer.float_outputs(judged.numbers)
        outputs = judged.outputs(quantizer, lambda fold: fold.rewritten(plain.tuned))
        if _least_sqnr(outputs, wanted) >= FLOOR + (_CLEARLY if count < counts[-1] else 0.0):
            return done
    log.warning("int8 alone gives less than %g dB; more precision for the layers that lose most", FLOOR)
    score = partial(judged.least_sqnr, wanted=wanted)
    aim = Aim(lambda outputs: score(outputs) >= _AIMED, score, goal=_AIMED, thorough=False)
    quantizer, result, mixed = raise_precision(replace(quantizer, headroom=FLOOR_HEADROOM), plain, judged, aim)
    return QuantizedModel(quantizer.graph, result.graph, mixed)


def _demand(wanted: Mapping[str, np.ndarray], options: QuantizeOptions, score: Score | None) -> GoodEnough:
    """What the outputs have to fulfil, given those of the float model."""
    accuracy = score or (lambda outputs: top1_agreement(outputs, wanted))
    drop = options.max_accuracy_drop
    goal = 0.0 if drop is None else accuracy(wanted)

    def good_enough(outputs: Mapping[str, np.ndarray]) -> bool:
        if options.min_sqnr is not None and _least_sqnr(outputs, wanted) < options.min_sqnr:
            return False
        return drop is None or goal - accuracy(outputs) <= drop

    return good_enough


def sqnr(found: np.ndarray, wanted: np.ndarray) -> float:
    """The signal-to-quantization-noise ratio in dB; infinite without noise."""
    found, wanted = both_finite(found, wanted)
    signal, noise = float(np.square(wanted).sum()), float(np.square(found - wanted).sum())
    return float("inf") if noise == 0 else 10 * float(np.log10(max(signal / noise, 1e-30)))


def top1_agreement(outputs: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray]) -> float:
    """The share of samples whose largest value is at the same place, or of elements that are equal where they are
    integers; the least of all outputs."""
    return min(_agreement(outputs[name], array) for name, array in wanted.items())


def _agreement(found: np.ndarray, wanted: np.ndarray) -> float:
    if wanted.dtype.kind != "f":
        return float(np.mean(found == wanted)) if wanted.size else 1.0
    found, wanted = (array.reshape(len(wanted), -1) for array in (found, wanted))
    return float(np.mean(found.argmax(1) == wanted.argmax(1)))
