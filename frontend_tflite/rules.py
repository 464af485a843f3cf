"""All rules: the name of a TensorFlow Lite operator -> what makes ONNX nodes of it."""

from __future__ import annotations

from collections.abc import Mapping

from . import (
    ops_contraction,
    ops_detection,
    ops_movement,
    ops_pointwise,
    ops_pooling,
    ops_recurrent,
    ops_reduction,
    ops_selection,
)
from .context import Rule

RULES: Mapping[str, Rule] = {
    **ops_contraction.RULES,
    **ops_detection.RULES,
    **ops_movement.RULES,
    **ops_pointwise.RULES,
    **ops_pooling.RULES,
    **ops_recurrent.RULES,
    **ops_reduction.RULES,
    **ops_selection.RULES,
}

CONTROL = ("ASSIGN_VARIABLE", "CALL_ONCE", "IF", "READ_VARIABLE", "VAR_HANDLE", "WHILE")
"""Operators of control flow and of variables, which ``translate.py`` itself does."""

SUPPORTED = tuple(sorted((*RULES, *CONTROL)))

CONDITIONS: Mapping[str, str] = {
    "ARG_MAX": "constant axis",
    "ARG_MIN": "constant axis",
    "ASSIGN_VARIABLE": "not within IF and WHILE",
    "BATCH_TO_SPACE_ND": "constant block and crops",
    "BROADCAST_ARGS": "constant shapes",
    "CALL_ONCE": "assigns constants",
    "CIRCULAR_BUFFER": "every run moves it on (cycles_max 1); not within IF and WHILE",
    "CONV_2D": "float weights where int16 times int8 could need more than 32 bits",
    "CUMSUM": "constant axis",
    "DEPTHWISE_CONV_2D": "float weights where int16 times int8 could need more than 32 bits",
    "FULLY_CONNECTED": "weights not shuffled; float ones where int16 times int8 could need more than 32 bits",
    "MEAN": "constant axes",
    "MIRROR_PAD": "constant padding",
    "PAD": "constant padding",
    "PADV2": "constant padding",
    "READ_VARIABLE": "not within IF and WHILE",
    "REDUCE_ALL": "constant axes",
    "REDUCE_ANY": "constant axes",
    "REDUCE_MAX": "constant axes",
    "REDUCE_MIN": "constant axes",
    "REDUCE_PROD": "constant axes",
    "RESIZE_BILINEAR": "constant size",
    "RESIZE_NEAREST_NEIGHBOR": "constant size",
    "REVERSE_V2": "constant axes",
    "SLICE": "constant begin and size",
    "SPACE_TO_BATCH_ND": "constant block and padding",
    "SPLIT": "constant axis",
    "SPLIT_V": "constant sizes and axis",
    "STRIDED_SLICE": "constant begin, end and strides",
    "SUM": "constant axes",
    "SVDF": "not within IF and WHILE",
    "TFLite_Detection_PostProcess": "without use_regular_nms",
    "TILE": "constant multiples",
    "TRANSPOSE": "constant permutation",
    "TRANSPOSE_CONV": "float weights where int16 times int8 could need more than 32 bits",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "no peepholes, projection or layer norm; not within IF and WHILE",
    "VAR_HANDLE": "not within IF and WHILE",
}
"""What an operator has to be like; a model that is not so is refused with the reason."""
