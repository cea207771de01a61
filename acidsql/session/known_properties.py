"""What SHOW CONF says of each property that acidsql knows."""

from __future__ import annotations

from collections.abc import Mapping

from acidsql.errors import ConfigError
from acidsql.execution.result import Result, text_rows
from acidsql.model.near import near_name
from acidsql.settings import default_of, kind_of, known_name
from acidsql.statements.fragment import Identifier

_OF_HIVE = {
    "hive.merge.cardinality.check": (
        "true",
        "BOOLEAN",
        "The check stays on: without it, a row could get two versions.",
    ),
    "hive.default.nulls.last": (
        "false",
        "BOOLEAN",
        "Has no effect: ORDER BY puts NULLs first, and behind DESC last.",
    ),
    "hive.strict.checks.type.safety": (
        "false",
        "BOOLEAN",
        "Has no effect: comparisons follow Spark's rules.",
    ),
}
"""Further properties of Hive: default, type and description."""

DESCRIPTIONS: Mapping[str, str] = {
    "hive.txn.timeout": "After this time without a heartbeat a transaction is aborted.",
    "hive.lock.sleep.between.retries": "The longest wait between two looks at a lock.",
    "hive.count.open.txns.interval": "For how long a count of open transactions is believed.",
    "hive.timedout.txn.reaper.start": "From the start of the service to the first housekeeping.",
    "hive.timedout.txn.reaper.interval": "From one housekeeping of the service to the next.",
    "hive.compactor.check.interval": "From one look for tables that need compaction to the next.",
    "hive.compactor.cleaner.run.interval": "From one run of the cleaner to the next.",
    "hive.compactor.initiator.failed.retry.time": (
        "After this time the initiator tries again where compactions have failed."
    ),
    "hive.compactor.worker.timeout": "How long a compaction may take.",
    "hive.compactor.cleaner.retention.time.seconds": (
        "With delayed cleanup: how long replaced directories stay after a compaction."
    ),
    "acidsql.service.lease": "How long a service that has died keeps others from its work.",
    "hive.compactor.aborted.txn.time.threshold": (
        "A table is compacted if one of its aborted transactions is older."
    ),
    "hive.compactor.worker.pool.timeout": (
        "After this time workers without a pool take compactions of any pool."
    ),
    "hive.max.open.txns": "How many transactions may be open.",
    "hive.txn.max.open.batch": "How many transactions one request may open.",
    "hive.lock.numretries": "How often a statement looks for a lock that it waits for.",
    "hive.txn.heartbeat.threadpool.size": "How many threads send heartbeats.",
    "hive.compactor.delta.num.threshold": "More deltas than these ask for a minor compaction.",
    "hive.compactor.delta.pct.threshold": (
        "Deltas of more than this share of the base ask for a major compaction."
    ),
    "hive.compactor.abortedtxn.threshold": (
        "More aborted transactions than these ask for a major compaction."
    ),
    "hive.compactor.max.num.delta": "Has no effect: a compaction opens one file at a time.",
    "hive.compactor.history.retention.succeeded": (
        "How many compactions that succeeded stay in the history of a place."
    ),
    "hive.compactor.history.retention.failed": (
        "How many compactions that failed stay in the history of a place."
    ),
    "hive.compactor.history.retention.attempted": (
        "How many compactions that were not begun stay in the history of a place."
    ),
    "hive.compactor.initiator.failed.compacts.threshold": (
        "After so many failures in a row the initiator asks for no compaction."
    ),
    "acidsql.compactor.cluster.bytes": (
        "How many bytes a compaction must merge to run on a Spark cluster."
    ),
    "hive.variable.substitute.depth": "In how many rounds variables are replaced.",
    "hive.exec.max.dynamic.partitions": "How many partitions the rows of an INSERT may name.",
    "acidsql.allow.reflection": "Whether SQL may call any method of Java.",
    "acidsql.allow.environment": "Whether variables in scripts show the environment.",
    "acidsql.allow.row.movement": "Whether UPDATE and MERGE may set partition and bucket columns.",
    "acidsql.strict.set": "Whether SET of a property that nobody knows is an error.",
    "hive.exec.drop.ignorenonexistent": "Whether DROP of what is not there is no error.",
    "hive.exec.dynamic.partition": "Whether the rows of an INSERT may name partitions.",
    "hive.compute.query.using.stats": "Whether statistics answer queries while they are true.",
    "hive.create.as.acid": "Whether a managed ORC table is full-ACID by default.",
    "hive.create.as.insert.only": "Whether other managed tables are insert-only by default.",
    "hive.variable.substitute": "Whether scripts replace variables.",
    "orc.force.positional.evolution": (
        "Whether tables that do not say so themselves match columns of files by position."
    ),
    "hive.txn.xlock.iow": "Whether OVERWRITE and TRUNCATE keep readers out.",
    "hive.txn.write.xlock": "Whether UPDATE, DELETE and MERGE wait for each other.",
    "hive.txn.strict.locking.mode": "Whether INSERT INTO a plain table keeps readers out.",
    "acidsql.missing.directory.is.empty": "Whether a missing directory counts as empty.",
    "hive.compactor.delayed.cleanup.enabled": (
        "Whether replaced directories stay for some time after a compaction."
    ),
    "acidsql.service": "inline: the session compacts and cleans up by itself; off.",
    "hive.default.fileformat": "The format of tables whose statements name none.",
    "hive.default.fileformat.managed": "The same for managed tables alone.",
    "hive.exec.dynamic.partition.mode": "strict: an INSERT must fix one partition column.",
    "acidsql.allowed.roots": "The directories below which statements may point to files.",
}


def show_property(name: Identifier) -> Result:
    """Default, type and description of a property, as Hive shows them. ConfigError for others."""
    key = known_name(name.name)
    if key in _OF_HIVE:
        row = _OF_HIVE[key]
    elif key in DESCRIPTIONS:
        row = (default_of(key), kind_of(key), DESCRIPTIONS[key])
    else:
        near = near_name(key, [*DESCRIPTIONS, *_OF_HIVE])
        raise ConfigError(
            f'SHOW CONF does not know the property "{key}"',
            hint=f'Did you mean "{near}"?' if near else "SET key shows what was set.",
            line=name.line,
            column=name.column,
        )
    return text_rows("show", ["default", "type", "desc"], [row])
