"""The help of commands: options by subject."""

from __future__ import annotations

import click

QUANTIZATION = "Quantization"
GENERAL = "General"
_SECTIONS = ("Options", QUANTIZATION, GENERAL)


class Command(click.Command):
    """A command whose options stand under the subject that they were declared for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a section for each subject."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in _SECTIONS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections[_section(parameter)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class QuantizationOption(click.Option):
    """An option that says how a model is quantized, or shows what that costs."""


class GeneralOption(click.Option):
    """An option that every command has, or nearly every one."""


def _section(parameter: click.Parameter) -> str:
    if isinstance(parameter, QuantizationOption):
        return QUANTIZATION
    return GENERAL if isinstance(parameter, GeneralOption) or "--help" in parameter.opts else _SECTIONS[0]
