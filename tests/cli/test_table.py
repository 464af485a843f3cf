"""Tables on terminals of any width: what they may lose, and what not."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest
from ccml.cli.table import columns, table_lines
from ccml.report.text import shortened

LONG = [
    "functional_1/activation_1/Relu;functional_1/batch_normalization_1/FusedBatchNormV3;depthwise/resource1 + Relu__8",
    "functional_1/activation_2/Relu;functional_1/batch_normalization_2/FusedBatchNormV3;depthwise/resource1 + Relu__8",
    "functional_1/activation_2/Relu;functional_1/batch_normalization_2/FusedBatchNormV3;depthwise/resource1 + Relu__11",
    "model/head",
]


@pytest.mark.parametrize("limit", range(3, 130, 3))
def test_different_names_look_different(limit: int) -> None:
    cut = shortened(LONG, limit)
    assert len(set(cut)) == len(LONG)
    for name, short in zip(LONG, cut):
        head, gap, tail = short.partition("..")
        assert short == name or (gap and name.startswith(head) and name.endswith(tail) and len(short) < len(name))


def test_the_distinguishing_end_is_kept() -> None:
    names = [f"/encoder/layers.{n}/attention/self/query/MatMul" for n in range(12)]
    cut = shortened(names, 40)
    assert [len(name) for name in cut] == [40] * len(names)
    assert all(f"layers.{n}/attention/self/query/MatMul" in name for n, name in enumerate(cut))
    assert shortened(["a" + 60 * "x", "b" + 60 * "x"], 20)[0].startswith("a")
    assert shortened(["same" * 9, "same" * 9], 12) == ["..mesamesame"] * 2


HEAD = columns("#", "@layer", "kernel", "#bytes", "~why")
ROWS = [[str(i), name, f"conv_{i}", "1,234,567", "its result is not quantized"] for i, name in enumerate(LONG)]


@pytest.mark.parametrize("limit", [None, *range(70, 260, 10)])
def test_only_names_lose_anything(limit: int | None) -> None:
    lines = table_lines(HEAD, ROWS, limit)
    text = "\n".join(lines)
    assert limit is None or max(map(len, lines)) <= limit
    assert [text.count(part) for part in ("conv_3", "1,234,567")] == [1, 4]
    for word in ("result", "quantized"):
        assert text.count(word) == len(ROWS)
    assert limit is None or limit < 190 or all(name in text for name in LONG)


def test_whole_names_where_there_is_no_terminal() -> None:
    assert all(name in "\n".join(table_lines(HEAD, ROWS, None)) for name in LONG)


def test_what_is_neither_name_nor_prose_is_never_cut() -> None:
    """The table is as wide as it takes."""
    words = [["cortex-m0plus" * 3, "armv8.2-a-dotprod, x" * 2]]
    lines = table_lines(columns("target", "~CPUs"), words, 30)
    assert lines[2].startswith("cortex-m0plus" * 3)
    assert "armv8.2-a-dotprod," in "\n".join(lines)


def test_names_stand_above_where_numbers_need_the_line() -> None:
    head = columns("#", "@layer", "#instructions", "#cycles")
    rows = [[str(n), f"block{n}/" + "convolution/" * 3, "1" * 12, "2" * 12] for n in range(2)]
    assert table_lines(head, rows, 48) == [
        "   layer",
        "   instructions        cycles",
        "   ------------  ------------",
        "0  block0/convolution/convolution/convolution/",
        "   111111111111  222222222222",
        "1  block1/convolution/convolution/convolution/",
        "   111111111111  222222222222",
    ]


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What ``ccml`` writes to a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as reader:
        process = subprocess.Popen(
            [sys.executable, "-m", "ccml", *arguments], stdout=theirs, stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80", **environment},
        )  # fmt: skip
        os.close(theirs)
        parts = []
        while True:
            try:
                part = reader.read(65536)
            except OSError:  # what Linux says when the other side is closed
                break
            if not part:
                break
            parts.append(part)
        assert process.wait() == 0
    return b"".join(parts).decode()


def test_terminals_get_lines_that_fit_and_colours_that_they_know() -> None:
    plain = on_a_terminal("doctor", NO_COLOR="1")
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) <= 80
    assert "\x1b" in on_a_terminal("doctor")
    assert "\x1b" not in on_a_terminal("doctor", TERM="dumb")
