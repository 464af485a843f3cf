"""``ccml inspect``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .help import Command
from .options import goal_options, json_option, model_options, route_option, target_options
from .output import (
    broken,
    cost_facts,
    kibibytes,
    print_facts,
    print_json,
    print_table,
    ram_text,
    shape_text,
    state_facts,
)
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options

if TYPE_CHECKING:
    from ..driver import Compiled, Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..report.facts import ModelFacts
    from ..report.schema import Report


@click.command("inspect", cls=Command, short_help="Show what a model consists of and needs on a target.")
@model_options
@target_options(required=False)
@route_option
@goal_options
@click.option("--kernels", is_flag=True, help="Print the loop IR of the kernels instead.")
@quantize_option
@quantization_options
@json_option
@logging_options
def command(
    model: str,
    options: ModelOptions,
    target: str | None,
    abi: str | None,
    cpu: str | None,
    route: str,
    goal: Goal,
    kernels: bool,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Show what MODEL consists of and what it needs on a target.

    \b
    ccml inspect kws.onnx
    ccml inspect kws.onnx -t cortex-m4            with instructions and cycles
    ccml inspect kws.onnx -t x86 --kernels        the loops of the kernels

    Inputs, outputs and operators as the file has them; then layers with MACs, weights and memory as ccml compiles them,
    and the memory map over time; for Cortex-M also the instructions that a run executes, by layer, with an estimate of
    cycles. Code sizes are in the report of 'ccml compile'.
    """
    if kernels and as_json:
        raise click.UsageError("--kernels prints text: leave out --json")
    with progress():
        from .. import driver
        from ..quantization.source import quantize_source
        from ..report.facts import model_facts

        machine = driver.find_machine(target or "generic", abi, cpu)
        content = driver.read_onnx(model)
        facts = model_facts(content, Path(model).name)
    if not as_json and not kernels:
        _print_model(facts)  # before the compiler may find that it does not support the model
    with progress():
        source = driver.import_source(model, content, options)
        if quantization is not None:
            source = quantize_source(source, quantization).source
        compiled = driver.compile_source(source, machine, goal=goal)
        report = compiled.report(None if kernels else compiled.costs(route))
    if kernels:
        _print_kernels(compiled)
    elif as_json:
        fields = asdict(report)
        print_json({"operators": facts.operators, **{key: fields[key] for key in fields if key != "files"}})
    else:
        _print_report(report)


def _print_model(facts: ModelFacts) -> None:
    print_facts([("model", facts.file), ("operator sets", facts.opsets), ("made by", facts.producer)])
    click.echo()
    print_table("interface", columns("", "name", "type", "shape"), facts.interface)
    click.echo()
    print_table("operators", columns("operator", "#nodes"), list(facts.operators.items()))
    click.echo()


def _print_kernels(compiled: Compiled) -> None:
    from ..artifact.dump import kernels_text

    click.echo(kernels_text(compiled.program), nl=False)


def _print_report(report: Report) -> None:
    from ..report.chart import legend, memory_chart

    totals, machine = report.totals, report.target
    head = columns("#", "@layer", "@operators", "output", "#MACs", "#instructions", "#weights", "#RAM", "kernel")
    rows: list[tuple[object, ...]] = [
        (layer.index, layer.name, "+".join(layer.ops),
         f"{layer.dtype} {shape_text(layer.shape)}", layer.macs, layer.instructions, layer.weight_bytes,
         layer.live_bytes, layer.kernel)
        for layer in report.layers
    ]  # fmt: skip
    if totals.instructions is None:
        at = [column.title for column in head].index("instructions")
        head, rows = head[:at] + head[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    print_table(f"layers on {machine.name} ({machine.abi}, {machine.cpu}); sizes in bytes", head, rows)
    click.echo()
    print_facts([
        ("parameters", report.model.parameters),
        ("MACs", totals.macs),
        ("weights", kibibytes(totals.weight_bytes)),
        ("RAM", f"{ram_text(totals)}; {kibibytes(totals.peak_live_bytes)} in use at the peak"),
        *state_facts(totals),
        *cost_facts(totals),
    ])  # fmt: skip
    click.echo("\nmemory over time: lines are layers, letters tensors, * shared by two")
    for line in memory_chart(report):
        click.echo(line)
    click.echo()
    head = columns("", "@tensor", "pool", "#offset", "#bytes", "#first layer", "#last layer")
    tensors = [
        (letter, p.tensor, p.pool, p.offset, p.bytes, p.first, p.last) for letter, p in legend(report)
    ]
    print_table("tensors in working memory", head, tensors)
    if len(totals.pools) > 1:
        click.echo()
        head = columns("pool", "#bytes", "#of", "#most in use", "#read and written in a run", "~at its peak")
        pools = [
            (p.name, p.ram_bytes, p.limit_bytes, p.peak_live_bytes, p.traffic_bytes,
             ", ".join(p.peak_tensors))
            for p in totals.pools
        ]  # fmt: skip
        print_table("pools, inputs and outputs included", head, pools)
    if report.states:
        click.echo()
        head = columns("@input", "@output", "type", "#offset", "#bytes", "update")
        states = [
            (s.name, s.output, f"{s.dtype} {shape_text(s.shape)}", s.offset, s.bytes,
             "copied" if s.copied else "in place")
            for s in report.states
        ]  # fmt: skip
        print_table("states", head, states)
    controlled = [[layer.index, layer.within] for layer in report.layers if layer.within]
    if controlled:
        click.echo()
        print_table("within branches and loops", columns("#layer", "@when"), controlled)
    rings = [
        (layer.index, ring.tensor, ring.bytes, ring.tensor_bytes)
        for layer in report.layers
        for ring in layer.rings
    ]
    if rings:
        click.echo()
        print_table("streamed row by row", columns("#layer", "@tensor", "#bytes", "#of"), rings)
    if totals.peak_tensors:
        click.echo("\n" + broken(f"at the peak: {', '.join(totals.peak_tensors)}"))
