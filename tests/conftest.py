"""Fixtures shared by all tests: what may be absent from a machine, and what the learner's folders are."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from labkit.errors import MissingModelError
from labkit.lab import probes

if TYPE_CHECKING:
    from labkit.model.load import LanguageModel


settings.register_profile("no deadline", deadline=None)  # a busy machine must not fail a test
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder for the learner's progress, so that no test sees another's."""
    folder = tmp_path / "labkit-state"
    monkeypatch.setenv("LABKIT_STATE", str(folder))
    return folder


@pytest.fixture(scope="session")
def smollm2() -> "LanguageModel":
    """SmolLM2-135M-Instruct, fp32, CPU. Skips where it cannot be had, unless LABKIT_REQUIRE_SMOLLM2=1."""
    import labkit

    try:
        return labkit.load("smollm2-135m", device="cpu")
    except MissingModelError as error:
        _absent("LABKIT_REQUIRE_SMOLLM2", f"SmolLM2 cannot be had: {error}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium. Skips where there is none, unless LABKIT_REQUIRE_BROWSER=1."""
    return probes.chromium() or _absent("LABKIT_REQUIRE_BROWSER", "no Chromium: install the system's package")


def _absent(variable: str, reason: str) -> NoReturn:
    if os.environ.get(variable) == "1":
        pytest.fail(f"{reason}, and {variable}=1 asks for it")
    pytest.skip(f"{reason} ({variable}=1 makes this a failure)")
