"""What only the PostgreSQL store has: connections that break, processes, a schema, a clock."""

import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace

import psycopg
import pytest

import acidsql
from acidsql.backends.postgres import PostgresStore
from acidsql.backends.postgres.pipeline import Pipeline
from acidsql.backends.postgres.queries import queries, to_server
from acidsql.backends.postgres.url import Place
from acidsql.backends.relational.connection import Mode
from acidsql.backends.relational.queries import load_migrations, load_queries
from acidsql.errors import (
    AnalysisError,
    ConfigError,
    DependencyError,
    MissingFileError,
    NoSuchTxnError,
    StorageError,
    WriteConflictError,
)
from acidsql.model.names import TableName
from acidsql.ports.catalog import Database
from acidsql.settings import Settings
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockState,
    LockType,
    Reached,
    TxnType,
    WriteOperation,
)
from acidsql.txn.transaction import OpenTxn, transaction

pytestmark = pytest.mark.postgres

DIALECT = "acidsql.backends.postgres"
T = TableName("default", "t")
UPDATE_T = [LockComponent(LockType.EXCL_WRITE, "default", "t", None, WriteOperation.UPDATE)]
U = TableName("default", "u")
READ_U = [LockComponent(LockType.SHARED_READ, "default", "u", None, WriteOperation.SELECT)]
OPEN = """
import sys
from acidsql.backends.postgres import PostgresStore

store = PostgresStore(sys.argv[1])
print(store.open_txn("ann", "host1"))
store.close()
"""


@pytest.fixture
def url(postgres):
    return postgres.fresh()


@pytest.fixture
def store(url):
    waits = []
    with closing(PostgresStore(url, warehouse="/warehouse", sleep=waits.append)) as store:
        store.waits = waits
        yield store


@pytest.fixture
def kill(postgres):
    """Ends the server's side of every connection that waits for its client."""

    def kill():
        query = (
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE application_name = 'acidsql' AND state LIKE 'idle%'"
        )
        return postgres.execute(query)[0][0]

    return kill


def test_a_text_with_a_nul_is_refused(store):
    comment = replace(store.database("default"), name="d", comment="a\0b")
    for verb in (lambda: store.find_table(TableName("d", "a\0b")), lambda: define(store, comment)):
        with pytest.raises(AnalysisError, match=r"cannot keep the text 'a\\x00b'"):
            verb()
    assert store.databases() == ["default"]


def define(store, database):
    with transaction(OpenTxn(store, user="ann", host="host1")) as txn, store.committing(txn.txn_id):
        store.create_database(database)


# -- threads and processes --------------------------------------------------------------------


def test_one_store_serves_many_threads(store):
    def work(_):
        with transaction(OpenTxn(store, user="ann", host="host1")) as txn:
            return txn.txn_id, txn.write_id(T)

    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(work, range(36)))
    assert store.show_txns() == []
    assert sorted(t for t, _ in done) == sorted(w for _, w in done) == list(range(1, 37))


def test_processes_make_the_store_together(postgres):
    url = postgres.create_database("together")
    command = [sys.executable, "-c", OPEN, url]
    workers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], answers
    assert sorted(int(out) for out, _ in answers) == [1, 2, 3]


def test_none_is_made_where_there_must_be_one(postgres):
    url = postgres.create_database("nothing_yet") + "&schema=sales"
    with pytest.raises(MissingFileError, match=r"store .*schema=sales"):
        PostgresStore(url, must_exist=True)
    assert postgres.execute("SELECT to_regnamespace('sales')", "nothing_yet") == [(None,)]
    for is_new in (True, False):
        with closing(PostgresStore(url)) as made:
            assert made.is_new is is_new
    PostgresStore(url, must_exist=True).close()


def test_a_verb_shut_out_for_too_long_is_told(url, store):
    with closing(PostgresStore(url, lock_timeout_s=0.05)) as other:
        txn = store.open_txn("ann", "host1")
        with store.committing(txn):
            with pytest.raises(StorageError, match="is busy") as caught:
                other.open_txn("ann", "host1")
            assert caught.value.hint is not None
            assert [t.txn_id for t in other.show_txns()] == [txn]
        assert other.open_txn("ann", "host1") == txn + 1


