"""Directory and file names of ACID tables: parse and format.

Grammar: Hive's AcidUtils (ParsedBase, ParsedDelta, BUCKET_PATTERN, ORIGINAL_PATTERN). Parsing is
lenient about zero padding, as Hive's is; formatting always pads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acidsql.model.ids import NO_TXN, BucketId, StatementId, TxnId, WriteId
from acidsql.model.row_id import STATEMENT_ID_MAX

VERSION_FILE = "_orc_acid_version"
"""In every directory a full-ACID writer makes; Trino skips a footer check when it is there."""

METADATA_FILE = "_metadata_acid"
"""Marks a base that Hive 3 compacted, or that Hive 4 emptied by TRUNCATE or DROP PARTITION."""

UNFINISHED_FILE = "_acidsql_unfinished"
"""Marks the directory of a CREATE TABLE AS until the table is committed."""

FLUSH_LENGTH_SUFFIX = "_flush_length"
"""Ends the side file that holds the valid length of a file being streamed into."""

FIRST_BASE_WRITE_ID = WriteId(-(2**63))
"""The write id of a base that was compacted from original files alone (Long.MIN_VALUE)."""

HIGHEST_ID = 2**53 - 1
"""The highest write id or txn id that is believed. Hive gives ids out one by one from 1 and would
take centuries to reach this one. After a higher id, the next one might not fit into a long."""

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1
_BASE = re.compile(r"base_(-?[0-9]+)(?:_v([0-9]+))?")
_DELTA = re.compile(r"(delete_)?delta_([0-9]+)_([0-9]+)(?:_([0-9]+))?(?:_v([0-9]+))?")
_BUCKET = re.compile(r"bucket_([0-9]+)(?:_([0-9]+))?")
_ATTEMPT = re.compile(r"_tmp_([0-9]{7,})_[0-9a-f]{32}(?:_.+)?")
_ORIGINAL = re.compile(r"([0-9]+)_([0-9]+)(?:_copy_([0-9]+))?")


@dataclass(frozen=True, slots=True)
class BaseDir:
    """``base_N``, or ``base_N_vT`` when the compactor's transaction T wrote it."""

    write_id: WriteId
    visibility_id: TxnId = NO_TXN

    @property
    def name(self) -> str:
        """The name as Hive formats it.

        >>> BaseDir(WriteId(5), TxnId(20)).name
        'base_0000005_v0000020'
        """
        return f"base_{self.write_id:07d}{_visibility(self.visibility_id)}"


@dataclass(frozen=True, slots=True)
class DeltaDir:
    """``delta_A_B[_S][_vT]`` or, with the same grammar, ``delete_delta_…``."""

    min_write_id: WriteId
    max_write_id: WriteId
    statement_id: StatementId | None = None
    is_delete: bool = False
    visibility_id: TxnId = NO_TXN

    @property
    def name(self) -> str:
        """The name as Hive formats it.

        >>> DeltaDir(WriteId(3), WriteId(3), StatementId(1), is_delete=True).name
        'delete_delta_0000003_0000003_0001'
        """
        kind = "delete_delta" if self.is_delete else "delta"
        statement = "" if self.statement_id is None else f"_{self.statement_id:04d}"
        bounds = f"{self.min_write_id:07d}_{self.max_write_id:07d}"
        return f"{kind}_{bounds}{statement}{_visibility(self.visibility_id)}"


@dataclass(frozen=True, slots=True)
class BucketFile:
    """``bucket_N``, or ``bucket_N_A`` where Hive 4 adds the attempt of the task."""

    bucket_id: BucketId
    attempt: int | None = None

    @property
    def name(self) -> str:
        """The name as Hive formats it.

        >>> BucketFile(BucketId(7)).name
        'bucket_00007'
        """
        return f"bucket_{self.bucket_id:05d}" + ("" if self.attempt is None else f"_{self.attempt}")


@dataclass(frozen=True, slots=True)
class OriginalFile:
    """``000001_0`` or ``000001_0_copy_2``: a file from before the table became ACID, or loaded."""

    bucket_id: BucketId
    attempt: int = 0
    copy: int | None = None

    @property
    def name(self) -> str:
        """The name as Hive formats it.

        >>> OriginalFile(BucketId(1), copy=2).name
        '000001_0_copy_2'
        """
        copy = "" if self.copy is None else f"_copy_{self.copy}"
        return f"{self.bucket_id:06d}_{self.attempt}{copy}"


def parse_base(name: str) -> BaseDir | None:
    """The base a directory name means, or None.

    >>> parse_base("base_-9223372036854775808")
    BaseDir(write_id=-9223372036854775808, visibility_id=0)
    """
    match = _BASE.fullmatch(name)
    if match is None:
        return None
    write_id, visibility_id = int(match[1]), int(match[2] or 0)
    if write_id != FIRST_BASE_WRITE_ID and not (0 <= write_id <= _LONG_MAX):
        return None
    return BaseDir(WriteId(write_id), TxnId(visibility_id)) if visibility_id <= _LONG_MAX else None


def parse_delta(name: str) -> DeltaDir | None:
    """The delta or delete delta a directory name means, or None.

    >>> parse_delta("delta_5_7")
    DeltaDir(min_write_id=5, max_write_id=7, statement_id=None, is_delete=False, visibility_id=0)
    """
    match = _DELTA.fullmatch(name)
    if match is None:
        return None
    low, high, visibility_id = int(match[2]), int(match[3]), int(match[5] or 0)
    statement = None if match[4] is None else int(match[4])
    if low > high or max(high, visibility_id) > _LONG_MAX or (statement or 0) > _INT_MAX:
        return None
    return DeltaDir(
        WriteId(low),
        WriteId(high),
        None if statement is None else StatementId(statement),
        match[1] is not None,
        TxnId(visibility_id),
    )


