"""Settings: Hive's property names become one frozen value."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acidsql.errors import ConfigError
from acidsql.model.table import POSITIONAL_EVOLUTION
from acidsql.txn.compaction_need import DELTA_COUNT, DELTA_SHARE, Thresholds
from acidsql.txn.policy import LONGEST_S, TxnPolicy

_UNITS = {
    "": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
}
_WORDS = {
    "nsec": "ns", "usec": "us", "msec": "ms", "sec": "s", "min": "m", "hour": "h", "day": "d",
}  # fmt: skip
"""How Hive's longer words for units begin (HiveConf.unitFor): "seconds" begins with "sec"."""
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*")

_TIMES = {
    "hive.txn.timeout": "txn_timeout_s",
    "hive.lock.sleep.between.retries": "lock_sleep_s",
    "hive.count.open.txns.interval": "count_interval_s",
    "hive.timedout.txn.reaper.start": "reaper_start_s",
    "hive.timedout.txn.reaper.interval": "reaper_interval_s",
    "hive.compactor.check.interval": "check_interval_s",
    "hive.compactor.cleaner.run.interval": "clean_interval_s",
    "hive.compactor.initiator.failed.retry.time": "failed_retry_s",
    "hive.compactor.worker.timeout": "worker_timeout_s",
    "hive.compactor.cleaner.retention.time.seconds": "retention_s",
    "acidsql.service.lease": "service_lease_s",
    "hive.compactor.aborted.txn.time.threshold": "aborted_threshold_s",
    "hive.compactor.worker.pool.timeout": "pool_timeout_s",
}
_COUNTS = {
    "hive.max.open.txns": "max_open_txns",
    "hive.txn.max.open.batch": "max_open_batch",
    "hive.lock.numretries": "lock_retries",
    "hive.txn.heartbeat.threadpool.size": "heartbeat_threads",
    DELTA_COUNT: "delta_count",
    DELTA_SHARE: "delta_share",
    "hive.compactor.abortedtxn.threshold": "aborted_threshold",
    "hive.compactor.max.num.delta": "max_num_delta",
    "hive.compactor.history.retention.succeeded": "kept_succeeded",
    "hive.compactor.history.retention.failed": "kept_failed",
    "hive.compactor.history.retention.attempted": "kept_attempted",
    "hive.compactor.initiator.failed.compacts.threshold": "failed_threshold",
    "acidsql.compactor.cluster.bytes": "cluster_bytes",
    "hive.variable.substitute.depth": "variable_depth",
    "hive.exec.max.dynamic.partitions": "max_dynamic_partitions",
}
_FLAGS = {
    "acidsql.allow.reflection": "allow_reflection",
    "acidsql.allow.environment": "allow_environment",
    "acidsql.allow.row.movement": "row_movement",
    "acidsql.strict.set": "strict_set",
    "hive.exec.drop.ignorenonexistent": "drop_ignores_missing",
    "hive.exec.dynamic.partition": "dynamic_partition",
    "hive.compute.query.using.stats": "uses_statistics",
    "hive.create.as.acid": "create_as_acid",
    "hive.create.as.insert.only": "create_as_insert_only",
    "hive.variable.substitute": "replaces_variables",
    POSITIONAL_EVOLUTION: "positional_evolution",
    "hive.txn.xlock.iow": "xlock_iow",
    "hive.txn.write.xlock": "write_xlock",
    "hive.txn.strict.locking.mode": "strict_locking",
    "acidsql.missing.directory.is.empty": "missing_is_empty",
    "hive.compactor.delayed.cleanup.enabled": "delayed_cleanup",
}
_ROOTS = "acidsql.allowed.roots"
_WORDED = {
    "acidsql.service": "service",
    "hive.default.fileformat": "default_format",
    "hive.default.fileformat.managed": "default_managed_format",
    "hive.exec.dynamic.partition.mode": "dynamic_partition_mode",
}
_FIELDS = {**_TIMES, **_COUNTS, **_FLAGS, **_WORDED, _ROOTS: "allowed_roots"}
KNOWN = frozenset(_FIELDS)
"""The properties that acidsql knows: some of Hive's, and its own, which begin with "acidsql."."""


