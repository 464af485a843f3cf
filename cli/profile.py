"""``ccml profile``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from .help import Command
from .options import (
    goal_options,
    input_option,
    json_option,
    model_options,
    route_option,
    target_options,
)
from .output import print_facts, print_json, print_table
from .progress import progress
from .quantize_options import quantization_options, quantize_option
from .table import columns
from .verbosity import logging_options

if TYPE_CHECKING:
    from ..driver import Goal, ModelOptions
    from ..quantization.source import Quantization
    from ..report.profile import Profile, TimedProfile


BAR = 60
"""Characters of the longest bar of those of --bars."""


@click.command("profile", cls=Command, short_help="Time a model's layers here, or count instructions on a board.")
@model_options
@target_options(default="this machine")
@input_option("; its first sample is run")
@route_option
@goal_options
@click.option("--bars", is_flag=True, help="Draw the time of each layer on this machine as a bar.")
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
    file: str | None,
    route: str,
    goal: Goal,
    bars: bool,
    as_json: bool,
    quantization: Quantization | None,
) -> None:
    """Run MODEL and tell what its layers cost: time on this machine, or executed instructions on an emulated board.

    \b
    ccml profile kws.onnx
    ccml profile kws.onnx --cpu x86-64-v3 --bars
    ccml profile kws.onnx -t cortex-m4
    ccml profile kws.onnx -t cortex-m55 -i samples.npz --route c

    On this machine LLVM's code runs for a second; the least time of each layer stands beside the operations per second
    (two for each multiply-accumulate), their share of what the processor can do at most with such elements (which
    Winograd's algorithm may exceed), and how the loops are made and blocked. For a Cortex-M, QEMU runs the code that
    the target would run: executed instructions beside the prediction of 'ccml inspect' for the same input. That needs
    qemu-system-arm, arm-none-eabi-gcc and gcc ('ccml doctor').
    """
    with progress():
        from .. import api

        profile: Profile | TimedProfile
        if api.runs_here(target):
            if route != "llvm":
                raise click.UsageError("--route is for boards: on this machine LLVM's code runs")
            profile = api.time_layers(model, options, file, cpu=cpu, quantization=quantization, goal=goal)
        else:
            assert target is not None
            profile = api.profile(
                model, target, options, file, abi=abi, cpu=cpu, route=route, quantization=quantization, goal=goal
            )
    if as_json:
        print_json(asdict(profile))
    elif isinstance(profile, api.Profile):
        _print(profile)
    else:
        _print_timed(profile, bars)


def _print_timed(profile: TimedProfile, bars: bool) -> None:
    head = columns("#", "@layer", "generator", "tile", "#MACs", "#us", "#share", "#G/s", "#of roof")
    rows = [
        (layer.index, layer.name, layer.generator, " ".join(layer.tiles[:1]), layer.macs, f"{layer.microseconds:,.1f}",
         f"{layer.share:.1%}", None if layer.speed is None else f"{layer.speed / 1e9:.1f}",
         None if layer.roof_share is None else f"{layer.roof_share:.0%}")
        for layer in profile.layers
    ]  # fmt: skip
    print_table(f"least times on {profile.cpu}", head, rows)
    if bars:
        click.echo()
        longest = max((layer.microseconds for layer in profile.layers), default=1)
        for layer in profile.layers:
            bar = "#" * max(1, round(BAR * layer.microseconds / longest))
            click.echo(f"{layer.index:>4} {bar}")
    click.echo()
    roofs = ", ".join(f"{kind} {most / 1e9:,.0f} G/s" for kind, most in profile.roofs.items())
    print_facts([
        ("run", f"{profile.microseconds:,.1f} us at least, {profile.median_microseconds:,.1f} us in the middle"),
        ("MACs", profile.macs),
        *([("roof", roofs)] if roofs else []),
    ])  # fmt: skip


def _print(profile: Profile) -> None:
    if profile.layers:
        head = columns("#", "@layer", "kernel", "#MACs", "#instructions", "#predicted", "#share", "#per MAC")
        rows = [
            (layer.index, layer.name, layer.kernel, layer.macs, layer.instructions, layer.predicted,
             f"{layer.instructions / profile.instructions:.1%}",
             f"{layer.instructions / layer.macs:.2f}" if layer.macs else None)
            for layer in profile.layers
        ]  # fmt: skip
        print_table(f"executed on an emulated {profile.cpu}", head, rows)
        click.echo()
    predicted = "not known" if profile.predicted is None else f"{profile.predicted:,}"
    print_facts([
        ("instructions", profile.instructions),
        ("predicted", predicted),
        ("MACs", profile.macs),
    ])  # fmt: skip
