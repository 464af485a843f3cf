"""Commands on a model with strings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.cli.command_line import ccml
from tests.frontend_onnx.graphs import model, value

WORDS = np.array([["cat", "dog"], ["", "käfer"]])


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Joins words with a constant and tells which are cats."""
    nodes = [helper.make_node("StringConcat", ["x", "k"], ["y"]), helper.make_node("Equal", ["x", "c"], ["e"])]
    constants = {"k": np.array("!", object), "c": np.array("cat", object)}
    proto = model(nodes, [value("x", [2, 2], TensorProto.STRING)], ["y", "e"], constants)
    proto.graph.output[0].CopyFrom(value("y", [2, 2], TensorProto.STRING))
    onnx.save(proto, tmp_path / "words.onnx")
    return tmp_path / "words.onnx"


def test_run(words: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=WORDS)
    result = ccml("run", words, "--max", "x=8", "-i", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert result.exit_code == 0 and "käfer!" in result.stdout, result.stderr
    with np.load(tmp_path / "out.npz") as found:
        assert found["y"].tolist() == [["cat!", "dog!"], ["!", "käfer!"]] and found["e"].tolist()[0] == [True, False]
    shown = json.loads(ccml("run", words, "--max", "x=8", "-i", tmp_path / "in.npz", "--json").stdout)
    assert shown["outputs"][0]["values"] == ["cat!", "dog!", "!", "käfer!"]
    np.savez(tmp_path / "several.npz", x=np.stack([WORDS, WORDS[::-1]]))
    shown = json.loads(ccml("run", words, "-i", tmp_path / "several.npz", "--json").stdout)
    assert shown["samples"] == 2 and shown["outputs"][0]["shape"] == [2, 2, 2]


def test_strings_that_do_not_fit(words: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=WORDS)
    result = ccml("run", words, "--max", "x=5", "-i", tmp_path / "in.npz")
    assert result.exit_code != 0 and "--max x=6" in result.stderr
    assert ccml("run", words, "--max", "z=5").exit_code != 0
    assert ccml("run", words, "--max", "x").exit_code == 2


@pytest.mark.parametrize("backend", ["jit", "c"])
def test_verify(words: Path, tmp_path: Path, backend: str) -> None:
    """Against the reference, and against expected results, which may be wrong."""
    result = ccml("verify", words, "--backend", backend)
    assert result.exit_code == 0, result.stderr
    np.savez(tmp_path / "wrong.npz", x=WORDS, y=WORDS)
    result = ccml("verify", words, "-i", tmp_path / "wrong.npz", "--backend", backend)
    assert result.exit_code != 0 and "expected" in result.stdout


def test_a_program_in_c(words: Path, tmp_path: Path) -> None:
    """The header says what a string is; strncpy writes one, and printf shows it."""
    folder = tmp_path / "out"
    config = tmp_path / "ccml.toml"
    config.write_text("[model]\nmax = { x = 7 }\n")
    result = ccml("compile", words, "--config", config, "-t", "generic", "-o", folder, "--emit", "c")
    assert result.exit_code == 0, result.stderr
    assert "strings of up to 7 bytes of UTF-8, filled up with zeros" in (folder / "words.h").read_text()
    assert json.loads((folder / "report.json").read_text())["options"]["max"] == {"x": 7}
    (folder / "main.c").write_text(MAIN)
    sources = [str(path) for path in folder.glob("*.c")]
    subprocess.run(["gcc", "-std=c99", "-Wall", "-o", str(folder / "main"), *sources], check=True)
    done = subprocess.run([str(folder / "main")], capture_output=True, check=True)
    assert done.stdout.decode() == "cat! 1\ndog! 0\nseventy! 0\n! 0\n"


MAIN = """
#include "words.h"
#include <stdio.h>
#include <string.h>
int main(void)
{
    static const char *const words[] = {"cat", "dog", "seventy", ""};
    uint8_t x[WORDS_X_BYTES], y[WORDS_Y_BYTES], e[WORDS_E_BYTES], arena[WORDS_ARENA_SIZE + 64];
    uint8_t *aligned = arena + (WORDS_ARENA_ALIGN - (uintptr_t)arena % WORDS_ARENA_ALIGN) % WORDS_ARENA_ALIGN;
    for (int i = 0; i < 4; i++) strncpy((char *)x + i * WORDS_X_DIM2, words[i], WORDS_X_DIM2);
    if (words_run(aligned, x, y, e) != WORDS_OK) return 1;
    for (int i = 0; i < 4; i++) printf("%.*s %d\\n", WORDS_Y_DIM2, (const char *)y + i * WORDS_Y_DIM2, e[i]);
    return 0;
}
"""
