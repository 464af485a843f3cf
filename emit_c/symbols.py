"""Every name that an artifact shows: file names, symbols, macros and the C names of arguments."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from .. import __version__
from ..errors import CcmlError, ErrorCode
from ..ir.loops import Kernel
from ..ir.program import STATE, Program, Role, Storage
from ..printable import in_short, printable
from ..record import record
from .model_name import is_prefix
from .names import Names, c_identifier, parameter_name

LICENCE = "This file was written by ccml and may be used freely in any product, with or without this notice."
_MACRO_STEMS = (
    "OK", "ERROR", "NUM", "WEIGHTS", "MACS", "API", "HIDDEN", "H", "INTERNAL", "ANY", "APART", "MODEL", "UNCHECKED",
    "AGAIN", "THREADS",
)  # fmt: skip


@record
class Symbols:
    """``prefix`` begins every file name and symbol, ``macro`` every macro.

    ``kernels`` and ``constants`` map their loop-IR names to symbols; ``parameters`` are the names of the program's
    parameters. Of these, ``arguments`` and ``stems`` map the index of an interface (inputs, then outputs) to the
    argument's name and to the beginning of its macros; ``pools`` and ``pool_stems`` the index of a pool. ``state`` is
    the parameter of the states, if there are any, ``state_stem`` the beginning of its macros, and ``state_stems`` maps
    the index of a state. ``weights`` is the parameter of the file of weights, ``threads`` that of threads, if there is
    one.
    """

    prefix: str
    macro: str
    kernels: Mapping[str, str]
    constants: Mapping[str, str]
    parameters: tuple[str, ...]
    pools: tuple[str, ...]
    pool_stems: tuple[str, ...]
    arguments: tuple[str, ...]
    stems: tuple[str, ...]
    names: Names
    state: str | None = None
    weights: str | None = None
    threads: str | None = None
    sliced: bool = False
    state_stem: str = ""
    state_stems: tuple[str, ...] = ()

    @property
    def reset(self) -> str:
        """The function that gives the states their first values."""
        return f"{self.prefix}_reset"

    @property
    def functions(self) -> list[str]:
        """What the header declares, the run function first."""
        return [
            self.run,
            *([self.begin, self.step] if self.sliced else []),
            self.model_id,
            *([self.reset] if self.state is not None else []),
            *([self.check_weights] if self.weights is not None else []),
            *([self.workers_start, self.workers_stop] if self.threads is not None else []),
        ]

    @property
    def rows(self) -> str:
        """The structure by which the caller brings inputs row by row."""
        return rows_symbol(self.prefix)

    @property
    def workers_start(self) -> str:
        """The function that starts threads."""
        return f"{self.prefix}_workers_start"

    @property
    def workers_stop(self) -> str:
        """The function that stops them."""
        return f"{self.prefix}_workers_stop"

    @property
    def context(self) -> str:
        """The structure with the arguments of a run."""
        return f"{self.prefix}_context"

    @property
    def parallel(self) -> str:
        """The function that hands out the chunks of a call."""
        return f"{self.prefix}_parallel"

    def chunk(self, number: int) -> str:
        """The function that runs one chunk of call ``number``."""
        return f"{self.prefix}_chunk_{number}"

    @property
    def job(self) -> str:
        """The structure in which the caller keeps a run in slices."""
        return f"{self.prefix}_job"

    @property
    def begin(self) -> str:
        """The function that begins one."""
        return f"{self.prefix}_begin"

    @property
    def step(self) -> str:
        """The function that runs the next slice."""
        return f"{self.prefix}_step"

    @property
    def seal(self) -> str:
        """The function that tells what a run was begun with."""
        return f"{self.prefix}_seal"

    @property
    def model_id(self) -> str:
        """The function that tells which model the library is of."""
        return f"{self.prefix}_model_id"

    @property
    def check_weights(self) -> str:
        """The function that checks a file of weights."""
        return f"{self.prefix}_check_weights"

    @property
    def checked(self) -> list[str]:
        """The functions around which the header puts a check."""
        return [
            self.run,
            *([self.begin] if self.sliced else []),
            *([self.reset] if self.state is not None else []),
        ]

    def of_header(self, function: str) -> str:
        """What the header puts around ``function``: it asks first whether library and header are of one model."""
        return f"{self.prefix}_checked_{function.removeprefix(f'{self.prefix}_')}"

    @property
    def memory(self) -> tuple[str, ...]:
        """The parameters of all pools, that of the states last."""
        return self.pools if self.state is None else (*self.pools, self.state)

    @property
    def memory_stems(self) -> tuple[str, ...]:
        """What their macros begin with."""
        return self.pool_stems if self.state is None else (*self.pool_stems, self.state_stem)

    @property
    def run(self) -> str:
        return f"{self.prefix}_run"

    @property
    def layer_done(self) -> str:
        """The macro by which the run function says that a layer has run."""
        return f"{self.macro}_LAYER_DONE"

    @property
    def checked_run(self) -> str:
        """What the run function calls once the CPU is known to have what the code needs."""
        return f"{self.prefix}_run_checked"

    @property
    def cpu_fits(self) -> str:
        """The function that says whether it has."""
        return f"{self.prefix}_cpu_fits"


def rows_symbol(prefix: str) -> str:
    """The structure by which the caller of a model brings inputs row by row."""
    return f"{prefix}_rows"


def assign_symbols(program: Program) -> Symbols:
    """Valid names that clash with nothing. Graphs without a file may have a name that is no prefix."""
    prefix = program.name if is_prefix(program.name) else c_identifier(program.name)
    names = Names()
    kept, apart = bool(program.states), program.weights is not None
    own_names = ("run", "run_checked", "checked_run", "cpu_fits", "cpu_fits_now", "model_id")
    for own in (*own_names, *(["reset", "checked_reset"] if kept else []), *(["check_weights"] if apart else []),
                *(["begin", "checked_begin", "step", "seal", "job"] if program.sliced else []),
                *(["rows"] if program.by_rows else []),
                *(["workers_start", "workers_stop", "context", "parallel"] if program.threads else [])):
        names.bind(f"{prefix}_{own}")
    for number in range(len(program.calls) if program.threads else 0):
        names.bind(f"{prefix}_chunk_{number}")
    called = {call.kernel for call in program.calls}
    kernels = {kernel.name: kernel.name for kernel in program.kernels if kernel.name in called}
    kernels = {name: names.bind(f"{prefix}_{name}") for name in kernels}
    constants = {
        name: names.bind(f"{prefix}_{name}")
        for name, buffer in program.buffers.items()
        if buffer.storage is Storage.CONSTANT
    }
    macro = prefix.upper()
    stems = Names(f"{macro}_{stem}" for stem in _MACRO_STEMS)
    names.push()
    if program.sliced:
        names.bind("job")
    if program.threads:
        names.bind("context")
        names.bind("chunk")
    called_in_c = {side.buffer: parameter_name(side.c_name) for side in program.interfaces}
    parameters = tuple(names.bind(called_in_c.get(item.name, item.name)) for item in program.parameters)
    by_role = [(item.role, name) for name, item in zip(parameters, program.parameters)]
    pools = tuple(name for role, name in by_role if role is Role.POOL)
    arguments = tuple(name for role, name in by_role if role in (Role.INPUT, Role.OUTPUT))
    pool_stems = tuple(stems.bind(f"{macro}_{pool.name.upper()}") for pool in program.plan.pools)
    state_stem = stems.bind(f"{macro}_{STATE.upper()}") if kept else ""
    state_stems = tuple(stems.bind(f"{state_stem}_{c_identifier(item.c_name).upper()}") for item in program.states)
    return Symbols(
        prefix=prefix,
        macro=macro,
        kernels=kernels,
        constants=constants,
        parameters=parameters,
        pools=pools,
        pool_stems=pool_stems,
        arguments=arguments,
        stems=tuple(stems.bind(f"{macro}_{argument.upper()}") for argument in arguments),
        names=names,
        state=next((name for role, name in by_role if role is Role.STATE), None),
        sliced=program.sliced,
        weights=next((name for role, name in by_role if role is Role.WEIGHTS), None),
        threads=next((name for role, name in by_role if role is Role.THREADS), None),
        state_stem=state_stem,
        state_stems=state_stems,
    )


def foreign_kernels(program: Program, symbols: Symbols) -> dict[str, Kernel]:
    """The kernels whose C is the user's, by symbol."""
    kernels = {kernel.name: kernel for kernel in program.kernels}
    return {symbol: kernels[name] for name, symbol in symbols.kernels.items() if kernels[name].foreign is not None}


