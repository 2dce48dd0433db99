"""Puts data/ and notebooks/ inside the wheel, as labkit/data and labkit/notebooks; the rest is in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
SHIPPED = ("data", "notebooks")
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "conftest.py")


class BuildWithCourse(build_py):
    """The usual build, plus the course. A checkout (editable install) reads both folders where they lie."""

    def run(self) -> None:
        """Build the package, then copy what it ships beside its modules."""
        super().run()
        for name in () if self.editable_mode else SHIPPED:
            target = Path(self.build_lib) / "labkit" / name
            shutil.copytree(ROOT / name, target, ignore=LEFT_OUT, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithCourse})