def test_a_deadlock_is_tried_again(url, store):
    """One takes entry and transaction, the other transaction and entry."""
    queued = store.compact(T, None, CompactionType.MAJOR)
    txn = store.open_txn("ann", "host1")
    tried = []
    both_hold_one = threading.Barrier(2)

    def work(first, second):
        def attempt():
            sql = store._sql
            tried.append(first[0])
            sql.row(first[0], **first[1])
            if len(tried) <= 2:
                both_hold_one.wait()
            return sql.row(second[0], **second[1]) is not None

        return store._sql.carry_out(Mode.WRITING, attempt)

    entry_row = ("compaction_to_change", {"id": queued})
    txn_row = ("txn_to_change", {"txn_id": txn})
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(work, entry_row, txn_row), pool.submit(work, txn_row, entry_row)]
        assert [d.result() for d in done] == [True, True]
    assert len(tried) > 2


# -- connections that break -------------------------------------------------------------------


def test_what_was_idle_and_is_gone_is_replaced(store, kill):
    txn = store.open_txn("ann", "host1")
    assert kill() > 0
    store.heartbeat(txn)
    assert kill() > 0
    with store.committing(txn):
        pass
    assert store.valid_txns().is_valid(txn)
    assert store.waits == []


def test_what_is_gone_is_noticed_before_anything_is_sent(store, kill):
    """A commit goes with all that comes before it: on which connection must not be in question."""
    with store.committing(store.open_txn("ann", "host1")):
        store.show_txns()
    kill()
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T, "query 1")
    kill()
    store.commit_txn(opened.txn_id)
    assert [t.txn_id for t in store.show_txns()] == []
    assert (store.valid_txns().high_watermark, store.waits) == (opened.txn_id, [])


def test_a_verb_goes_on_after_a_restart(store, postgres):
    txn = store.open_txn("ann", "host1")
    postgres.restart()
    assert store.allocate_write_id(txn, T) == 1
    store.commit_txn(txn)


# -- round trips and plans ------------------------------------------------------------------------


@pytest.fixture
def trips(store, monkeypatch):
    """The statements of each round trip."""
    trips, send = [], Pipeline.send

    def counted(self, statements):
        trips.append([s.query for s in statements])
        send(self, statements)

    monkeypatch.setattr(Pipeline, "send", counted)
    return trips


def test_a_transaction_takes_two_round_trips(store, trips):
    store.commit_txn(store.open_txn("ann", "host1"))  # the open ones are counted once
    trips.clear()
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T, "query 1")
    reached = [Reached(opened.write_ids[T], T, ["p=1"], WriteOperation.UPDATE)]
    store.commit_txn(opened.txn_id, reached)
    assert [trip[0] for trip in trips] == ["begin_writing", "begin_writing"]
    assert ["commit" in trip for trip in trips] == [True, True]


def test_a_snapshot_takes_as_many_statements_whatever_was_aborted(store, trips):
    def statements():
        trips.clear()
        write_ids = store.valid_write_ids([T], store.valid_txns())[T]
        return len(write_ids.aborted), [name for trip in trips for name in trip]

    def abort(count):
        for _ in range(count):
            store.abort_txn(
                store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T).txn_id
            )

    abort(1)
    few, asked_for_few = statements()
    abort(40)
    many, asked_for_many = statements()
    assert (few, many) == (1, 41)
    assert asked_for_few == asked_for_many


GROWING = {
    "txns", "txn_components", "completed_txn_components", "txn_to_write_id", "write_set",
    "hive_locks", "min_history_level",
}  # fmt: skip


def plan_of(store, query):
    """The lines of a plan that does not know what is bound."""
    with store._sql.transaction(Mode.WRITING):
        connection = store._sql._running().pipeline.connection
        return [line for (line,) in connection.execute(b"EXPLAIN (GENERIC_PLAN) " + query.text)]