def parse_directory(name: str) -> BaseDir | DeltaDir | None:
    """The base, delta or delete delta a directory name means, or None."""
    return parse_base(name) or parse_delta(name)


def highest_write_id(directory: BaseDir | DeltaDir) -> WriteId:
    """The highest write id that a directory covers."""
    return directory.write_id if isinstance(directory, BaseDir) else directory.max_write_id


def lowest_write_id(directory: BaseDir | DeltaDir) -> WriteId:
    """The lowest write id that a directory covers; 0 for a base, which has all up to its own."""
    return WriteId(0) if isinstance(directory, BaseDir) else directory.min_write_id


def named_write_ids(directory: BaseDir | DeltaDir) -> tuple[WriteId, WriteId]:
    """The lowest and the highest write id in the directory's name.

    >>> named_write_ids(BaseDir(WriteId(7))), named_write_ids(DeltaDir(WriteId(3), WriteId(5)))
    ((7, 7), (3, 5))
    """
    if isinstance(directory, BaseDir):
        return directory.write_id, directory.write_id
    return directory.min_write_id, directory.max_write_id


def impossible_number(directory: BaseDir | DeltaDir) -> str | None:
    """The number in the directory's name that no writer can have used, in words, or None.

    >>> impossible_number(BaseDir(WriteId(2**62)))
    'the write id 4611686018427387904'
    >>> impossible_number(DeltaDir(WriteId(1), WriteId(1), StatementId(4096)))
    'the statement id 4096'
    """
    last = highest_write_id(directory)
    if last > HIGHEST_ID:
        return f"the write id {last}"
    if directory.visibility_id > HIGHEST_ID:
        return f"the transaction id {directory.visibility_id}"
    statement = None if isinstance(directory, BaseDir) else directory.statement_id
    if statement is not None and statement > STATEMENT_ID_MAX:
        return f"the statement id {statement}"
    return None


def parse_bucket_file(name: str) -> BucketFile | None:
    """The bucket file a name means, or None.

    >>> parse_bucket_file("bucket_00001_0")
    BucketFile(bucket_id=1, attempt=0)
    """
    match = _BUCKET.fullmatch(name)
    if match is None or int(match[1]) > _INT_MAX:
        return None
    return BucketFile(BucketId(int(match[1])), None if match[2] is None else int(match[2]))


def parse_original_file(name: str) -> OriginalFile | None:
    """The original file a name means, or None.

    >>> parse_original_file("000001_0_copy_3").bucket_id
    1
    """
    match = _ORIGINAL.fullmatch(name)
    if match is None or int(match[1]) > _INT_MAX:
        return None
    copy = None if match[3] is None else int(match[3])
    return OriginalFile(BucketId(int(match[1])), int(match[2]), copy)


def file_bucket_id(name: str) -> BucketId | None:
    """The bucket a data file's name gives, bucket file or original; None for any other name.

    >>> file_bucket_id("bucket_00002"), file_bucket_id("000003_0"), file_bucket_id("part-0.orc")
    (2, 3, None)
    """
    file = parse_bucket_file(name) or parse_original_file(name)
    return None if file is None else file.bucket_id


def is_hidden(name: str) -> bool:
    """Whether readers skip a file or directory of this name.

    >>> is_hidden("_tmp.1"), is_hidden(".x"), is_hidden("base_1")
    (True, True, False)
    """
    return name.startswith(("_", "."))


def lies_hidden(path: str) -> bool:
    """Whether readers pass over a relative path, for a name anywhere in it.

    >>> lies_hidden("p=1/_tmp.1/bucket_00000"), lies_hidden("p=1/base_1/bucket_00000")
    (True, False)
    """
    return any(map(is_hidden, path.split("/")))


def own_name_in(path: str) -> str | None:
    """The first name in a relative path that is not a user's to give to a directory of rows.

    Readers pass over a hidden one, and take one that is named as a write's for a write. None if
    there is no such name.

    >>> own_name_in("data/delta_0000001_0000001/x"), own_name_in("_x/y"), own_name_in("p=1")
    ('delta_0000001_0000001', '_x', None)
    """
    return next((n for n in path.split("/") if is_hidden(n) or parse_directory(n)), None)


def compaction_attempt(txn_id: TxnId, unique: str) -> str:
    """How the names of a compactor's hidden directories begin; ``unique`` is 32 hex digits.

    >>> parse_compaction_attempt(compaction_attempt(TxnId(7), 32 * "a") + "_base_0000003")
    7
    """
    return f"_tmp_{txn_id:07d}_{unique}"


def parse_compaction_attempt(name: str) -> TxnId | None:
    """The compactor's txn id in the name of a hidden directory of acidsql, or None.

    >>> parse_compaction_attempt("_tmp_0000007"), parse_compaction_attempt("_tmp.-ext-10000")
    (None, None)
    """
    match = _ATTEMPT.fullmatch(name)
    return None if match is None else TxnId(int(match[1]))


def _visibility(txn_id: TxnId) -> str:
    # Transaction 0 always counts as committed, so Hive never writes `_v0`.
    return f"_v{txn_id:07d}" if txn_id else ""
