"""What a forked child may do with the sessions of its parent: nothing, and it harms none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable

import pytest

import acidsql
from acidsql.backends.metastore.client import MetastoreClient
from acidsql.backends.metastore.url import Place
from tests.component.backends.metastore.server import FakeMetastore

ENDS = {"exit": 7 << 8, "_exit": 0, "kill": signal.SIGKILL}
"""How the child ends, and the status of it that its parent sees."""

IN_A_CHILD = {
    "execute": "ForkError", "commit": "ForkError", "rollback": "ForkError", "table": "ForkError",
    "worker": "ForkError", "cleaner": "ForkError", "housekeeper": "ForkError",
    "block": "ForkError", "store": "ForkError", "close of a result": "nothing", "close": "nothing",
}  # fmt: skip


def forked(*arguments: str) -> list[dict]:
    command = [sys.executable, "-X", "dev", "-W", "error", "-m", "tests.faults.forked"]
    done = subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    "kind",
    [
        "sqlite",
        pytest.param("memory", marks=pytest.mark.thorough),
        pytest.param("postgres", marks=pytest.mark.thorough),
    ],
)
def test_a_forked_child_leaves_the_parents_session_alone(kind, tmp_path, request):
    """One process forks for each way to end, since most of its time goes into starting."""
    url = {"memory": "memory", "sqlite": str(tmp_path / "store.db")}.get(kind)
    if url is None:
        url = request.getfixturevalue("postgres").fresh()
    told = forked(url, str(tmp_path / "w"), *ENDS)
    assert len(told) == 2 * len(ENDS)
    for how, child, parent in zip(ENDS, told[::2], told[1::2], strict=True):
        # A store in memory is a copy like any other value; what has files is the session.
        assert child == {**IN_A_CHILD, **({"store": "nothing"} if kind == "memory" else {})}, how
        assert parent == {
            "status": ENDS[how],
            "files": True,
            "same servers": True,
            "lazy": [[0, "a"]],
            "rows": [[0, "a"], [1, "a"], [2, "a"]],
            "check": [],
            "failures": {},
        }, how


def in_a_child(work: Callable[[], object]) -> object:
    """What ``work`` returns in a forked child, which ends without anything further."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of any fork beside threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as told:
        answer = told.read()
    os.waitpid(pid, 0)
    return json.loads(answer)


def refusal(use: Callable[[], object]) -> str:
    try:
        use()
    except acidsql.ForkError as error:
        return str(error.message)
    return "nothing"


def test_a_child_does_not_speak_to_the_parents_spark(session, spark, tmp_path):
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    session.execute("INSERT INTO t VALUES (1)")
    result = session.execute("SELECT * FROM t")

    def use_in_child() -> list[str]:
        with acidsql.connect(tmp_path / "w2", spark=spark) as own:
            own.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
            own.execute(
                "INSERT INTO t VALUES (1)"
            )  # a session of its own, as long as without Spark
            uses = [result.fetchall, result.arrow, lambda: own.execute("SELECT * FROM t")]
            return [refusal(use) for use in uses]

    words = "Spark belongs to the process from which this one was forked"
    assert in_a_child(use_in_child) == [words] * 3
    assert result.fetchall() == [(1,)]
    assert session.execute("SELECT count(*) FROM t").fetchall() == [(1,)]


def test_a_child_does_not_speak_to_the_parents_metastore():
    with FakeMetastore(get_all_databases=lambda: ["default"]) as server:
        client = MetastoreClient(Place.of(server.url), "ann")
        told = in_a_child(
            lambda: [refusal(lambda: client.call("get_all_databases")), client.close()]
        )
        assert told == [f"the metastore {server.url} belongs to process {os.getpid()}, from which"
                        " this one was forked", None]  # fmt: skip
        assert client.call("get_all_databases") == ["default"]
        assert server.ugis == ["ann"]  # on the connection that was there
        client.close()
