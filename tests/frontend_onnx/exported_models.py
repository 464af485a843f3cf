"""Models with open dimensions as exporters write them: with the shape arithmetic of what they were traced from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from ccml.frontend_onnx import Range
from onnx import TensorProto, helper, numpy_helper

from tests.frontend_onnx.graphs import Operand, model, value
from tests.frontend_onnx.ranged_models import Ranged, make

I64 = TensorProto.INT64
END = 2**62


def _weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(shape).standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def numbers(**named: int | list[int]) -> dict[str, Operand]:
    """Constants (i64): single numbers and lists."""
    return {name: np.array(number) for name, number in named.items()}


def decoder_with_past() -> Ranged:
    """As GPT-2: linear layers on rows of all tokens, positions behind the cache, a part of a causal mask."""
    width = 8
    nodes = [
        make("Shape", ["ids"], ["s"]), make("Gather", ["s", "zero"], ["B"]), make("Gather", ["s", "one"], ["S"]),
        make("Shape", ["past_k"], ["ps"]), make("Slice", ["ps", "l2", "l3"], ["P1"]),
        make("Squeeze", ["P1", "l0"], ["P"]),
        make("Add", ["P", "S"], ["T"]), make("Range", ["P", "T", "one"], ["pos"]),
        make("Unsqueeze", ["pos", "l0"], ["pu"]),
        make("Gather", ["wte", "ids"], ["e"]), make("Gather", ["wpe", "pu"], ["pe"]), make("Add", ["e", "pe"], ["x"]),
        make("Reshape", ["x", "rows"], ["xf"]), make("Gemm", ["xf", "w", "b"], ["f"]),
        make("Unsqueeze", ["B", "l0"], ["Bu"]),
        make("Unsqueeze", ["S", "l0"], ["Su"]), make("Concat", ["Bu", "Su", "wide"], ["so"], axis=0),
        make("Reshape", ["f", "so"], ["qkv"]), make("Split", ["qkv"], ["q", "k", "v"], axis=2, num_outputs=3),
        *(make("Reshape", [n, "heads"], [f"{n}r"]) for n in "qkv"),
        *(make("Transpose", [f"{n}r"], [f"{n}t"], perm=[0, 2, 1, 3]) for n in "qkv"),
        make("Concat", ["past_k", "kt"], ["now_k"], axis=2), make("Concat", ["past_v", "vt"], ["now_v"], axis=2),
        make("Transpose", ["now_k"], ["kT"], perm=[0, 1, 3, 2]), make("MatMul", ["qt", "kT"], ["a0"]),
        make("Shape", ["now_k"], ["ks"]), make("Slice", ["ks", "l2", "l3"], ["K"]), make("Sub", ["K", "Su"], ["from"]),
        make("Slice", ["mask", "from", "K", "l2"], ["m2"]), make("Slice", ["m2", "l0", "K", "l3"], ["m3"]),
        make("Where", ["m3", "a0", "never"], ["a1"]), make("Softmax", ["a1"], ["a2"], axis=-1),
        make("MatMul", ["a2", "now_v"], ["c0"]), make("Transpose", ["c0"], ["c1"], perm=[0, 2, 1, 3]),
        make("Reshape", ["c1", "join"], ["y"]), make("Gather", ["y", "end"], ["last"], axis=1),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "wte": _weights(20, width), "wpe": _weights(32, width), "w": _weights(width, 3 * width),
        "b": _weights(3 * width),
        "mask": np.tril(np.ones((1, 1, 32, 32), bool)), "never": np.float32(-1e9),
        **numbers(zero=0, one=1, end=-1, l0=[0], l2=[2], l3=[3], rows=[-1, width], wide=[3 * width], heads=[0, 0, 2, 4],
                  join=[0, 0, width]),
    }  # fmt: skip
    past = ["B", 2, "P", 4]
    inputs = [value("ids", ["B", "S"], I64), value("past_k", past), value("past_v", past)]
    proto = model(nodes, inputs, ["y", "now_k", "now_v", "last"], constants)

    def arrays(n: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        cache = {name: _normal(rng, n["B"], 2, n["P"], 4) for name in ("past_k", "past_v")}
        return {"ids": rng.integers(0, 20, (n["B"], n["S"])), **cache}

    return Ranged(proto, {"B": Range(1, 2), "S": Range(1, 4), "P": Range(0, 5)}, arrays)


def chunks() -> Ranged:
    """A sequence is filled up to whole chunks of 4, and cut again."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Gather", ["s", "one"], ["L"]), make("Add", ["L", "three"], ["more"]),
        make("Div", ["more", "four"], ["n"]), make("Mul", ["n", "four"], ["all"]), make("Sub", ["all", "L"], ["lack"]),
        make("Unsqueeze", ["lack", "l0"], ["lu"]), make("Concat", ["before", "lu", "l0"], ["pads"], axis=0),
        make("Pad", ["x", "pads"], ["xp"]), make("Unsqueeze", ["n", "l0"], ["nu"]),
        make("Concat", ["l1", "nu", "four6"], ["sh"], axis=0), make("Reshape", ["xp", "sh"], ["c"]),
        make("ReduceMean", ["c", "l2"], ["m"]), make("Sub", ["c", "m"], ["d"]), make("Reshape", ["d", "back"], ["f"]),
        make("Unsqueeze", ["L", "l0"], ["Lu"]), make("Slice", ["f", "l0", "Lu", "l1"], ["y"]),
    ]  # fmt: skip
    constants = numbers(
        one=1, three=3, four=4, l0=[0], l1=[1], l2=[2], before=[0] * 4, four6=[4, 6], back=[1, -1, 6]
    )  # fmt: skip
    proto = model(nodes, [value("x", [1, "L", 6])], ["y"], constants)
    return Ranged(proto, {"L": Range(1, 9)}, lambda n, rng: {"x": _normal(rng, 1, n["L"], 6)})


