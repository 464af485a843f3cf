"""ONNX Runtime without optimizations, on one thread; a process of its own for what ends the whole process there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np
import onnxruntime

Arrays = tuple[np.ndarray, ...]


def run(model: bytes, feeds: Mapping[str, np.ndarray]) -> Arrays:
    """The model's outputs. ONNX Runtime's errors have no common class."""
    session = onnxruntime.InferenceSession(model, _options())
    return tuple(np.asarray(result) for result in session.run(None, dict(feeds)))


def run_apart(model: bytes, feeds: Mapping[str, np.ndarray]) -> Arrays:
    """The same in another process; a RuntimeError where that dies or where it has no result."""
    pipe = _other_process()
    try:
        pipe.send((model, dict(feeds)))
        arrays: Arrays | None = pipe.recv()
    except (EOFError, BrokenPipeError, ConnectionResetError) as problem:
        _other_process.cache_clear()
        raise RuntimeError("ONNX Runtime ended its process") from problem
    if arrays is None:
        raise RuntimeError("ONNX Runtime has no result")
    return arrays


@lru_cache
def _other_process() -> Connection:
    """The near end of a pipe to a process that answers :func:`run_apart`; it ends with this one."""
    context = get_context("spawn")
    near, far = context.Pipe()
    context.Process(target=_answer, args=(far,), daemon=True).start()
    far.close()
    return near


def _answer(pipe: Connection) -> None:
    while True:
        model, feeds = pipe.recv()
        try:
            pipe.send(run(model, feeds))
        except Exception:  # its errors have no common class, nor can all be sent
            pipe.send(None)


@lru_cache
def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options
