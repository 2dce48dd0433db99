"""For every pytest run, of tests and of notebooks: the developer's own files stay untouched, and nbval waits.

Kernels that nbval starts inherit this environment: their progress and predictions land in a temporary folder.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from labkit.lab.kernel import import_path

OUTPUT_SECONDS = 60
"""nbval gives up on a kernel that is silent for five seconds; a busy machine may need more to import torch."""
NOT_COMPARED = ("stderr", "text/html", "image/svg+xml")
"""What differs from machine to machine also in a cell marked NBVAL_CHECK_OUTPUT."""

_scratch = tempfile.TemporaryDirectory(prefix="labkit-tests-")
_folder = Path(_scratch.name)
os.environ["PYTHONPATH"] = import_path(os.environ.get("PYTHONPATH"))
os.environ["LABKIT_STATE"] = str(_folder / "state")
os.environ["IPYTHONDIR"] = str(_folder / "ipython")
os.environ["JUPYTER_RUNTIME_DIR"] = str(_folder / "runtime")
os.environ.setdefault("OMP_NUM_THREADS", str(min(4, os.cpu_count() or 1)))  # tiny models only lose by more


def pytest_collectstart(collector: Any) -> None:
    """nbval's notebook collector is the only one with a `skip_compare`."""
    if hasattr(collector, "skip_compare"):
        collector.skip_compare += NOT_COMPARED


def pytest_itemcollected(item: pytest.Item) -> None:
    """nbval's cells are the only items with an `output_timeout`."""
    if hasattr(item, "output_timeout"):
        item.output_timeout = OUTPUT_SECONDS


def pytest_unconfigure() -> None:
    _scratch.cleanup()
