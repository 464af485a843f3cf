"""A seeded slice of the fuzzing; ``python -m tests.fuzz.run`` does the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from ccml.frontend_onnx.supported import supported_operators
from onnx import defs

from tests.fuzz.cases import Case, graph, pair, single
from tests.fuzz.jit import Outcome, Verdict, run_cases
from tests.fuzz.qdq import quantized
from tests.fuzz.table import ROWS, operators, opsets


def faults(cases: Sequence[Case]) -> list[str]:
    """What is wrong or an internal error, by case."""
    by_opset: dict[int, list[Case]] = {}
    for case in cases:
        by_opset.setdefault(case.opset, []).append(case)
    outcomes: list[Outcome] = []
    for same in by_opset.values():
        for start in range(0, len(same), 40):
            outcomes += run_cases(same[start : start + 40])
    refused = sum(outcome.verdict is Verdict.REFUSED for outcome in outcomes)
    assert refused <= 0.02 * len(outcomes) + 1, [o.what for o in outcomes if o.verdict is Verdict.REFUSED]
    return [f"{o.case.name}: {o.what}" for o in outcomes if o.verdict in (Verdict.WRONG, Verdict.INTERNAL)]


def test_every_supported_operator_has_a_row() -> None:
    """Whoever adds an operator writes how to make valid nodes of it."""
    assert set(ROWS) == {operator.name for operator in supported_operators()}


ALWAYS_DEFAULT = {
    ("Attention", "qk_matmul_output_mode"), ("DepthToSpace", "blocksize"),
}  # fmt: skip


def test_rows_set_every_attribute() -> None:
    """Over many seeds, every attribute of an operator's newest definition, but for the ones that are listed."""
    missing = []
    for operator in operators():
        if "." in operator:
            continue
        opset = max(opsets(operator))
        wanted = {name for name in defs.get_schema(operator, opset, "").attributes if (operator, name) not in UNSET}
        rows = (single(operator, seed) for seed in range(40))
        seen: set[str] = set()
        for case in rows:
            for node in case.parts.nodes if case is not None else ():
                if node.op_type == operator:
                    seen |= {attribute.name for attribute in node.attribute}
            if wanted <= seen:
                break
        missing += [f"{operator}.{name}" for name in sorted(wanted - seen)]
    assert not missing


UNSET = {
    ("Cast", "round_mode"), ("CastLike", "round_mode"),  # of float8
    ("Constant", "sparse_value"), ("Constant", "value_string"), ("Constant", "value_strings"),  # have no type here
    ("GRU", "activation_alpha"), ("GRU", "activation_beta"), ("LSTM", "activation_alpha"),
    ("LSTM", "activation_beta"), ("RNN", "activation_alpha"), ("RNN", "activation_beta"),  # refused, but for defaults
    ("QuantizeLinear", "precision"), ("DequantizeLinear", "output_dtype"), ("LpPool", "storage_order"),
    ("Scan", "scan_input_axes"), ("Scan", "scan_output_axes"),
}  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_single_operators(part: int) -> None:
    names = operators()[part::4]
    cases = [single(name, seed, f"p{n}_{seed}_") for n, name in enumerate(names) for seed in (5,)]
    assert not faults([case for case in cases if case is not None])


@pytest.mark.parametrize("part", range(4))
def test_pairs(part: int) -> None:
    """A random part of the ordered pairs in which each operator is first once and second once."""
    rng = np.random.default_rng(part)
    names = list(operators())
    other = [names[n] for n in rng.permutation(len(names))]
    every = list(zip(names, other))[part::4]
    cases = [pair(first, second, part, f"p{n}_") for n, (first, second) in enumerate(every)]
    assert sum(case is None for case in cases) <= 2
    assert not faults([case for case in cases if case is not None])


def test_graphs() -> None:
    cases = [graph(seed, f"p{seed}_") for seed in range(12)]
    assert not faults([case for case in cases if case is not None])


def test_quantized_graphs() -> None:
    """All of them compile, and no result is more than a step off."""
    cases = [quantized(seed, f"p{seed}_") for seed in range(16)]
    assert not faults([case for case in cases if case is not None])
