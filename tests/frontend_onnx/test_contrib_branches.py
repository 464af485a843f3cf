"""Branches, hyper-connections and gates of ONNX Runtime's domain, compiled, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from ccml.errors import CcmlError

from tests.frontend_onnx.test_contrib_float import Case, check_like_onnxruntime, floats, run_compiled

f = floats(11)

FLAT = {"num_branches": 2}
KEYS = [f(2, 3, 2, 4), f(2, 3, 2, 4), f(2, 3, 4), f(2, 4), f(2, 4)]
CASES: dict[str, Case] = {
    "norm": Case("BranchwiseRMSNorm", [f(2, 3, 2, 4), f(8)], {"epsilon": 1e-3}),
    "norm, same scale": Case("BranchwiseRMSNorm", [f(2, 3, 8), f(4)], FLAT),
    "norm, no scale": Case("BranchwiseRMSNorm", [f(3, 2, 4)]),
    "sum of branches": Case("HyperConnectionPreMix", [f(2, 3, 2, 4), f(2, 3, 2)], {"reduction_scale": 0.5}),
    "sum, flat": Case("HyperConnectionPreMix", [f(2, 3, 8), f(2, 3, 8)], FLAT),
    "sum, gates of elements": Case("HyperConnectionPreMix", [f(2, 3, 2, 4), f(2, 3, 2, 4)]),
    "sum, flat and square": Case("HyperConnectionPreMix", [f(3, 4), f(3, 2)], FLAT),
    "mixture": Case("HyperConnectionPostMix", [f(2, 3, 2, 4), f(2, 3, 4), f(2, 3, 2, 1), f(2, 3, 2, 2)]),
    "mixture, flat": Case("HyperConnectionPostMix", [f(2, 3, 8), f(2, 3, 4), f(2, 3, 2, 4), f(2, 3, 2, 2)], FLAT),
    "mixture, as they are": Case("HyperConnectionPostMix", [f(3, 8), f(3, 4), f(3, 2)], FLAT),
    "gate of keys": Case("EngramGate", KEYS, {"epsilon": 1e-3}),
    "gate of keys, norm": Case("EngramGate", [*KEYS, f(2, 4)], {}, (0, 1)),
    "gated sum": Case("GatedAdd", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 1)]),
    "scaled SiLU": Case("ScaledSiLU", [f(2, 3)], {"alpha": 2.0}),
    "scaled SiLU, operand": Case("ScaledSiLU", [f(2, 3), np.array(0.5, np.float32)], {"alpha": 2.0}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    check_like_onnxruntime(CASES[name], rtol=1e-5, atol=1e-6)


def test_refused() -> None:
    with pytest.raises(CcmlError, match="not supported is gate_weight"):
        run_compiled(*Case("GatedAdd", [f(2, 3, 8), f(2, 3, 8), f(2, 3, 4), f(4, 1)]).model())
    with pytest.raises(CcmlError, match=r"3 branches of \[2, 8\]"):
        run_compiled(*Case("BranchwiseRMSNorm", [f(2, 8)], {"num_branches": 3}).model())
