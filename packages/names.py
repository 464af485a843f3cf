"""What a model is called in an ecosystem that has another meaning for its name, or takes fewer characters of it."""

from __future__ import annotations

import hashlib

_TARGETS = """
    all ALL_BUILD clean depend edit_cache help install INSTALL list_install_components package PACKAGE package_source
    preinstall rebuild_cache RUN_TESTS test ZERO_CHECK
"""
_CMAKE_TARGETS = frozenset(_TARGETS.split())
"""Targets that CMake's generators, CTest and CPack have themselves (policy CMP0037)."""


def cmake_target(prefix: str) -> str:
    """The target of the model ``prefix`` in its own project; to others it is ``prefix::prefix``."""
    return f"{prefix}_model" if prefix in _CMAKE_TARGETS else prefix


def shortened(name: str, length: int) -> str:
    """``name`` in at most ``length`` characters; where it is longer, its beginning and eight digits of its SHA-256,
    which keep names apart that begin alike."""
    if len(name) <= length:
        return name
    return f"{name[: length - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
