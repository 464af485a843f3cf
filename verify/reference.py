"""What the values of a model should be: by the ONNX reference evaluator, or where that cannot run it, by ccml's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import version_converter
from onnx.reference import ReferenceEvaluator

from ..api import Source
from ..ops.evaluate import evaluate_graph

log = logging.getLogger(__name__)

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Reference:
    """``kind`` is ``onnx`` or ``import``: the model itself, or its import into ccml before any pass."""

    kind: str
    source: Source
    evaluator: ReferenceEvaluator | None

    def values(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """All values that the reference knows, by ONNX name."""
        if self.evaluator is None:
            return evaluate_graph(self.source.graph, inputs)
        return _evaluate(self.evaluator, inputs)


def find_reference(source: Source, inputs: Mapping[str, np.ndarray]) -> Reference:
    """The best reference that can run the model on ``inputs``.

    The ONNX reference lacks old versions of some operators, so the model is tried as it is and in newer operator sets.
    """
    problem: Exception | None = None
    for model in _versions(source.model):
        try:
            evaluator = ReferenceEvaluator(model)
            _evaluate(evaluator, inputs)
        except Exception as reason:  # it raises whatever its NumPy code meets
            problem = problem or reason
            continue
        return Reference("onnx", source, evaluator)
    log.warning("the ONNX reference cannot run this model (%s): compared with its import instead", problem)
    return Reference("import", source, None)


def _evaluate(evaluator: ReferenceEvaluator, inputs: Mapping[str, np.ndarray]) -> Arrays:
    with np.errstate(all="ignore"):
        results = evaluator.run(None, dict(inputs), intermediate=True)
    return {name: array for name, array in results.items() if isinstance(array, np.ndarray) and name}


def _versions(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """The model, then with its operators brought to the newest version, or to the first one that can be reached."""
    yield model
    newest = onnx.defs.onnx_opset_version()
    for opset in (newest, 21, 19, 17):
        try:
            yield version_converter.convert_version(model, opset)
        except Exception as problem:  # the converter raises RuntimeError and more, with its own words
            log.debug("not brought to opset %d: %s", opset, problem)
