"""A seeded slice of ``python -m tests.fuzz.quantizer``."""

from __future__ import annotations

from tests.fuzz.quantizer import trial
from tests.tools import needs


def test_random_networks() -> None:
    done = [trial(seed) for seed in range(12)]
    assert not [each for each in done if each.problem]
    assert min(each.sqnr for each in done if each.sqnr is not None) > 15


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_integers_of_a_board() -> None:
    assert not [each for each in (trial(seed, "cortex-m4") for seed in range(100, 103)) if each.problem]
