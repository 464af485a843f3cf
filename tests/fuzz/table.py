"""All rows: the name of an operator as ``ccml ops`` lists it -> how to write a valid node of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ccml.frontend_onnx.supported import SupportedOperator, supported_operators
from onnx import defs

from tests.fuzz import (
    rows_contraction,
    rows_contrib,
    rows_language,
    rows_layers,
    rows_ml,
    rows_movement,
    rows_nested,
    rows_optimized,
    rows_pointwise,
    rows_quantized,
    rows_random,
    rows_reduction,
    rows_sequence,
    rows_signal,
    rows_strings,
)
from tests.fuzz.row import NEWEST, OLDEST, Row

ROWS: Mapping[str, Row] = {
    **rows_contraction.ROWS,
    **rows_contrib.ROWS,
    **rows_language.ROWS,
    **rows_layers.ROWS,
    **rows_ml.ROWS,
    **rows_movement.ROWS,
    **rows_nested.ROWS,
    **rows_optimized.ROWS,
    **rows_pointwise.ROWS,
    **rows_quantized.ROWS,
    **rows_random.ROWS,
    **rows_reduction.ROWS,
    **rows_sequence.ROWS,
    **rows_signal.ROWS,
    **rows_strings.ROWS,
}


@lru_cache
def operators() -> tuple[str, ...]:
    """What ccml says that it supports. The completeness of :data:`ROWS` is tested against it."""
    return tuple(_by_name())


@lru_cache
def opsets(operator: str) -> tuple[int, ...]:
    """One operator set for each definition of an operator, from the oldest that ccml reads."""
    row = ROWS[operator]
    since = {max(version, OLDEST) for version in _by_name()[operator].since}
    if 7 in since:  # which has another broadcast or another form of its operands than before
        since.discard(OLDEST)
    if "." in operator:
        since = {11, 17, 21} if operator.startswith("com.microsoft") else {21, NEWEST}
    elif not defs.has(operator):  # ONNX Runtime's, in the domain of ONNX
        since = {11, 17, 18}
    versions = {version for version in since if version <= row.until}
    return tuple(sorted({*versions, min(row.until, NEWEST)}))


def has_extents(operator: str) -> bool:
    """Whether a run tells the shapes of its results, so that operators behind it may be refused."""
    return operator.split(".")[-1] in (
        "Compress", "NonMaxSuppression", "NonZero", "StringNormalizer", "StringSplit", "Tokenizer", "Unique",
    )  # fmt: skip


def common_opset(*names: str) -> int:
    """An operator set for a model that uses all of these. Rows that end earlier are written as functions."""
    least = max(min(opsets(name)) for name in names)
    return next(version for version in (21, 23, 25, NEWEST) if version >= least)


@lru_cache
def _by_name() -> dict[str, SupportedOperator]:
    return {operator.name: operator for operator in supported_operators()}
