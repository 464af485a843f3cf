"""Attention of decoders, routers and n-grams of ONNX Runtime's domain, compiled, against ONNX Runtime.

Sums are over tens of elements, in float32 and another order: they differ by less than 1e-5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError

from tests.frontend_onnx.test_contrib_float import MASK, Case, check_like_onnxruntime, floats, i, run_compiled

f = floats(12)

LAYOUTS = np.array([
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 1, 1, 1]],
    [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 1]],
])  # fmt: skip
"""Which of four blocks of sixteen keys the queries of each of four blocks see."""

ANGLES = np.arange(64)[:, None] * 0.1 * np.arange(1, 9)
CACHES = [np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)]


def compressed(layouts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The beginnings of the rows of blocks, and the columns of blocks with -1 behind the last one."""
    columns = [np.nonzero(layout)[1] for layout in layouts]
    most = max(map(len, columns))
    begins = np.concatenate([np.zeros((len(layouts), 1), int), layouts.sum(2).cumsum(1)], 1)
    padded = np.stack([np.pad(c, (0, most - len(c)), constant_values=-1) for c in columns])
    return begins.astype(np.int32), padded.astype(np.int32)


def sparse(
    length: int, lengths: Sequence[int], rotary: bool = False, packed: bool = False, layouts: np.ndarray = LAYOUTS,
    **more: Any,
) -> Case:  # fmt: skip
    """Two sequences of four heads of sixteen, which share two of keys; 64 keys have room."""
    q = [f(2, length, 128), None, None] if packed else [f(2, length, 64), f(2, length, 32), f(2, length, 32)]
    operands = [*q, f(2, 2, 64, 16), f(2, 2, 64, 16), *compressed(layouts), i(max(lengths)), i(*lengths)]
    attributes = {"num_heads": 4, "kv_num_heads": 2, "sparse_block_size": 16, "do_rotary": int(rotary), **more}
    return Case(
        "SparseAttention", [*operands, *(CACHES if rotary else [])], attributes, (0, 1, 2), valid=min(lengths),
        in_place={"y1": "x3", "y2": "x4"},
    )  # fmt: skip


def decoder(past: int, *more: np.ndarray | None, mask: np.ndarray | None = None,
            bias: np.ndarray | None = None, **attributes: Any) -> Case:  # fmt: skip
    """One token of two heads of four behind ``past`` of them; six keys have room."""
    operands = [f(2, 1, 8), f(2, 1, 8), f(2, 1, 8), mask, bias, f(2, 2, 6, 4), f(2, 2, 6, 4), i(past), *more]
    given = {"num_heads": 2, "past_present_share_buffer": 1, **attributes}
    return Case(
        "DecoderMaskedMultiHeadAttention", operands, given, (0, 1, 2), valid=past + 1,
        in_place={"y1": "x5", "y2": "x6"},
    )  # fmt: skip


def crossed(*more: np.ndarray) -> Case:
    operands = [f(2, 1, 8), f(2, 2, 5, 4), f(2, 2, 5, 4), *more]
    return Case("DecoderMaskedMultiHeadAttention", operands, {"num_heads": 2, "output_qk": 1}, (0, 3))


def router(*shape: int, **attributes: Any) -> Case:
    return Case("MoEGroupRouter", [f(*shape, 12), f(12)], attributes)


def hashes(*more: np.ndarray | None, order: int = 3, length: int = 6, kind: type = np.int64, **attributes: Any) -> Case:
    ids = np.array([[4, 2, 9, 9, 2, 5], [2, 2, 7, 1, 8, 2]], kind)[:, :length]
    words = np.array([7, 11, 13, 17, 19, 23], kind)[: 2 * order - 2]
    given = {"pad_id": 1, "n_head_per_ngram": 2, "max_ngram_size": order, **attributes}
    factors = np.array([3, 5, -7, 9], kind)
    return Case("NGramHashMapping", [ids, factors, words, *more], given, (0, 1))


