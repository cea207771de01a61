"""What hangs until its test is over."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """What a system that hangs waits for; in the end it comes."""
    event = threading.Event()
    yield event
    event.set()
