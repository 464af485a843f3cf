"""Tree ensembles on a Cortex-M: flash and executed instructions of ccml, emlearn and m2cgen for the same trees.

    python benchmarks/tree_ensembles.py [--cpu m0plus m4] [--bench ../shared/cortexm] [--trees 10 50 100]
                                        [--depth 4 7 10] [--data iris digits ...] [--boosting]

Needs scikit-learn, skl2onnx, emlearn and m2cgen; for ``--boosting`` also lightgbm, xgboost and onnxmltools. Features
are rounded to int16 before the training, so that the same trees can be given int16 and floats. All programs are
compiled by GCC with -Os and counted in QEMU by ``run_qemu.py``: bytes of flash / instructions of one inference, a mean
of several rows. Classifiers put out the label; emlearn's by counting votes of trees, ccml's and m2cgen's by
probabilities, as scikit-learn does. *votes* is ccml with the function that emlearn computes: a model whose leaves have
one vote for their greatest class each.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ccml
import numpy as np
import onnx
from ccml.driver import DEFAULT_GOAL, Goal, Optimize, compile_source, read
from ccml.emit_c.artifact import write_c
from ccml.targets import select
from onnx import helper

ROOT = Path(__file__).resolve().parent.parent
ROWS = 8
TARGETS = {"m0plus": "cortex-m0plus", "m4": "cortex-m4"}
C_TYPES: dict[type[Any], str] = {np.int16: "int16_t", np.float32: "float"}

MAIN = """#include "bench.h"
#include <stdint.h>
{include}
BENCH_DATA static const {type} in[{rows}][{features}] = {{ {values} }};
BENCH_RAM static {result} results[{rows}];
void bench_setup(void) {{}}
void bench_run(void) {{ for (int i = 0; i < {rows}; i++) {{ {call} }} }}
void bench_report(void) {{ bench_out("out", "{bench_type}", results, sizeof results); }}
"""


@dataclass(frozen=True)
class Trained:
    """A model with the rows of int16 that it is counted for and what it says of them."""

    name: str
    model: Any
    rows: np.ndarray
    expected: np.ndarray
    classes: int


def data(name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Features in int16, targets, and whether these are classes."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    scale = 1.0 if np.array_equal(x, np.rint(x)) else 8192 / np.abs(x).max(axis=0)
    return np.rint(x * scale).astype(np.int16), y, name != "diabetes"


def trained(name: str, make: Callable[[bool], Any], label: str) -> Trained:
    x, y, classes = data(name)
    model = make(classes).fit(x.astype(np.float32), y)
    rows = x[:: max(1, len(x) // ROWS)][:ROWS]
    expected = model.predict(rows.astype(np.float32)).astype(np.float32)
    return Trained(label, model, rows, expected, len(np.unique(y)) if classes else 0)


def forests(names: Iterable[str], trees: Iterable[int], depths: Iterable[int]) -> Iterator[Trained]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    for name in names:
        for count in trees:
            for depth in depths:

                def make(classes: bool, count: int = count, depth: int = depth) -> Any:
                    kind = RandomForestClassifier if classes else RandomForestRegressor
                    return kind(count, max_depth=depth, random_state=0)

                yield trained(name, make, f"{name}, {count} trees, depth {depth}")


def boosted(names: Iterable[str]) -> Iterator[Trained]:
    import lightgbm
    import xgboost
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

    kinds = {
        "scikit-learn": (GradientBoostingClassifier, GradientBoostingRegressor, {}),
        "LightGBM": (lightgbm.LGBMClassifier, lightgbm.LGBMRegressor, {"verbose": -1}),
        "XGBoost": (xgboost.XGBClassifier, xgboost.XGBRegressor, {}),
    }
    for name in names:
        for kind, (classifier, regressor, more) in kinds.items():

            def make(classes: bool, kind: Any = (classifier, regressor), more: Any = more) -> Any:
                return kind[0 if classes else 1](n_estimators=20, max_depth=4, **more)

            yield trained(name, make, f"{name}, {kind}, 20 rounds, depth 4")


def onnx_model(one: Trained, dtype: type[Any]) -> onnx.ModelProto:
    """The model by its exporter, with rows of ``dtype`` as input and the label or the value as the only output."""
    features, module = one.rows.shape[1], type(one.model).__module__
    if module.startswith("lightgbm"):
        from onnxmltools import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        model = convert_lightgbm(one.model, initial_types=[("x", FloatTensorType([1, features]))], zipmap=False)
    elif module.startswith("xgboost"):
        from onnxmltools import convert_xgboost
        from onnxmltools.convert.common.data_types import FloatTensorType

        model = convert_xgboost(one.model, initial_types=[("x", FloatTensorType([1, features]))])
    else:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType

        options = {id(one.model): {"zipmap": False}} if one.classes else None
        model = to_onnx(one.model, initial_types=[("x", FloatTensorType([1, features]))], options=options)
    del model.graph.output[1:]
    if dtype is np.int16:
        domains = [each for each in model.opset_import if each.domain != ""]
        del model.opset_import[:]
        model.opset_import.extend([*domains, helper.make_opsetid("", 17)])
        model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT16
        for node in model.graph.node:
            node.input[:] = ["x_float" if name == "x" else name for name in node.input]
        model.graph.node.insert(0, helper.make_node("Cast", ["x"], ["x_float"], to=onnx.TensorProto.FLOAT))
    return model


def votes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The classifier with a weight of 1 for the greatest class of each leaf, of several the first, and no others. Of
    two classes the leaves have the share of the second alone."""
    node = next(node for node in model.graph.node if node.op_type == "TreeEnsembleClassifier")
    lists = {each.name: each for each in node.attribute if each.name.startswith("class_")}
    trees, nodes, classes, weights = (lists[f"class_{name}"] for name in ("treeids", "nodeids", "ids", "weights"))
    if len(set(classes.ints)) == 1:
        count = len(set(trees.ints))
        weights.floats[:] = [float(weight * count > 0.5) / count for weight in weights.floats]
        return model
    greatest: dict[tuple[int, int], tuple[float, int]] = {}
    for tree, place, number, weight in zip(trees.ints, nodes.ints, classes.ints, weights.floats):
        best = greatest.get((tree, place))
        if best is None or (weight, -number) > (best[0], -best[1]):
            greatest[tree, place] = weight, number
    trees.ints[:], nodes.ints[:] = zip(*greatest)
    classes.ints[:] = [number for _, number in greatest.values()]
    weights.floats[:] = [1.0] * len(greatest)
    return model


