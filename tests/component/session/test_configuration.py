"""SET and RESET of a session: what acts, what is kept, and what no statement may change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import ConfigError, LockTimeoutError
from acidsql.session.session import Session
from acidsql.settings import KNOWN, Settings

CONFIG = {
    "hive.lock.sleep.between.retries": "50ms",
    "spark.hadoop.fs.s3a.secret.key": "s3cret",
    "spark.app.name": "given",
}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=CONFIG) as session:
        yield session


def lines(session: Session, sql: str) -> list[str]:
    result = session.execute(sql)
    assert result.columns == ["set"]
    return [line for (line,) in result.fetchall()]


def message(session: Session, sql: str) -> str | None:
    return session.execute(sql).message


def test_locks_follow_from_the_next_statement_on(session: Session) -> None:
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    locks = "EXPLAIN LOCKS DELETE FROM t"
    assert session.execute(locks).fetchall() == [("default.t -> EXCL_WRITE",)]
    assert message(session, "SET hive.txn.write.xlock=false") == "OK"
    assert session.execute(locks).fetchall() == [("default.t -> SHARED_WRITE",)]
    session.execute("RESET hive.txn.write.xlock")
    assert session.execute(locks).fetchall() == [("default.t -> EXCL_WRITE",)]


def test_waits_for_locks_follow(session: Session) -> None:
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    with session.beside() as other, other.transaction():
        other.execute("INSERT OVERWRITE TABLE t VALUES (1)")
        session.execute("SET hive.lock.numretries = 0")
        with pytest.raises(LockTimeoutError):
            session.execute("INSERT INTO t VALUES (2)")


def test_thresholds_follow_and_other_sessions_do_not(session: Session) -> None:
    with session.beside() as other:
        session.execute("SET hive.compactor.delta.num.threshold=3")
        session.execute("SET hiveconf:hive.compactor.delta.pct.threshold=0.5")
        assert session._rounds.initiator.thresholds.delta_count == 3
        assert session._thresholds.delta_share == 0.5
        assert other._thresholds.delta_count == 10
    session.execute("RESET")
    assert (session._thresholds.delta_count, session._thresholds.delta_share) == (10, 0.1)
    assert session._policy.lock_sleep_s == 0.05  # given, so not the default


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("hive.lock.numretries", "some", "hive.lock.numretries: .*integer"),
        ("hive.lock.sleep.between.retries", "soon", "not a time"),
        ("hive.txn.write.xlock", "5", "hive.txn.write.xlock: .*boolean"),
        ("hive.txn.timeout", "soon", "not a time"),
        ("acidsql.allow.reflection", "true", "acidsql.allow.reflection cannot be changed by SET"),
        ("acidsql.allowed.roots", "/", "acidsql.allowed.roots cannot be changed by SET"),
        ("acidsql.strict.set", "false", "acidsql.strict.set cannot be changed by SET"),
        ("acidsql.no.such", "1", 'unknown property "acidsql.no.such"'),
        ("env:HOME", "/", "env:HOME cannot be set"),
        ("spark.sql.caseSensitive", "true", "spark.sql.caseSensitive cannot be changed"),
        ("spark.sql.files.ignoreMissingFiles", "true", "ignoreMissingFiles cannot be changed"),
    ],
)
def test_what_is_refused_has_a_place(session: Session, key: str, value: str, why: str) -> None:
    for prefix in ("", "hiveconf:"):
        if prefix and key.startswith("env:"):
            continue
        before = lines(session, "SET")
        with pytest.raises(ConfigError, match=why) as caught:
            session.execute(f"SET  {prefix}{key}={value}", line=7, column=3)
        assert (caught.value.line, caught.value.column) == (7, 8)
        assert lines(session, "SET") == before
    assert not session._configuration.settings.allow_reflection


def test_what_has_no_meaning_is_kept_and_noted_once(session: Session) -> None:
    assert message(session, "SET hive.exec.parallel=true") == (
        "OK\nhive.exec.parallel has no meaning here."
    )
    assert message(session, "SET hive.exec.parallel=false") == "OK"
    assert lines(session, "SET hive.exec.parallel") == ["hive.exec.parallel=false"]
    assert "mapreduce.job.queuename has no meaning" in str(
        message(session, "SET mapreduce.job.queuename=etl")
    )
    assert "run_date is no property of acidsql or Hive" in str(
        message(session, "SET run_date='2026-01-01'")
    )
    assert lines(session, "SET run_date") == ["run_date='2026-01-01'"]


@pytest.mark.parametrize(
    ("key", "done", "not_done", "why"),
    [
        ("hive.merge.cardinality.check", "true", "FALSE", "a row could get two versions."),
        ("hive.strict.checks.type.safety", "false", "True", "beside a double loses digits."),
        ("hive.default.nulls.last", "false", "TRUE", "as in Hive 3: write NULLS LAST or FIRST."),
    ],
)
def test_what_is_not_done_is_noted(
    session: Session, key: str, done: str, not_done: str, why: str
) -> None:
    assert message(session, f"SET {key}={done}") == "OK"
    note = str(message(session, f"SET {key}={not_done}"))
    assert note.startswith(f"OK\n{key} has no effect here. ")
    assert note.endswith(why)
    assert lines(session, f"SET {key}") == [f"{key}={not_done}"]


def test_what_counts_from_connect_on_is_not_taken_for_set(session: Session) -> None:
    assert message(session, "SET hive.txn.timeout=10") == (
        "OK\nhive.txn.timeout has no effect here: it counts from connect on, and is 300s."
    )
    assert lines(session, "SET hive.txn.timeout") == ["hive.txn.timeout=300s"]


def test_strict(tmp_path: Path) -> None:
    strict = {"acidsql.strict.set": "true"}
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=strict) as session:
        session.execute("SET hive.exec.parallel=true")
        session.execute("SET hivevar:run_date=1")
        with pytest.raises(ConfigError, match=r'unknown property "hvie\.exec\.parallel"'):
            session.execute("SET hvie.exec.parallel=true")


def test_all_that_was_set_is_shown_but_for_secrets(session: Session) -> None:
    session.execute("SET hivevar:b=2 = 2")
    session.execute("SET system:c=3")
    session.execute("SET hive.lock.numretries=7")
    session.execute("SET javax.jdo.option.ConnectionURL=jdbc:x://h?password=s3cret")
    shown = [
        "hive.lock.numretries=7",
        "hive.lock.sleep.between.retries=0.05s",
        "hivevar:b=2 = 2",
        "javax.jdo.option.ConnectionURL=***",
        "spark.app.name=given",
        "spark.hadoop.fs.s3a.secret.key=***",
        "system:c=3",
    ]
    assert lines(session, "SET") == lines(session, "SET -v") == shown
    assert lines(session, "SET b") == ["b=2 = 2"]
    assert lines(session, "SET hivevar:b") == ["hivevar:b=2 = 2"]
    assert lines(session, "SET hiveconf:b") == ["hiveconf:b is undefined"]
    assert lines(session, "SET no.such") == ["no.such is undefined"]
    assert lines(session, "SET spark.hadoop.fs.s3a.secret.key") == [shown[5]]
    assert lines(session, "SET hiveconf:spark.hadoop.fs.s3a.secret.key") == [
        "hiveconf:spark.hadoop.fs.s3a.secret.key is undefined"
    ]


def test_reset_leaves_variables_unless_it_names_them(session: Session) -> None:
    session.execute("SET hivevar:b=2")
    session.execute("SET x=1")
    session.execute("RESET")
    assert lines(session, "SET x") == ["x is undefined"]
    assert lines(session, "SET b") == ["b=2"]
    session.execute("RESET hivevar:b")
    assert lines(session, "SET b") == ["b is undefined"]


def test_set_is_no_part_of_a_transaction(session: Session) -> None:
    session.execute("BEGIN")
    session.execute("SET hive.lock.numretries=7")
    session.execute("SET TRANSACTION READ ONLY")  # nothing has been done in it yet
    session.execute("ROLLBACK")
    assert session._policy.lock_retries == 7


def test_settings_of_spark_wait_for_it(session: Session) -> None:
    assert message(session, "SET spark.sql.shuffle.partitions=3") == "OK"
    assert lines(session, "SET spark.sql.shuffle.partitions") == ["spark.sql.shuffle.partitions=3"]
    for key in ("spark.executor.memory", "spark.jars", "spark.sql.catalog.x", "spark.plugins"):
        assert f"{key} has no effect here." in str(message(session, f"SET {key}=1"))
        assert lines(session, f"SET {key}") == [f"{key} is undefined"]
    assert session._engine._spark._options._wanted == {"spark.sql.shuffle.partitions": "3"}
    assert session._engine._spark._conf == {k: CONFIG[k] for k in CONFIG if k.startswith("spark.")}
    session.execute("RESET")
    assert session._engine._spark._options._wanted == {}


def test_show_conf_describes_every_property(session: Session) -> None:
    for key in KNOWN:
        [(default, kind, description)] = session.execute(f"SHOW CONF '{key}'").fetchall()
        assert default == (Settings.of("w").text_of(key) or "")
        assert kind in ("BOOLEAN", "FLOAT", "INT", "STRING", "TIME")
        assert description.endswith(".")
    shown = session.execute("SHOW CONF 'hive.lock.numretries'")
    assert shown.columns == ["default", "type", "desc"]
    assert shown.fetchall() == [
        ("100", "INT", "How often a statement looks for a lock that it waits for.")
    ]


def test_show_conf_tells_the_default_not_the_value(session: Session) -> None:
    session.execute("SET hive.lock.numretries = 7")
    assert session.execute("SHOW CONF 'hive.lock.numretries'").fetchall()[0][0] == "100"
    [row] = session.execute("SHOW CONF 'hive.merge.cardinality.check'").fetchall()
    assert row[:2] == ("true", "BOOLEAN")


def test_show_conf_of_another_property_is_an_error(session: Session) -> None:
    with pytest.raises(ConfigError, match="does not know the property") as caught:
        session.execute("SHOW CONF 'hive.txn.timeot'")
    assert (caught.value.line, caught.value.column) == (1, 11)
    assert caught.value.hint == 'Did you mean "hive.txn.timeout"?'
