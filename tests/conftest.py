"""What holds for all tests."""

from __future__ import annotations

import gc

gc.set_threshold(100_000, 10, 10)  # as the command line: searches for cycles took a tenth of the time of the tests
