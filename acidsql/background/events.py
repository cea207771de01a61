"""What work in the background has done, as one structured line each."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum

from acidsql.model.names import TableName
from acidsql.txn.entities import Compaction, CompactionType

_log = logging.getLogger(__name__)


class Action(Enum):
    """What has happened. The value is the text of the line."""

    STARTED = "service started"
    STOPPED = "service stopped"
    LISTENING = "service listening"
    ASKED = "compaction asked for"
    BEGUN = "compaction begun"
    DONE = "compaction done"
    REFUSED = "compaction refused"
    FAILED = "compaction failed"
    CLEANED = "cleaned"
    FORGOTTEN = "aborted writes removed"
    TIMED_OUT = "transaction timed out"
    DROPPED = "temporary tables dropped"


@dataclass(frozen=True, slots=True)
class Event:
    """One action. A field is None where it does not apply, or is not known.

    ``bytes`` are those of the files that a compaction reads, or that a cleaning removes.
    ``directories`` counts them. ``seconds`` is how long the work took.
    """

    action: Action
    table: str | None = None
    partition: str | None = None
    type: str | None = None
    compaction_id: int | None = None
    txn_id: int | None = None
    directories: int | None = None
    bytes: int | None = None
    seconds: float | None = None
    reason: str | None = None
    parts: str | None = None
    address: str | None = None
    database: str | None = None

    @classmethod
    def of(
        cls,
        action: Action,
        compaction: Compaction,
        *,
        directories: int | None = None,
        bytes: int | None = None,
        seconds: float | None = None,
        reason: str | None = None,
    ) -> Event:
        """What has become of a compaction."""
        return cls(
            action,
            str(TableName(compaction.database, compaction.table)),
            compaction.partition,
            type_word(compaction.type),
            compaction.compaction_id,
            directories=directories,
            bytes=bytes,
            seconds=seconds,
            reason=reason,
        )

    @property
    def details(self) -> dict[str, str | int | float]:
        """The fields that are known, by name, without the action.

        >>> Event(Action.TIMED_OUT, txn_id=7).details
        {'txn_id': 7}
        """
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "action"}
        return {name: value for name, value in values.items() if value is not None}


Tell = Callable[[Event], object]


def type_word(type: CompactionType) -> str:
    """The type of a compaction as a word.

    >>> type_word(CompactionType.MAJOR)
    'major'
    """
    return type.name.lower()


def log_event(event: Event) -> None:
    """Log the event: a failure as a warning. The record has it as ``event``."""
    level = logging.WARNING if event.action is Action.FAILED else logging.INFO
    _log.log(level, "%s", line_of(event), extra={"event": event})


def line_of(event: Event) -> str:
    r"""The event as one line of text.

    >>> line_of(Event(Action.ASKED, "default.t", type="minor", reason='say "no"'))
    'compaction asked for: table=default.t type=minor reason="say \\"no\\""'
    """
    pairs = [f"{name}={_value(value)}" for name, value in event.details.items()]
    return f"{event.action.value}: {' '.join(pairs)}" if pairs else event.action.value


def _value(value: str | float) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    is_plain = text and text.isprintable() and not any(c in text for c in ' "=\\')
    # In quotation marks it stays on one line, whatever it holds.
    return text if is_plain else json.dumps(text, ensure_ascii=not text.isprintable())
