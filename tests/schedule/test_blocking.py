"""How many rows and columns a block of accumulators has."""

from __future__ import annotations

import pytest
from ccml.ir.types import DType
from ccml.schedule.blocking import Product, conflicts
from ccml.schedule.dots import usable_dots
from ccml.targets import select

V4 = select("x86", cpu="x86-64-v4").cpu
A76 = select("linux-arm64", cpu="armv8-a").cpu


def rows(pitch: int) -> int:
    """Of 196 pixels by 256 outputs and 1,024 channels in floats, pixels ``pitch`` bytes apart."""
    return Product(usable_dots(V4, DType.F32), 196, 256, (1024,), pitch=pitch).cheapest(V4).rows


def test_rows_that_share_a_set_of_the_cache_fit_its_ways() -> None:
    """64 sets of 8 lines of 64 bytes; what is 4,096 bytes apart falls in the same set, what is 4,160 in the next."""
    assert rows(4096) < 8 and rows(8192) < 8
    assert rows(4160) == rows(0) > 8


@pytest.mark.parametrize(("pitch", "shared"), [(4096, 14), (2048, 7), (1024, 4), (768, 4), (64, 1), (4160, 1), (0, 0)])
def test_only_full_sets_cost(pitch: int, shared: int) -> None:
    """``shared``: the most of 14 rows in one set."""
    assert (conflicts(V4, 14, pitch) > 0) == (shared >= 8)
    assert conflicts(A76, 14, pitch) == 0