def by_ccml(
    one: Trained, cpu: str, dtype: type[Any], folder: Path, goal: Goal = DEFAULT_GOAL, voting: bool = False
) -> tuple[list[Path], str]:
    model = onnx_model(one, dtype)
    onnx.save(votes(model) if voting else model, folder / "model.onnx")
    source = read(folder / "model.onnx", ccml.ModelOptions(name="model"))
    compiled = compile_source(source, select(TARGETS[cpu]), goal=goal)
    files = [file for file in write_c(compiled.program, compiled.machine, folder) if file.suffix == ".c"]
    output = "int64_t" if one.classes else "float"
    include = (
        '#include "model.h"\n'
        "BENCH_RAM static unsigned char arena[MODEL_ARENA_SIZE + 16] __attribute__((aligned(16)));"
    )
    call = f"{output} y; model_run(arena, in[i], &y); results[i] = {_result(one)}y;"
    return files, _main(one, C_TYPES[dtype], include, call)


def by_emlearn(
    one: Trained, method: str, dtype: type[Any], folder: Path, leaf_bits: int | None = None
) -> tuple[list[Path], str]:
    import emlearn

    kind = "classifier" if one.classes else "regressor"
    converted = emlearn.convert(one.model, method=method, dtype=C_TYPES[dtype], return_type=kind, leaf_bits=leaf_bits)
    converted.save(name="forest", file=str(folder / "forest.h"), inference=[method], include_proba=False)
    call = f"results[i] = {_result(one)}forest_predict(in[i], {one.rows.shape[1]});"
    return [], _main(one, C_TYPES[dtype], '#include "forest.h"', call)


def by_m2cgen(one: Trained, folder: Path) -> tuple[list[Path], str]:
    import m2cgen

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100000)
    code = m2cgen.export_to_c(one.model)
    sys.setrecursionlimit(limit)
    source = folder / "score.c"
    source.write_text(code)
    prototype = re.search(r"^\w+ score\([^)]*\)", code, re.M)
    assert prototype is not None
    if not one.classes:
        call = "results[i] = (float)score((double *)in[i]);"
    elif "double * output" in prototype.group(0):
        call = (
            f"double s[{one.classes}]; score((double *)in[i], s); int best = 0;"
            f"for (int k = 1; k < {one.classes}; k++) if (s[k] > s[best]) best = k; results[i] = best;"
        )
    else:
        call = "results[i] = score((double *)in[i]) > 0;"
    return [source], _main(one, "double", prototype.group(0) + ";", call)


