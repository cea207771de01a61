"""Several processes use one store at once: what they were told must fit together."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest

from acidsql.backends.postgres import PostgresStore
from acidsql.backends.sqlite import SqliteStore

RACER = Path(__file__).with_name("racer.py")
PROCESSES, ROUNDS = 4, 15


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    return request.getfixturevalue("postgres").fresh()


@pytest.fixture
def history(url, tmp_path):
    """Every transaction of every process, by id."""
    witnesses = tmp_path / "witnesses"
    witnesses.mkdir()
    racers = [
        subprocess.Popen(
            [sys.executable, RACER, url, witnesses, str(seed), str(ROUNDS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(PROCESSES)
    ]
    with ThreadPoolExecutor(PROCESSES) as pool:
        # At once: a process that cannot write its answer would keep its locks.
        answers = list(pool.map(subprocess.Popen.communicate, racers))
    assert [racer.returncode for racer in racers] == [0] * PROCESSES, answers
    rounds = [json.loads(line) for out, _ in answers for line in out.splitlines()]
    assert len({done["txn"] for done in rounds}) == len(rounds) == 2 * PROCESSES * ROUNDS
    return {done["txn"]: done for done in rounds}


def visible(txn, snapshot):
    return txn <= snapshot["mark"] and txn not in snapshot["hidden"]


def committed(history):
    return {txn: done for txn, done in history.items() if done["end"] == "committed"}


def test_what_many_processes_are_told_fits_together(history, url):
    assert committed(history)
    check_write_ids(history)
    check_conflicts(history)
    check_snapshots(history)
    check_aborts(history)
    check_compactions(history)
    store = SqliteStore(url.removeprefix("sqlite://")) if "sqlite" in url else PostgresStore(url)
    assert [t.state.name for t in store.show_txns() if t.state.name != "ABORTED"] == []
    assert store.show_locks() == []
    store.close()


def check_write_ids(history):
    """Unique and without a gap."""
    for table in ("a", "b"):
        given = [done["write_ids"].get(table) for done in history.values()]
        write_ids = sorted(w for w in given if w is not None)
        assert write_ids == list(range(1, len(write_ids) + 1))


def check_conflicts(history):
    """Of two that changed one table and both committed, one has seen the other."""
    for a, b in combinations(committed(history).values(), 2):
        if set(a["changes"]) & set(b["changes"]):
            sees = visible(a["txn"], b["snapshot"]) or visible(b["txn"], a["snapshot"])
            assert sees, (a, b)


def check_snapshots(history):
    """Exactly what had committed is seen, and write ids as their transactions."""
    for done in history.values():
        snapshot = done.get("snapshot")
        if snapshot is None:
            continue
        for txn, other in history.items():
            seen = visible(txn, snapshot)
            if seen:
                assert other["end"] == "committed", (done, other)
                assert other["commit_start"] < snapshot["end"], (done, other)
            if other["end"] == "committed" and other["commit_end"] < snapshot["start"]:
                assert seen, (done, other)
            for table, write_id in other["write_ids"].items():
                known = write_id <= snapshot["write_marks"][table]
                hidden = write_id in snapshot["hidden_write_ids"][table]
                assert (known and not hidden) == seen or not known, (done, other)
                assert known or not seen, (done, other)


def check_aborts(history):
    """Whom somebody else aborted has not committed."""
    killed = [txn for done in history.values() for txn in done.get("killed", ())]
    assert len(killed) == len(set(killed))
    assert not set(killed) & committed(history).keys()


def check_compactions(history):
    """No entry was taken twice."""
    taken = Counter(done["taken"] for done in history.values() if done.get("taken"))
    assert set(taken.values()) <= {1}
