"""The accuracy of a quantized model as tables on stdout, as JSON and as a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import CcmlError, ErrorCode
from ..output_files import check_output_file
from .help import QuantizationOption
from .output import print_facts, print_table, terminal_width
from .table import columns

if TYPE_CHECKING:
    from ..report.accuracy import Accuracy, Mixed

F = TypeVar("F", bound=Callable[..., Any])

_WHOLE = 24
"""Characters of a name that no table cuts."""


def accuracy_options(function: F) -> F:
    """``--report`` and ``--chart``."""
    report = click.option(
        "--report", "report_file", cls=QuantizationOption, type=click.Path(), metavar="FILE.json",
        help="Write what quantization cost as JSON.",
    )  # fmt: skip
    chart = click.option(
        "--chart", "chart_file", cls=QuantizationOption, type=click.Path(), metavar="FILE.svg",
        help="Draw what quantization cost.",
    )  # fmt: skip
    return report(chart(function))


def require_quantization(quantized: bool, report_file: str | None, chart_file: str | None) -> None:
    """Raises ``BAD_OPTION`` where a report of a quantization is wanted, but none takes place."""
    if not quantized and (report_file is not None or chart_file is not None):
        hint = "--quantize int8 --calibration DATA"
        raise CcmlError(ErrorCode.BAD_OPTION, "--report and --chart show what quantization cost", hint=hint)


def check_accuracy_files(report_file: str | None, chart_file: str | None) -> None:
    """Raises ``BAD_OPTION`` or ``OUTPUT_FOLDER``, before the work is done, for files that could not be written."""
    check_output_file(report_file, ".json")
    check_output_file(chart_file, ".svg")


def accuracy_title(file: str, quantized: Mapping[str, object] | None) -> str:
    """The name of a chart: the model's file and the kind of quantization."""
    return f"{file}, {(quantized or {}).get('mode', 'float')}"


def write_accuracy(accuracy: Accuracy, title: str, report_file: str | None, chart_file: str | None) -> None:
    """Writes the files that are wanted."""
    from ..report.accuracy_chart import accuracy_chart
    from ..report.schema import SCHEMA, json_text

    if report_file is not None:
        _write(report_file, json_text({"schema": SCHEMA, **asdict(accuracy)}))
    if chart_file is not None:
        _write(chart_file, accuracy_chart(accuracy, title))


def print_accuracy(accuracy: Accuracy) -> None:
    """End to end, layer by layer, and what stays in float."""
    print_facts(list(_summary(accuracy)))
    head = columns(
        "#", "@layer", "type", "#SQNR dB", "#alone dB", "#of noise", "#cosine", "#clipped", "loses to", "mend"
    )
    rows = [
        (row.index, row.layer, row.dtype, decibels(row.sqnr_db), decibels(row.own_sqnr_db), f"{row.noise_share:.1%}",
         f"{row.cosine:.5f}", f"{row.saturation:.2%}", row.cause, row.mend)
        for row in accuracy.layers
    ]  # fmt: skip
    click.echo()
    print_table("layers by the noise that they add", head, rows)
    _print_overrides(accuracy)
    click.echo()
    if accuracy.mixed is not None:
        _print_mixed(accuracy.mixed)
    if accuracy.float_layers:
        kept = [(each.layer, each.op, each.reason) for each in accuracy.float_layers]
        print_table("computed in float", columns("@layer", "operator", "~because"), kept)
    elif any(row.dtype == "f32" for row in accuracy.layers):
        click.echo("all layers compute in integers; those that say f32 give their result as floats")
    else:
        click.echo("nothing is computed in float")


def _print_overrides(accuracy: Accuracy) -> None:
    """The mends that are keys of a layer as they stand in ccml.toml, with whole names where the table cuts these."""
    from ..report.schema import json_text

    mends = [(row.layer, row.mend) for row in accuracy.layers if row.mend and "=" in row.mend]
    if not mends:
        return
    if terminal_width() is None or max(len(layer) for layer, _ in mends) <= _WHOLE:
        click.echo('a mend with = goes into ccml.toml, under [quantize.layers."LAYER"]')
        return
    click.echo("\nmends of layers, for ccml.toml:")
    for layer, mend in mends:
        click.echo(f"    [quantize.layers.{json_text(layer).strip()}]\n    {mend}")


def _print_mixed(mixed: Mixed) -> None:
    """What was raised, and what that costs."""
    if not mixed.raised:
        click.echo("no layer has more precision than it has without a demand or a budget\n")
        return
    raised = [(each.layer, each.precision, f"{each.noise_share:.1%}") for each in mixed.raised]
    print_table("in higher precision", columns("@layer", "precision", "#of noise at outputs"), raised)
    before, after = asdict(mixed.before), asdict(mixed.after)
    click.echo()
    known = [name for name in before if before[name] or after[name]]
    rows = [(name.replace("_", " "), before[name], after[name]) for name in known]
    print_table("what that costs", columns("", "#without", "#as compiled"), rows)
    click.echo()


def _summary(accuracy: Accuracy) -> Iterator[tuple[str, object]]:
    kind = "held out" if accuracy.held_out else "the calibration data themselves"
    yield "calibration", f"{accuracy.calibration_samples:,} samples"
    for given in accuracy.inputs:
        yield f"input {given.name}", f"from {given.least:.6g} to {given.largest:.6g}, mean {given.mean:.4g}"
    yield "tested on", f"{accuracy.test_samples:,} samples, {kind}"
    for output in accuracy.outputs:
        if output.equal is not None:
            yield output.name, f"{output.equal:.2%} of the elements are equal"
            continue
        agreement = "" if output.top1_agreement is None else f", top-1 agreement {output.top1_agreement:.2%}"
        yield output.name, f"SQNR {decibels(output.sqnr_db)} dB, cosine {output.cosine:.6f}{agreement}"
    if accuracy.metric is not None:
        metric = accuracy.metric
        change = metric.quantized_value - metric.float_value
        yield metric.name, f"{metric.quantized_value:.6g}, in float {metric.float_value:.6g} ({change:+.6g})"


def decibels(value: float | None) -> str:
    return "exact" if value is None else f"{value:.1f}"


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8", newline="\n")
    except OSError as problem:
        reason = f"cannot write: {problem.strerror or problem}"
        raise CcmlError(ErrorCode.OUTPUT_FOLDER, reason, loc=path) from problem
