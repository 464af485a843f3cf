"""What a quantization costs: the quantized model against the float model, tensor by tensor, on test samples.

Three graphs run: the quantized model compiled into this process, the others as a graph (``runner.py``),

* the float model and the quantized model, which give the noise that has come together at each tensor;
* the *local* model: the float model, and beside it every layer of the quantized model with its quantized weights, but
  fed with the float model's tensors. It gives the noise that a layer's weights add on their own. What the layer's
  result adds on its own follows from the float tensor and its encoding alone: by rounding, and by clipping.

What no reader of a tensor notices is no noise: a hard swish has the same result for all that is less than -3.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from ..ir.graph import Graph, Value
from ..ir.types import DType
from ..record import record
from ..report.accuracy import LayerAccuracy, OutputAccuracy
from ..samples import Samples
from .runner import runner
from .tensor_pairs import Encoding, Tensor, common_tensors, local_graph

log = logging.getLogger(__name__)

Arrays = Mapping[str, np.ndarray]


def both_finite(found: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays in float64, with 0 where one of them is infinite or no number, such as a score that is masked: a ratio
    says nothing of these."""
    found, wanted = found.astype(np.float64), wanted.astype(np.float64)
    known = np.isfinite(found) & np.isfinite(wanted)
    return (found, wanted) if known.all() else (np.where(known, found, 0.0), np.where(known, wanted, 0.0))


@dataclass
class Comparison:
    """Sums over samples of what compares one tensor with another."""

    signal: float = 0.0
    noise: float = 0.0
    dot: float = 0.0
    energy: float = 0.0
    max_abs: float = 0.0

    def add(self, found: np.ndarray, wanted: np.ndarray) -> None:
        """Adds one sample, of any shape."""
        lhs, rhs = (array.reshape(-1) for array in both_finite(found, wanted))
        apart = lhs - rhs
        self.signal += float(rhs @ rhs)
        self.noise += float(apart @ apart)
        self.dot += float(lhs @ rhs)
        self.energy += float(lhs @ lhs)
        self.max_abs = max(self.max_abs, float(np.abs(apart).max(initial=0.0)))

    @property
    def sqnr_db(self) -> float | None:
        return decibels(self.noise, self.signal)

    @property
    def cosine(self) -> float:
        """1 where both are zero."""
        length = math.sqrt(self.signal * self.energy)
        return min(self.dot / length, 1.0) if length else float(self.signal == self.energy)


def decibels(noise: float, signal: float) -> float | None:
    """Rounded to hundredths, -100 at least; ``None`` without noise."""
    if noise <= 0:
        return None
    return round(10 * math.log10(max(signal / noise, 1e-10)), 2)


@dataclass
class _Noise:
    """Of one tensor: against the float model in all, and what its layer adds by clipping, rounding and weights."""

    total: Comparison = field(default_factory=Comparison)
    weights: Comparison = field(default_factory=Comparison)
    clipping: float = 0.0
    rounding: float = 0.0
    clipped: int = 0
    elements: int = 0

    @property
    def own(self) -> dict[str, float]:
        return {"clipping": self.clipping, "rounding": self.rounding, "weights": self.weights.noise}

    @property
    def own_ratio(self) -> float:
        signal = self.total.signal
        return sum(self.own.values()) / signal if signal else 0.0

    def add(self, tensor: Tensor, wanted: np.ndarray, found: np.ndarray, local: np.ndarray | None) -> None:
        """Adds one sample: the tensor of the float, of the quantized and of the local model."""
        wanted = tensor.told_apart(wanted)
        self.total.add(found, wanted)
        self.elements += wanted.size
        encoding = tensor.encoding
        low, high = encoding.real_range if encoding else (-np.inf, np.inf)
        inside = np.clip(wanted, low, high)
        if local is not None:
            self.weights.add(np.clip(local, low, high), inside)
        if encoding:
            beyond = np.square(inside.astype(np.float64) - wanted)
            half_step = encoding.step / 2
            self.clipped += int(np.count_nonzero(beyond > half_step**2))
            self.clipping += float(beyond.sum())
            self.rounding += float(np.square(encoding.round_trip(inside).astype(np.float64) - inside).sum())


@record
class Measured:
    """``layers`` by the noise that they add, largest first. Results of the float and of the quantized model are in
    float, and hold samples like the inputs do."""

    layers: list[LayerAccuracy]
    outputs: list[OutputAccuracy]
    float_results: dict[str, np.ndarray]
    quantized_results: dict[str, np.ndarray]


Cut = Callable[[str, np.ndarray], np.ndarray]
"""What counts of an output of a sample, by its name."""


