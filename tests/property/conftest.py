"""A machine waits for nobody."""

import pytest

from acidsql.definitions import compaction_request


@pytest.fixture(autouse=True)
def no_wait_for_the_worker_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """COMPACT … AND WAIT runs what it can itself; the queue of a process that died stays."""
    monkeypatch.setattr(compaction_request, "WAIT_S", 0.0)
