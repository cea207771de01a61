"""Hive's properties: each has its own effect, and none of its neighbours'."""

from __future__ import annotations

from pathlib import Path

import pytest

import acidsql
from acidsql.errors import ConfigError
from acidsql.service.timetable import ServiceTimes
from acidsql.settings import KNOWN, Settings, duration_s
from acidsql.txn.compaction_need import Thresholds
from acidsql.txn.policy import LONGEST_S, TxnPolicy

CHANGED: dict[str, tuple[str, str, object]] = {
    "hive.txn.timeout": ("90s", "txn_timeout_s", 90.0),
    "hive.lock.sleep.between.retries": ("2min", "lock_sleep_s", 120.0),
    "hive.count.open.txns.interval": ("7", "count_interval_s", 7.0),
    "hive.timedout.txn.reaper.start": ("1500ms", "reaper_start_s", 1.5),
    "hive.timedout.txn.reaper.interval": ("1h", "reaper_interval_s", 3600.0),
    "hive.compactor.check.interval": ("1min", "check_interval_s", 60.0),
    "hive.compactor.cleaner.run.interval": ("6000ms", "clean_interval_s", 6.0),
    "hive.compactor.cleaner.retention.time.seconds": ("22", "retention_s", 22.0),
    "hive.compactor.delayed.cleanup.enabled": ("true", "delayed_cleanup", True),
    "hive.compactor.worker.timeout": ("20h", "worker_timeout_s", 72000.0),
    "acidsql.service.lease": ("21s", "service_lease_s", 21.0),
    "acidsql.service": ("Inline", "service", "inline"),
    "hive.compactor.delta.num.threshold": ("15", "delta_count", 15),
    "hive.compactor.delta.pct.threshold": ("0.16", "delta_share", 0.16),
    "hive.compactor.abortedtxn.threshold": ("17", "aborted_threshold", 17),
    "hive.compactor.aborted.txn.time.threshold": ("18h", "aborted_threshold_s", 64800.0),
    "hive.compactor.initiator.failed.retry.time": ("25s", "failed_retry_s", 25.0),
    "hive.compactor.worker.pool.timeout": ("20min", "pool_timeout_s", 1200.0),
    "hive.compactor.initiator.failed.compacts.threshold": ("19", "failed_threshold", 19),
    "acidsql.compactor.cluster.bytes": ("24", "cluster_bytes", 24),
    "hive.compactor.max.num.delta": ("20", "max_num_delta", 20),
    "hive.compactor.history.retention.succeeded": ("5", "kept_succeeded", 5),
    "hive.compactor.history.retention.failed": ("23", "kept_failed", 23),
    "hive.compactor.history.retention.attempted": ("7", "kept_attempted", 7),
    "hive.max.open.txns": ("11", "max_open_txns", 11),
    "hive.txn.max.open.batch": ("12", "max_open_batch", 12),
    "hive.lock.numretries": ("13", "lock_retries", 13),
    "hive.txn.heartbeat.threadpool.size": ("14", "heartbeat_threads", 14),
    "orc.force.positional.evolution": ("false", "positional_evolution", False),
    "hive.txn.xlock.iow": ("false", "xlock_iow", False),
    "hive.txn.write.xlock": ("false", "write_xlock", False),
    "hive.txn.strict.locking.mode": ("false", "strict_locking", False),
    "acidsql.allow.reflection": ("true", "allow_reflection", True),
    "acidsql.missing.directory.is.empty": ("true", "missing_is_empty", True),
    "acidsql.allow.row.movement": ("true", "row_movement", True),
    "acidsql.allow.environment": ("true", "allow_environment", True),
    "hive.exec.drop.ignorenonexistent": ("false", "drop_ignores_missing", False),
    "hive.exec.dynamic.partition": ("false", "dynamic_partition", False),
    "hive.exec.dynamic.partition.mode": ("Strict", "dynamic_partition_mode", "strict"),
    "hive.exec.max.dynamic.partitions": ("5", "max_dynamic_partitions", 5),
    "hive.compute.query.using.stats": ("false", "uses_statistics", False),
    "hive.create.as.acid": ("true", "create_as_acid", True),
    "hive.create.as.insert.only": ("true", "create_as_insert_only", True),
    "hive.default.fileformat": ("TextFile", "default_format", "textfile"),
    "hive.default.fileformat.managed": ("ORC", "default_managed_format", "orc"),
    "hive.variable.substitute": ("false", "replaces_variables", False),
    "hive.variable.substitute.depth": ("4", "variable_depth", 4),
    "acidsql.strict.set": ("true", "strict_set", True),
    "acidsql.allowed.roots": ("/, s3a://b/w", "allowed_roots", ("/", "s3a://b/w")),
}
"""For each property another value than its default, and what that changes."""

