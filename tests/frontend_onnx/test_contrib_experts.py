"""Mixtures of experts against ONNX Runtime: with more experts than are chosen, and with fewer; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError

from tests.frontend_onnx.test_contrib_float import Case, by_onnxruntime, f, run_compiled

SWIGLU = {"activation_type": "swiglu", "swiglu_fusion": 1}


def experts(shape: tuple[int, ...], count: int, rows: int = 6, bias: bool = True) -> list[np.ndarray | None]:
    """Operands for tokens of width 8; experts are 6 wide."""
    first, second = f(count, rows, 8) * np.float32(0.3), f(count, 8, 6) * np.float32(0.3)
    scores = f(int(np.prod(shape)), count)
    return [f(*shape, 8), scores, first, f(count, rows) if bias else None, second, f(count, 8) if bias else None]


CASES: dict[str, Case] = {
    "one": Case("MoE", experts((3,), 4, bias=False), {"k": 1}),
    "two of few": Case("MoE", experts((1, 5), 4), {"k": 2, "activation_type": "gelu"}),
    "two of many": Case("MoE", experts((2,), 9), {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1}),
    "gathered without bias": Case("MoE", experts((1, 1), 8, bias=False), {"k": 3, "activation_type": "identity"}),
    "gates": Case("MoE", experts((3,), 4, 12), {"k": 2, **SWIGLU, "normalize_routing_weights": 1}),
    "limited gates": Case(
        "MoE", experts((1,), 8, 12),
        {"k": 2, **SWIGLU, "activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 0.5},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    model, feeds = CASES[name].model()
    (wanted,), (found,) = by_onnxruntime(model, feeds), run_compiled(model, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [
        ({"k": 5}, "5 of 4 experts"), ({"use_sparse_mixer": 1}, "use_sparse_mixer"),
        ({"activation_type": "swiglu"}, "swiglu_fusion"), ({"activation_type": "mystery"}, "mystery"),
    ],
)  # fmt: skip
def test_refused(attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*Case("MoE", experts((3,), 4), attrs).model())
