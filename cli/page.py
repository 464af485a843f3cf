"""``ccml page``."""

from __future__ import annotations

from pathlib import Path

import click

from ..output_files import check_output_file
from .help import Command
from .options import clock_option, json_option
from .output import kibibytes, print_facts, print_json
from .progress import progress
from .verbosity import logging_options, settings

_COMPARISON = Path("comparison.html")


@click.command("page", cls=Command, short_help="Make one page of HTML of reports.")
@click.argument("reports", type=click.Path(), nargs=-1, required=True, metavar="REPORT...")
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE",
    help=f"The page.  [default: beside the report; {_COMPARISON} for several]",
)  # fmt: skip
@clock_option
@json_option
@logging_options
def command(reports: tuple[str, ...], output: str | None, clock: int | None, as_json: bool) -> None:
    """Make one page of HTML of what 'ccml compile' reported.

    \b
    ccml page kws                                 the report.json in that folder
    ccml page kws/report.json --clock 80MHz       with milliseconds
    ccml page kws_m4 kws_m55 -o compared.html     side by side

    REPORT is a report.json or a folder with one. The page shows what the model is and costs, its layers by cost, the
    graph, memory over time, flash, and what quantization cost; of several reports it is a comparison. It is one file
    that needs no network. 'ccml compile --page FILE' writes it right away.
    """
    file = Path(output) if output is not None else _default(reports)
    check_output_file(file, ".html")
    with progress():
        from .. import api

        found = [report for path in reports for report in api.read_reports(path)]
        firmware = api.read_firmware(reports[0]) if len(reports) == 1 else None
        api.write_page(found, file, clock, firmware)
    size = file.stat().st_size
    if as_json:
        print_json({"page": str(file), "bytes": size, "reports": len(found)})
    elif not settings().quiet:
        print_facts([("page", f"{file}, {kibibytes(size)}"), ("reports", len(found))])


def _default(reports: tuple[str, ...]) -> Path:
    if len(reports) > 1:
        return _COMPARISON
    path = Path(reports[0])
    return path / "report.html" if path.is_dir() else path.with_suffix(".html")