def streams() -> Ranged:
    """As ProphetNet: a sequence and two of positions, which are constants of its length, one behind the other, and
    apart again as parts of equal size."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("ConstantOfShape", ["s"], ["k"]), make("Exp", ["k"], ["e"]),
        make("Concat", ["x", "e", "e"], ["c"], axis=1), make("Shape", ["c"], ["cs"]),
        make("Gather", ["cs", "l1"], ["n"]), make("Add", ["n", "l2"], ["more"]), make("Div", ["more", "l3"], ["d"]),
        make("Mul", ["d", "l2"], ["d2"]), make("Mul", ["d", "l3"], ["d3"]),
        make("Slice", ["c", "d", "d2", "l1"], ["p"]), make("Slice", ["c", "d2", "d3", "l1"], ["q"]),
        make("Unsqueeze", ["p", "l1"], ["pu"]), make("Unsqueeze", ["q", "l1"], ["qu"]),
        make("Concat", ["pu", "qu"], ["y"], axis=1),
    ]  # fmt: skip
    proto = model(nodes, [value("x", [1, "T", 2])], ["y"], numbers(l1=[1], l2=[2], l3=[3]))
    return Ranged(proto, {"T": Range(1, 8)}, lambda n, rng: {"x": _normal(rng, 1, n["T"], 2)})


def beside_patches() -> Ranged:
    """As LayoutLMv3: biases by the distance of two places in a text or among the patches of the image behind it, taken
    from a table for all pairs in one row."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Gather", ["s", "zero"], ["n"]), make("Range", ["zero", "n", "one"], ["r"]),
        make("Concat", ["r", "patches"], ["p"], axis=0), make("Unsqueeze", ["p", "l0"], ["columns"]),
        make("Unsqueeze", ["p", "l1"], ["rows"]), make("Sub", ["columns", "rows"], ["d"]),
        make("Clip", ["d", "low", "high"], ["c"]), make("Add", ["c", "high"], ["places"]),
        make("Reshape", ["places", "flat"], ["f"]), make("Gather", ["table", "f"], ["g"], axis=1),
        make("Shape", ["places"], ["ps"]), make("Concat", ["flat", "ps"], ["apart"], axis=0),
        make("Reshape", ["g", "apart"], ["bias"]), make("Concat", ["x", "image"], ["both"], axis=0),
        make("Transpose", ["both"], ["t"]), make("MatMul", ["both", "t"], ["scores"]),
        make("Add", ["scores", "bias"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        **numbers(zero=0, one=1, patches=[0, 1, 2, 3, 4], l0=[0], l1=[1], low=-3, high=3, flat=[-1]),
        "table": _weights(2, 7), "image": _weights(5, 3),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["T", 3])], ["y"], constants)
    return Ranged(proto, {"T": Range(1, 6)}, lambda n, rng: {"x": _normal(rng, n["T"], 3)})


