"""Random graphs of integer inference on emulated boards, many as one program: the bytes of their definitions.

``python -m tests.artifacts.random_integers --graphs 400 --seed 1000`` runs graphs from number 1000 on, on all boards
and by both routes; the tests run a slice.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from ccml.artifact.emit import Emit
from ccml.driver import preferred_bytes
from ccml.errors import CcmlError
from ccml.ir.graph import Graph
from ccml.ops.evaluate import evaluate_graph
from ccml.passes.pipeline import optimize
from ccml.program.build import lower_graph
from ccml.targets import Machine, select

from tests.artifacts.built import run_artifact
from tests.integerize.building import Qdq, random_bytes
from tests.integerize.random_graphs import RandomGraph, RandomLayers

BOARDS = ("m4", "m0plus", "m55")
ROUTES = (Emit.C, Emit.OBJECT)
STEPS = 6
SAMPLES = 2


@dataclass(frozen=True)
class Batch:
    """Graphs that share nothing, as one. ``seeds`` says by the name of an output which it belongs to."""

    graph: Graph
    seeds: Mapping[str, int]


def batch(seeds: Iterable[int]) -> Batch:
    """Graphs of layers, and with every odd seed of elementwise operators."""
    q, owner, outputs = Qdq(), {}, []
    for seed in seeds:
        made = (RandomGraph if seed % 2 else RandomLayers)(seed, q).ends(STEPS)
        outputs += made
        owner.update((value.name, seed) for value in made)
    return Batch(q.graph(*outputs), owner)


def failures(made: Batch, machine: Machine, folder: Path) -> list[str]:
    """The outputs that have other bytes on ``machine``, by C or by objects, each with the seed of its graph."""
    meaning = optimize(made.graph)
    feeds = [random_bytes(made.graph, number) for number in range(SAMPLES)]
    expected = [evaluate_graph(meaning, feed) for feed in feeds]
    program = lower_graph(optimize(made.graph, bytes_as=preferred_bytes(machine)), machine)
    messages = []
    for form in ROUTES:
        found = run_artifact(program, machine, form, folder / form.value, feeds)
        for name, seed in made.seeds.items():
            if any(not np.array_equal(a[name], b[name]) for a, b in zip(found, expected, strict=True)):
                messages.append(f"graph {seed}: {name} on {machine.name} by {form.value}")
    return messages


@click.command()
@click.option("--graphs", default=400, help="How many graphs.")
@click.option("--seed", default=0, help="The first one's number.")
@click.option("--together", default=16, help="Graphs in one program.")
def main(graphs: int, seed: int, together: int) -> None:
    """Runs random graphs on every board, prints every failure, and fails where there is one."""
    failed = 0
    for start in range(seed, seed + graphs, together):
        made = batch(range(start, min(start + together, seed + graphs)))
        for board in BOARDS:
            messages = _failures_or_error(made, select(board))
            failed += len(messages)
            for message in messages:
                click.echo(message)
        click.echo(f"graphs up to {start + together}: {failed} failures", err=True)
    sys.exit(bool(failed))


def _failures_or_error(made: Batch, machine: Machine) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="ccml-") as folder:
        try:
            return failures(made, machine, Path(folder))
        except CcmlError as error:
            seeds = sorted(set(made.seeds.values()))
            return [f"graphs {seeds[0]} to {seeds[-1]} on {machine.name}: {error}"]


if __name__ == "__main__":
    main()
