"""Generated tests have no deadline: how long an example takes is the machine's business."""

import pytest
from hypothesis import settings

from acidsql.definitions import compaction_request

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def no_wait_for_the_worker_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """COMPACT … AND WAIT runs what it can itself; the queue of a process that died stays."""
    monkeypatch.setattr(compaction_request, "WAIT_S", 0.0)
