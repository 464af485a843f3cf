"""examples/decoder: text, letter by letter, from a C program here and on an emulated board."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from ccml.driver import ModelOptions, compile_model
from ccml.emit_llvm.jit import JitModel
from ccml.targets import select

from tests.machines_here import on_this_machine
from tests.tools import needs

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "decoder"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text() -> str:
    """The poem as it stands in the public domain, and in the training data; the program ends each stanza with a line
    break of its own."""
    stanzas: tuple[str, ...] = script("train").STANZAS
    assert stanzas[0].startswith("Twinkle, twinkle, little star,\nHow I wonder what you are!\n")
    return "".join(f"{stanza}\n" for stanza in stanzas)


@needs("gcc")
def test_on_this_machine(tmp_path: Path) -> None:
    assert script("demo").generate("generic", tmp_path) == text()


@needs("arm-none-eabi-gcc", "qemu-system-arm")
def test_on_an_emulated_board(tmp_path: Path) -> None:
    assert script("demo").generate("cortex-m55", tmp_path) == text()


def test_the_readme_shows_what_it_prints() -> None:
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    shown = "\n".join(line.removeprefix("    ") for line in lines)
    assert text().rstrip() in shown


def test_the_states_of_the_demo_are_those_of_the_config() -> None:
    config = tomllib.loads((FOLDER / "ccml.toml").read_text(encoding="utf-8"))
    assert config["model"]["states"] == script("demo").STATES


def test_the_letters_are_those_of_the_training() -> None:
    assert (FOLDER / "letters.h").read_text(encoding="ascii") == script("train").alphabet_header()


@pytest.mark.parametrize("target", ["x86", "cortex-m55"])
def test_steps_equal_the_whole_sequence(target: str) -> None:
    """Caches that are filled step by step give the attention to all letters so far that training computes at once."""
    train, machine = script("train"), on_this_machine(select(target))
    compiled = compile_model(FOLDER / "decoder.onnx", machine, ModelOptions(states=script("demo").STATES))
    assert not any(state.copied for state in compiled.program.states)
    model = JitModel(compiled.program, machine)
    letters = [train.ALPHABET.index(letter) for letter in train.STANZAS[2]]
    steps = [
        model.run({"letter": np.array([letter]), "position": np.array([position])})["logits"][0]
        for position, letter in enumerate(letters)
    ]
    import onnx
    from onnx import numpy_helper

    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load(FOLDER / "decoder.onnx").graph.initializer}
    np.testing.assert_allclose(np.array(steps), whole(train, stored, np.array([letters]))[0], rtol=2e-3, atol=2e-3)


def whole(train: ModuleType, weights: dict[str, np.ndarray], letters: np.ndarray) -> np.ndarray:
    """The scores of the next letters at all positions, by the network that is trained."""
    network = train.Network({name: array for name, array in weights.items() if array.dtype == np.float32})
    x = weights["letters"][letters] + weights["positions"][: letters.shape[1]]
    for layer in range(train.LAYERS):
        x = x + network._attention(x, str(layer))[0]
        x = x + network._inner(x, str(layer))[0]
    scores: np.ndarray = network._norm(x, "scores.norm")[0] @ weights["scores"]
    return scores
