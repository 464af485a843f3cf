"""What a model is called in a language that has another meaning for its name; in C it is called as before."""

from __future__ import annotations

import keyword

from ..emit_c.names import RESERVED

_STANDARD_MODULES = """
    abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb
    binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys
    compileall compression concurrent configparser contextlib contextvars copy copyreg cProfile crypt csv ctypes
    curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno
    faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass
    gettext glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io
    ipaddress itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math
    mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers
    opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes pkgutil platform plistlib
    poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri
    random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil
    signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl
    stat statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile
    telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace
    traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings
    wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
"""
STANDARD_MODULES = frozenset(_STANDARD_MODULES.split())
"""Modules of Python's standard library, in versions from 3.11. The list does not ask the Python that ccml runs on, so
that bindings are the same bytes wherever they are made."""


def cpp_namespace(prefix: str) -> str:
    """The namespace of the model ``prefix``: no keyword of C++, and none that the standard library or ``main`` has."""
    return f"{prefix}_model" if prefix in RESERVED or prefix == "std" else prefix


def python_module(prefix: str) -> str:
    """The module of the model ``prefix``, which Python can import: no keyword, no module of the standard library, which
    Python would take instead, and not NumPy, which the module itself imports."""
    taken = keyword.iskeyword(prefix) or prefix in STANDARD_MODULES or prefix == "numpy"
    return f"{prefix}_model" if taken else prefix
