"""The help of commands: options by subject."""

from __future__ import annotations

from typing import ClassVar

import click

_OTHER = "Options"
_SUBJECTS = (
    _OTHER, "Audio", "Image", "Model", "Target", "Memory and size", "Budget", "Artifact", "Quantization", "General",
)  # fmt: skip
"""In the order in which they are shown."""


class SubjectOption(click.Option):
    """An option that stands in the help under the subject that its class is for."""

    subject: ClassVar[str]


class AudioOption(SubjectOption):
    """An option of features of audio."""

    subject = "Audio"


class ImageOption(SubjectOption):
    """An option of features of images."""

    subject = "Image"


class ModelOption(SubjectOption):
    """An option that says how a model is read."""

    subject = "Model"


class TargetOption(SubjectOption):
    """An option that says what is compiled for."""

    subject = "Target"


class GoalOption(SubjectOption):
    """An option that says what is to be saved."""

    subject = "Memory and size"


class BudgetOption(SubjectOption):
    """An option that says what there is, and what the model has to fit."""

    subject = "Budget"


class ArtifactOption(SubjectOption):
    """An option that says how code and weights come into the product."""

    subject = "Artifact"


class QuantizationOption(SubjectOption):
    """An option that says how a model is quantized, or shows what that costs."""

    subject = "Quantization"


class GeneralOption(SubjectOption):
    """An option that every command has, or nearly every one."""

    subject = "General"


class Command(click.Command):
    """A command whose options stand under the subject that they were declared for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a section for each subject."""
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in _SUBJECTS}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Argument):
                continue  # the text of the command tells about it
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections[_subject(parameter)].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _subject(parameter: click.Parameter) -> str:
    if isinstance(parameter, SubjectOption):
        return parameter.subject
    return GeneralOption.subject if "--help" in parameter.opts else _OTHER