_OF_METASTORE = frozenset({
    "hive.create.as.acid", "hive.txn.timeout", "hive.txn.max.open.batch", "hive.max.open.txns",
    "hive.count.open.txns.interval",
    "hive.timedout.txn.reaper.start", "hive.timedout.txn.reaper.interval",
})  # fmt: skip


def known_name(key: str) -> str:
    """The name under which a property is known, or the key itself for an unknown one.

    In Hive 4 a property of the metastore has two names (MetastoreConf).

    >>> known_name("metastore.create.as.acid"), known_name("metastore.exec.dynamic.partition")
    ('hive.create.as.acid', 'metastore.exec.dynamic.partition')
    """
    name = "hive." + key.removeprefix("metastore.")
    of_metastore = name in _OF_METASTORE or name.startswith("hive.compactor.")
    return name if key.startswith("metastore.") and of_metastore and name in KNOWN else key


class Settings(BaseModel):
    """The settings of a session. ``spark`` holds the keys that begin with "spark."."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    warehouse: str
    metastore: str | None = Field(default=None, repr=False)
    """May hold a password."""
    user: str
    host: str
    txn_timeout_s: float = Field(default=300.0, gt=0)
    max_open_txns: int = Field(default=100_000, gt=0)
    max_open_batch: int = Field(default=1000, gt=0)
    count_interval_s: float = Field(default=1.0, ge=0)
    reaper_start_s: float = Field(default=100.0, ge=0)
    """Seconds from the start of ``acidsql service`` to the first run of the housekeeper."""
    reaper_interval_s: float = Field(default=180.0, gt=0)
    """Seconds from one run of the housekeeper to the next."""
    lock_retries: int = Field(default=100, ge=0)
    lock_sleep_s: float = Field(default=60.0, gt=0)
    heartbeat_threads: int = Field(default=5, gt=0)
    check_interval_s: float = Field(default=300.0, gt=0)
    """Seconds from one run of the initiator to the next, in ``acidsql service``."""
    clean_interval_s: float = Field(default=5.0, gt=0)
    """Seconds from one run of the cleaner to the next, in ``acidsql service``."""
    worker_timeout_s: float = Field(default=86_400.0, gt=0)
    """How long a compaction may take before its service counts as unwell, and, without a heartbeat,
    before another worker takes it.
    """
    delayed_cleanup: bool = False
    retention_s: float = Field(default=300.0, ge=0)
    """With ``delayed_cleanup``: how long after its commit a compaction is not cleaned up after."""
    dynamic_partition: bool = True
    dynamic_partition_mode: Literal["strict", "nonstrict"] = "nonstrict"
    max_dynamic_partitions: int | None = Field(default=None, gt=0)
    """How many partitions the rows of an INSERT may name; None for any number."""
    service_lease_s: float = Field(default=30.0, gt=0)
    """How long a service that has died keeps others from its work, beyond its next round."""
    service: Literal["inline", "off"] = "off"
    """Whether a session compacts and cleans up in the background, after its commits."""
    delta_count: int = Field(default=10, ge=0)
    delta_share: float = Field(default=0.1, ge=0)
    aborted_threshold: int = Field(default=1000, ge=0)
    aborted_threshold_s: float = 12 * 3600
    max_num_delta: int = Field(default=500, gt=1)
    """Accepted for Hive's sake, and without effect: a compaction opens one file at a time."""
    kept_succeeded: int = Field(default=3, ge=0)
    kept_failed: int = Field(default=3, ge=0)
    kept_attempted: int = Field(default=2, ge=0)
    failed_threshold: int = Field(default=2, ge=0)
    cluster_bytes: int = Field(default=128 << 20, ge=0)
    """How many bytes a compaction must merge to run on Spark, where Spark is a cluster."""
    failed_retry_s: float = Field(default=7 * 86400.0, ge=0)
    """Seconds after which the initiator tries again in spite of failures. 0 for never."""
    pool_timeout_s: float = Field(default=12 * 3600.0, ge=0)
    """Seconds after which workers without a pool take compactions of any pool."""
    positional_evolution: bool = True
    xlock_iow: bool = True
    write_xlock: bool = True
    strict_locking: bool = True
    allow_reflection: bool = False
    """Whether SQL may call any method of Java with java_method, reflect and try_reflect."""
    row_movement: bool = False
    """Whether UPDATE and MERGE may set partition and bucket columns, which moves rows."""
    allow_environment: bool = False
    """Whether ``${env:…}`` and ``${system:…}`` in scripts show this process's environment."""
    drop_ignores_missing: bool = True
    """Whether DROP TABLE and DROP PARTITION of what is not there is no error."""
    uses_statistics: bool = True
    """Whether what ANALYZE TABLE found may answer count(*), min and max, while it is true."""
    create_as_acid: bool | None = None
    """Whether a managed ORC table is full-ACID if its statement does not say the kind.

    None: if it does not say the format either.
    """
    create_as_insert_only: bool = False
    """Whether other managed tables are insert-only if their statements do not say the kind."""
    default_format: Literal["orc", "parquet", "textfile"] | None = None
    """The format of tables whose statements name none. None: text for external ones, else ORC."""
    default_managed_format: Literal["orc", "parquet", "textfile", "none"] | None = None
    """The same for managed tables alone. "none": ``default_format``, or text."""
    replaces_variables: bool = True
    """Whether scripts replace variables."""
    variable_depth: int = Field(default=40, ge=0, le=1000)
    """How many rounds of replacements the variables of a statement may need."""
    strict_set: bool = False
    """Whether SET of a property that neither acidsql nor Hive knows is an error."""
    missing_is_empty: bool = False
    """Whether a missing directory of a table or partition counts as empty, as in Hive."""
    allowed_roots: tuple[str, ...] = ()
    """LOCATION, LOAD DATA, read_acid and the warehouse must lie below one of these directories.

    () allows every directory.
    """
    spark: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """May hold the secret keys of object stores."""

    @classmethod
    def of(
        cls,
        warehouse: str,
        *,
        metastore: str | None = None,
        user: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> Settings:
        """From the arguments of connect. ConfigError for an unknown property or a bad value."""
        values, spark = _values(config or {})
        return cls._checked(
            warehouse=_absolute(warehouse),
            metastore=metastore,
            user=user or _user(),
            host=socket.gethostname(),
            spark=spark,
            **values,
        )

    def changed(self, config: Mapping[str, str]) -> Settings:
        """With other values for some properties. The errors are those of `of`."""
        values, spark = _values(config)
        return self._checked(**{**dict(self), **values, "spark": {**self.spark, **spark}})

    def text_of(self, key: str) -> str | None:
        """The value of a known property in Hive's notation; None where there is none.

        >>> settings = Settings.of("w", config={"hive.txn.timeout": "5min"})
        >>> settings.text_of("hive.txn.timeout"), settings.text_of("hive.txn.xlock.iow")
        ('300s', 'true')
        """
        value = getattr(self, _FIELDS[key])
        match value:
            case bool():
                return str(value).lower()
            case float():
                return f"{value:.15g}" + ("s" if key in _TIMES else "")
            case tuple():
                return ",".join(value) or None
            case None:
                return None
        return str(value)

    @property
    def given(self) -> dict[str, str]:
        """The known properties whose values are not the defaults, in Hive's notation."""
        fields = type(self).model_fields
        other = (k for k, name in _FIELDS.items() if getattr(self, name) != fields[name].default)
        return {key: self.text_of(key) or "" for key in other}

    @classmethod
    def _checked(cls, **values: Any) -> Settings:
        """ConfigError, with the name of the property, for a value that does not fit its field."""
        try:
            return cls(**values)
        except ValidationError as error:
            first = error.errors()[0]
            field = first["loc"][0]
            names = {name: key for key, name in _FIELDS.items()}
            raise ConfigError(f"{names.get(str(field), field)}: {first['msg']}") from error

    @property
    def thresholds(self) -> Thresholds:
        """The settings that the initiator needs."""
        return Thresholds(
            delta_count=self.delta_count,
            delta_share=self.delta_share,
            aborted=self.aborted_threshold,
            aborted_s=self.aborted_threshold_s,
            failures=self.failed_threshold,
            retry_s=self.failed_retry_s,
        )

    def followed_by(self, policy: TxnPolicy) -> TxnPolicy:
        """A policy with what a session may change of it: its waits for locks, and its locks."""
        return replace(
            policy,
            lock_retries=self.lock_retries,
            lock_sleep_s=self.lock_sleep_s,
            xlock_iow=self.xlock_iow,
            write_xlock=self.write_xlock,
            strict_locking=self.strict_locking,
        )

    @property
    def policy(self) -> TxnPolicy:
        """The settings that the transaction manager needs."""
        return TxnPolicy(
            timeout_s=self.txn_timeout_s,
            max_open_txns=self.max_open_txns,
            max_open_batch=self.max_open_batch,
            count_interval_s=self.count_interval_s,
            lock_retries=self.lock_retries,
            lock_sleep_s=self.lock_sleep_s,
            xlock_iow=self.xlock_iow,
            write_xlock=self.write_xlock,
            strict_locking=self.strict_locking,
            pool_timeout_s=self.pool_timeout_s,
            delayed_cleanup=self.delayed_cleanup,
            retention_s=self.retention_s,
            worker_timeout_s=self.worker_timeout_s,
            kept_succeeded=self.kept_succeeded,
            # The initiator counts the failures in the history (as in Hive).
            kept_failed=max(self.kept_failed, self.failed_threshold),
            kept_attempted=self.kept_attempted,
        )


def _values(config: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of the fields, and the properties of Spark. ConfigError for an unknown one."""
    values: dict[str, Any] = {}
    spark: dict[str, str] = {}
    for given, value in config.items():
        key = known_name(given)
        if key != given and config.get(key, value) != value:
            raise ConfigError(f"{given} and {key} are one property, and have two values")
        if key.startswith("spark."):
            spark[key] = str(value)
        elif key in _TIMES:
            values[_TIMES[key]] = duration_s(key, str(value))
        elif key in _COUNTS or key in _FLAGS:
            values[_FIELDS[key]] = value
        elif key in _WORDED:
            values[_WORDED[key]] = str(value).strip().lower()
        elif key == _ROOTS:
            values["allowed_roots"] = _roots(str(value))
        else:
            known = ", ".join(sorted(KNOWN))
            raise ConfigError(
                f'unknown property "{key}"', hint=f"The known properties are {known}, spark.*."
            )
    return values, spark


def default_of(key: str) -> str:
    """The default of a known property in Hive's notation; an empty text where there is none."""
    return Settings(warehouse="", user="", host="").text_of(key) or ""


def kind_of(key: str) -> str:
    """The type of a known property, in the words of Hive's SHOW CONF."""
    if key in _TIMES:
        return "TIME"
    if key in _FLAGS:
        return "BOOLEAN"
    if key in _COUNTS:
        return "FLOAT" if key == DELTA_SHARE else "INT"
    return "STRING"


def duration_s(key: str, text: str) -> float:
    """Seconds of a time in Hive's notation. ConfigError for another text.

    A longer time than `LONGEST_S`, such as Java's longest in milliseconds, means "never", and is
    that time.

    >>> duration_s("hive.txn.timeout", "5min"), duration_s("hive.txn.timeout", "1500ms")
    (300.0, 1.5)
    """
    match = _DURATION.fullmatch(text.lower())
    unit = match[2] if match is not None else ""
    unit = next((short for word, short in _WORDS.items() if unit.startswith(word)), unit)
    if match is None or unit not in _UNITS:
        raise ConfigError(
            f'"{text}" is not a time for {key}', hint='Write it like "300s" or "5min".'
        )
    return min(float(match[1]) * _UNITS[unit], LONGEST_S)


def _absolute(warehouse: str) -> str:
    if warehouse.startswith("file:"):
        # As a plain path: Spark does not decode the percent-encoded characters of a URI.
        return os.path.abspath(unquote(urlsplit(warehouse).path))
    return warehouse.rstrip("/") if "://" in warehouse else os.path.abspath(warehouse)


def _roots(text: str) -> tuple[str, ...]:
    """The paths or URIs of a text with commas between them. ConfigError for a relative path."""
    roots = [root.strip() for root in text.split(",")]
    for root in roots:
        if not root.startswith("/") and ":/" not in root:
            raise ConfigError(
                f'{_ROOTS}: "{root}" is not an absolute path',
                hint='Write absolute paths with commas between them: "/data,/srv/warehouse".',
            )
    return tuple(map(_absolute, roots))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
