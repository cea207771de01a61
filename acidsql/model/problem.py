"""Problems: what CHECK TABLE may find wrong with a table's directories and files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from acidsql.model.names import PartitionName


class ProblemKind(Enum):
    """What is wrong. docs/statements.md says what each kind means and which readers it affects."""

    # Seen in names and listings.
    MISSING_DIRECTORY = "missing directory"
    MISSING_WRITE = "missing write"
    UNKNOWN_PARTITION = "unknown partition"
    UNKNOWN_NAME = "unknown name"
    UNPADDED_NAME = "unpadded name"
    TWO_FILES = "two files of a bucket"
    LEFT_BEHIND = "left behind"
    UNKNOWN_WRITE_ID = "unknown write id"
    NO_FORMAT_VERSION = "no format version"
    # Seen in one file.
    EMPTY_FILE = "empty file"
    UNREADABLE = "unreadable"
    WRONG_SCHEMA = "wrong schema"
    WRONG_FOOTER = "wrong footer"
    WRONG_STATISTICS = "wrong statistics"
    UNSORTED = "unsorted"
    WRONG_EVENT = "wrong event"
    WRONG_WRITE_ID = "wrong write id"
    WRONG_STATEMENT_ID = "wrong statement id"
    WRONG_BUCKET = "wrong bucket"
    WRONG_HASH = "wrong hash"
    # Seen only in several files together.
    COPIED_DELETE = "copied delete"
    DUPLICATE_ROW_ID = "duplicate row id"
    DELETED_TWICE = "deleted twice"
    ORPHAN_DELETE = "orphan delete"
    OWN_DELETE = "own delete"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding. ``path`` is that of a file or directory, ``detail`` a sentence or less."""

    path: str
    kind: ProblemKind
    detail: str
    partition: PartitionName | None = None
