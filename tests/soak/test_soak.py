"""Tables that look after themselves: writers, readers and services that are killed, for long.

ACIDSQL_SOAK_SECONDS=<n> goes on for so long on each store, ACIDSQL_SOAK_SEED=<n> repeats a choice.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.soak.measures import grown
from tests.soak.play import Play
from tests.soak.world import SECONDS, World

SEED = int(os.environ.get("ACIDSQL_SOAK_SEED", "0")) or random.randrange(1, 1 << 30)
ROUNDS, OPS, TROUBLES = (0, 20, 30) if SECONDS else (2, 5, 5)
YARDSTICK = 10 if SECONDS else 1
"""The round that later ones are compared with."""
EXPECTED = {
    "CommitStateUnknownError", "CompactionRefusedError", "DeadlockError", "LockTimeoutError",
    "MissingFileError", "NoSuchLockError", "NoSuchTxnError", "SnapshotExpiredError",
    "StorageError", "StreamingStateError", "TxnAbortedError", "WriteConflictError",
}  # fmt: skip
"""What one may meet beside others, or after it was stopped for longer than its transaction lives.

After each of them, the rows must be as they were, or as they would be without it.
"""


@pytest.fixture(
    params=[
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.thorough]),
    ]
)
def play(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Play]:
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").fresh()
    sys.stdout.write(f"ACIDSQL_SOAK_SEED={SEED}\n")
    play = Play(World(str(tmp_path / "w"), url), tmp_path, SEED, OPS, TROUBLES)
    yield play
    play.close()


def test_writers_readers_and_services_that_are_killed(play: Play) -> None:
    yardstick: Counter[str] = Counter()
    ends_s = time.monotonic() + SECONDS
    while play.rounds < ROUNDS or (SECONDS and time.monotonic() < ends_s):
        play.round()
        if play.rounds == YARDSTICK:
            yardstick = play.work()
        elif play.rounds % YARDSTICK == 0:
            assert grown(yardstick, play.work(), 1.5) == []
        tell(play)
    assert play.did["service killed"] >= play.rounds
    assert play.reads() >= play.rounds


def tell(play: Play) -> None:
    """What has happened so far; and that nothing has that must not."""
    assert play.errors().keys() <= EXPECTED
    told = play.events()
    assert {event["error"] for event in told if "error" in event} <= EXPECTED | {"TxnError"}
    events = Counter(event["event"] for event in told)
    changes = sum(f.changes for f in play.followers())
    sys.stdout.write(
        f"round {play.rounds}: {changes} changes, {play.reads()} reads, {dict(play.did)},"
        f" {dict(play.errors())}, {dict(events)}\n"
    )
    sys.stdout.flush()
