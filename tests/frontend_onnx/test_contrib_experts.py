"""Mixtures of experts against ONNX Runtime: with more experts than are chosen, and with fewer; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError

from tests.frontend_onnx.test_contrib_float import Case, by_onnxruntime, check_like_onnxruntime, floats, run_compiled

f = floats(13)

SWIGLU = {"activation_type": "swiglu", "swiglu_fusion": 1}


def experts(shape: tuple[int, ...], count: int, rows: int = 6, bias: bool = True) -> list[np.ndarray | None]:
    """Operands for tokens of width 8; experts are 6 wide."""
    first, second = f(count, rows, 8) * np.float32(0.3), f(count, 8, 6) * np.float32(0.3)
    scores = f(int(np.prod(shape)), count)
    return [f(*shape, 8), scores, first, f(count, rows) if bias else None, second, f(count, 8) if bias else None]


def quantized_experts(
    tokens: int, count: int, bits: int = 4, block: int = 0, zeros: bool = False, rows: int = 32
) -> list[np.ndarray | None]:
    """Operands of QMoE for tokens of width 64; experts are 32 wide."""
    rng, per = np.random.default_rng(bits + block), 8 // bits

    def integers(*shape: int) -> np.ndarray:
        return rng.integers(0, 256, shape).astype(np.uint8)

    def layer(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        groups = (columns // block,) if block else ()
        scales = np.abs(f(count, rows, *groups)) * np.float32(0.02)
        packed = (*scales.shape[:-1], -(-scales.shape[-1] // per))
        return integers(count, rows, columns // per), scales, f(count, rows), integers(*packed)

    first, second = layer(rows, 64), layer(64, 32)
    operands = [f(tokens, 64), f(tokens, count), *first[:3], *second[:3]]
    return [*operands, None, None, None, first[3], second[3]] if zeros else operands


def with_scores(operands: list[np.ndarray | None], *rows: list[float]) -> list[np.ndarray | None]:
    """``operands`` with these scores of experts."""
    return [operands[0], np.array(rows, np.float32), *operands[2:]]


TIES = [1, 1, 0, 1], [0, 0, 0, 0], [2, 1, 1, 1]
FAR_APART = [300, 1, 90, 2], [2, 1, 150, 300], [0, -200, 0, -100]
"""Scores whose shares are 0, but for the first."""
QMOE = {"k": 2, "activation_type": "silu", "normalize_routing_weights": 1}
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
    "ties, one": Case("MoE", with_scores(experts((3,), 4), *TIES), {"k": 1}),
    "ties, two": Case("MoE", with_scores(experts((3,), 4), *TIES), {"k": 2}),
    "ties of few, gathered": Case("MoE", with_scores(experts((1,), 4), TIES[0]), {"k": 2}),
    "shares of nothing": Case("MoE", with_scores(experts((3,), 4), *FAR_APART), {"k": 2}),
    "four bits, ties": Case("QMoE", with_scores(quantized_experts(3, 4), *TIES), QMOE),
    "four bits": Case("QMoE", quantized_experts(3, 4), QMOE),
    "four bits, zero points": Case("QMoE", quantized_experts(1, 5, zeros=True), QMOE),
    "four bits in blocks": Case("QMoE", quantized_experts(3, 4, block=32), {**QMOE, "block_size": 32}),
    "four bits in blocks, zero points": Case(
        "QMoE", quantized_experts(2, 3, block=16, zeros=True), {**QMOE, "block_size": 16}
    ),
    "eight bits": Case("QMoE", quantized_experts(3, 4, 8, zeros=True), {**QMOE, "expert_weight_bits": 8}),
    "four bits, gates": Case("QMoE", quantized_experts(3, 4, rows=64), {**QMOE, **SWIGLU}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    check_like_onnxruntime(CASES[name])


def test_shares_by_other_scores() -> None:
    """Input 14 tells how much an expert counts that the scores chose."""
    case = Case("QMoE", [*quantized_experts(3, 4), *[None] * 6, np.abs(f(3, 4))], QMOE)
    model, feeds = case.model()
    (wanted,), (found,) = by_onnxruntime(model, feeds), run_compiled(model, feeds)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_eight_bits_in_blocks() -> None:
    """ONNX Runtime's kernel rounds tokens to bytes there: 1 in 100 of the greatest result."""
    model, feeds = Case(
        "QMoE", quantized_experts(3, 4, 8, block=32), {**QMOE, "expert_weight_bits": 8, "block_size": 32}
    ).model()
    (wanted,), (found,) = by_onnxruntime(model, feeds), run_compiled(model, feeds)
    np.testing.assert_allclose(found, wanted, atol=0.02 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("attrs", "reason"),
    [({"quant_type": "fp8"}, "quant_type"), ({"expert_weight_bits": 3}, "expert_weight_bits 3"),
     ({"block_size": 24}, "block_size 24 of 64 columns")],
)  # fmt: skip
def test_refused_quantized(attrs: dict[str, Any], reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*Case("QMoE", quantized_experts(3, 4), {**QMOE, **attrs}).model())


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
