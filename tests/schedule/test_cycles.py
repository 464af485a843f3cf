"""Predicted cycles of loops."""

from __future__ import annotations

from textwrap import dedent

import pytest
from ccml.ir.loops_parse import parse_kernel
from ccml.schedule.cycles import predicted_cycles
from ccml.targets import select


def cycles(text: str, cpu: str) -> float:
    return predicted_cycles(parse_kernel(dedent(text).strip() + "\n").body, select(cpu).cpu)


def test_a_loop_takes_what_an_inner_iteration_does() -> None:
    """Load (2), addition, store; and three for counting. The division at the border is not looked at."""
    text = """
        kernel k(x: i32[8] const, y: i32[8] out)
          for i:8
            if i >= 1:
              y[i] = x[i] + 1i32
            else:
              y[i] = x[i] / 3i32
    """
    assert cycles(text, "cortex-m4") == 8 * (3 + 4)


def test_a_block_takes_what_its_row_says_for_the_core() -> None:
    """``of_tiles(98, 4, 42, 17.9)`` on Cortex-M0+, another formula on M3."""
    text = """
        kernel k(b: i32[4] const, w: i32[16] const, x: i32[17] const, y: i32[4] out)
          for i:3
            invoke gemm_4x1_words(&b[0], &w[0], &x[0], &y[0], 16, 4)
    """
    assert cycles(text, "cortex-m0plus") == pytest.approx(3 * (3 + 98 + 42 + 17.9 * 16))
    assert cycles(text, "cortex-m3") == pytest.approx(3 * (3 + 69 + 33 + 15.8 * 16))


def test_a_block_that_compilers_make_takes_what_its_meaning_does() -> None:
    text = """
        kernel k(y: i32[8] out)
          invoke channel_fill(&y[0], 8, 3)
    """
    meaning = """
        kernel k(y: i32[8] out)
          for i:8
            y[i] = 3i32
    """
    assert cycles(text, "cortex-m3") == cycles(meaning, "cortex-m3") == 8 * (3 + 1)
