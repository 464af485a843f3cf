"""Support vector machines of ai.onnx.ml, compiled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError, ErrorCode

from tests.frontend_onnx.graphs import checked_import
from tests.frontend_onnx.ml_models import agrees, floats, ml_node

KERNELS = {
    "LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.5, 2.0], "RBF": [0.3, 0.0, 0.0], "SIGMOID": [0.2, -0.5, 0.0],
}  # fmt: skip
FEATURES = 4


def machine(supports: list[int], seed: int = 0, *, proba: bool = False) -> dict[str, Any]:
    """Random vectors and coefficients for classes with so many supports each."""
    rng = np.random.default_rng([seed, *supports])
    count, classes = sum(supports), len(supports)
    pairs = classes * (classes - 1) // 2

    def numbers(size: int) -> list[float]:
        return rng.standard_normal(size).astype(np.float32).tolist()

    more = {"prob_a": (-np.abs(numbers(pairs))).tolist(), "prob_b": numbers(pairs)} if proba else {}
    return more | {
        "support_vectors": numbers(count * FEATURES), "coefficients": numbers((classes - 1) * count),
        "rho": numbers(pairs), "vectors_per_class": supports,
        "classlabels_ints": [int(label) for label in rng.permutation(20)[:classes]],
    }  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("supports", [[3, 2], [2, 4, 3], [1, 3, 2, 5]])
def test_classifier(supports: list[int], kernel: str) -> None:
    attrs = machine(supports) | {"kernel_type": kernel, "kernel_params": KERNELS[kernel]}
    agrees("SVMClassifier", floats(9, FEATURES), outputs=2, rtol=1e-4, atol=1e-5, **attrs)


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF"])
@pytest.mark.parametrize("supports", [[3, 2], [2, 4, 3], [1, 3, 2, 5]])
def test_probabilities(supports: list[int], kernel: str) -> None:
    attrs = machine(supports, proba=True) | {"kernel_type": kernel, "kernel_params": KERNELS[kernel]}
    agrees("SVMClassifier", floats(9, FEATURES), outputs=2, rtol=1e-4, atol=1e-5, **attrs)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float64])
def test_types(dtype: type[Any]) -> None:
    attrs = machine([2, 4, 3]) | {"kernel_type": "RBF", "kernel_params": KERNELS["RBF"]}
    agrees("SVMClassifier", (floats(9, FEATURES) * 2).astype(dtype), outputs=2, rtol=1e-4, atol=1e-5, **attrs)


@pytest.mark.parametrize("one_class", [0, 1])
@pytest.mark.parametrize("kernel", KERNELS)
def test_regressor(kernel: str, one_class: int) -> None:
    rng = np.random.default_rng(2)
    attrs = {
        "support_vectors": rng.standard_normal(5 * FEATURES).astype(np.float32).tolist(),
        "coefficients": rng.standard_normal(5).astype(np.float32).tolist(), "rho": [0.25], "n_supports": 5,
        "kernel_type": kernel, "kernel_params": KERNELS[kernel], "one_class": one_class,
    }  # fmt: skip
    agrees("SVMRegressor", floats(9, FEATURES), rtol=1e-4, atol=1e-5, **attrs)


def test_regressor_without_support_vectors() -> None:
    agrees("SVMRegressor", floats(9, 2), coefficients=[0.5, -2.0], rho=[0.25], n_supports=0, kernel_type="LINEAR",
           kernel_params=KERNELS["LINEAR"])  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [{"kernel_type": "CUBIC"}, {"coefficients": [1.0]}, {"support_vectors": [1.0, 2.0]}, {"rho": [1.0, 2.0]},
     {"vectors_per_class": [2]}, {"vectors_per_class": [-2, 7]}, {"vectors_per_class": [2**40, 2**40]}],
)  # fmt: skip
def test_damaged_machines(damage: dict[str, Any]) -> None:
    with pytest.raises(CcmlError) as caught:
        checked_import(ml_node("SVMClassifier", [floats(3, FEATURES)], 2, **(machine([3, 2]) | damage))[0])
    assert caught.value.kind in (ErrorCode.INVALID_MODEL, ErrorCode.UNSUPPORTED_FEATURE)