END, SEGMENTS = np.array(2, np.int64), i([0, 0, 1, 1, 1, 2], [3, 3, 3, 3, 0, 0])
CASES: dict[str, Case] = {
    "sparse": sparse(40, [40, 40]),
    "sparse, one": sparse(1, [50, 50]),
    "sparse, few": sparse(5, [5, 5], scale=0.3),
    "sparse, packed, rotary": sparse(1, [64, 64], rotary=True, packed=True),
    "sparse, rotary": sparse(33, [33, 33], rotary=True, rotary_interleaved=1),
    "sparse, one layout": sparse(1, [64, 64], layouts=LAYOUTS[:1]),
    "decoder": decoder(3),
    "decoder, first": decoder(0, None, None, f(24), scale=0.3),
    "decoder, mask and bias": decoder(3, mask=i([1, 0, 1, 1], [1, 1, 1, 1]), bias=f(1, 2, 1, 4)),
    "decoder, crossed": crossed(),
    "decoder, crossed, mask": crossed(MASK),
    "router": router(3, top_k=4),
    "router, groups": router(2, 5, top_k=4, n_group=4, topk_group=2),
    "router, best of each": router(5, top_k=2, n_group=3, topk_group=1, group_topk=9, router_sentinel=-7.5),
    "hashes": hashes(),
    "hashes, end": hashes(None, None, END),
    "hashes, ends": hashes(None, None, END, reset_on_eos=1),
    "hashes, segments": hashes(None, None, None, SEGMENTS),
    "hashes, all": hashes(i([8, 2], [2, 3], dtype=np.int64), i(0, 100, 200, 300, dtype=np.int64), END, SEGMENTS,
                          reset_on_eos=1),
    "hashes, short": hashes(None, None, END, SEGMENTS[:, :1], order=4, length=1, reset_on_eos=1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    check_like_onnxruntime(CASES[name], rtol=1e-5, atol=1e-5)


def test_sparse_attention_of_several_lengths() -> None:
    """Sequences of other lengths have the results that each has alone. (ONNX Runtime 1.32 has none of these for those
    that are not the longest, even where all blocks are seen.)"""
    case = sparse(1, [50, 20], rotary=True)
    y = run_compiled(*case.model())[0]
    for number, length in enumerate((50, 20)):
        alone = [x[number : number + 1] if x is not None and len(x) == 2 and n < 5 else x
                 for n, x in enumerate(case.operands)]  # fmt: skip
        alone[7], alone[8] = i(length), i(length)
        found = run_compiled(*replace(case, operands=alone).model())[0]
        np.testing.assert_allclose(y[number], found[0], rtol=1e-5, atol=1e-6)


def test_norms_of_heads() -> None:
    """Of queries and keys, as in Qwen3, which ONNX Runtime has for GPUs alone."""
    q, k, v, w, u = f(1, 3, 32), f(1, 3, 16), f(1, 3, 16), f(16), f(16)
    attributes = {"num_heads": 2, "kv_num_heads": 1, "qk_norm_epsilon": 1e-3}
    operands = [q, k, v, None, None, i(2), i(3), *[None] * 7, w, u]
    found = run_compiled(*Case("GroupQueryAttention", operands, attributes).model())[0]

    def normalized(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        heads = x.reshape(1, 3, -1, 16)
        return (heads / np.sqrt((heads**2).mean(-1, keepdims=True) + 1e-3) * scale).reshape(x.shape)

    plain = [normalized(q, w), normalized(k, u), v, None, None, i(2), i(3)]
    attributes.pop("qk_norm_epsilon")
    wanted = run_compiled(*Case("GroupQueryAttention", plain, attributes).model())[0]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_all_scores_of_a_router() -> None:
    scores, bias, weights = f(3, 5), f(4), f(4, 5)
    operands = [scores, bias, weights]
    biased, shares = run_compiled(*Case("MoEGroupRouter", operands, {"top_k": 1}, (1, 2)).model())
    wanted = 1 / (1 + np.exp(-scores @ weights.T))
    np.testing.assert_allclose(shares, wanted, rtol=1e-5)
    np.testing.assert_allclose(biased, wanted + bias, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (decoder(3, i(2), np.zeros((1, 2, 6), np.int32)), "not supported is its input 9"),
        (sparse(5, [5, 5], layouts=LAYOUTS[:, :2, :2]), "2 rows of 16 keys for 4 heads and 64 keys"),
        (router(3, top_k=13), "13 experts of 1 of 1 groups of 12 experts"),
        (hashes(order=9), "9, 2 each"),
    ],
)
def test_refused(case: Case, reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*case.model())
