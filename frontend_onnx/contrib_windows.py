"""Maxima of windows of ONNX Runtime's own domain: pooling that a mask ends, convolutions over letters of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from .contrib_body import Body, Rule, Unsupported


def _max_pool(body: Body) -> str:
    """X ``[N, C, ...]`` and a mask of integers ``[M, K, ...]``. Along the last axis a window ends where the mask is 0,
    and has the least number of floats where nothing is left; what pads ends none, nor does the first place of an image.

    The channels of X have the mask in turn as ONNX Runtime's kernel takes it: from the element ``c * size % (M * K)``
    on, for channels of ``size`` elements.
    """
    batch, channels, *sizes = body.shape(0)
    rank, size, masks = len(sizes), prod(sizes), prod(body.shape(1)[:2])
    if rank not in (1, 2, 3) or list(body.shape(1)[2:]) != sizes or not masks:
        raise ValueError(f"a mask {list(body.shape(1))} for {list(body.shape(0))}")
    kernel = [int(extent) for extent in body.attributes["kernel_shape"]]
    steps = [int(step) for step in body.attributes.get("strides", [1] * rank)]
    if len(kernel) != rank or len(steps) != rank or min(*kernel, *steps) < 1:
        raise ValueError(f"windows {kernel} at steps {steps} over {rank} dimensions")
    before, after = _padding(body, sizes, kernel, steps)
    least, one = float(np.finfo(body.dtype(0)).min), body.constant(np.asarray(True))
    begins = np.arange(batch * channels) * size % masks
    flat = body.cast(body.reshape(body.input(1), -1), np.bool_)
    goes_on = body.emit("Gather", flat, body.constant(begins[:, None] + np.arange(size)), axis=0)
    if rank > 1:
        goes_on = body.emit("Or", goes_on, body.constant(np.arange(size)[None] == 0))
    goes_on = body.reshape(goes_on, batch, channels, *sizes)
    pads = body.integers(0, 0, *before, 0, 0, *after)
    x = body.emit("Pad", body.input(0), pads, body.number(least))
    goes_on = body.emit("Pad", goes_on, pads, one)
    counts = [(n + a + b - k) // s + 1 for n, a, b, k, s in zip(sizes, before, after, kernel, steps)]
    found = []
    for outer in product(*(range(extent) for extent in kernel[:-1])):
        left = ""
        for place in range(kernel[-1]):
            starts = (*outer, place)
            value, here = (_places(body, each, starts, counts, steps) for each in (x, goes_on))
            left = body.emit("And", left, here) if left else here
            found.append(body.emit("Where", left, value, body.number(least)))
    return body.emit("Max", *found) if len(found) > 1 else found[0]


def _padding(
    body: Body, sizes: Sequence[int], kernel: Sequence[int], steps: Sequence[int]
) -> tuple[list[int], list[int]]:
    """In front and behind, for each dimension."""
    mode, rank = body.text("auto_pad", "NOTSET"), len(sizes)
    if mode in ("NOTSET", ""):
        pads = [int(pad) for pad in body.attributes.get("pads", [0] * 2 * rank)]
        if len(pads) != 2 * rank or min(pads) < 0:
            raise ValueError(f"pads are {pads}")
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return [0] * rank, [0] * rank
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad {mode}")
    whole = [max((-(-n // s) - 1) * s + k - n, 0) for n, k, s in zip(sizes, kernel, steps)]
    less, more = [each // 2 for each in whole], [each - each // 2 for each in whole]
    return (less, more) if mode == "SAME_UPPER" else (more, less)


def _places(body: Body, x: str, starts: Sequence[int], counts: Sequence[int], steps: Sequence[int]) -> str:
    """Of each window the element at ``starts``."""
    ends = [start + (count - 1) * step + 1 for start, count, step in zip(starts, counts, steps)]
    axes = range(2, 2 + len(starts))
    return body.emit("Slice", x, *(body.integers(*each) for each in (starts, ends, axes, steps)))


def _word_embedding(body: Body) -> str:
    """Letters of words ``[S, W]``, ended by 0, weights ``[M, 1, K, E]``, biases ``[M]`` and the vectors of letters
    ``[V, E]``: of each word the greatest tanh of a convolution over its letters, or of ``K`` where it has fewer.

    A word without letters has zeros, where ONNX Runtime leaves what was in memory.
    """
    (_, length), (filters, _, window, width) = body.shape(0), body.shape(1)
    for name, extent in (("embedding_size", filters), ("conv_window_size", window), ("char_embedding_size", width)):
        if body.attributes.get(name, -1) not in (-1, extent):
            raise ValueError(f"{name} is {body.attributes[name]}, and {extent} in the weights")
    if window > length or body.shape(3)[1] != width:
        raise ValueError(f"words of {length} letters of {body.shape(3)[1]} for weights {list(body.shape(1))}")
    letters = body.emit("Gather", body.input(3), body.input(0), axis=0)
    weights = body.transpose(body.reshape(body.input(1), filters, window, width), 0, 2, 1)
    sums = body.emit("Conv", body.transpose(letters, 0, 2, 1), weights, body.input(2))
    zero = body.constant(np.zeros(1, body.dtype(0)))
    there = body.cast(body.emit("Greater", body.input(0), zero), np.int64)
    counts = body.emit("Mul", body.emit("ReduceSum", there, body.integers(1)), body.slice(there, 1, 0, 1))
    windows = body.emit("Max", body.emit("Sub", counts, body.integers(window - 1)), body.integers(1))
    inside = body.emit("Less", body.constant(np.arange(length - window + 1)[None]), windows)
    inside = body.emit("Unsqueeze", inside, body.integers(1))
    shown = body.emit("Where", inside, body.emit("Tanh", sums), body.number(-2, 1))
    most = body.emit("ReduceMax", shown, body.integers(2), keepdims=0)
    return body.emit("Where", body.emit("Greater", counts, body.integers(0)), most, body.number(0.0, 1))


RULES: Mapping[str, Rule] = {"MaxpoolWithMask": _max_pool, "WordConvEmbedding": _word_embedding}
"""By name."""
