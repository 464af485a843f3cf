"""What optimizers fuse, images and spectra of ONNX Runtime's domain, compiled: against ONNX Runtime where it has the
operator for CPUs, else against its definition in NumPy.

Sums are over tens of elements, in float32 and another order: they differ by less than 1e-5.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from ccml.errors import CcmlError
from onnx import helper, numpy_helper

from tests.frontend_onnx.test_contrib_float import Case, by_onnxruntime, floats, i, run_compiled
from tests.fuzz.definitions import defined

f = floats(14)

BOXES = np.array(
    [[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.6], [-0.2, 0.1, 0.5, 1.3], [0.9, 0.8, 0.1, 0.2], [0.5, 0.5, 0.5, 0.5]], np.float32
)
IMAGES, PADS = i(0, 1, 1, 0, 1), i(1, 0, 1, 2, dtype=np.int64)
KERNEL = {"kernel_shape": [3, 3], "strides": [2, 2]}


def crops(shape: tuple[int, ...], size: tuple[int, int], **attributes: object) -> Case:
    images = IMAGES % shape[0]
    return Case("CropAndResize", [f(*shape), BOXES, images.astype(np.int32), i(*size)], attributes)


HELD: dict[str, tuple[Case, str]] = {
    "crops": (crops((2, 3, 6, 8), (4, 5)), "x3"),
    "crops, nearest": (crops((2, 3, 6, 8), (3, 4), mode="nearest", extrapolation_value=2.0), "x3"),
    "crops of one element": (crops((2, 1, 5, 7), (1, 1)), "x3"),
    "crops of a row": (crops((1, 2, 1, 8), (2, 3), extrapolation_value=-1.0), "x3"),
    "ConvTranspose": (Case("ConvTransposeWithDynamicPads", [f(1, 3, 4, 5), f(3, 2, 3, 3), PADS, f(2)], KERNEL), "x2"),
    "ConvTranspose, groups": (
        Case("ConvTransposeWithDynamicPads", [f(2, 4, 6), f(4, 3, 3), i(0, 2, dtype=np.int64)],
             {"kernel_shape": [3], "strides": [2], "group": 2, "output_padding": [1]}), "x2",
    ),
}  # fmt: skip


def hold(model: onnx.ModelProto, feeds: dict[str, np.ndarray], *names: str) -> None:
    """Makes operands that decide the shape of the result constants."""
    for name in names:
        model.graph.initializer.append(numpy_helper.from_array(feeds.pop(name), name))
        model.graph.input.remove(next(given for given in model.graph.input if given.name == name))


@pytest.mark.parametrize("name", HELD)
def test_like_onnxruntime(name: str) -> None:
    case, constant = HELD[name]
    model, feeds = case.model()
    hold(model, feeds, constant)
    (y,), (wanted,) = run_compiled(model, feeds), by_onnxruntime(model, feeds)
    assert y.shape == wanted.shape
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-5)


def real_ends(*shape: int) -> np.ndarray:
    """A spectrum whose first and last numbers are real, as of real signals."""
    x = f(*shape)
    x[..., 0, 1] = x[..., -1, 1] = 0
    return x


BYTES = np.random.default_rng(3).integers(-128, 128, (3, 4)).astype(np.int8)
SEVEN, FORTY = (np.array([n]) for n in (7, 40))
BAD = np.array([[1, np.inf], [2, 3]], np.float32)
NAN = np.array([np.nan, 1], np.float32)
DEFINED: dict[str, Case] = {
    "BiasAdd": Case("BiasAdd", [f(2, 3, 4), f(4), f(2, 3, 4)]),
    "BiasDropout": Case("BiasDropout", [f(2, 3), f(3), f(2, 3)]),
    "BiasDropout, no residual": Case("BiasDropout", [f(2, 3), f(2, 3)], {}, (0, 1)),
    "BiasSplitGelu": Case("BiasSplitGelu", [f(2, 3, 10), f(10)]),
    "GemmFastGelu": Case("GemmFastGelu", [f(3, 4), f(4, 5), f(5)]),
    "GemmFastGelu, no bias": Case("GemmFastGelu", [f(2, 3, 4), f(4, 5)]),
    "FusedMatMulActivation": Case(
        "FusedMatMulActivation", [f(4, 3), f(4, 5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.2, "transA": 1, "alpha": 0.5},
    ),
    "FusedMatMulActivation, Softmax": Case(
        "FusedMatMulActivation", [f(3, 4), f(4, 5)], {"activation": "Softmax", "activation_axis": 0}
    ),
    "NhwcFusedConv": Case(
        "NhwcFusedConv", [f(1, 4, 5, 3), f(6, 3, 1, 1), f(6), f(1, 4, 5, 6)], {"activation": "Relu"}
    ),
    "SwiGLU": Case("SwiGLU", [f(2, 5), f(2, 5)]),
    "SwiGLU, limit": Case(
        "SwiGLU", [2 * f(2, 10)], {"activation_alpha": 1.7, "activation_beta": 1.0, "limit": 0.9}
    ),
    "RelativePositionBias": Case("RelativePositionBias", [f(8, 3), SEVEN, SEVEN], {"max_distance": 16}),
    "RelativePositionBias, both sides": Case(
        "RelativePositionBias", [f(32, 2), FORTY, FORTY], {"max_distance": 20, "is_bidirectional": 1}
    ),
    "GatedRelativePositionBias": Case(
        "GatedRelativePositionBias", [f(2, 3, 8), f(8), f(1, 2, 3, 3), f(4, 6), f(6), f(1, 2, 1, 1)], {"num_heads": 2}
    ),
    "GemmaRotaryEmbedding": Case(
        "GemmaRotaryEmbedding", [f(2, 3, 4), *(f(2, n, 3, 4) for n in (2, 2, 1, 1))], {}, (0, 1)
    ),
    "MulInteger": Case("MulInteger", [BYTES, np.int8(3), BYTES[:1], np.int8(-5)]),
    "MulInteger, no zero points": Case("MulInteger", [BYTES, None, BYTES]),
    "ReduceSumInteger": Case("ReduceSumInteger", [BYTES], {"axes": [1], "keepdims": 0}),
    "IsAllFinite": Case("IsAllFinite", [f(2, 3), f(4)]),
    "IsAllFinite, infinity": Case("IsAllFinite", [f(2, 3), BAD]),
    "IsAllFinite, NaN alone": Case("IsAllFinite", [BAD], {"isnan_only": 1}),
    "IsAllFinite, infinities alone": Case("IsAllFinite", [NAN], {"isinf_only": 1}),
    "IsAllFinite, NaN": Case("IsAllFinite", [NAN]),
    "ComplexMul": Case("ComplexMul", [f(2, 3, 2), f(2, 3, 2)]),
    "ComplexMulConj": Case("ComplexMulConj", [f(2, 3, 2), f(3, 2)]),
    "Rfft": Case("Rfft", [f(2, 12)], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
    "Irfft": Case("Irfft", [real_ends(2, 7, 2)], {"signal_ndim": 1, "onesided": 1, "normalized": 0}),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_definition(name: str) -> None:
    case = DEFINED[name]
    model, feeds = case.model()
    operands = [None if array is None else np.asarray(array) for array in case.operands]
    (node,) = model.graph.node
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    wanted = defined(case.op_type, attributes, operands, len(node.output))
    if case.op_type == "RelativePositionBias":
        hold(model, feeds, "x1", "x2")
    found = run_compiled(model, feeds)
    for y, expected in zip(found, wanted, strict=True):
        assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("BiasSplitGelu", [f(2, 3, 5), f(5)]), "5 columns have no halves"),
        (Case("BiasDropout", [f(2, 3), f(3), None, None, np.array(True)]), "not supported is its input 4"),
        (Case("RelativePositionBias", [f(1, 3), i(2), i(2)], {"max_distance": 16}), "1 buckets of distances up to 16"),
        (Case("IsAllFinite", [f(2)], {"isnan_only": 1, "isinf_only": 1}), "both isinf_only and isnan_only"),
        (Case("Rfft", [f(2, 4)], {"signal_ndim": 2}), "not supported is a signal of several dimensions"),
        (crops((1, 1, 2, 2), (2, 2), mode="cubic"), "not supported is the mode cubic"),
    ],
)
def test_refused(case: Case, reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*case.model())
