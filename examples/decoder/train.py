"""Trains a small transformer on a nursery rhyme, and writes the model of one step of it: decoder.onnx.

    python train.py

takes some seconds on one core; it needs NumPy and onnx. The rhyme is "The Star" by Jane Taylor (1806), in the public
domain. The network sees whole stanzas while it is trained. What is exported makes one step: a letter and its position
in, the scores of the next letter out, and the keys and values of all letters so far in caches, which are states.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).resolve().parent
STANZAS = (
    "Twinkle, twinkle, little star,\nHow I wonder what you are!\nUp above the world so high,\n"
    "Like a diamond in the sky.\n",
    "When the blazing sun is gone,\nWhen he nothing shines upon,\nThen you show your little light,\n"
    "Twinkle, twinkle, all the night.\n",
    "Then the traveller in the dark\nThanks you for your tiny spark;\nHe could not see which way to go,\n"
    "If you did not twinkle so.\n",
)
END = "\0"
ALPHABET = END + "".join(sorted(set("".join(STANZAS))))

POSITIONS = 128
WIDTH, HEADS, LAYERS = 32, 2, 2
INNER = 4 * WIDTH
DEPTH = WIDTH // HEADS
STEPS, RATE = 700, 4e-3
EPSILON = 1e-5

Arrays = dict[str, np.ndarray]


def first_weights(rng: np.random.Generator) -> Arrays:
    def normal(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape) / np.sqrt(shape[0])

    found = {
        "letters": rng.standard_normal((len(ALPHABET), WIDTH)) / 4,
        "positions": rng.standard_normal((POSITIONS, WIDTH)) / 4,
        "scores.norm": np.ones(WIDTH),
        "scores": normal(WIDTH, len(ALPHABET)),
    }
    for layer in range(LAYERS):
        found |= {f"{layer}.{name}": normal(WIDTH, WIDTH) for name in ("query", "key", "value", "mixed")}
        found |= {f"{layer}.norm": np.ones(WIDTH), f"{layer}.inner.norm": np.ones(WIDTH)}
        found |= {f"{layer}.inner": normal(WIDTH, INNER), f"{layer}.outer": normal(INNER, WIDTH) / 2}
    return found


class Network:
    """Forward over whole stanzas [stanzas, letters], and backward: each operation pushes its derivative."""

    def __init__(self, weights: Arrays) -> None:
        self.weights = weights
        self.slopes = {name: np.zeros_like(array) for name, array in weights.items()}

    def loss(self, letters: np.ndarray, wanted: np.ndarray) -> float:
        """Mean cross entropy of the next letters; the slopes of the weights are set."""
        w, steps = self.weights, letters.shape[1]
        x = w["letters"][letters] + w["positions"][:steps]
        backwards = []
        for layer in range(LAYERS):
            for part in (self._attention, self._inner):
                y, back = part(x, str(layer))
                x = x + y
                backwards.append(back)
        normal, back_norm = self._norm(x, "scores.norm")
        scores = normal @ w["scores"]
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        chances = exponentials / exponentials.sum(-1, keepdims=True)
        counted = (letters >= 0) & (wanted >= 0)
        picked = np.take_along_axis(chances, np.maximum(wanted, 0)[..., None], -1)[..., 0]
        slope = chances.copy()
        np.put_along_axis(slope, np.maximum(wanted, 0)[..., None], (picked - 1)[..., None], -1)
        slope *= counted[..., None] / counted.sum()
        self.slopes["scores"] = _outer(normal, slope)
        dx = back_norm(slope @ w["scores"].T)
        for back in reversed(backwards):
            dx = dx + back(dx)
        self.slopes["positions"][...] = 0
        self.slopes["positions"][:steps] = dx.sum(0)
        self.slopes["letters"][...] = 0
        np.add.at(self.slopes["letters"], letters, dx)
        return float(-np.log(picked)[counted].mean())

    def _norm(self, x: np.ndarray, name: str):  # type: ignore[no-untyped-def]
        deviation = np.sqrt(x.var(-1, keepdims=True) + EPSILON)
        unit = (x - x.mean(-1, keepdims=True)) / deviation
        gain = self.weights[name]

        def back(dy: np.ndarray) -> np.ndarray:
            self.slopes[name] = (dy * unit).sum((0, 1))
            d = dy * gain
            return (d - d.mean(-1, keepdims=True) - unit * (d * unit).mean(-1, keepdims=True)) / deviation

        return unit * gain, back

    def _attention(self, x: np.ndarray, layer: str):  # type: ignore[no-untyped-def]
        names = [f"{layer}.{name}" for name in ("query", "key", "value")]
        a, back_norm = self._norm(x, f"{layer}.norm")
        q, k, v = (_heads(a @ self.weights[name]) for name in names)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(DEPTH)
        scores = np.where(np.tri(x.shape[1], dtype=bool), scores, -1e30)
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        shares = exponentials / exponentials.sum(-1, keepdims=True)
        mixed = _joined(shares @ v)
        last = f"{layer}.mixed"

        def back(dy: np.ndarray) -> np.ndarray:
            self.slopes[last] = _outer(mixed, dy)
            do = _heads(dy @ self.weights[last].T)
            dshares = do @ v.swapaxes(-1, -2)
            ds = shares * (dshares - (dshares * shares).sum(-1, keepdims=True)) / np.sqrt(DEPTH)
            slopes = [_joined(d) for d in (ds @ k, ds.swapaxes(-1, -2) @ q, shares.swapaxes(-1, -2) @ do)]
            for name, slope in zip(names, slopes):
                self.slopes[name] = _outer(a, slope)
            return back_norm(sum(slope @ self.weights[name].T for name, slope in zip(names, slopes)))

        return mixed @ self.weights[last], back

    def _inner(self, x: np.ndarray, layer: str):  # type: ignore[no-untyped-def]
        into, out = f"{layer}.inner", f"{layer}.outer"
        a, back_norm = self._norm(x, f"{layer}.inner.norm")
        hidden = np.maximum(a @ self.weights[into], 0)

        def back(dy: np.ndarray) -> np.ndarray:
            self.slopes[out] = _outer(hidden, dy)
            d = (dy @ self.weights[out].T) * (hidden > 0)
            self.slopes[into] = _outer(a, d)
            return back_norm(d @ self.weights[into].T)

        return hidden @ self.weights[out], back


def _heads(x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:2], HEADS, DEPTH).swapaxes(1, 2)


def _joined(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], WIDTH)


def _outer(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])


def train() -> Arrays:
    """Adam, with a rate that falls to zero; all stanzas in each step."""
    texts = [[ALPHABET.index(letter) for letter in stanza + END] for stanza in STANZAS]
    longest = max(map(len, texts))
    assert longest <= POSITIONS
    rows = np.array([text + [-1] * (longest - len(text)) for text in texts])
    letters, wanted = np.maximum(rows[:, :-1], 0), rows[:, 1:]
    weights = first_weights(np.random.default_rng(0))
    network = Network(weights)
    first = {name: np.zeros_like(array) for name, array in weights.items()}
    second = {name: np.zeros_like(array) for name, array in weights.items()}
    for step in range(1, STEPS + 1):
        loss = network.loss(letters, wanted)
        rate = RATE * min(step / 20, 1 - step / (STEPS + 1))
        for name, slope in network.slopes.items():
            first[name] = 0.9 * first[name] + 0.1 * slope
            second[name] = 0.99 * second[name] + 0.01 * slope**2
            mean, square = first[name] / (1 - 0.9**step), second[name] / (1 - 0.99**step)
            weights[name] -= rate * mean / (np.sqrt(square) + 1e-8)
        if step % 100 == 0:
            print(f"step {step}: loss {loss:.4f}")
    return {name: array.astype(np.float32) for name, array in weights.items()}


def export(weights: Arrays) -> onnx.ModelProto:
    """One step. The cache of a layer has room for all positions; a mask hides those that are not filled yet."""
    cache = [1, HEADS, POSITIONS, DEPTH]
    constants = {
        **weights,
        "all": np.arange(POSITIONS).reshape(1, 1, POSITIONS, 1),
        "hidden": np.float32([-1e30]),
        "scale": np.float32([1 / np.sqrt(DEPTH)]),
        "one head": np.array([1, HEADS, 1, DEPTH]),
        "column": np.array([1, HEADS, DEPTH, 1]),
        "row": np.array([1, HEADS, 1, POSITIONS]),
        "joined": np.array([1, WIDTH]),
    }
    nodes: list[onnx.NodeProto] = []

    def node(op: str, inputs: list[str], output: str, **attributes: object) -> str:
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def norm(x: str, name: str) -> str:
        return node("LayerNormalization", [x, name], f"{name}.of", axis=-1, epsilon=EPSILON)

    node("Gather", ["letters", "letter"], "embedded")
    node("Gather", ["positions", "position"], "placed")
    x = node("Add", ["embedded", "placed"], "x")
    node("LessOrEqual", ["all", "position"], "visible")
    states = []
    for layer in range(LAYERS):
        a = norm(x, f"{layer}.norm")
        for name, shape in (("query", "column"), ("key", "one head"), ("value", "one head")):
            node("MatMul", [a, f"{layer}.{name}"], f"{layer}.{name}.flat")
            node("Reshape", [f"{layer}.{name}.flat", shape], f"{layer}.{name}.new")
        for name in ("keys", "values"):
            states.append((f"{name}{layer}", f"{name}{layer}_next"))
            new = f"{layer}.{name[:-1]}.new"
            node("TensorScatter", [states[-1][0], new, "position"], states[-1][1], axis=2)
        node("MatMul", [f"keys{layer}_next", f"{layer}.query.new"], f"{layer}.products")
        node("Mul", [f"{layer}.products", "scale"], f"{layer}.scaled")
        node("Where", ["visible", f"{layer}.scaled", "hidden"], f"{layer}.masked")
        node("Softmax", [f"{layer}.masked"], f"{layer}.shares", axis=2)
        node("Reshape", [f"{layer}.shares", "row"], f"{layer}.row")
        node("MatMul", [f"{layer}.row", f"values{layer}_next"], f"{layer}.heads")
        node("Reshape", [f"{layer}.heads", "joined"], f"{layer}.joined")
        node("MatMul", [f"{layer}.joined", f"{layer}.mixed"], f"{layer}.attention")
        x = node("Add", [x, f"{layer}.attention"], f"{layer}.x")
        inner = node("MatMul", [norm(x, f"{layer}.inner.norm"), f"{layer}.inner"], f"{layer}.hidden")
        node("Relu", [inner], f"{layer}.relu")
        node("MatMul", [f"{layer}.relu", f"{layer}.outer"], f"{layer}.result")
        x = node("Add", [x, f"{layer}.result"], f"{layer}.y")
    node("MatMul", [norm(x, "scores.norm"), "scores"], "logits")
    integer, real = TensorProto.INT64, TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(name, integer, [1]) for name in ("letter", "position")]
    inputs += [helper.make_tensor_value_info(old, real, cache) for old, _ in states]
    outputs = [helper.make_tensor_value_info("logits", real, [1, len(ALPHABET)])]
    outputs += [helper.make_tensor_value_info(new, real, cache) for _, new in states]
    initializers = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, initializers)
    model = helper.make_model(
        graph, producer_name="examples/decoder/train.py", opset_imports=[helper.make_opsetid("", 24)], ir_version=10
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def alphabet_header() -> str:
    letters = "".join({"\0": "", "\n": "\\n"}.get(letter, letter) for letter in ALPHABET)
    return f"""/* The letters of decoder.onnx by their numbers; 0 is the end of the text. Written by train.py. */
#define END 0
#define LETTERS {len(ALPHABET)}

static const char letters[LETTERS + 1] = "\\0" "{letters}";
"""


def main() -> None:
    onnx.save(export(train()), FOLDER / "decoder.onnx")
    (FOLDER / "letters.h").write_text(alphabet_header(), encoding="ascii")


if __name__ == "__main__":
    main()
