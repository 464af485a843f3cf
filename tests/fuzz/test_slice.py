"""A seeded slice of the fuzzing; ``python -m tests.fuzz.run`` does the whole."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.fuzz.cases import Case, graph, pair, single, sized
from tests.fuzz.qdq import quantized
from tests.fuzz.run_cases import Outcome, Verdict, run_cases
from tests.fuzz.table import operators
from tests.tools import needs


def faults(cases: Sequence[Case], route: str = "jit", together: int = 40) -> list[str]:
    """What is wrong or an internal error, by case; so many ``together`` are one model."""
    by_opset: dict[int, list[Case]] = {}
    for case in cases:
        by_opset.setdefault(case.opset, []).append(case)
    outcomes: list[Outcome] = []
    for same in by_opset.values():
        for start in range(0, len(same), together):
            outcomes += run_cases(same[start : start + together], route)
    refused = sum(outcome.verdict is Verdict.REFUSED for outcome in outcomes)
    assert refused <= max(1, 0.01 * len(outcomes)), [o.what for o in outcomes if o.verdict is Verdict.REFUSED]
    return [f"{o.case.name}: {o.what}" for o in outcomes if o.verdict in (Verdict.WRONG, Verdict.INTERNAL)]


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


@pytest.mark.parametrize(
    ("route", "count"),
    [("jit", 8), pytest.param("arm64", 3, marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64"))],
)
def test_networks_of_real_sizes(route: str, count: int) -> None:
    """Loops are blocked, streamed and split as for no small layer."""
    assert not faults([case for seed in range(count) if (case := sized(seed)) is not None], route, together=1)


@pytest.mark.parametrize(
    "route",
    [
        pytest.param("sanitizers", marks=needs("gcc")),
        pytest.param("m4", marks=needs("arm-none-eabi-gcc", "qemu-system-arm")),
        pytest.param("arm64", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")),
        pytest.param("armv7", marks=needs("arm-linux-gnueabihf-gcc", "qemu-arm")),
        pytest.param("i686", marks=needs("i686-linux-gnu-gcc", "qemu-i386")),
        pytest.param("riscv32", marks=needs("riscv64-unknown-elf-gcc", "qemu-riscv32")),
        pytest.param("wasm32", marks=needs("node", "wasm-ld")),
    ],
)
def test_a_sample_elsewhere(route: str) -> None:
    """Every twelfth operator in front of another one, in one program: C with sanitizers, a board, other machines."""
    names = operators()
    cases = [pair(name, names[(7 * n + 3) % len(names)], 9, f"p{n}_") for n, name in enumerate(names) if n % 12 == 5]
    assert not faults([case for case in cases if case is not None and case.opset == 21], route)
