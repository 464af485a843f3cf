"""Linear attention of ONNX Runtime's domain and what stands around it, compiled, against ONNX Runtime.

Sums are over tens of elements, in float32 and another order: they differ by less than 1e-5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ccml.errors import CcmlError
from onnx import TensorProto

from tests.frontend_onnx.test_contrib_float import Case, by_onnxruntime, check_like_onnxruntime, floats, i, run_compiled

f = floats(15)


def attention(
    rule: str, heads: int = 2, of_state: int = 2, of_keys: int | None = None, each: bool = False, state: bool = True,
    tokens: int = 5, **more: Any,
) -> Case:  # fmt: skip
    """Keys of 4, values of 3; the decay is ``each`` key's own."""
    past = f(2, of_state, 4, 3) if state else None
    decay = -np.abs(f(2, tokens, of_state * (4 if each else 1)))
    rate = np.abs(f(2, tokens, 1 if each else of_state))
    operands = [
        f(2, tokens, heads * 4), f(2, tokens, (of_keys or of_state) * 4) / 2, f(2, tokens, of_state * 3), past,
        decay if "gated" in rule else None, rate if "delta" in rule else None,
    ]  # fmt: skip
    attributes = {"q_num_heads": heads, "kv_num_heads": of_state, "update_rule": rule, **more}
    return Case("LinearAttention", operands, attributes, (0, 1))


def delta_net(
    rule: str, heads: int = 2, of_state: int = 4, each: bool = False, rows: bool = False, packed: bool = False,
    small: bool = False, **more: Any,
) -> Case:  # fmt: skip
    """Two sequences of five tokens, or with their ``rows`` in one dimension."""
    ahead = (10,) if rows else (2, 5)
    q, k, v = f(*ahead, heads, 4), f(*ahead, heads, 4) / 2, f(*ahead, of_state, 3)
    if small:
        q, k = q / np.float32(1e5), k / np.float32(1e5)
    if packed:
        q, k, v = np.concatenate([part.reshape(10, -1) for part in (q, k, v)], 1), None, None
    decay = -np.abs(f(*ahead, of_state, *([4] if each else [])))
    wide = (of_state, 4) if each else (of_state,)
    operands = [
        q, k, v, None, decay if "gated" in rule else None, np.abs(f(*ahead, of_state)) if "delta" in rule else None,
        f(2, of_state, 3, 4), *((f(of_state), f(*wide)) if "gate_activation" in more else ()),
    ]  # fmt: skip
    return Case("GatedDeltaNet", operands, {"update_rule": rule, **more}, (0, 1))


