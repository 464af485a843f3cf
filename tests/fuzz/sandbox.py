"""What an untrusted file costs: each is read in a process of its own, with bounds on time and memory."""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ccml.errors import CcmlError


class End(Enum):
    """How the work on a file ended."""

    RESULT = "result"
    ERROR = "error"
    INTERNAL = "internal"
    SLOW = "slow"
    MEMORY = "memory"
    CRASH = "crash"


BAD = (End.INTERNAL, End.SLOW, End.MEMORY, End.CRASH)


@dataclass(frozen=True)
class Bounds:
    """Seconds of the processor, and bytes that the process takes beyond what it has at the start."""

    seconds: int
    nbytes: int


@dataclass(frozen=True)
class Cost:
    end: End
    what: str
    seconds: float
    nbytes: int


def confined(work: Callable[[], object], bounds: Bounds) -> Cost:
    """Runs ``work`` in a child of this process. It ends with a :class:`CcmlError` of the user's, or without error."""
    reading, writing = os.pipe()
    start = time.monotonic()
    child = os.fork()
    if not child:
        os.close(reading)
        _limit(bounds)
        text = _attempt(work)
        os.write(writing, text.encode("utf-8", "replace")[:3000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read().decode("utf-8", "replace")
    _, status, usage = os.wait4(child, 0)
    seconds, nbytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        end = End.SLOW if number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGKILL) else End.CRASH
        return Cost(end, f"{signal.Signals(number).name} after {time.monotonic() - start:.0f} s", seconds, nbytes)
    end, _, what = said.partition(" ")
    return Cost(End(end or "crash"), what, seconds, nbytes)


def _limit(bounds: Bounds) -> None:
    """Processor time, not time on the clock: a busy machine changes no result."""
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.seconds, bounds.seconds + 1))
    with open("/proc/self/statm", encoding="ascii") as stream:
        pages = int(stream.read().split()[0])
    limit = pages * resource.getpagesize() + bounds.nbytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _attempt(work: Callable[[], object]) -> str:
    try:
        work()
    except CcmlError as problem:
        own = problem.kind.code.startswith("E3")
        return f"{'internal' if own else 'error'} {problem}"
    except MemoryError:
        return "memory out of memory"
    except BaseException as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        frame = next((f for f in reversed(frames) if "site-packages" not in f.filename), frames[-1])
        return f"internal {type(problem).__name__} at {frame.filename}:{frame.lineno}: {problem}"
    return "result "