def ends_and_borders() -> Ranged:
    """As tf2onnx writes x[:, :2 * n] and a border up to a length: masks of ends are maxima of floats, amounts of
    padding a table of two columns."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Cast", ["s"], ["si"], to=TensorProto.INT32),
        make("Slice", ["si", "l1", "l2", "l0"], ["n"]), make("Mul", ["n", "two"], ["n2"]),
        make("Concat", ["none", "n2"], ["e"], axis=0), make("Cast", ["e"], ["ef"], to=TensorProto.FLOAT),
        make("Max", ["ef", "limits"], ["m"]), make("Cast", ["m"], ["mi"], to=TensorProto.INT32),
        make("Equal", ["mi", "all"], ["open"]), make("And", ["open", "down"], ["od"]),
        make("Where", ["od", "before", "mi"], ["ends"]), make("Concat", ["x", "x", "x"], ["xx"], axis=1),
        make("Slice", ["xx", "begin", "ends", "axes"], ["y"]),
        make("Sub", ["nine", "n"], ["lack"]), make("Concat", ["none", "lack"], ["pair"], axis=0),
        make("Unsqueeze", ["pair", "l0"], ["row"]), make("Concat", ["rows", "row"], ["table"], axis=0),
        make("Cast", ["table"], ["wide"], to=I64), make("Transpose", ["wide"], ["t"], perm=[1, 0]),
        make("Reshape", ["t", "flat"], ["pads"]), make("Pad", ["x", "pads"], ["z"]),
    ]  # fmt: skip
    narrow = {"two": [2], "none": [0], "all": 10**9, "before": -(10**9), "nine": [9], "rows": [[0, 0]], "begin": [0, 0],
              "axes": [0, 1]}  # fmt: skip
    constants: dict[str, Operand] = {
        **numbers(l0=[0], l1=[1], l2=[2], flat=[-1]), **{name: np.int32(number) for name, number in narrow.items()},
        "limits": np.array([1e9, -1e9], np.float32), "down": np.array([False, False]),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["b", "L"])], ["y", "z"], constants)
    ranges = {"b": Range(1, 2), "L": Range(1, 9)}
    return Ranged(proto, ranges, lambda n, rng: {"x": _normal(rng, n["b"], n["L"])})


def relative_shift() -> Ranged:
    """Transformer-XL's: a column of zeros, and rows that are one longer than they are."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Gather", ["s", "i2"], ["t"]), make("Gather", ["s", "i3"], ["u"]),
        make("Pad", ["x", "pads"], ["p"]), make("Add", ["u", "l1"], ["u1"]),
        make("Concat", ["l1", "l2", "u1", "t"], ["sh"], axis=0), make("Reshape", ["p", "sh"], ["r"]),
        make("Slice", ["r", "l1", "end", "l2"], ["c"]), make("Reshape", ["c", "s"], ["y"]),
    ]  # fmt: skip
    constants = numbers(i2=[2], i3=[3], l1=[1], l2=[2], end=[END], pads=[0, 0, 0, 1, 0, 0, 0, 0])
    proto = model(nodes, [value("x", [1, 2, "t", "u"])], ["y"], constants)
    return Ranged(
        proto, {"t": Range(1, 4), "u": Range(1, 5)}, lambda n, rng: {"x": _normal(rng, 1, 2, n["t"], n["u"])}
    )