CASES: dict[str, Case] = {
    "linear": attention("linear"),
    "gated": attention("gated", each=True),
    "delta": attention("delta", each=True, state=False),
    "gated delta": attention("gated_delta", scale=0.3),
    "grouped queries": attention("gated_delta", heads=6, state=False),
    "more heads of the state": attention("gated_delta", of_state=4, of_keys=2),
    "more values": attention("gated", of_state=4),
    "one token": attention("gated_delta", tokens=1),
    "net": delta_net("gated_delta"),
    "net, linear": delta_net("linear", of_state=2),
    "net, each key": delta_net("gated_delta", each=True, qk_l2_norm=1, scale=0.5),
    "net, rows": delta_net("delta", rows=True, beta_activation="sigmoid"),
    "net, softplus": delta_net("gated_delta", gate_activation="softplus", beta_activation="sigmoid"),
    "net, sigmoid": delta_net("gated", gate_activation="kda", gate_lower_bound=-2.0, each=True),
    "net, small keys": delta_net("gated_delta", small=True, qk_l2_norm=1),
    "net, packed": delta_net("gated_delta", rows=True, packed=True, qk_l2_norm=1),
    "gate": Case("LinearAttentionGate", [f(2, 3, 4), f(4), -np.abs(f(4)), f(2, 3, 4)], {}, (0, 1)),
    "gate alone": Case("LinearAttentionGate", [f(2, 3, 4), f(4), -np.abs(f(4))]),
    "convolution": Case("CausalConvWithState", [f(2, 3, 5), f(3, 1, 4), f(3), f(2, 3, 3)], {}, (0, 1)),
    "convolution, SiLU": Case("CausalConvWithState", [f(2, 3, 5), f(3, 1, 4)], {"activation": "silu"}, (0, 1)),
    "convolution, steps": Case("CausalConvWithState", [f(1, 3, 2), f(3, 1, 3), f(3)], {"dilation": 2}, (0, 1)),
    "convolution, one token": Case("CausalConvWithState", [f(1, 3, 1), f(3, 1, 4), None, f(1, 3, 3)], {}, (0, 1)),
    "convolution, one tap": Case("CausalConvWithState", [f(1, 3, 2), f(3, 1, 1)], {}, (0, 1)),
    "convolution, channels last": Case(
        "CausalConvWithState", [f(2, 5, 3, 2), f(6, 1, 3), f(6), f(2, 2, 3, 2)], {"channels_last": 1}, (0, 1)
    ),
    "norm": Case("GatedRMSNorm", [f(2, 3, 8), f(4), f(2, 3, 8)], {"activation": "silu", "epsilon": 1e-3}),
    "norm, sigmoid": Case("GatedRMSNorm", [f(3, 8), f(8), f(3, 8)], {"activation": "sigmoid"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_like_onnxruntime(name: str) -> None:
    check_like_onnxruntime(CASES[name])


@pytest.mark.parametrize("tokens", [1, 3, 5])
@pytest.mark.parametrize("op_type", ["LinearAttention", "CausalConvWithState"])
def test_states_of_the_last_tokens(op_type: str, tokens: int) -> None:
    """A window of three states, which ONNX Runtime has on other devices alone: those that it finds after as many tokens
    without a window, and zeros where there are not so many."""
    linear = op_type == "LinearAttention"
    case = attention("gated_delta", tokens=tokens) if linear else Case(
        op_type, [f(2, 3, tokens), f(3, 1, 4), f(3), f(2, 3, 3)], {}, (0, 1)
    )  # fmt: skip
    operands = list(case.operands)
    states = [np.zeros_like(operands[3])] * 3
    for count in range(1, tokens + 1):
        first = [a[:, :count] if linear and n != 3 else a for n, a in enumerate(operands)]
        if not linear:
            first[0] = operands[0][:, :, :count]
        y, state = by_onnxruntime(*Case(op_type, first, case.attrs, (0, 1)).model())
        states.append(state)
    operands[3] = np.stack([f(*operands[3].shape), f(*operands[3].shape), operands[3]])
    found = run_compiled(*Case(op_type, operands, case.attrs | {"state_window": 3}, (0, 1)).model())
    for result, expected in zip(found, (y, np.stack(states[-3:])), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_half_floats() -> None:
    """Tokens in float16, the state in float32, in which everything is computed: one rounding apart."""
    case = attention("gated_delta", heads=4)
    halves = [a if n == 3 or a is None else a.astype(np.float16) for n, a in enumerate(case.operands)]
    wide = [a if a is None else a.astype(np.float32) for a in halves]
    wanted = by_onnxruntime(*Case("LinearAttention", wide, case.attrs, (0, 1)).model())
    model, feeds = Case("LinearAttention", halves, case.attrs, (0, 1)).model()
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT16
    y, state = run_compiled(model, feeds)
    assert (y.dtype, state.dtype) == (np.float16, np.float32)
    np.testing.assert_allclose(y, wanted[0], rtol=2**-10, atol=1e-5)
    np.testing.assert_allclose(state, wanted[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (Case("CausalConvWithState", [f(1, 2, 3, 3), f(2, 1, 1, 2)], {"ndim": 2}, (0, 1)), "ndim above 1"),
        (attention("mystery"), "not supported is update_rule 'mystery'"),
        (Case("LinearAttention", [f(2, 5, 0)] * 3, {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}),
         "E102.* by zero"),
        (attention("linear", heads=3), "3 heads of queries for 2 of the state"),
        (
            Case("GatedDeltaNet", [f(5, 2, 4), f(5, 2, 4), f(5, 2, 3), i(0, 2, 5), None, None, f(2, 2, 3, 4)],
                 {"update_rule": "linear"}),
            "cu_seqlens of several sequences",
        ),
    ],
)  # fmt: skip
def test_refused(case: Case, reason: str) -> None:
    with pytest.raises(CcmlError, match=reason):
        run_compiled(*case.model())