def live(store):
    """Everything that statements ask a store for: one that wins, one that loses, one that waits."""
    winner, loser, waiting = (
        store.open_locked("ann", "host1", TxnType.DEFAULT, [T], lock, "")
        for lock in ([*UPDATE_T, *READ_U], READ_U, UPDATE_T)
    )
    txn_id = loser.txn_id
    write_id = store.allocate_write_id(txn_id, U)
    store.add_dynamic_partitions(txn_id, write_id, U, ["p=1"], WriteOperation.UPDATE)
    store.valid_write_ids([T, U], store.valid_txns(txn_id))
    rival = store.open_txn("ann", "host1")
    reached = Reached(store.allocate_write_id(rival, U), U, ["p=1"], WriteOperation.UPDATE)
    store.commit_txn(rival, [reached])
    assert store.latest_txn_in_conflict(txn_id) is not None
    with pytest.raises(WriteConflictError):
        store.commit_txn(txn_id)
    store.abort_txn(winner.txn_id)
    assert store.time_out_txns() == store.resolve_deadlocks() == []
    assert store.check_lock(waiting.response.lock_id).state is LockState.ACQUIRED
    store.heartbeat_txn_range(1, 9)
    store.commit_txn(waiting.txn_id)


@pytest.fixture
def new(postgres, request):
    """A store in a database of its own, of which no statistics are known."""
    name = request.node.name[-40:]
    with closing(PostgresStore(postgres.create_database(name), warehouse="/w")) as store:
        yield store


def test_no_statement_reads_a_whole_table_that_grows(new, trips):
    """Plans are made when a store is new, and must be good when it is not."""
    live(new)
    asked = {name for trip in trips for name in trip}
    assert asked > {
        "insert_lock",
        "commit_unrivalled",
        "write_set_since",
        "locks",
        "write_ids_of_txns",
    }
    scanned = {
        (name, line.split(" on ")[1].split()[0])
        for name in asked
        if re.match(rb"\s*(SELECT|INSERT|UPDATE|DELETE)", queries()[name].text)
        for line in plan_of(new, queries()[name])
        if "Seq Scan on" in line
    }
    assert ("bump_next_txn_id", "next_txn_id") in scanned
    assert {(name, table) for name, table in scanned if table in GROWING} == set()


def test_a_write_id_is_looked_for_by_one_index(new):
    (line,) = (line for line in plan_of(new, queries()["write_id"]) if "Index Cond" in line)
    assert all(column in line for column in ("t2w_txnid", "t2w_database", "t2w_table"))


def break_once(store, kill, after):
    """The connection breaks after a statement of that name, and before the next one."""
    sql, run = store._sql, store._sql.run

    def broken(query, /, **parameters):
        run(query, **parameters)
        if query == after:
            sql.run = run
            kill()

    sql.run = broken


@pytest.mark.parametrize(
    ("verb", "arguments", "statement"),
    [
        ("open_txn", ("ann", "host1"), "insert_txn"),
        ("allocate_write_id", (1, T), "bump_next_write_id"),
        ("lock", (1, UPDATE_T, "ann", "host1"), "insert_lock"),
        ("abort_txn", (1,), "abort_txn"),
    ],
)
def test_a_verb_that_breaks_off_is_carried_out_once(store, kill, verb, arguments, statement):
    """Whether its commit arrived is not asked by the ids: it had not been sent, or does no harm."""
    store.open_txn("ann", "host1")
    break_once(store, kill, statement)
    getattr(store, verb)(*arguments)
    assert len(store.waits) == 1
    state = (len(store.show_txns()), store.valid_write_ids([T], store.valid_txns())[T])
    assert len(store.show_locks()) == (verb == "lock")
    assert state[0] == (2 if verb == "open_txn" else 1)
    assert state[1].high_watermark == (verb == "allocate_write_id")