def messages() -> Ranged:
    """A layer of a graph network: messages along edges, their means at the nodes."""
    zeros = numpy_helper.from_array(np.zeros(1, np.float32))
    nodes = [
        make("Gather", ["e", "zero"], ["from"]), make("Gather", ["e", "one"], ["to"]),
        make("MatMul", ["x", "w"], ["h"]),
        make("Gather", ["h", "from"], ["m"]), make("Unsqueeze", ["to", "l1"], ["tu"]), make("Shape", ["m"], ["ms"]),
        make("Expand", ["tu", "ms"], ["at"]), make("Shape", ["h"], ["hs"]),
        make("ConstantOfShape", ["hs"], ["z"], value=zeros),
        make("ScatterElements", ["z", "at", "m"], ["sum"], reduction="add"), make("Mul", ["m", "nothing"], ["mz"]),
        make("Exp", ["mz"], ["ones"]), make("ScatterElements", ["z", "at", "ones"], ["count"], reduction="add"),
        make("Max", ["count", "f1"], ["d"]), make("Div", ["sum", "d"], ["y"]),
        make("ReduceMax", ["y", "l0"], ["pooled"], keepdims=0),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "w": _weights(5, 6), "nothing": np.float32(0), "f1": np.float32(1), **numbers(zero=0, one=1, l0=[0], l1=[1]),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["n", 5]), value("e", [2, "m"], I64)], ["y", "pooled"], constants)

    def arrays(n: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"x": _normal(rng, n["n"], 5), "e": rng.integers(0, n["n"], (2, n["m"]))}

    return Ranged(proto, {"n": Range(1, 5), "m": Range(1, 7)}, arrays)


