"""How operating systems have threads: what a library calls of them, as bodies of small functions in LLVM IR.

The functions, in which ``{name}`` is the model's name and ``{word}`` an integer as wide as a pointer, are

====================================  ==============================================================================
``i1 create(ptr place, ptr team)``    starts a thread that calls ``NAME_work(team)``; whether it failed
``void join(ptr place)``              waits until the thread has ended whose handle is there
``void yield()``                      lets other threads run
``i1 wake_create(ptr wake)``          makes a semaphore of 0 in at most 64 bytes; whether it failed
``void wake_post(ptr wake)``          adds one to it
``void wake_wait(ptr wake)``          takes one from it, or sleeps until there is one; may return early
``void wake_destroy(ptr wake)``       gives it back
====================================  ==============================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ..record import record


@record
class Threading:
    """``declarations`` are the functions of the system, by name, with their types; ``bodies`` are those of the table
    above. ``result`` is what the function of a thread returns: its type and value. ``link_flags`` are for C compilers
    that link."""

    declarations: Mapping[str, str] = field(hash=False)
    bodies: Mapping[str, str] = field(hash=False)
    result: tuple[str, str] = ("ptr", "null")
    link_flags: tuple[str, ...] = ()


_POSIX_THREADS = {
    "create": """\
  %error = call i32 @pthread_create(ptr %place, ptr null, ptr @{name}_work, ptr %team)
  %failed = icmp ne i32 %error, 0
  ret i1 %failed
""",
    "join": """\
  %handle = load {word}, ptr %place
  %error = call i32 @pthread_join({word} %handle, ptr null)
  ret void
""",
    "yield": """\
  %error = call i32 @sched_yield()
  ret void
""",
}
_POSIX_DECLARATIONS = {
    "pthread_create": "i32 @pthread_create(ptr, ptr, ptr, ptr)",
    "pthread_join": "i32 @pthread_join({word}, ptr)",
    "sched_yield": "i32 @sched_yield()",
}

POSIX = Threading(
    declarations={
        **_POSIX_DECLARATIONS,
        "sem_destroy": "i32 @sem_destroy(ptr)",
        "sem_init": "i32 @sem_init(ptr, i32, i32)",
        "sem_post": "i32 @sem_post(ptr)",
        "sem_wait": "i32 @sem_wait(ptr)",
    },
    bodies={
        **_POSIX_THREADS,
        "wake_create": """\
  %error = call i32 @sem_init(ptr %wake, i32 0, i32 0)
  %failed = icmp ne i32 %error, 0
  ret i1 %failed
""",
        "wake_post": "  %error = call i32 @sem_post(ptr %wake)\n  ret void\n",
        "wake_wait": "  %error = call i32 @sem_wait(ptr %wake)\n  ret void\n",
        "wake_destroy": "  %error = call i32 @sem_destroy(ptr %wake)\n  ret void\n",
    },
    link_flags=("-pthread",),
)
"""Threads and semaphores of POSIX."""

APPLE = Threading(
    declarations={
        **_POSIX_DECLARATIONS,
        "dispatch_release": "void @dispatch_release(ptr)",
        "dispatch_semaphore_create": "ptr @dispatch_semaphore_create({word})",
        "dispatch_semaphore_signal": "{word} @dispatch_semaphore_signal(ptr)",
        "dispatch_semaphore_wait": "{word} @dispatch_semaphore_wait(ptr, i64)",
    },
    bodies={
        **_POSIX_THREADS,
        "wake_create": """\
  %semaphore = call ptr @dispatch_semaphore_create({word} 0)
  store ptr %semaphore, ptr %wake
  %failed = icmp eq ptr %semaphore, null
  ret i1 %failed
""",
        "wake_post": """\
  %semaphore = load ptr, ptr %wake
  %woken = call {word} @dispatch_semaphore_signal(ptr %semaphore)
  ret void
""",
        "wake_wait": """\
  %semaphore = load ptr, ptr %wake
  %late = call {word} @dispatch_semaphore_wait(ptr %semaphore, i64 -1)
  ret void
""",
        "wake_destroy": """\
  %semaphore = load ptr, ptr %wake
  call void @dispatch_release(ptr %semaphore)
  ret void
""",
    },
)
"""Threads of POSIX, and semaphores of Grand Central Dispatch: macOS has no unnamed ones of POSIX (sem_init(2))."""

WINDOWS = Threading(
    declarations={
        "CloseHandle": "i32 @CloseHandle(ptr)",
        "CreateSemaphoreA": "ptr @CreateSemaphoreA(ptr, i32, i32, ptr)",
        "CreateThread": "ptr @CreateThread(ptr, {word}, ptr, ptr, i32, ptr)",
        "ReleaseSemaphore": "i32 @ReleaseSemaphore(ptr, i32, ptr)",
        "SwitchToThread": "i32 @SwitchToThread()",
        "WaitForSingleObject": "i32 @WaitForSingleObject(ptr, i32)",
    },
    bodies={
        "create": """\
  %handle = call ptr @CreateThread(ptr null, {word} 0, ptr @{name}_work, ptr %team, i32 0, ptr null)
  store ptr %handle, ptr %place
  %failed = icmp eq ptr %handle, null
  ret i1 %failed
""",
        "join": """\
  %handle = load ptr, ptr %place
  %ended = call i32 @WaitForSingleObject(ptr %handle, i32 -1)
  %closed = call i32 @CloseHandle(ptr %handle)
  ret void
""",
        "yield": """\
  %switched = call i32 @SwitchToThread()
  ret void
""",
        "wake_create": """\
  %semaphore = call ptr @CreateSemaphoreA(ptr null, i32 0, i32 2147483647, ptr null)
  store ptr %semaphore, ptr %wake
  %failed = icmp eq ptr %semaphore, null
  ret i1 %failed
""",
        "wake_post": """\
  %semaphore = load ptr, ptr %wake
  %posted = call i32 @ReleaseSemaphore(ptr %semaphore, i32 1, ptr null)
  ret void
""",
        "wake_wait": """\
  %semaphore = load ptr, ptr %wake
  %woken = call i32 @WaitForSingleObject(ptr %semaphore, i32 -1)
  ret void
""",
        "wake_destroy": """\
  %semaphore = load ptr, ptr %wake
  %closed = call i32 @CloseHandle(ptr %semaphore)
  ret void
""",
    },
    result=("i32", "0"),
)
"""Threads and semaphores of Windows, by kernel32.dll."""
