"""What the values of a model should be: by the ONNX reference evaluator, or where that cannot run it, by ccml's own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import version_converter

from ..driver import Source
from ..errors import CcmlError
from ..frontend_onnx.export import export_model
from ..ir.extents import cropped, filled
from ..ir.graph import Graph
from ..ir.strings import decoded
from ..ir.types import DType
from ..ops.evaluate import evaluate_graph
from ..record import record
from .custom_reference import custom_operators, prepared
from .tied_rounding import tied_rounding

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator

log = logging.getLogger(__name__)

Arrays = dict[str, np.ndarray]


@record
class Reference:
    """``kind`` is ``onnx`` or ``import``: the model itself, or its import into ccml before any pass.

    The evaluator sums products of integers in float32. What is half a step away from two integers then, it rounds as
    the import has it, which sums in integers: ``import_values``, those of a run; ``None`` where nothing is rounded."""

    kind: str
    source: Source
    evaluator: ReferenceEvaluator | None
    import_values: Arrays | None = None

    def values(self, inputs: Mapping[str, np.ndarray]) -> Arrays:
        """All values that the reference knows, by ONNX name."""
        if self.evaluator is None:
            return values_in_run(self.source.graph, inputs)
        if self.import_values is not None:
            self.import_values.update(values_in_run(self.source.graph, inputs))
        return _evaluate(self.evaluator, inputs)


def values_in_run(graph: Graph, inputs: Mapping[str, np.ndarray]) -> Arrays:
    """All values of a graph, outputs in the shapes that they have in this run."""
    values = evaluate_graph(graph, filled(graph.extents, {value.name: value.type for value in graph.inputs}, inputs))
    return values | cropped(graph.extents, {output.name: values[output.name] for output in graph.outputs}, values)


def find_reference(source: Source, inputs: Mapping[str, np.ndarray]) -> Reference:
    """The best reference that can run the model on ``inputs``.

    The ONNX reference lacks old versions of some operators and has faults in others (BatchNormalization before opset 14
    computes statistics of its own), so newer operator sets are tried first.
    What ccml quantized, or gave an integer interface, is compared with the QDQ model that it makes.
    """
    from onnx.reference import ReferenceEvaluator  # all its operators: those alone wait for them who compare

    problem: Exception | None = None
    import_values: Arrays = {}
    custom = custom_operators(source.graph)
    try:
        whole = export_model(source.graph) if source.is_changed else source.model
    except CcmlError as refusal:
        log.warning("the quantized model has no ONNX form (%s): compared with the graph itself", refusal.reason)
        return Reference("import", source, None)
    for model in _versions(prepared(whole, custom)):
        fault = next(filter(None, map(_fault, model.graph.node)), None)
        if fault is not None:
            problem = problem or NotImplementedError(fault)
            continue
        try:
            rounding = tied_rounding(model, import_values)
            evaluator = ReferenceEvaluator(model, new_ops=[*custom, *rounding])
            _evaluate(evaluator, inputs)
        except CcmlError:  # of a custom operator
            raise
        except Exception as reason:  # it raises whatever its NumPy code meets
            problem = problem or reason
            continue
        return Reference("onnx", source, evaluator, import_values if rounding else None)
    log.warning("the ONNX reference cannot run this model (%s): compared with its import instead", problem)
    return Reference("import", source, None)


def _fault(node: onnx.NodeProto) -> str | None:
    """What the evaluator leaves out of the definition of an operator, without saying so."""
    if node.op_type in ("GRU", "LSTM", "RNN") and "".join(node.input[4:5]):
        return "it does not look at the lengths of sequences"
    groups = next((attribute.i for attribute in node.attribute if attribute.name == "group"), 1)
    if node.op_type == "ConvTranspose" and groups != 1:
        return "all groups of a ConvTranspose get the biases of the first one"
    return None


def _evaluate(evaluator: ReferenceEvaluator, inputs: Mapping[str, np.ndarray]) -> Arrays:
    with np.errstate(all="ignore"):
        feeds = {name: _as_onnx(array) for name, array in inputs.items() if name in evaluator.input_names}
        results = evaluator.run(None, feeds, intermediate=True)
    assert isinstance(results, dict)
    return {name: array for name, array in results.items() if isinstance(array, np.ndarray) and name}


def _as_onnx(array: np.ndarray) -> np.ndarray:
    """Strings as the evaluator has them."""
    return decoded(array).astype(object) if array.dtype == DType.CHAR.numpy else array


def _versions(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """The model in the newest operator set, in older ones, and as it is. ``Resize`` of operator set 10 stays as it is:
    its positions are asymmetric, and the converter lets them be those of the default of 11."""
    own = max((opset.version for opset in model.opset_import if opset.domain in ("", "ai.onnx")), default=0)
    kept = own == 10 and any(node.op_type == "Resize" for node in model.graph.node)
    for opset in () if kept else (onnx.defs.onnx_opset_version(), 21, 17):
        if opset > own:
            try:
                yield version_converter.convert_version(model, opset)
            except Exception as problem:  # the converter raises RuntimeError and more, with its own words
                log.debug("not brought to opset %d: %s", opset, problem)
    yield model