def experts() -> Ranged:
    """Tokens go to the expert that a gate chooses: the rows of each are picked, and added at their places."""
    nodes = [
        make("MatMul", ["x", "gate"], ["g"]), make("Softmax", ["g"], ["p"], axis=-1),
        make("TopK", ["p", "l1"], ["weight", "expert"], axis=-1), make("Mul", ["x", "nothing"], ["sum0"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "gate": _weights(6, 3), "nothing": np.float32(0), **numbers(l1=[1], zero=0, last=[-1]),
    }  # fmt: skip
    for n in range(3):
        constants |= {f"e{n}": np.array(n), f"w{n}": _weights(6, 6 + n)[:, :6]}
        nodes += [
            make("Equal", ["expert", f"e{n}"], [f"mine{n}"]), make("NonZero", [f"mine{n}"], [f"places{n}"]),
            make("Gather", [f"places{n}", "zero"], [f"r{n}"]), make("Gather", ["x", f"r{n}"], [f"x{n}"]),
            make("MatMul", [f"x{n}", f"w{n}"], [f"h{n}"]), make("Gather", ["weight", f"r{n}"], [f"s{n}"]),
            make("Mul", [f"h{n}", f"s{n}"], [f"o{n}"]), make("Unsqueeze", [f"r{n}", "last"], [f"ru{n}"]),
            make("ScatterND", [f"sum{n}", f"ru{n}", f"o{n}"], [f"sum{n + 1}"], reduction="add"),
        ]  # fmt: skip
    nodes.append(make("Add", ["x", "sum3"], ["y"]))
    proto = model(nodes, [value("x", ["t", 6])], ["y"], constants)
    return Ranged(proto, {"t": Range(1, 5)}, lambda n, rng: {"x": _normal(rng, n["t"], 6)})


def filtered() -> Ranged:
    """A filter that goes along a sequence by a Loop as long as that is."""
    inner = [
        make("Identity", ["c"], ["co"]), make("Gather", ["z", "i"], ["zi"]), make("MatMul", ["F", "s"], ["sp"]),
        make("Sub", ["zi", "sp"], ["e"]), make("Mul", ["e", "K"], ["u"]), make("Add", ["sp", "u"], ["sn"]),
        make("Identity", ["sn"], ["row"]),
    ]  # fmt: skip
    body = helper.make_graph(
        inner, "step", [value("i", [], I64), value("c", [], TensorProto.BOOL), value("s", [2])],
        [value("co", [], TensorProto.BOOL), value("sn", [2]), value("row", [2])],
    )  # fmt: skip
    nodes = [
        make("Shape", ["z"], ["shape"]), make("Gather", ["shape", "zero"], ["n"]),
        make("Loop", ["n", "", "s0"], ["last", "y"], body=body),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "F": np.array([[1, 0.1], [0, 1]], np.float32), "K": np.float32(0.3), "s0": np.zeros(2, np.float32),
        "zero": np.array(0),
    }  # fmt: skip
    proto = model(nodes, [value("z", ["t", 2])], ["last", "y"], constants)
    return Ranged(proto, {"t": Range(1, 6)}, lambda n, rng: {"z": _normal(rng, n["t"], 2)})


def einsums() -> Ranged:
    nodes = [
        make("Einsum", ["x", "w"], ["q"], equation="bsd,dhk->bhsk"),
        make("Einsum", ["q", "q"], ["a"], equation="bhsk,bhtk->bhst"), make("Softmax", ["a"], ["p"], axis=-1),
        make("Einsum", ["p", "q"], ["o"], equation="bhst,bhtk->bshk"),
        make("Einsum", ["o", "v"], ["y"], equation="bshk,hkd->bsd"),
    ]  # fmt: skip
    proto = model(nodes, [value("x", ["b", "s", 6])], ["y"], {"w": _weights(6, 2, 3), "v": _weights(2, 3, 6)})
    return Ranged(
        proto, {"b": Range(1, 2), "s": Range(1, 5)}, lambda n, rng: {"x": _normal(rng, n["b"], n["s"], 6)}
    )


def frames() -> Ranged:
    """Windows of a signal, gathered by places that are computed."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Gather", ["s", "zero"], ["L"]), make("Sub", ["L", "four"], ["room"]),
        make("Div", ["room", "two"], ["steps"]), make("Add", ["steps", "one"], ["n"]),
        make("Range", ["zero", "n", "one"], ["r"]), make("Mul", ["r", "two"], ["at"]),
        make("Unsqueeze", ["at", "l1"], ["au"]),
        make("Add", ["au", "window"], ["places"]), make("Gather", ["x", "places"], ["f"]),
        make("MatMul", ["f", "w"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "window": np.arange(4), "w": _weights(4, 3), **numbers(zero=0, one=1, two=2, four=4, l1=[1]),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["L"])], ["y"], constants)
    return Ranged(proto, {"L": Range(4, 11)}, lambda n, rng: {"x": _normal(rng, n["L"])})


def windows() -> Ranged:
    """Attention within whole windows of 2; what is left over at the end is cut off."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Gather", ["s", "zero"], ["B"]), make("Gather", ["s", "one"], ["S"]),
        make("Div", ["S", "two"], ["h"]), make("Mul", ["h", "two"], ["S2"]), make("Unsqueeze", ["S2", "l0"], ["end"]),
        make("Slice", ["x", "l0", "end", "l1"], ["xc"]), make("Unsqueeze", ["B", "l0"], ["Bu"]),
        make("Unsqueeze", ["h", "l0"], ["hu"]), make("Concat", ["Bu", "hu", "l2", "l4"], ["sh"], axis=0),
        make("Reshape", ["xc", "sh"], ["w"]), make("Transpose", ["w"], ["wt"], perm=[0, 1, 3, 2]),
        make("MatMul", ["w", "wt"], ["a"]), make("Softmax", ["a"], ["p"], axis=-1), make("MatMul", ["p", "w"], ["o"]),
        make("Concat", ["Bu", "rest", "l4"], ["back"], axis=0), make("Reshape", ["o", "back"], ["y"]),
    ]  # fmt: skip
    constants = numbers(zero=0, one=1, two=2, l0=[0], l1=[1], l2=[2], l4=[4], rest=[-1])
    proto = model(nodes, [value("x", ["b", "s", 4])], ["y"], constants)
    return Ranged(
        proto, {"b": Range(1, 3), "s": Range(2, 7)}, lambda n, rng: {"x": _normal(rng, n["b"], n["s"], 4)}
    )


