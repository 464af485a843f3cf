"""Writes the table of operators in docs/tflite.md from the tables of the importer.

``make docs`` runs it; ``tests/test_docs.py`` fails where the page is not what it would write.
"""

from __future__ import annotations

from pathlib import Path

from ccml.frontend_tflite.rules import CONDITIONS, SUPPORTED

PAGE = Path(__file__).with_name("tflite.md")
_MARK = "<!-- The rest is made by `make docs`. -->\n"


def tflite_page() -> str:
    """The page with the table as it should be."""
    head = PAGE.read_text(encoding="utf-8").partition(_MARK)[0]
    rows = [f"| {name} | {CONDITIONS.get(name, '')} |" for name in SUPPORTED]
    return "\n".join([head + _MARK, "| operator | conditions |", "| --- | --- |", *rows]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(tflite_page(), encoding="utf-8")
