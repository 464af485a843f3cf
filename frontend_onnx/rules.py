"""All importer rules: the name of an ONNX operator (with its domain, but for the default one) -> what imports it."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    ops_blocks,
    ops_constants,
    ops_contraction,
    ops_einsum,
    ops_gather,
    ops_hash,
    ops_integer,
    ops_ml_features,
    ops_ml_linear,
    ops_ml_svm,
    ops_ml_trees,
    ops_movement,
    ops_normalization,
    ops_pointwise,
    ops_quantization,
    ops_random,
    ops_recurrent,
    ops_reduction,
    ops_resize,
    ops_sample,
    ops_scatter,
    ops_selection,
    ops_sequence,
    ops_signal,
    ops_sort,
    ops_strings,
    ops_tokens,
    ops_training,
    ops_window,
)
from .context import Rule
from .ops_sequence import SequenceRule

RULES: Mapping[str, Rule] = {
    **ops_blocks.RULES,
    **ops_constants.RULES,
    **ops_contraction.RULES,
    **ops_einsum.RULES,
    **ops_gather.RULES,
    **ops_integer.RULES,
    **ops_ml_features.RULES,
    **ops_ml_linear.RULES,
    **ops_ml_svm.RULES,
    **ops_ml_trees.RULES,
    **ops_movement.RULES,
    **ops_normalization.RULES,
    **ops_pointwise.RULES,
    **ops_quantization.RULES,
    **ops_random.RULES,
    **ops_recurrent.RULES,
    **ops_reduction.RULES,
    **ops_resize.RULES,
    **ops_sample.RULES,
    **ops_scatter.RULES,
    **ops_selection.RULES,
    **ops_signal.RULES,
    **ops_sort.RULES,
    **ops_strings.RULES,
    **ops_training.RULES,
    **ops_window.RULES,
}
"""Of operators that take and give tensors."""

SEQUENCE_RULES: Mapping[str, SequenceRule] = ops_sequence.RULES
"""Of operators that may take or give sequences and optionals."""

STRING_RULES: Mapping[str, Rule] = {
    **ops_strings.RULES,
    **ops_strings.STRING_RULES,
    **ops_blocks.STRING_RULES,
    **ops_ml_features.STRING_RULES,
}
"""The rules of operators that look at strings, for operands that are; RULES has those for numbers."""

RUNTIME_RULES: Mapping[str, Rule] = {**ops_hash.RULES, **ops_tokens.RULES}
"""Of operators of ONNX Runtime's domain that no body of ONNX's operators (``contrib.py``) can say."""