def _result(one: Trained) -> str:
    return "(int32_t)" if one.classes else "(float)"


def _main(one: Trained, dtype: str, include: str, call: str) -> str:
    values = ", ".join(f"{value:d}" for value in one.rows.reshape(-1).tolist())
    result = ("int32_t", "i32") if one.classes else ("float", "f32")
    return MAIN.format(
        include=include, type=dtype, rows=len(one.rows), features=one.rows.shape[1], values=values, call=call,
        result=result[0], bench_type=result[1],
    )  # fmt: skip


def counted(one: Trained, cpu: str, make: Callable[[Path], tuple[list[Path], str]]) -> str:
    """Bytes of flash / instructions of a row, with the number of rows behind them whose result differs."""
    import emlearn
    import run_qemu

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files, main = make(folder)
        (folder / "bench.c").write_text(main)
        sources = [str(folder / "bench.c"), *map(str, files)]
        include = [str(folder), str(Path(emlearn.__file__).parent)]
        seen = run_qemu.measure(cpu, sources, inc=include, opt="Os", want_profile=False)
    if "fail" in seen:
        raise RuntimeError(seen["fail"])
    got = np.array(seen["outputs"]["out"]["values"])
    differ = int((~np.isclose(got, one.expected, rtol=1e-5, atol=1e-5)).sum())
    figures = f"{seen['size']['flash']:,} / {seen['instructions'] // len(one.rows):,}"
    return figures + (f" ({differ} differ)" if differ else "")


def programs(one: Trained, cpu: str) -> dict[str, Callable[[Path], tuple[list[Path], str]]]:
    """The columns of the table; emlearn has no boosting."""
    forest = "Forest" in type(one.model).__name__
    size = replace(DEFAULT_GOAL, optimize=Optimize.SIZE)
    voting: dict[str, Callable[[Path], tuple[list[Path], str]]] = {
        "votes int16": lambda folder: by_ccml(one, cpu, np.int16, folder, voting=True),
        "votes float": lambda folder: by_ccml(one, cpu, np.float32, folder, voting=True),
        "votes int16 size": lambda folder: by_ccml(one, cpu, np.int16, folder, size, voting=True),
    }
    of_emlearn: dict[str, Callable[[Path], tuple[list[Path], str]]] = {
        "emlearn int16": lambda folder: by_emlearn(one, "inline", np.int16, folder),
        "emlearn float": lambda folder: by_emlearn(one, "inline", np.float32, folder),
        "emlearn int16 shares": lambda folder: by_emlearn(one, "inline", np.int16, folder, 8),
        "emlearn float shares": lambda folder: by_emlearn(one, "inline", np.float32, folder, 8),
        "emlearn tables": lambda folder: by_emlearn(one, "loadable", np.int16, folder),
    }
    return {
        "ccml int16": lambda folder: by_ccml(one, cpu, np.int16, folder),
        "ccml float": lambda folder: by_ccml(one, cpu, np.float32, folder),
        "ccml int16 size": lambda folder: by_ccml(one, cpu, np.int16, folder, size),
        **(voting if forest and one.classes else {}),
        **(of_emlearn if forest else {}),
        "m2cgen": lambda folder: by_m2cgen(one, folder),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--bench", type=Path, default=ROOT.parent / "shared" / "cortexm")
    parser.add_argument("--trees", nargs="+", type=int, default=[10, 50, 100])
    parser.add_argument("--depth", nargs="+", type=int, default=[4, 7, 10])
    parser.add_argument("--data", nargs="+", default=["iris", "breast_cancer", "digits", "diabetes"])
    parser.add_argument("--boosting", action="store_true", help="gradient boosting instead of forests")
    parser.add_argument("--only", nargs="+", help="columns of the table")
    args = parser.parse_args()
    sys.path.insert(0, str(args.bench))
    models = list(boosted(args.data) if args.boosting else forests(args.data, args.trees, args.depth))
    for cpu in args.cpu:
        for one in models:
            print(f"{cpu} | {one.name}", end="", flush=True)
            for column, make in programs(one, cpu).items():
                if not args.only or column in args.only:
                    try:
                        cell = counted(one, cpu, make)
                    except (RuntimeError, TypeError, NotImplementedError) as error:
                        cell = str(error).splitlines()[0][:80]
                    print(f" | {column} {cell}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
