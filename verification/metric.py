"""The user's measure of a model: ``module:function``, a Python function of the outputs and of what they should be."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..errors import CcmlError, ErrorCode

Arrays = Mapping[str, np.ndarray]
Metric = Callable[[Arrays, Arrays], float]
"""``metric(outputs, data)``, larger is better. ``outputs`` are the model's, by name, in float, samples along the first
axis; ``data`` all arrays of the test data that have as many samples: the inputs, and labels if there are any."""


def find_metric(spec: str) -> Metric:
    """Imports the function; its module may be in the current folder. Raises ``BAD_OPTION``."""
    module_name, colon, name = spec.partition(":")
    if not colon or not module_name or not name:
        raise _bad(spec, "a metric is module:function", "for example --metric scoring:accuracy")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as problem:  # it is the user's module
        raise _bad(spec, f"cannot import '{module_name}': {type(problem).__name__}: {problem}") from problem
    function = getattr(module, name, None)
    if not callable(function):
        raise _bad(spec, f"'{module_name}' has no function '{name}'")
    return function


def evaluate_metric(metric: Metric, spec: str, outputs: Arrays, data: Arrays) -> float:
    """The metric's value. Raises ``BAD_OPTION`` where it fails or gives no finite number."""
    try:
        value = float(metric(outputs, data))
    except Exception as problem:  # it is the user's function
        raise _bad(spec, f"it failed with {type(problem).__name__}: {problem}", _CONTRACT) from problem
    if not np.isfinite(value):
        raise _bad(spec, f"it gave {value}", _CONTRACT)
    return value


_CONTRACT = "function(outputs, data) takes two dictionaries of arrays and returns a number, larger is better"


def _bad(spec: str, reason: str, hint: str | None = None) -> CcmlError:
    return CcmlError(ErrorCode.BAD_OPTION, reason, loc=f"--metric {spec}", hint=hint)