class LostAnswer:
    """A connection whose COMMIT is carried out, or not, before it breaks."""

    def __init__(self, pipeline, arrives):
        self._pipeline, self._arrives = pipeline, arrives
        self.connection = pipeline.connection

    def send(self, statements):
        if all(s.query != "commit" for s in statements):
            self._pipeline.send(statements)
            return
        if self._arrives:
            self._pipeline.send(statements)
        pid = self.connection.info.backend_pid
        parameters = self.connection.info.get_parameters()
        with psycopg.connect(**parameters, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
        self._pipeline.send(statements)


def lose_answer(store, arrives):
    sql, connection = store._sql, store._sql._connection

    def connection_once():
        sql._connection = connection
        pipeline, reused = connection()
        return LostAnswer(pipeline, arrives), reused

    sql._connection = connection_once


@pytest.mark.parametrize("arrives", [True, False])
def test_a_commit_whose_answer_is_lost_is_asked_for_again(store, arrives):
    txn = OpenTxn(store, user="ann", host="host1")
    lose_answer(store, arrives)
    with pytest.raises(StorageError, match="did not answer to a commit"):
        store.commit_txn(txn.txn_id)
    assert [t.txn_id for t in store.show_txns()] == ([] if arrives else [txn.txn_id])
    txn.commit()
    assert store.valid_txns().is_valid(txn.txn_id)


@pytest.mark.parametrize("arrives", [True, False])
def test_a_definition_whose_answer_is_lost_is_told(store, arrives):
    txn = store.open_txn("ann", "host1")
    lose_answer(store, arrives)
    with pytest.raises(StorageError, match="did not answer to a commit"), store.committing(txn):
        store.create_database(Database("sales", "/s"))
    assert store.databases() == (["default", "sales"] if arrives else ["default"])


@pytest.mark.parametrize("arrives", [True, False])
def test_an_idempotent_verb_whose_answer_is_lost_is_repeated(store, arrives):
    txn = store.open_txn("ann", "host1")
    lose_answer(store, arrives)
    assert store.allocate_write_id(txn, T) == 1
    assert store.allocate_write_id(store.open_txn("ann", "host1"), T) == 2


@pytest.mark.parametrize("arrives", [True, False])
def test_locks_whose_answer_is_lost_are_in_nobodys_way(store, arrives):
    lose_answer(store, arrives)
    opened = store.open_locked("ann", "host1", TxnType.DEFAULT, [T], UPDATE_T, "query 1")
    assert opened.response.state is LockState.ACQUIRED
    assert (opened.txn_id, opened.write_ids) == ((2, {T: 2}) if arrives else (1, {T: 1}))
    shown = {t.txn_id: (t.state.name, t.meta_info) for t in store.show_txns()}
    lost = {1: ("ABORTED", "the answer was lost")} if arrives else {}
    assert shown == {**lost, opened.txn_id: ("OPEN", "")}


@pytest.mark.parametrize("arrives", [True, False])
def test_a_compaction_whose_answer_is_lost_is_told(store, arrives):
    lose_answer(store, arrives)
    with pytest.raises(StorageError, match="did not answer to a commit"):
        store.compact(T, None, CompactionType.MAJOR)
    assert len(store.show_compactions()) == int(arrives)


def test_an_error_inside_leaves_a_connection_that_works(store):
    with pytest.raises(NoSuchTxnError):
        store.heartbeat(99)
    with suppress(ZeroDivisionError), store.committing(store.open_txn("ann", "host1")):
        raise ZeroDivisionError
    with pytest.raises(AnalysisError, match="cannot keep the text"):
        store.open_txn("a\0b", "host1")
    assert store.open_txn("ann", "host1") == 2


def define_after_an_error(store, txn):
    with store.committing(txn):
        store.create_database(Database("sales", "/s"))
        with pytest.raises(StorageError, match="cannot use the transaction store"):
            store.create_database(Database("nowhere", None))


def test_a_block_that_met_an_error_cannot_commit(store):
    txn = store.open_txn("ann", "host1")
    with pytest.raises(StorageError, match="transaction is aborted"):
        define_after_an_error(store, txn)
    assert store.databases() == ["default"]
    store.heartbeat(txn)


def test_a_closed_store_says_so(store):
    store.close()
    store.close()
    with pytest.raises(StorageError, match="is closed"):
        store.open_txn("ann", "host1")


# -- URLs and what cannot be reached ----------------------------------------------------------


def test_a_password_is_nowhere_to_be_seen():
    secret = "s3cret%40word"
    place = Place.of(f"postgresql://ann:{secret}@db.example/meta?sslmode=require&schema=sales")
    assert place.parameters["password"] == "s3cret@word"
    assert place.parameters["sslmode"] == "require"
    assert (place.schema, place.name) == (
        "sales",
        "postgresql://ann@db.example/meta?schema=sales",
    )
    assert "s3cret" not in repr(place)
    assert "s3cret" not in repr(Settings.of("/w", metastore=f"postgresql://ann:{secret}@h/d"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:s3cret%zz@localhost/meta",
        "postgresql://ann:s3cret@localhost/meta?nothing=1",
        "postgresql://ann:s3cret@localhost/meta?schema=pg_mine",
        "postgresql://ann:s3cret@localhost/meta?schema=a;b",
        "mysql://ann:s3cret@localhost/meta",
        "postgresql:ann:s3cret@localhost/meta",
    ],
)
def test_urls_that_are_none(url, tmp_path):
    with pytest.raises(ConfigError) as caught:
        acidsql.connect(tmp_path, metastore=url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.hint is not None
    assert caught.value.__cause__ is None


def test_a_database_that_is_missing(postgres):
    with pytest.raises(StorageError, match=r"cannot connect .*/nothing") as caught:
        PostgresStore(postgres.url_of("nothing"))
    assert 'database "nothing" does not exist' in caught.value.detail
    assert caught.value.hint == "Create the database, or the user, or correct the URL."


def test_a_server_that_is_missing():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        with pytest.raises(StorageError, match=f"127.0.0.1:{port}/meta") as caught:
            PostgresStore(f"postgresql://ann:s3cret@127.0.0.1:{port}/meta")
    assert "s3cret" not in str(caught.value)
    assert caught.value.hint == "A server must be listening there."


def test_a_server_that_stays_away_is_waited_for_a_while(store, postgres):
    """And a wrong password is told as what it is."""
    sql = store._sql
    sql.close()
    sql._closed = False
    sql.place = Place.of(postgres.url_of("nothing"))
    with pytest.raises(StorageError, match="cannot connect"):
        store.show_txns()
    assert len(store.waits) == 5


def test_a_missing_driver_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "acidsql.backends.postgres.store", None)
    with pytest.raises(DependencyError, match="needs psycopg") as caught:
        acidsql.connect(tmp_path, metastore="postgresql://ann@localhost/meta")
    assert caught.value.hint == "pip install 'acidsql[postgres]'"


# -- the schema -------------------------------------------------------------------------------


def test_a_schema_of_ones_own(postgres, url):
    with closing(PostgresStore(f"{url}&schema=Team_a")) as store:
        assert store.open_txn("ann", "host1") == 1
        assert store.open_txn("ann", "host1") == 2
    assert postgres.execute('SELECT ntxn_next FROM "Team_a".next_txn_id') == [(3,)]
    assert postgres.execute("SELECT ntxn_next FROM acidsql.next_txn_id") == [(1,)]
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert postgres.execute(tables) == [(0,)]
    postgres.execute('DROP SCHEMA "Team_a" CASCADE')


def test_who_may_create_nothing_can_use_what_is_there(postgres, url):
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute("CREATE ROLE guest LOGIN")
    guest = postgres.url_of("store", "guest")
    with pytest.raises(StorageError, match="cannot use the transaction store") as caught:
        PostgresStore(guest)
    assert "be allowed" in (caught.value.hint or "")
    postgres.execute("GRANT USAGE ON SCHEMA acidsql TO guest")
    postgres.execute("GRANT ALL ON ALL TABLES IN SCHEMA acidsql TO guest")
    with closing(PostgresStore(guest)) as store:
        assert store.open_txn("ann", "host1") == 1
    postgres.execute("DROP OWNED BY guest")
    postgres.execute("DROP ROLE guest")


def test_a_newer_schema_is_refused(postgres):
    url = postgres.create_database("newer")
    PostgresStore(url).close()
    postgres.execute("UPDATE acidsql.version SET schema_version = 99", "newer")
    with pytest.raises(StorageError, match="schema version 99"):
        PostgresStore(url)


def second_version(postgres, name):
    """A store as an earlier release has left it, with a transaction and its lock."""
    url = postgres.create_database(name)
    with psycopg.connect(url, autocommit=True) as old:
        old.execute("CREATE SCHEMA acidsql")
        old.execute("SET search_path = acidsql")
        for number, statements in load_migrations(DIALECT):
            for statement in statements if number <= 2 else ():
                old.execute(statement.encode())
        old.execute("UPDATE version SET schema_version = 2")
        old.execute("INSERT INTO txns VALUES (1, 'o', 1, 1, 'ann', 'host1', '', 0)")
        old.execute("INSERT INTO txn_to_write_id VALUES ('default', 't', 1, 1)")
        old.execute("INSERT INTO next_write_id VALUES ('default', 't', 2)")
        old.execute(
            "INSERT INTO hive_locks VALUES"
            " (1, 1, 1, 'default', 't', NULL, 'a', 'x', 0, 1, 'ann', 'host1', '')"
        )
        old.execute("UPDATE next_txn_id SET ntxn_next = 2")
        old.execute("UPDATE next_lock_id SET nl_next = 2")
    return url


def test_an_older_store_is_brought_up_to_date_beside_its_readers(postgres):
    url = second_version(postgres, "older")
    with psycopg.connect(url) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("SELECT count(*) FROM acidsql.txns")
        opening = pool.submit(PostgresStore, url)
        while not postgres.execute("SELECT 1 FROM pg_locks WHERE NOT granted", "older"):
            time.sleep(0.01)
        # Now each has what the other one wants.
        with suppress(psycopg.errors.DeadlockDetected):
            reader.execute("SELECT count(*) FROM acidsql.hive_locks")
        reader.rollback()
        store = opening.result()
    with closing(store):
        opened = store.open_locked("bob", "host2", TxnType.DEFAULT, [T], UPDATE_T, "query 1")
        assert (opened.txn_id, opened.write_ids, opened.response.state) == (
            2, {T: 2}, LockState.WAITING,
        )  # fmt: skip
        store.commit_txn(1)
        assert store.check_lock(opened.response.lock_id).state is LockState.ACQUIRED


def test_the_clock_is_the_servers(store, postgres):
    store.open_txn("ann", "host1")
    (txn,) = store.show_txns()
    now_s = float(postgres.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())")[0][0])
    assert abs(txn.started_ms / 1000 - now_s) < 60


def test_an_answered_commit_is_durable(store):
    with store._sql.transaction(Mode.READING):
        cursor = store._sql._running().pipeline.connection.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)


