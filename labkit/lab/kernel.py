"""The notebook's Python is the one that has labkit.

A `python3` kernel registered years ago from another environment shadows the right one: imports then fail,
or an old labkit runs. So the course looks up no registered kernel at all; it knows one, the Python that
started it.
"""

import os
from pathlib import Path

from jupyter_client.kernelspec import NATIVE_KERNEL_NAME, KernelSpec, KernelSpecManager

_CHECKOUT = Path(__file__).resolve().parents[2]


def import_path(inherited: str | None) -> str:
    """The PYTHONPATH with which a kernel imports this very labkit, also from a checkout that is not installed."""
    parts = [inherited] if inherited else []
    if (_CHECKOUT / "pyproject.toml").is_file():  # an installed package needs no help
        parts.insert(0, str(_CHECKOUT))
    return os.pathsep.join(parts)


class ThisPython(KernelSpecManager):
    """Offers only the running interpreter's own kernel, whatever else is registered on this machine."""

    def _kernel_dirs_default(self) -> list[str]:
        return []  # with no folder to search, the native kernel is sys.executable's ipykernel

    def _allowed_kernelspecs_default(self) -> set[str]:
        return {NATIVE_KERNEL_NAME}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel's start line, with its log silent: what a learner must see is shown in the notebook."""
        spec = super().get_kernel_spec(kernel_name)
        spec.argv = [*spec.argv, "--IPKernelApp.log_level=CRITICAL"]
        return spec
