"""Widgets swallow what their callbacks raise: a test in which that happened has failed, whatever it asserts."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def callbacks_are_clean(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fails a test in which a widget's callback raised: ipywidgets only logs it."""
    with caplog.at_level(logging.WARNING):
        yield
    raised = [
        record for record in caplog.get_records("call") if "Exception in callback" in record.getMessage()
    ]
    assert raised == []
