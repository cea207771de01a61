"""Calls that fail if they are made twice. If an answer is lost, we look what the call has done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from acidsql.backends.metastore.errors import LostAnswerError, MetaError
from acidsql.backends.metastore.locations import place_of
from acidsql.errors import AcidSqlError
from acidsql.txn.commit import unless_done


@contextmanager
def looked_at(is_done: Callable[[], bool], *errors: type[AcidSqlError]) -> Iterator[None]:
    """A block with such a call. The call's error is raised unless ``is_done`` finds the change.

    A server may also fail after the change, as in one of its listeners (MetaException). ``errors``
    are those of a call that may be made twice, if the first one was carried out.
    """
    try:
        with unless_done(is_done, (LostAnswerError, MetaError, *errors)):
            yield
    except LostAnswerError as error:
        if error.sent:
            error.hint = "It may have carried it out all the same: see what is there."
        raise


def is_made(wanted: Any, found: Any | None) -> bool:
    """Whether the Table that was found is the one that a call was to make."""
    return found is not None and _shape(found) == _shape(wanted)


def _shape(table: Any) -> tuple[list[tuple[str, str]], str | None, str | None]:
    fields = [(field.name, field.type) for field in table.sd.cols]
    place = place_of(table.sd.location) if table.sd.location else None
    return fields, place, table.viewOriginalText or None
