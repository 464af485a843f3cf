"""Names from a model in what people read."""

from __future__ import annotations

import json
import unicodedata

import pytest
from ccml.emit_c.symbols import comment_text
from ccml.errors import CcmlError, ErrorCode
from ccml.printable import in_short, printable
from ccml.report.schema import json_text

NASTY = "a\u202egnp.exe \x1b[31m \x07 \x85 \u2066 \u200b \U000e0041 b"


def harmless(text: str) -> bool:
    return not any(unicodedata.category(char) in ("Cc", "Cf") for char in text.replace("\n", ""))


def test_text_of_every_language_stays() -> None:
    for text in ("Größe", "画像", "изображение", "🙂", "a\nb"):
        assert printable(text) == text


def test_nothing_that_acts_on_a_terminal_or_hides_is_shown() -> None:
    error = str(CcmlError(ErrorCode.INVALID_MODEL, f"reads {NASTY}", loc=NASTY, hint=NASTY))
    assert harmless(error) and "a\\u202egnp.exe \\u001b[31m" in error
    assert harmless(comment_text(NASTY))


def test_reports_say_it_all_without_showing_it() -> None:
    text = json_text({"name": NASTY})
    assert harmless(text) and json.loads(text) == {"name": NASTY}


@pytest.mark.parametrize("length", [201, 5000])
def test_long_names_lose_their_middle(length: int) -> None:
    name = "b" + "x" * (length - 2) + "e"
    assert len(in_short(name)) == 200 and in_short(name)[0] + in_short(name)[-1] == "be"
    error = CcmlError(ErrorCode.INVALID_MODEL, f"reads '{name}' here", loc=name, hint=f"--shape {name}=1")
    assert len(str(error).split("\n")[0]) < 450 and name in str(error).split("\n")[1]
    assert len(comment_text(f"{name} + {name}")) < 450