POLICY = {
    "txn_timeout_s": "timeout_s", "lock_sleep_s": "lock_sleep_s",
    "count_interval_s": "count_interval_s", "max_open_txns": "max_open_txns",
    "max_open_batch": "max_open_batch", "lock_retries": "lock_retries", "xlock_iow": "xlock_iow",
    "write_xlock": "write_xlock", "strict_locking": "strict_locking",
    "delayed_cleanup": "delayed_cleanup", "retention_s": "retention_s",
    "worker_timeout_s": "worker_timeout_s", "pool_timeout_s": "pool_timeout_s",
    "kept_succeeded": "kept_succeeded", "kept_failed": "kept_failed",
    "kept_attempted": "kept_attempted",
    "failed_threshold": "kept_failed",
}  # fmt: skip
"""What the transaction manager goes by."""


def test_every_property_is_here() -> None:
    assert set(CHANGED) == KNOWN
    assert Settings.of("w").policy == TxnPolicy()
    assert Settings.of("w").thresholds == Thresholds()


@pytest.mark.parametrize("key", CHANGED)
def test_a_property_changes_what_it_is_called_by(key: str) -> None:
    text, name, value = CHANGED[key]
    before, after = Settings.of("w"), Settings.of("w", config={key: text})
    assert getattr(before, name) != value
    assert after == before.model_copy(update={name: value})
    changed = {POLICY[name]: value} if name in POLICY else {}
    for field in TxnPolicy.__dataclass_fields__:
        expected = changed.get(field, getattr(before.policy, field))
        assert getattr(after.policy, field) == expected, field


def test_a_session_goes_by_them(tmp_path: Path) -> None:
    config = {key: text for key, (text, *_) in CHANGED.items()}
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=config) as session:
        policy = Settings.of("w", config=config).policy
        assert session._policy == session._store.policy == session._open_txn.policy == policy
        assert session._open_txn.heartbeats._size == 14
        assert not session._engine._by_position
        assert session._rounds.initiator.thresholds == Thresholds(
            delta_count=15,
            delta_share=0.16,
            aborted=17,
            aborted_s=64800.0,
            failures=19,
            retry_s=25.0,
        )
        assert session.service_times == ServiceTimes(
            check_s=60, clean_s=6, reap_start_s=1.5, reap_s=3600, work_limit_s=72000, lease_s=21
        )
        assert session._inline is not None


def test_without_properties_the_times_are_hives_and_nothing_runs_inside(tmp_path: Path) -> None:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        assert session.service_times == ServiceTimes()
        assert session._inline is None


def test_a_service_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"^acidsql\.service: .*inline"):
        Settings.of("w", config={"acidsql.service": "on"})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300", 300), ("300s", 300), ("300sec", 300), ("300seconds", 300), ("2MINUTES", 120),
        ("2 m", 120), ("250ms", 0.25), ("250msec", 0.25), ("2h", 7200), ("2hours", 7200),
        ("1d", 86400), ("11day", 950_400), ("5us", 5e-6), ("5usec", 5e-6), ("8ns", 8e-9),
    ],
)  # fmt: skip
def test_times_as_hive_writes_them(text: str, seconds: float) -> None:
    assert duration_s("hive.txn.timeout", text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["9223372036854775807ms", "9" * 400, "36601d"])
def test_a_time_that_means_never(text: str) -> None:
    assert duration_s("hive.txn.timeout", text) == LONGEST_S


@pytest.mark.parametrize("text", ["", "s", "-1s", "5 weeks", "1m30s", "soon"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ConfigError, match=r"not a time for hive\.txn\.timeout"):
        duration_s("hive.txn.timeout", text)


def test_a_second_name_of_a_property() -> None:
    settings = Settings.of("w", config={"metastore.txn.timeout": "7s"})
    assert settings.txn_timeout_s == 7
    both = {"hive.txn.timeout": "7s", "metastore.txn.timeout": "8s"}
    for config in (both, dict(reversed(both.items()))):
        with pytest.raises(ConfigError, match="are one property, and have two values"):
            Settings.of("w", config=config)
    with pytest.raises(ConfigError, match="unknown property"):
        Settings.of("w", config={"metastore.exec.dynamic.partition": "true"})
