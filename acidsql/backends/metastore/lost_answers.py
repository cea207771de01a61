"""Calls that fail if they are made twice. If an answer is lost, we look what the call has done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from acidsql.backends.metastore.errors import LostAnswerError, MetaError
from acidsql.backends.metastore.locations import place_of
from acidsql.errors import AcidSqlError

_log = logging.getLogger(__name__)


@contextmanager
def looked_at(is_done: Callable[[], bool], *errors: type[AcidSqlError]) -> Iterator[None]:
    """A block with such a call. The call's error is raised unless ``is_done`` finds the change.

    A server may also fail after the change, as in one of its listeners (MetaException). ``errors``
    are those of a call that may be made twice, if the first one was carried out.
    """
    doubtful: tuple[type[AcidSqlError], ...] = (LostAnswerError, MetaError, *errors)
    try:
        yield
    except doubtful:
        with suppress(AcidSqlError):
            if is_done():
                _log.warning("carried out, though the answer was lost", exc_info=True)
                return
        raise


def is_made(wanted: Any, found: Any | None) -> bool:
    """Whether the Table that was found is the one that a call was to make."""
    return found is not None and _shape(found) == _shape(wanted)


def _shape(table: Any) -> tuple[list[tuple[str, str]], str | None, str | None]:
    fields = [(field.name, field.type) for field in table.sd.cols]
    place = place_of(table.sd.location) if table.sd.location else None
    return fields, place, table.viewOriginalText or None
