"""Operators of ONNX Runtime's own domain, and some that it has in ONNX's, as functions of ONNX operators.

A body is written for one node, because operands may be left out, some operators are variadic, and shapes decide. The
definitions are those of https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md, and where these
are silent those of its kernels for CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import onnx

from ..errors import CcmlError, ErrorCode
from ..ir.graph import Value
from . import (
    contrib_attention,
    contrib_branches,
    contrib_experts,
    contrib_first,
    contrib_float,
    contrib_fused,
    contrib_grouped_attention,
    contrib_images,
    contrib_linear_attention,
    contrib_matrices,
    contrib_ngrams,
    contrib_positions,
    contrib_quantized,
    contrib_recurrent,
    contrib_signal,
    contrib_windows,
)
from .contrib_body import Body, Rule, Unsupported

DOMAIN = "com.microsoft"
_MODULES = (
    contrib_attention, contrib_branches, contrib_experts, contrib_float, contrib_fused, contrib_grouped_attention,
    contrib_images, contrib_linear_attention, contrib_matrices, contrib_ngrams, contrib_positions, contrib_quantized,
    contrib_recurrent, contrib_signal, contrib_windows,
)  # fmt: skip
RULES: Mapping[str, Rule] = {name: rule for module in _MODULES for name, rule in module.RULES.items()}
"""By name."""

ONNX_RULES: Mapping[str, Rule] = {**contrib_float.ONNX_RULES, **contrib_first.RULES}
"""Those that ONNX Runtime has in ONNX's domain, where no schema of ONNX says what they are."""


def has_contrib(node: onnx.NodeProto) -> bool:
    """Whether there are bodies for the node's operator."""
    return _rule(node) is not None


def _rule(node: onnx.NodeProto) -> Rule | None:
    if node.domain == DOMAIN:
        return RULES.get(node.op_type)
    return ONNX_RULES.get(node.op_type) if node.domain in ("", "ai.onnx") else None


def contrib_function(
    node: onnx.NodeProto,
    attributes: Mapping[str, onnx.AttributeProto],
    operands: Sequence[Value | None],
    declared: Callable[[int], Sequence[int | None] | None],
    loc: str,
) -> onnx.FunctionProto | None:
    """The body of an operator for ``node`` with resolved ``attributes``; ``None`` where there is none.

    Raises ``INVALID_MODEL`` where an attribute is missing or of the wrong kind, ``UNSUPPORTED_FEATURE`` for a form that
    has no body.
    """
    rule = _rule(node)
    if rule is None:
        return None
    resolved = onnx.NodeProto(op_type=node.op_type, domain=node.domain, input=node.input, output=node.output)
    resolved.attribute.extend(attributes.values())
    try:
        body = Body(resolved, operands, declared)
        found = rule(body)
    except Unsupported as problem:
        raise CcmlError(
            ErrorCode.UNSUPPORTED_FEATURE, f"{node.op_type}: not supported is {problem}", loc=loc
        ) from problem
    except KeyError as problem:
        reason = f"{node.op_type}: the attribute {problem.args[0]} is missing"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=loc) from problem
    except TypeError as problem:
        reason = f"{node.op_type}: an attribute has the wrong type: {problem}"
        raise CcmlError(ErrorCode.INVALID_MODEL, reason, loc=loc) from problem
    except (ArithmeticError, IndexError, ValueError) as problem:
        raise CcmlError(ErrorCode.INVALID_MODEL, f"{node.op_type}: {problem}", loc=loc) from problem
    return body.function([found] if isinstance(found, str) else list(found)[: max(len(node.output), 1)])