def check_pool_names(names: Sequence[str]) -> None:
    """Pools are called in C what the user calls them. Raises ``BAD_OPTION`` for a name that cannot be used."""
    for position, name in enumerate(names):
        earlier = {other.upper() for other in names[:position]}
        if parameter_name(name) not in (name, name.lower()) or name.upper() in (*_MACRO_STEMS, STATE.upper()):
            reason = f"'{name}' cannot be the name of a pool: it is no C identifier, or reserved"
            raise CcmlError(ErrorCode.BAD_OPTION, reason, hint="names such as dtcm, sram, external_ram")
        if name.upper() in earlier:
            raise CcmlError(ErrorCode.BAD_OPTION, f"there are two pools called '{name}' in capital letters")


def banner(program: Program, what: str) -> str:
    """The comment at the head of every C file."""
    return f"/* {comment_text(program.name)}: {what}, by ccml {__version__}.\n   {LICENCE} */\n"


def comment_text(text: str) -> str:
    """``text`` on one line, without what would end or nest a comment."""
    flat = " + ".join(in_short(printable(part)) for part in " ".join(text.split()).split(" + "))
    return flat.replace("*/", "* /").replace("/*", "/ *").rstrip("\\")


def wrapped(text: str) -> list[str]:
    """Lines of a comment; ``text`` may begin one."""
    return textwrap.wrap(text, 110, initial_indent="" if text.startswith("/*") else "   ", subsequent_indent="   ")
