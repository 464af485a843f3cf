"""The workshop of a test run."""

from __future__ import annotations

import os

import pytest

from tests.artifacts.workshop import Workshop


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """In the folder of the run: that of an xdist worker is one below it."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "artifacts"
    folder.mkdir(exist_ok=True)
    return Workshop(folder)