def best_boxes() -> Ranged:
    """Boxes of images are suppressed; of those of the first image the best two."""
    nodes = [
        make("Sigmoid", ["b"], ["boxes"]),
        make("NonMaxSuppression", ["boxes", "s", "four", "half", "fifth"], ["chosen"]),
        make("Gather", ["chosen", "zero"], ["image"], axis=1), make("Equal", ["image", "zero"], ["first"]),
        make("Compress", ["chosen", "first"], ["own"], axis=0), make("GatherND", ["s", "own"], ["v"]),
        make("Shape", ["v"], ["vs"]), make("Min", ["vs", "l2"], ["k"]), make("TopK", ["v", "k"], ["scores", "at"]),
        make("Gather", ["own", "at"], ["top"]), make("Slice", ["top", "l1", "l3", "l1"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = {
        "half": np.float32(0.5), "fifth": np.float32(0.2), **numbers(zero=0, four=[4], l1=[1], l2=[2], l3=[3]),
    }  # fmt: skip
    proto = model(nodes, [value("b", ["n", "m", 4]), value("s", ["n", 2, "m"])], ["y", "scores"], constants)

    def arrays(n: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"b": _normal(rng, n["n"], n["m"], 4), "s": rng.random((n["n"], 2, n["m"])).astype(np.float32)}

    return Ranged(proto, {"n": Range(1, 2), "m": Range(1, 6)}, arrays)


def tree() -> Ranged:
    """A tree with a missing value, as scikit-learn's exporter writes it."""
    node = make(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0] * 5,
        nodes_nodeids=[0, 1, 2, 3, 4], nodes_featureids=[0, 1, 0, 0, 0], nodes_values=[0.1, -0.2, 0.0, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_truenodeids=[1, 3, 0, 0, 0],
        nodes_falsenodeids=[2, 4, 0, 0, 0], nodes_missing_value_tracks_true=[1, 0, 0, 0, 0], target_treeids=[0] * 3,
        target_nodeids=[2, 3, 4], target_ids=[0] * 3, target_weights=[1.0, 2.0, 3.0],
    )  # fmt: skip
    proto = model([node], [value("x", ["b", 3])], ["y"], domains={"ai.onnx.ml": 3})

    def arrays(n: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray]:
        x = _normal(rng, n["b"], 3)
        x[0, 0] = np.nan
        return {"x": x}

    return Ranged(proto, {"b": Range(1, 5)}, arrays)


def branches() -> Ranged:
    """Extents that are merged in both branches, and behind them; elements that one branch finds."""

    def branch(nodes: list[onnx.NodeProto], result: str) -> onnx.GraphProto:
        return helper.make_graph(nodes, "branch", [], [helper.make_value_info(result, onnx.TypeProto())])

    merged = branch([make("Reshape", ["x", "row"], ["t0"]), make("Neg", ["t0"], ["t"])], "t")
    doubled = branch([make("Add", ["x", "x"], ["e0"]), make("Reshape", ["e0", "row"], ["e"])], "e")
    found = branch(
        [make("Greater", ["x", "zero"], ["g"]), make("NonZero", ["g"], ["nz"]), make("Transpose", ["nz"], ["at"]),
         make("GatherND", ["x", "at"], ["f"])], "f",
    )  # fmt: skip
    whole = branch([make("Reshape", ["x", "row"], ["w"])], "w")
    nodes = [
        make("ReduceSum", ["x"], ["sum"], keepdims=0), make("Greater", ["sum", "zero"], ["c"]),
        make("If", ["c"], ["b"], then_branch=merged, else_branch=doubled), make("Reshape", ["x", "row"], ["r"]),
        make("Add", ["b", "r"], ["y"]), make("If", ["c"], ["p"], then_branch=found, else_branch=whole),
        make("Concat", ["p", "y"], ["z"], axis=0),
    ]  # fmt: skip
    constants: dict[str, Operand] = {"zero": np.float32(0), **numbers(row=[-1])}
    proto = model(nodes, [value("x", ["n", "s"])], ["y", "p", "z"], constants)
    return Ranged(proto, {"n": Range(1, 3), "s": Range(1, 4)}, lambda n, rng: {"x": _normal(rng, n["n"], n["s"])})


def quantized_positions() -> Ranged:
    """Positions of a table of bytes, as quantizers of weights alone leave an embedding: a constant per extent."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Slice", ["s", "l1", "l2"], ["n"]),
        make("Slice", ["places", "l0", "n", "l0"], ["p"]), make("Gather", ["table", "p"], ["g"]),
        make("DequantizeLinear", ["g", "scale", "point"], ["d"]), make("Add", ["x", "d"], ["y"]),
    ]  # fmt: skip
    constants: dict[str, Operand] = numbers(l0=[0], l1=[1], l2=[2], places=list(range(9))) | {
        "table": np.random.default_rng(5).integers(0, 256, (9, 4)).astype(np.uint8),
        "scale": np.array(0.01, np.float32), "point": np.array(131, np.uint8),
    }  # fmt: skip
    proto = model(nodes, [value("x", ["b", "n", 4])], ["y"], constants)
    ranges = {"b": Range(1, 2), "n": Range(1, 9)}
    return Ranged(proto, ranges, lambda n, rng: {"x": _normal(rng, n["b"], n["n"], 4)})


def rank_of_a_shape() -> Ranged:
    """The number of dimensions as the length of a shape, whose numbers depend on extents."""
    nodes = [
        make("Shape", ["x"], ["s"]), make("Size", ["s"], ["rank"]), make("Sub", ["rank", "one"], ["last"]),
        make("Gather", ["s", "last"], ["n"]), make("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        make("Div", ["x", "f"], ["y"]),
    ]  # fmt: skip
    proto = model(nodes, [value("x", ["b", "n"])], ["y"], numbers(one=1))
    ranges = {"b": Range(1, 3), "n": Range(1, 5)}
    return Ranged(proto, ranges, lambda n, rng: {"x": _normal(rng, n["b"], n["n"])})


def decided() -> Ranged:
    """A branch by how many of the first three rows there are, and a row at the rest of a division by an extent."""

    def branch(node: onnx.NodeProto) -> onnx.GraphProto:
        return helper.make_graph([node], "branch", [], [helper.make_value_info(node.output[0], onnx.TypeProto())])

    nodes = [
        make("Slice", ["x", "first", "three", "first"], ["m"]), make("Shape", ["m"], ["s"], end=1),
        make("Greater", ["s", "two"], ["c"]),
        make("If", ["c"], ["y"], then_branch=branch(make("Neg", ["m"], ["t"])),
             else_branch=branch(make("Concat", ["m", "x"], ["e"], axis=0))),
        make("Shape", ["x"], ["n"], end=1), make("Mod", ["seven", "n"], ["at"]), make("Gather", ["x", "at"], ["z"]),
    ]  # fmt: skip
    proto = model(nodes, [value("x", ["n", 2])], ["y", "z"], numbers(first=[0], three=[3], two=[2], seven=[7]))
    return Ranged(proto, {"n": Range(1, 5)}, lambda n, rng: {"x": _normal(rng, n["n"], 2)})


EXPORTED = {
    "decoder with past": decoder_with_past, "chunks": chunks, "streams": streams, "relative shift": relative_shift,
    "messages": messages, "experts": experts, "beside patches": beside_patches,
    "ends and borders": ends_and_borders,
    "filtered": filtered, "einsums": einsums, "frames": frames,
    "windows": windows, "best boxes": best_boxes, "branches": branches, "tree": tree,
    "quantized positions": quantized_positions, "rank of a shape": rank_of_a_shape,
    "decided": decided,
}  # fmt: skip
