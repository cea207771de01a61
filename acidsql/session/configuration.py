"""The configuration of a session: what it was given, what SET has changed, and variables."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable

from typing_extensions import assert_never

from acidsql.errors import ConfigError
from acidsql.execution.result import Result, text_rows
from acidsql.grammar.replaced import Replaced
from acidsql.grammar.variables import replace_variables
from acidsql.model.credentials import HIDDEN, is_quotable, secrets_of
from acidsql.ports.engine import Engine
from acidsql.session.known_properties import show_property
from acidsql.session.parameters import check_text
from acidsql.settings import KNOWN, Settings, known_name
from acidsql.statements import (
    ConfigurationStatement,
    DescribeConfiguration,
    ResetConfiguration,
    SetConfiguration,
    ShowConfiguration,
)

_HIVEVAR, _HIVECONF, _SYSTEM, _ENV = "hivevar:", "hiveconf:", "system:", "env:"

SETTABLE = frozenset({
    "hive.lock.numretries", "hive.lock.sleep.between.retries",
    "hive.txn.xlock.iow", "hive.txn.write.xlock", "hive.txn.strict.locking.mode",
    "hive.compactor.delta.num.threshold", "hive.compactor.delta.pct.threshold",
    "hive.compactor.abortedtxn.threshold", "hive.compactor.aborted.txn.time.threshold",
    "hive.compactor.initiator.failed.retry.time",
    "hive.exec.drop.ignorenonexistent", "hive.create.as.acid", "hive.create.as.insert.only",
    "hive.compute.query.using.stats",
    "hive.default.fileformat", "hive.default.fileformat.managed",
    "hive.variable.substitute", "hive.variable.substitute.depth",
    "hive.exec.dynamic.partition", "hive.exec.dynamic.partition.mode",
    "hive.exec.max.dynamic.partitions", "acidsql.allow.row.movement",
})  # fmt: skip
"""The properties that SET changes from the next statement on."""
_OWN = "acidsql."
_OF_OTHERS = (
    "hive.", "hiveserver2.", "metastore.", "metaconf:", "mapred.", "mapreduce.", "tez.", "llap.",
    "yarn.", "hadoop.", "fs.", "dfs.", "io.", "ipc.", "file.", "net.", "ha.", "security.",
    "datanucleus.", "javax.jdo.", "parquet.", "orc.", "avro.", "hbase.", "zookeeper.", "ranger.",
    "beeline.",
)  # fmt: skip
"""How the properties of Hive, and of what Hive runs on, begin."""
_NOT_DONE = {
    ("hive.merge.cardinality.check", "false"): "Without the check, a row could get two versions.",
    ("hive.strict.checks.type.safety", "true"): (
        "Comparisons follow Spark's rules: a bigint beside a double loses digits."
    ),
    ("hive.default.nulls.last", "true"): (
        "ORDER BY puts NULLs first, and behind DESC last, as in Hive 3: write NULLS LAST or FIRST."
    ),
}
"""Properties of Hive, the value that asks for what is not done, and why it is not."""


class Configuration:
    """What SET and RESET change in a session. Several threads may use it.

    ``settings`` are those in force; ``changed`` is told them after each change.
    """

    def __init__(
        self, given: Settings, engine: Engine, changed: Callable[[Settings], object]
    ) -> None:
        self._given = self.settings = given
        self._engine = engine
        self._changed = changed
        self._set: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        self._noted: set[str] = set()
        self._guard = threading.RLock()

    def run(self, statement: ConfigurationStatement) -> Result:
        """Carry out SET or RESET. ConfigError, with line and column, for what cannot be set."""
        match statement:
            case SetConfiguration(key, value, line, column):
                try:
                    return self.set(key, value)
                except ConfigError as error:
                    error.line, error.column = line, column
                    raise
            case ShowConfiguration(key):
                return text_rows("set", ["set"], [(line,) for line in self._shown(key)])
            case ResetConfiguration(keys):
                return self._reset(keys)
            case DescribeConfiguration(name):
                return show_property(name)
            case _:
                assert_never(statement)

    def set(self, key: str, value: str) -> Result:
        """Give a property or a variable a value. The message says so if that has no effect.

        ConfigError for a property that no statement may change, and for a value that does not fit.
        """
        with self._guard:
            if key.startswith(_ENV):
                raise ConfigError(
                    f"{key} cannot be set", hint="Write SET hivevar:name = value, and ${name}."
                )
            if key.startswith((_HIVEVAR, _SYSTEM)):
                self._variables[key] = value
                return Result("set", message="OK")
            note = self._set_property(_plain(key), value)
            if note is None or key in self._noted:
                return Result("set", message="OK")
            self._noted.add(key)
            return Result("set", message=f"OK\n{note}")

    def replaced(self, sql: str, line: int, column: int) -> str | Replaced:
        """A statement of a script with its variables replaced, unless that is turned off."""
        settings = self.settings
        if not settings.replaces_variables:
            return sql
        depth = settings.variable_depth
        text = replace_variables(sql, self.value_of, depth, line=line, column=column)
        check_text(text.text, "the value of a variable")
        return text

    def value_of(self, name: str) -> str | None:
        """The value of a variable by its name between ``${`` and ``}``; None without one.

        A secret that the session was given is no value.
        """
        with self._guard:
            if not name.startswith(_HIVECONF):
                prefixed = name.startswith((_HIVEVAR, _SYSTEM, _ENV))
                value = self._variables.get(name if prefixed else _HIVEVAR + name)
                return self._of_process(name) if value is None else value
            key = _plain(name)
            value = self._property(key)
            secret = value is not None and key not in self._set and _is_secret(key, value)
            return None if secret else value

    def _of_process(self, name: str) -> str | None:
        """The value of ``env:…`` or ``system:…``; None if a script must not see it."""
        if not self._given.allow_environment:
            return None
        if name.startswith(_SYSTEM):
            return self._system_property(name.removeprefix(_SYSTEM))
        return os.environ.get(name.removeprefix(_ENV)) if name.startswith(_ENV) else None

    def _system_property(self, name: str) -> str | None:
        """One of Java's system properties that scripts use; there is no Java to ask."""
        match name:
            case "user.name":
                return self._given.user
            case "user.home":
                return os.path.expanduser("~")
            case "user.dir":
                return os.getcwd()
            case "java.io.tmpdir":
                return tempfile.gettempdir()
        return None

    def _set_property(self, key: str, value: str) -> str | None:
        """Set a property. Returns what to note about it."""
        note = None
        if key in SETTABLE:
            self._apply({**self._set, key: value})
        elif key in KNOWN:
            return self._refuse_or_note_fixed(key, value)
        elif key.startswith(_OWN):
            raise ConfigError(f'unknown property "{key}"', hint="See docs/statements.md.")
        elif key.startswith("spark."):
            reason = self._engine.configure(key, value)
            if reason is not None:
                return f"{key} has no effect here. {reason}"
        elif key.startswith(_OF_OTHERS):
            note = _note_of_hive(key, value)
        elif self._given.strict_set:
            raise ConfigError(
                f'unknown property "{key}"',
                detail="acidsql.strict.set is true.",
                hint=f"For a variable write SET hivevar:{key} = value.",
            )
        else:
            variable = f"${{hiveconf:{key}}}"
            note = f"{key} is no property of acidsql or Hive. In scripts it is {variable}."
        self._set[key] = value
        return note

    def _refuse_or_note_fixed(self, key: str, value: str) -> str:
        """What to note about a property that counts from connect on.

        ConfigError for one of acidsql: whoever connects decides what statements may do.
        """
        if key.startswith(_OWN):
            raise ConfigError(f"{key} cannot be changed by SET", hint="Pass it in config=.")
        self._given.changed({key: value})
        return (
            f"{key} has no effect here: it counts from connect on, and is"
            f" {self.settings.text_of(key)}."
        )

    def _apply(self, properties: dict[str, str]) -> None:
        """Make these the properties that were set, and put the settings in force."""
        own = {key: value for key, value in properties.items() if key in SETTABLE}
        self.settings = self._given.changed(own)
        self._changed(self.settings)
        self._set = properties

    def _reset(self, keys: tuple[str, ...]) -> Result:
        """Take properties back to what the session was given; without keys, all of them.

        Variables are taken back only by their names.
        """
        with self._guard:
            names = {_plain(key) for key in keys} if keys else set(self._set)
            for key in keys:
                self._variables.pop(key, None)
            for name in names:
                if name.startswith("spark."):
                    self._engine.configure(name, None)
            self._apply({k: v for k, v in self._set.items() if k not in names})
        return Result("reset", message="OK")

    def _shown(self, key: str | None) -> list[str]:
        """The lines of SET, or of SET with a key: ``key=value``, as in Hive."""
        with self._guard:
            if key is None:
                properties = {**self._given.spark, **self._given.given, **self._set}
                return [_line(k, v) for k, v in sorted({**properties, **self._variables}.items())]
            if key.startswith((_HIVEVAR, _SYSTEM, _ENV, _HIVECONF)):
                value = self.value_of(key)
            else:
                value = self._property(known_name(key))
                value = self._variables.get(_HIVEVAR + key) if value is None else value
        return [f"{key} is undefined" if value is None else _line(key, value)]

    def _property(self, key: str) -> str | None:
        if key in self._set:
            return self._set[key]
        return self.settings.text_of(key) if key in KNOWN else self._given.spark.get(key)


def _plain(key: str) -> str:
    """The name under which a property is kept."""
    return known_name(key.removeprefix(_HIVECONF))


def _note_of_hive(key: str, value: str) -> str | None:
    """What to note about a property of Hive; None if it asks for what is done in any case."""
    if all(key != known for known, _ in _NOT_DONE):
        return f"{key} has no meaning here."
    reason = _NOT_DONE.get((key, value.strip().lower()))
    return None if reason is None else f"{key} has no effect here. {reason}"


def _line(key: str, value: str) -> str:
    return f"{key}={HIDDEN if _is_secret(key, value) else value}"


def _is_secret(key: str, value: str) -> bool:
    """Whether a value may be a password, or hold one."""
    is_like_url = "://" in value or "=" in value
    return bool(secrets_of({key: value})) or (is_like_url and not is_quotable(value))
