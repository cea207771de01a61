"""Which compaction a table or partition needs, by plain numbers and Hive's thresholds.

The rules are those of Hive's Initiator (checkForCompaction, determineCompactionType).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from acidsql.errors import ConfigError
from acidsql.txn.entities import CompactionType

TABLE_PREFIX = "compactorthreshold."
"""A table's property with this prefix and a threshold's name counts for the table."""
DELTA_COUNT = "hive.compactor.delta.num.threshold"
DELTA_SHARE = "hive.compactor.delta.pct.threshold"
_WHOLE = re.compile(r"\s*\d+\s*", re.ASCII)
_DECIMAL = re.compile(r"\s*(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a compaction is asked for, with Hive's defaults. Each threshold must be exceeded.

    ``delta_count`` is hive.compactor.delta.num.threshold, ``delta_share``
    hive.compactor.delta.pct.threshold (the bytes of deltas in proportion to those of the base),
    ``aborted`` hive.compactor.abortedtxn.threshold, ``aborted_s``
    hive.compactor.aborted.txn.time.threshold (0 or less: never), ``failures``
    hive.compactor.initiator.failed.compacts.threshold and ``retry_s``
    hive.compactor.initiator.failed.retry.time (0 or less: never).
    """

    delta_count: int = 10
    delta_share: float = 0.1
    aborted: int = 1000
    aborted_s: float = 12 * 3600
    failures: int = 2
    retry_s: float = 7 * 86400

    def of_table(self, parameters: Mapping[str, str]) -> Thresholds:
        """With the thresholds that a table sets. ConfigError for a text that is no number.

        >>> own = {"compactorthreshold.hive.compactor.delta.num.threshold": "4"}
        >>> Thresholds().of_table(own) == Thresholds(delta_count=4)
        True
        """
        changed = self
        if (text := parameters.get(TABLE_PREFIX + DELTA_COUNT)) is not None:
            changed = replace(changed, delta_count=int(_number(DELTA_COUNT, text, _WHOLE)))
        if (text := parameters.get(TABLE_PREFIX + DELTA_SHARE)) is not None:
            changed = replace(changed, delta_share=float(_number(DELTA_SHARE, text, _DECIMAL)))
        return changed


DEFAULT_THRESHOLDS = Thresholds()
"""Hive's defaults."""


def _number(name: str, text: str, form: re.Pattern[str]) -> str:
    if not form.fullmatch(text):
        raise ConfigError(f'{TABLE_PREFIX}{name}: "{text}" is not a number for it')
    return text


@dataclass(frozen=True, slots=True)
class Sizes:
    """What one directory holds for a compactor. Bytes are those of data files.

    ``base_bytes`` are those of the base, or of the original files if there is none. ``deltas``
    counts deltas and delete deltas, ``obsolete`` the directories and original files that have been
    replaced. ``has_raw`` says that some files hold plain rows.
    """

    base_bytes: int = 0
    delta_bytes: int = 0
    deltas: int = 0
    obsolete: int = 0
    has_obsolete_base: bool = False
    has_raw: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """A compaction that is needed, and the threshold that says so.

    ``for_cleaning``: there is nothing to merge, only something for the cleaner to remove.
    """

    type: CompactionType
    reason: str
    for_cleaning: bool = False


def need_by_aborted(count: int, oldest_s: float, thresholds: Thresholds) -> Need | None:
    """What aborted transactions ask for. The first of them began ``oldest_s`` seconds ago.

    >>> need_by_aborted(1001, 5.0, Thresholds()).reason
    '1001 aborted transactions, more than 1000'
    """
    if count > thresholds.aborted:
        reason = f"{count} aborted transactions, more than {thresholds.aborted}"
        return Need(CompactionType.MAJOR, reason)
    if count and 0 < thresholds.aborted_s < oldest_s:
        reason = f"an aborted transaction is older than {thresholds.aborted_s:g} s"
        return Need(CompactionType.MINOR, reason)
    return None


def need_by_sizes(sizes: Sizes, thresholds: Thresholds) -> Need | None:
    """What the sizes ask for; None if nothing.

    >>> need_by_sizes(Sizes(base_bytes=1000, delta_bytes=101, deltas=2), Thresholds()).reason
    'deltas have 101 bytes, more than 0.1 of the 1000 of the base'
    """
    has_base = sizes.base_bytes > 0 or sizes.delta_bytes == 0
    if has_base:
        if sizes.delta_bytes > thresholds.delta_share * sizes.base_bytes:
            reason = (
                f"deltas have {sizes.delta_bytes} bytes,"
                f" more than {thresholds.delta_share:g} of the {sizes.base_bytes} of the base"
            )
            return Need(CompactionType.MAJOR, reason)
        if sizes.delta_bytes == 0 and sizes.has_obsolete_base:
            return Need(CompactionType.MAJOR, "a base is obsolete", for_cleaning=True)
    is_minor = has_base and not sizes.has_raw
    kind = CompactionType.MINOR if is_minor else CompactionType.MAJOR
    limit = thresholds.delta_count
    if sizes.deltas > limit:
        return Need(kind, f"{sizes.deltas} deltas, more than {limit}")
    if sizes.obsolete > limit:
        # Not in Hive, where overwrites with small writes between them pile up for ever.
        return Need(kind, f"{sizes.obsolete} obsolete directories, more than {limit}", True)
    return None