def measure(
    original: Graph, quantized: Graph, samples: Samples, cut: Cut = lambda name, array: array
) -> Measured:
    """Runs ``samples``, which are of the float model's types, through all three models.

    ``original`` is the float model that was quantized, ``quantized`` the same with quantize and dequantize nodes.
    """
    models = _Models(original, quantized, samples.count)
    noise = [_Noise() for _ in models.tensors]
    wanted: list[dict[str, np.ndarray]] = []
    got: list[dict[str, np.ndarray]] = []
    for number, (floats, found) in enumerate(models.runs(samples)):
        done = {"share": (number + 1) / samples.count}
        log.info("comparing with the float model, sample %d of %d", number + 1, samples.count, extra=done)
        for tensor, sums in zip(models.tensors, noise):
            local = floats.get(models.local_names.get(tensor.origin, ""))
            sums.add(tensor, floats[tensor.origin], tensor.real(found), local)
        names = [value.name for value in original.outputs]
        wanted.append({name: cut(name, floats[name]) for name in names})
        got.append({name: cut(name, models.real_output(name, found)) for name in names})
    outputs = [
        _output(name, np.stack([one[name] for one in got]), np.stack([one[name] for one in wanted]))
        for name in wanted[0]
    ]
    return Measured(_layers(models.tensors, noise), outputs, samples.joined(wanted), samples.joined(got))


class _Models:
    """The three models: the quantized one, and one graph of the others."""

    def __init__(self, original: Graph, quantized: Graph, runs: int) -> None:
        self.tensors = common_tensors(original, quantized)
        self._by_origin = {tensor.origin: tensor for tensor in self.tensors}
        floats, self.local_names = local_graph(original, quantized, self.tensors)
        outputs = [value.name for value in original.outputs]
        seen = [*(tensor.origin for tensor in self.tensors), *self.local_names.values(), *outputs]
        self._floats = runner(floats, seen, runs)
        self._integers = runner(quantized, [*(tensor.value for tensor in self.tensors), *outputs], runs)
        self._stored_inputs = _stored(quantized.inputs, original.inputs)
        self._stored_outputs = _stored(quantized.outputs, original.outputs)

    def runs(self, samples: Samples) -> Iterator[tuple[Arrays, Arrays]]:
        """The values of the float model with those of the local one, and of the quantized model, for each sample."""
        for floats in self._floats.batches(samples.inputs):
            inputs = {name: floats[name] for name in samples.inputs}
            inputs |= {name: encoding.stored(inputs[name]) for name, encoding in self._stored_inputs.items()}
            found = (_rows(values) for values in self._integers.batches(inputs))
            yield from zip(_rows(floats), chain.from_iterable(found), strict=True)

    def real_output(self, name: str, values: Arrays) -> np.ndarray:
        """An output in float, whatever the quantized model puts out under its name."""
        if name in self._stored_outputs:
            return self._stored_outputs[name].real(values[name])
        return self._by_origin[name].real(values) if name in self._by_origin else values[name]


def _rows(values: Arrays) -> Iterator[Arrays]:
    """Sample by sample, of values ``[samples, ...]``."""
    for place in range(len(next(iter(values.values())))):
        yield {name: array[place] for name, array in values.items()}


def _stored(quantized: Sequence[Value], original: Sequence[Value]) -> dict[str, Encoding]:
    """How the sides of the quantized model are stored that are float in the original."""
    floats = {value.name for value in original if value.dtype is DType.F32}
    quants = {value.name: (value.dtype, value.type.quant) for value in quantized if value.name in floats}
    return {
        name: Encoding(dtype, {"scale": quant.scale, "zero_point": quant.zero_point, "axis": quant.axis or 0})
        for name, (dtype, quant) in quants.items()
        if quant is not None and dtype is not DType.F32
    }


def _layers(tensors: Sequence[Tensor], noise: Sequence[_Noise]) -> list[LayerAccuracy]:
    whole = sum(sums.own_ratio for sums in noise) or 1.0
    rows = [_layer(index, tensor, sums, whole) for index, (tensor, sums) in enumerate(zip(tensors, noise))]
    return sorted(rows, key=lambda row: -row.noise_share)


def _layer(index: int, tensor: Tensor, sums: _Noise, whole: float) -> LayerAccuracy:
    own = sums.own
    cause = max(own, key=own.__getitem__) if any(own.values()) else None
    own_sqnr, saturation = decibels(sum(own.values()), sums.total.signal), sums.clipped / max(sums.elements, 1)
    return LayerAccuracy(
        index=index,
        layer=tensor.layer,
        tensor=tensor.origin,
        dtype="f32" if tensor.encoding is None else tensor.encoding.dtype.value,
        sqnr_db=sums.total.sqnr_db,
        own_sqnr_db=own_sqnr,
        cosine=round(sums.total.cosine, 6),
        saturation=round(saturation, 6),
        noise_share=round(sums.own_ratio / whole, 4),
        cause=cause,
    )


def _output(name: str, found: np.ndarray, wanted: np.ndarray) -> OutputAccuracy:
    sums = Comparison()
    sums.add(found, wanted)
    scores = wanted.shape[-1] if wanted.ndim > 1 else 1
    agreement = None
    if scores > 1 and wanted[0].size == scores:
        agreement = round(float(np.mean(found.argmax(-1) == wanted.argmax(-1))), 6)
    equal = None if wanted.dtype.kind == "f" else round(float(np.mean(found == wanted)), 6) if wanted.size else 1.0
    return OutputAccuracy(name, sums.sqnr_db, round(sums.cosine, 6), sums.max_abs, agreement, equal)
