"""Operators that ONNX had for trial until operator set 9, which ONNX Runtime runs: models converted from Core ML and
Caffe2 have them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule


def _factor(body: Body, x: str, name: str) -> str:
    factor = body.attributes.get(name, 1.0)
    return x if factor == 1.0 else body.emit("Mul", x, body.number(factor))


def _affine(body: Body) -> str:
    """alpha * x + beta"""
    return body.emit("Add", _factor(body, body.input(0), "alpha"), body.number(body.attributes.get("beta", 0.0)))


def _image_scaler(body: Body) -> str:
    """scale * x + bias, which has a number for each channel of [N, C, H, W]."""
    bias = np.asarray(body.attributes["bias"], body.dtype(0)).reshape(-1, 1, 1)
    return body.emit("Add", _factor(body, body.input(0), "scale"), body.constant(bias))


def _crop(body: Body) -> str:
    """Without ``border`` (left, top, right, bottom), or from its left and top on as much as ``scale`` (height, width)
    says."""
    _, _, height, width = body.shape(0)
    left, top, right, bottom = body.attributes["border"]
    ends = [height - bottom, width - right]
    if "scale" in body.attributes:
        ends = [start + size for start, size in zip((top, left), body.attributes["scale"], strict=True)]
    if not (0 <= top < ends[0] <= height and 0 <= left < ends[1] <= width):
        raise ValueError(f"[{top}, {left}] to {ends} is no part of {height} x {width}")
    return body.slice(body.slice(body.input(0), 2, top, ends[0]), 3, left, ends[1])


def _scaled_tanh(body: Body) -> str:
    return _factor(body, body.emit("Tanh", _factor(body, body.input(0), "beta")), "alpha")


def _parametric_softplus(body: Body) -> str:
    return _factor(body, body.emit("Softplus", _factor(body, body.input(0), "beta")), "alpha")


def _thresholded(body: Body) -> str:
    return body.emit("ThresholdedRelu", body.input(0), alpha=body.attributes.get("alpha", 1.0))


def _mean_variance(body: Body) -> str:
    axes = [0, 1, 2, 3] if body.attributes.get("across_channels", 0) else [0, 2, 3]
    if body.attributes.get("normalize_variance", 1):
        return body.emit("MeanVarianceNormalization", body.input(0), axes=axes)
    return body.emit("Sub", body.input(0), body.emit("ReduceMean", body.input(0), body.integers(*axes)))


RULES: Mapping[str, Rule] = {
    "Affine": _affine,
    "Crop": _crop,
    "ImageScaler": _image_scaler,
    "MeanVarianceNormalization": _mean_variance,
    "ParametricSoftplus": _parametric_softplus,
    "Scale": lambda body: body.emit("Identity", _factor(body, body.input(0), "scale")),
    "ScaledTanh": _scaled_tanh,
    "ThresholdedRelu": _thresholded,
}
"""By name."""
