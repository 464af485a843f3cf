"""Writes the pages of reference that the code itself is the source of: commands, errors and targets.

``make docs`` runs it; ``tests/test_docs.py`` fails where a page is not what it would write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ccml.cli.main import cli
from ccml.errors import ErrorCode
from ccml.targets import TARGETS
from click import Context

FOLDER = Path(__file__).parent
_MADE = "<!-- Made by `make docs` from the code; edit that. -->\n"
_WIDTH = 100


def commands_page() -> str:
    """The help of all commands."""
    parts = ["# Commands and options\n", _MADE, "What `ccml COMMAND --help` says. [cli.md](cli.md) explains it.\n"]
    settings = {**cli.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    top = Context(cli, info_name="ccml", **settings)
    for name in sorted(cli.commands):
        context = Context(cli.commands[name], info_name=name, parent=top)
        text = cli.commands[name].get_help(context)
        lines = (f"    {line}".rstrip() for line in text.splitlines())
        parts.append(f"## ccml {name}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def errors_page() -> str:
    """All codes of errors."""
    rows = [f"| `{kind.code}` | `{kind.name}` | {int(kind.exit_code)} | {kind.meaning} |" for kind in ErrorCode]
    head = "| code | in Python | exit code | what is wrong, and the way out |\n|---|---|---|---|\n"
    text = (
        "Every error has a code, which stays the same from version to version: in `[E105]` on stderr, in `error.code`\n"
        "with `--json`, and as `CcmlError.kind` in Python. The exit code tells its kind.\n"
    )
    return "\n".join(["# Errors\n", _MADE, text, head + "\n".join(rows) + "\n"])


def targets_page() -> str:
    """Targets with their ABIs and CPUs."""
    rows = [
        f"| `{target.name}` | {', '.join(f'`{alias}`' for alias in target.aliases) or '-'} | `{abi.name}` | "
        f"{', '.join(f'`{cpu.name}`' for cpu in abi.cpus)} | `{abi.triple}` | {target.description} |"
        for target in TARGETS
        for abi in target.abis
    ]
    head = "| target | or | ABI | CPUs | LLVM triple | |\n|---|---|---|---|---|---|\n"
    text = "`--target`, `--abi` and `--cpu`; the first of each is the default. `--cpu native` is this machine's.\n"
    return "\n".join(["# Targets\n", _MADE, text, head + "\n".join(rows) + "\n"])


PAGES: Mapping[str, Callable[[], str]] = {
    "cli-reference.md": commands_page, "errors.md": errors_page, "targets.md": targets_page,
}  # fmt: skip

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
