"""Names of the model become C identifiers that clash with nothing."""

from __future__ import annotations

import pytest
from ccml.emit_c.names import RESERVED, Names, c_identifier
from ccml.emit_c.symbols import comment_text
from ccml.ir.c_spelling import c_string


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("conv2d/BiasAdd:0", "conv2d_BiasAdd_0"),
        ("3x3", "v3x3"),
        ("_hidden__", "hidden"),
        ("größe", "gr_e"),
        ("", "value"),
        ("///", "value"),
        ("for", "v_for"),
        ("class", "v_class"),
        ("int8_t", "v_int8_t"),
        ("INT32_MAX", "v_INT32_MAX"),
        ("ccml_f32_fma", "v_ccml_f32_fma"),
        ("linux", "v_linux"),
    ],
)
def test_identifier(text: str, identifier: str) -> None:
    assert c_identifier(text) == identifier


def test_no_keyword_stays() -> None:
    assert not {c_identifier(word) for word in RESERVED} & RESERVED


def test_a_visible_name_is_not_given_out_again() -> None:
    names = Names({"kws_run"})
    assert [names.bind("i"), names.bind("i"), names.bind("kws_run")] == ["i", "i_2", "kws_run_2"]
    names.push()
    assert names.bind("i") == "i_3"
    names.pop()
    assert names.bind("i") == "i_3"


def test_comments_and_strings_cannot_be_left() -> None:
    assert comment_text("a */ b /* c\nd\\") == "a * / b / * c d"
    assert c_string('a"\\??=\u00e9') == r'"a\"\\\?\?=\303\251"'
