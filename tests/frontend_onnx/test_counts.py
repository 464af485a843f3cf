"""Polynomials of extents: their arithmetic, and what is known of them."""

from __future__ import annotations

import pytest
from ccml.errors import CcmlError
from ccml.frontend_onnx.counts import Counts
from ccml.frontend_onnx.folding import FoldingBuilder
from ccml.frontend_onnx.polynomials import Polynomial
from ccml.ir.graph import Value
from ccml.ir.types import DType, TensorType

ONE, TWO = Polynomial.constant(1), Polynomial.constant(2)


def counts(**most: int) -> tuple[Counts, list[Polynomial]]:
    """Extents from 1 up, by their names; the second import has one less of each."""
    made = FoldingBuilder().counts
    values = [Value(name, TensorType(DType.I64, ())) for name in most]
    return made, [made.atom(value, most[value.name], 1, most[value.name] - 1) for value in values]


def test_products_come_apart() -> None:
    _, (n, s) = counts(n=4, s=6)
    assert (n * s * TWO).divided(n) == s * TWO
    assert ((n + ONE) * (s - TWO)).divided(s - TWO) == n + ONE
    assert (n * s + n).divided(s + ONE) == n
    assert (n * s + ONE).divided(n) is None and n.divided(TWO) is None and n.divided(Polynomial()) is None


def test_equal_numbers_have_one_value() -> None:
    known, (n, s) = counts(n=4, s=6)
    total = known.value(n * (s + ONE), "")
    assert known.value(s * n + n, "") is total and known.of(total) == n * s + n
    assert known.at_bounds(n * s + n) == 28 and known.probed(n * s + n) == 18


def test_ways_to_split_a_product() -> None:
    known, (n, s) = counts(n=4, s=6)
    assert list(known.factored(n * s * TWO, [8, 6])) == [[n * TWO, s]]
    assert list(known.factored(n * s, [6, 4])) == [[s, n]]
    assert list(known.factored(n * s, [3, 8])) == []


def test_a_product_of_equal_bounds_comes_apart_as_it_was_made() -> None:
    known, (n, s) = counts(n=4, s=4)
    assert sorted(map(len, known.factored(n * s, [4, 4]))) == [2, 2]
    known.note_order(n * s, [s, n])
    assert known.is_order(n * s, [s, n]) and not known.is_order(n * s, [n, s])


def test_limits_of_differences_are_near() -> None:
    known, (n, s) = counts(n=8, s=3)
    assert known.span(n * n * TWO - n) == (1, 120) and known.span(s * n * n - s * n) == (0, 168)


def test_limits_of_what_is_left_behind_a_part() -> None:
    """Of up to 4 elements, at most one is left behind the first three."""
    known, (n,) = counts(n=4)
    left = n - known.least_of(Polynomial.constant(3), n, "")
    assert known.span(left) == (0, 1) and known.span(known.least_of(ONE, left, "")) == (0, 1)


def test_numbers_that_follow_from_one_extent_are_compared_at_each() -> None:
    known, (n,) = counts(n=9)
    five = Polynomial.constant(5)
    near, far = (known.greatest_of(Polynomial(), each, "") for each in (five - n, n - five))
    end, room = n * TWO - ONE + near, far * TWO + Polynomial.constant(9)
    assert known.least_of(end, room, "") == end and known.greatest_of(room, end, "") == room
    assert known.difference(end, near, "") == n * TWO - ONE


@pytest.mark.parametrize("divisor", [2, 3])
def test_quotients_are_limits(divisor: int) -> None:
    known, (n,) = counts(n=9)
    down = known.quotient(n, divisor, "") * Polynomial.constant(divisor)
    up = known.quotient(n + Polynomial.constant(divisor - 1), divisor, "") * Polynomial.constant(divisor)
    assert known.least_of(down, n, "") == down and known.greatest_of(down, n, "") == n
    assert known.least_of(n, up, "") == n and known.greatest_of(up, n, "") == up


@pytest.mark.parametrize(("factor", "divisor"), [(1, 2), (1, 3), (2, 3), (640, 441), (320, 441)])
def test_parts_of_a_quotient_are_limits(factor: int, divisor: int) -> None:
    """What a resampler gives, ``factor`` numbers for each ``divisor``, is rounded up as a whole, or each by itself: the
    former is never longer, but more than the latter rounded down."""
    known, (n,) = counts(n=32000)
    numbers = Polynomial.constant(factor)
    asked = known.quotient(n * numbers + Polynomial.constant(divisor - 1), divisor, "")
    each = known.quotient(n, divisor, "") * numbers
    assert known.least_of(asked, each + numbers, "") == asked
    least = known.least_of(asked, each + numbers - ONE, "")
    longer = any((factor * at + divisor - 1) // divisor > at // divisor * factor + factor - 1 for at in range(1, 999))
    assert (least == asked) is not longer


def test_quotients_of_several_extents_have_limits_of_their_own() -> None:
    known, (n, m) = counts(n=3, m=3)
    both = known.quotient(n, 2, "") + known.quotient(m, 2, "")
    assert known.least_of(both, TWO, "") == both


def test_what_is_not_known_is_computed() -> None:
    known, (n,) = counts(n=9)
    limit = known.least_of(n, Polynomial.constant(4), "")
    assert known.span(limit) == (1, 4) and known.probed(limit) == 4
    assert known.least_of(n, Polynomial.constant(4), "") == limit


def test_products_have_a_limit() -> None:
    """A model that multiplies sums of extents over and over takes no more time than another: what it computes is no
    longer followed, and where it has to be, that is an error."""
    _, extents = counts(a=4, b=4, c=4, d=4, e=4, f=4, g=4, h=4, i=4)
    total = Polynomial()
    for extent in extents:
        total = total + extent
    assert not total.is_short_times(total)
    with pytest.raises(CcmlError, match="too many terms"):
        total * total
    power = extents[0]
    while power.is_short_times(power):
        power = power * power
    assert power.degree <= 12


def test_a_quotient_has_one_form() -> None:
    """(n // 4 - 2) // 2 + 1 is n // 8, and n // 8 - 2 + 3 is (n + 8) // 8."""
    known, (n,) = counts(n=64)
    long = n + Polynomial.constant(16)
    inner = known.quotient(long - Polynomial.constant(8), 4, "")
    eighth = known.quotient(n, 8, "") + ONE
    assert known.quotient(inner, 2, "") == known.quotient(n + Polynomial.constant(8), 8, "") == eighth
    assert known.quotient(n * Polynomial.constant(6) + TWO, 3, "") == n * TWO


def test_a_quotient_is_what_it_is_at_every_extent() -> None:
    known, (n,) = counts(n=40)
    for more in range(9):
        found = known.quotient(known.quotient(n + Polynomial.constant(more), 3, "") + TWO, 4, "")
        for most in (39, 40):
            exact = ((most + more) // 3 + 2) // 4
            assert (known.at_bounds(found) if most == 40 else known.probed(found)) == exact