def test_everything_is_there_after_a_restart(url, store):
    txn = store.open_txn("ann", "host1")
    store.allocate_write_id(txn, T)
    store.lock(txn, UPDATE_T, "ann", "host1")
    with closing(PostgresStore(url, warehouse="/elsewhere")) as other:
        assert other.show_locks() == store.show_locks()
        assert other.show_txns() == store.show_txns()
        assert other.database("default").location == "/warehouse"


# -- the .sql files ---------------------------------------------------------------------------


def test_every_named_statement_is_valid(postgres, url):
    with psycopg.connect(url, options="-csearch_path=acidsql") as connection:
        for name, text in load_queries(DIALECT).items():
            query = to_server(text)
            assert connection.pgconn.prepare(b"", query.text).error_message == b"", name
            assert query.text.count(b";") == 1, name


def test_dialects_name_the_same_statements():
    ours, sqlite = (load_queries(d).keys() for d in (DIALECT, "acidsql.backends.sqlite"))
    only_ours = {"prepare_session", "begin_reading", "begin_writing", "lock_shared", "lock_alone"}
    ends = {"commit", "do_not_wait", "sync_log", "unlisten"}
    schema = {"lock_schema", "schema_exists", "version_table", "schema_version"}
    assert ours - sqlite == only_ours | schema | {"set_schema_version"} | ends
    assert sqlite <= ours


def test_migrations_are_numbered_from_one_without_gaps():
    numbers = [number for number, _ in load_migrations(DIALECT)]
    assert numbers == list(range(1, len(numbers) + 1))
