"""N-grams of tokens of ONNX Runtime's own domain: which would repeat, and their hash values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .contrib_body import Body, Rule


def _repeated(body: Body) -> str:
    """-infinity for every word that would complete an n-gram which is there already."""
    (batch, length), size = body.shape(0), body.attributes["ngram_size"]
    words = body.shape(1)[1]
    if size < 1:
        raise ValueError(f"ngram_size is {size}")
    count = length - size + 1
    if count < 1:
        return body.emit("Identity", body.input(1))
    ids = body.input(0)
    follows = body.slice(ids, 1, size - 1, length)
    same = body.constant(np.ones((batch, count), np.float32))
    if size > 1:
        windows = np.arange(count)[:, None] + np.arange(size - 1)
        grams = body.emit("Gather", ids, body.constant(windows), axis=1)
        ending = body.reshape(body.slice(ids, 1, length - size + 1, length), batch, 1, size - 1)
        matches = body.cast(body.emit("Equal", grams, ending), np.float32)
        same = body.emit("ReduceMin", matches, body.integers(2), keepdims=0)
    zeros = body.constant(np.zeros((batch, words), np.float32))
    blocked = body.emit("ScatterElements", zeros, follows, same, axis=1, reduction="max")
    blocked = body.emit("Greater", blocked, body.constant(np.zeros((), np.float32)))
    return body.emit("Where", blocked, body.number(-np.inf, 1), body.input(1))


def _hashes(body: Body) -> tuple[str, str]:
    """ids ``[B, S]``, factors of places, words of each head, ids before?, what is added for each head?, the id that
    ends a text?, segments ``[B, S]``?; hash values ``[B, S, heads]``, and the ids before the next run.

    The hash of the n ids up to a place is the exclusive or of their products with the factors of their distance, modulo
    the words of a head; an id behind the end of a text or in another segment counts as the one that ends a text.
    """
    (batch, length), order = body.shape(0), body.attributes["max_ngram_size"]
    heads, kind = body.attributes["n_head_per_ngram"], body.dtype(0)
    if order < 2 or heads < 1 or body.shape(2)[0] != (order - 1) * heads or body.shape(1)[0] < order:
        raise ValueError(f"{body.shape(2)[0]} heads of n-grams up to {order}, {heads} each")
    body.opset = 18
    fill = body.input(5) or body.constant(np.asarray(body.attributes["pad_id"], kind))
    before = body.input(3) or body.emit("Expand", body.reshape(fill, 1, 1), body.integers(batch, order - 1))
    whole = body.emit("Concat", before, body.input(0), axis=1)
    lost, mix, found = "", "", []
    for back in range(order):
        ids = body.slice(whole, 1, order - 1 - back, order - 1 - back + length)
        lost = _lost(body, ids, lost, back) if back else ""
        ids = body.emit("Where", lost, fill, ids) if lost else ids
        product = body.emit("Mul", ids, body.slice(body.input(1), 0, back, back + 1))
        mix = body.emit("BitwiseXor", mix, product) if mix else product
        if back:
            words = body.slice(body.input(2), 0, (back - 1) * heads, back * heads)
            found.append(body.emit("Mod", body.emit("Unsqueeze", mix, body.integers(2)), words))
    hashes = body.emit("Concat", *found, axis=2) if len(found) > 1 else found[0]
    hashes = body.emit("Add", hashes, body.input(4)) if body.input(4) else hashes
    return hashes, body.slice(whole, 1, length, length + order - 1)


def _lost(body: Body, ids: str, before: str, back: int) -> str:
    """Which of ``ids``, so far back, do not belong to the text of their place; ``before``: which of those nearer."""
    flags = [before] if before else []
    if body.input(5) and body.attributes.get("reset_on_eos", 0):
        flags.append(body.emit("Equal", ids, body.input(5)))
    if body.input(6):
        batch, length = body.shape(0)
        kept = max(length - back, 0)
        nearer, farther = (body.slice(body.input(6), 1, start, start + kept) for start in (1, 0))
        other = body.emit("Not", body.emit("Equal", nearer, farther))
        within = body.constant(np.zeros((batch, length - kept), np.bool_))
        flags.append(body.emit("Concat", within, other, axis=1))
    if len(flags) < 2:
        return flags[0] if flags else ""
    lost = flags[0]
    for flag in flags[1:]:
        lost = body.emit("Or", lost, flag)
    return lost


RULES: Mapping[str, Rule] = {"NGramHashMapping": _hashes, "NGramRepeatBlock": _repeated}
"""By name."""
