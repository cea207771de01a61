"""Which directories and files of a table or partition a snapshot reads.

The rules are those of Hive's AcidUtils.getAcidState. A listing goes in, a decision comes out. One
rule differs: Hive takes the base of the lowest open write id for valid and relies on locks; here
that base is not valid.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.errors import StorageError
from acidsql.layout.dir_names import (
    FIRST_BASE_WRITE_ID,
    VERSION_FILE,
    BaseDir,
    DeltaDir,
    highest_write_id,
    impossible_number,
    lies_hidden,
    lowest_write_id,
    parse_directory,
)
from acidsql.layout.listing import (
    DataFile,
    ListedFile,
    data_file,
    directory_files,
    may_be_streamed,
)
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.snapshot import Range, ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind

NOT_ENOUGH_HISTORY = 10327
"""Hive's error code ACID_NOT_ENOUGH_HISTORY."""


@dataclass(frozen=True, slots=True)
class SelectedDir:
    """A directory to be read.

    ``path`` is relative to the listing. ``raw`` files hold plain rows without event columns (LOAD
    DATA). ``needs_row_filter`` says that the files may hold events of write ids that the snapshot
    does not see: a reader must leave these events out one by one. ``only_inserts`` says that the
    files hold nothing but inserts, as far as their writer keeps to its word: it has put down the
    number of the format in which an update is a delete elsewhere and an insert here.
    """

    directory: BaseDir | DeltaDir
    path: str
    files: tuple[DataFile, ...]
    raw: bool = False
    needs_row_filter: bool = False
    only_inserts: bool = False

    @property
    def may_grow(self) -> bool:
        """Whether a streaming writer may be adding to the files: one of its write ids is unseen."""
        delta = self.directory
        return (
            self.needs_row_filter
            and not self.raw
            and isinstance(delta, DeltaDir)
            and may_be_streamed(delta)
        )


@dataclass(frozen=True, slots=True)
class AcidState:
    """What a snapshot reads, in reading order, and what no later snapshot needs.

    ``originals`` are in path order. The order numbers their rows, so it must not change.
    ``obsolete`` and ``aborted`` are relative paths of directories and, for originals, of files.
    """

    base: SelectedDir | None = None
    deltas: tuple[SelectedDir, ...] = ()
    delete_deltas: tuple[SelectedDir, ...] = ()
    originals: tuple[DataFile, ...] = ()
    obsolete: tuple[str, ...] = ()
    aborted: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of base, deltas and delete deltas, for people and tests."""
        base = () if self.base is None else (self.base,)
        return tuple(d.path for d in (*base, *self.deltas, *self.delete_deltas))


def acid_state(
    files: Iterable[ListedFile],
    valid_write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList | None = None,
    markers: Mapping[str, str] | None = None,
    kind: TableKind = TableKind.FULL_ACID,
) -> AcidState:
    """What the snapshot reads of one table or partition directory.

    ``files`` is its recursive listing. ``markers`` maps a directory's path to the text, or just
    the dataFormat, of its ``_metadata_acid``. Without ``valid_txns`` every compactor's transaction
    counts as committed. Raises StorageError 10327 when every compacted base is newer than the
    snapshot: the directories that were compacted may be gone.
    """
    state, has_history = acid_state_and_history(files, valid_write_ids, valid_txns, markers, kind)
    if not has_history:
        raise not_enough_history(valid_write_ids)
    return state


def lost_parts(files: Iterable[ListedFile], txns: ValidTxnList) -> str | None:
    """A compacted directory that the snapshot does not see although its parts are gone, or None.

    A cleaner keeps the parts as long as a transaction is open that began before the compaction
    committed. So there is such a directory only where the store does not know the compactor's txn
    id: the store has been restored from a backup that is older than the compaction.
    """
    groups, originals = _group(files)
    found = {path: _parsed(path) for path in groups}
    unseen = {path for path, d in found.items() if not txns.is_valid(d.visibility_id)}
    if not unseen or originals:
        return None
    there = [d for path, d in found.items() if path not in unseen]
    for path in sorted(unseen):
        compacted = found[path]
        if impossible_number(compacted) is None and not any(_overlap(compacted, d) for d in there):
            return path
    return None


def _overlap(one: BaseDir | DeltaDir, other: BaseDir | DeltaDir) -> bool:
    """Whether two directories have a write id in common."""
    return lowest_write_id(one) <= highest_write_id(other) and lowest_write_id(
        other
    ) <= highest_write_id(one)


def older_store_hint(table: TableName) -> str:
    """What helps where the store is older than the files."""
    return (
        "Restore the newer store, or run MSCK REPAIR TABLE"
        f" {table}, which takes in the writes that are there."
    )


def not_enough_history(valid_write_ids: ValidWriteIdList) -> StorageError:
    """The error for a snapshot that is too old for the files."""
    return StorageError(
        f'not enough history available for "{valid_write_ids.table}" at {valid_write_ids}',
        detail="The oldest base was compacted from writes that this snapshot may not see.",
        hint="Run the statement again to get a newer snapshot.",
        code=NOT_ENOUGH_HISTORY,
    )


def acid_state_and_history(
    files: Iterable[ListedFile],
    valid_write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList | None,
    markers: Mapping[str, str] | None,
    kind: TableKind,
) -> tuple[AcidState, bool]:
    """`acid_state`, and False instead of an error when the snapshot is too old for the files."""
    directories, originals = _group(files)
    compacted = {path for path, text in (markers or {}).items() if says_compacted(text)}
    choice = _Choice(valid_write_ids, valid_txns, compacted, kind)
    for path in sorted(directories):
        choice.look_at(path, _parsed(path))
    chosen = choice.select_deltas()
    base, oldest = choice.base, choice.oldest_base
    has_history = base is not None or oldest is None or not choice.is_compacted(oldest)
    has_history = has_history and all(map(choice.has_parts, choice.mixed))
    selected = [_selected(c, directories[c.path], choice, kind) for c in chosen]
    state = AcidState(
        base=None if base is None else _selected(base, directories[base.path], choice, kind),
        deltas=tuple(s for s in selected if not _is_delete(s.directory)),
        delete_deltas=tuple(s for s in selected if _is_delete(s.directory)),
        originals=() if base is not None else _originals(originals, kind),
        obsolete=tuple(sorted([*choice.obsolete, *(_paths(originals) if base else ())])),
        aborted=tuple(sorted(choice.aborted)),
    )
    return state, has_history


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    directory: BaseDir | DeltaDir


@dataclass(slots=True)
class _Choice:
    """The choice as it is made: first every directory is looked at, then deltas are chosen."""

    valid_write_ids: ValidWriteIdList
    valid_txns: ValidTxnList | None
    compacted: set[str]
    kind: TableKind
    base: _Candidate | None = None
    oldest_base: _Candidate | None = None
    deltas: list[tuple[DeltaDir, str]] = field(default_factory=list)
    mixed: list[DeltaDir] = field(default_factory=list)
    """Deltas of an insert-only table, whose rows carry no write id, with rows not to be seen."""
    seen: list[DeltaDir] = field(default_factory=list)
    obsolete: list[str] = field(default_factory=list)
    aborted: list[str] = field(default_factory=list)

    def look_at(self, path: str, directory: BaseDir | DeltaDir) -> None:
        if self.valid_txns is not None and not self.valid_txns.is_valid(directory.visibility_id):
            if self.valid_txns.is_aborted(directory.visibility_id):
                self.aborted.append(path)
            return
        match directory:
            case BaseDir():
                self._look_at_base(_Candidate(path, directory), directory.write_id)
            case DeltaDir():
                self._look_at_delta(path, directory)

    def _look_at_base(self, candidate: _Candidate, write_id: WriteId) -> None:
        if self.oldest_base is None or write_id < _write_id(self.oldest_base):
            self.oldest_base = candidate
        if not self.is_compacted(candidate) and write_id in self.valid_write_ids.aborted:
            self.aborted.append(candidate.path)
            return
        best = self.base
        newer = best is None or write_id > _write_id(best)
        tie = best is not None and write_id == _write_id(best) and self.is_compacted(candidate)
        if not newer and not tie:
            self.obsolete.append(candidate.path)
        elif self._is_valid_base(candidate, write_id):
            if best is not None:
                self.obsolete.append(best.path)
            self.base = candidate

    def _look_at_delta(self, path: str, delta: DeltaDir) -> None:
        bounds = delta.min_write_id, delta.max_write_id
        if self.valid_write_ids.range_aborted(*bounds) is Range.ALL:
            self.aborted.append(path)
            return
        self.seen.append(delta)
        if self.valid_write_ids.range_valid(*bounds) is Range.NONE:
            return
        if self.kind is TableKind.INSERT_ONLY and self.valid_write_ids.may_miss(*bounds):
            self.mixed.append(delta)
        else:
            self.deltas.append((delta, path))

    def has_parts(self, mixed: DeltaDir) -> bool:
        """Whether the first and the last delta that it was compacted from are still there."""
        low, high = mixed.min_write_id, mixed.max_write_id
        return any(d.min_write_id == low and d.max_write_id < high for d in self.seen) and any(
            d.min_write_id > low and d.max_write_id == high for d in self.seen
        )

    def is_compacted(self, base: _Candidate) -> bool:
        return base.directory.visibility_id > 0 or base.path in self.compacted

    def _is_valid_base(self, candidate: _Candidate, write_id: WriteId) -> bool:
        if write_id == FIRST_BASE_WRITE_ID:
            return True
        if self.is_compacted(candidate):
            return self.valid_write_ids.is_valid_base(write_id)
        return self.valid_write_ids.is_valid(write_id)

    def select_deltas(self) -> list[_Candidate]:
        """The deltas that reach beyond the base, each write id covered by as few as possible.

        Hive chooses deltas and delete deltas in one pass; here each kind is chosen by itself. Once
        a minor compaction is finished both ways give the same answer, since it keeps every event.
        But its two directories appear one after the other. A reader that lists the directory in
        between sees a new delta, and the old delete deltas must not count as replaced by it.
        """
        inserts = [pair for pair in self.deltas if not pair[0].is_delete]
        deletes = [pair for pair in self.deltas if pair[0].is_delete]
        return self._select(inserts) + self._select(deletes)

    def _select(self, deltas: Sequence[tuple[DeltaDir, str]]) -> list[_Candidate]:
        current = WriteId(0) if self.base is None else _write_id(self.base)
        last_statement = -1
        previous: DeltaDir | None = None
        chosen = []
        for delta, path in sorted(deltas, key=lambda pair: _reading_order(*pair)):
            if delta.max_write_id > current:
                rest = self.valid_write_ids.range_valid(WriteId(current + 1), delta.max_write_id)
                if rest is Range.NONE:
                    continue
                current, last_statement = delta.max_write_id, _statement(delta)
            elif not (
                # Another statement of the same write id, or another directory of the same numbers.
                (delta.max_write_id == current and last_statement >= 0)
                or (previous is not None and _numbers(delta) == _numbers(previous))
            ):
                self.obsolete.append(path)
                continue
            previous = delta
            chosen.append(_Candidate(path, delta))
        return chosen


def _group(
    files: Iterable[ListedFile],
) -> tuple[dict[str, list[ListedFile]], list[ListedFile]]:
    """Files by base, delta or delete delta, and the other files that are not hidden."""
    directories: dict[str, list[ListedFile]] = {}
    originals = []
    for file in files:
        first, slash, rest = file.path.partition("/")
        if slash and parse_directory(first) is not None:
            directories.setdefault(first, []).append(ListedFile(rest, file.size))
        elif not lies_hidden(file.path):
            originals.append(file)
    return directories, sorted(originals, key=lambda file: file.path)


def _parsed(path: str) -> BaseDir | DeltaDir:
    directory = parse_directory(path)
    assert directory is not None
    return directory


def says_compacted(text: str) -> bool:
    """Whether ``_metadata_acid`` marks a compacted base; ``truncated`` and ``dropped`` do not.

    >>> says_compacted('{"thisFileVersion":"0","dataFormat":"compacted"}')
    True
    """
    if not text.lstrip().startswith("{"):
        return text.strip() == "compacted"
    try:
        return bool(json.loads(text).get("dataFormat") == "compacted")
    except ValueError as error:
        raise StorageError(f"a _metadata_acid file is not JSON: {text[:100]!r}") from error


def _selected(
    candidate: _Candidate, files: Sequence[ListedFile], choice: _Choice, kind: TableKind
) -> SelectedDir:
    directory = candidate.directory
    compacted = isinstance(directory, BaseDir) and choice.is_compacted(candidate)
    raw, data_files = directory_files(directory, candidate.path, files, compacted, kind)
    row_filter = False
    if isinstance(directory, DeltaDir) and kind is TableKind.FULL_ACID:
        seen = choice.valid_write_ids.range_valid(directory.min_write_id, directory.max_write_id)
        row_filter = seen is Range.SOME
    only_inserts = not _is_delete(directory) and any(f.path == VERSION_FILE for f in files)
    return SelectedDir(directory, candidate.path, data_files, raw, row_filter, only_inserts)


def _originals(files: Sequence[ListedFile], kind: TableKind) -> tuple[DataFile, ...]:
    # Loose files of an insert-only table are not read (hive.mm.allow.originals is false).
    if kind is TableKind.INSERT_ONLY:
        return ()
    return tuple(data_file(f.path, f.size) for f in files if f.size > 0)


def _paths(files: Sequence[ListedFile]) -> list[str]:
    return [file.path for file in files]


def _is_delete(directory: BaseDir | DeltaDir) -> bool:
    return isinstance(directory, DeltaDir) and directory.is_delete


def _write_id(base: _Candidate) -> WriteId:
    assert isinstance(base.directory, BaseDir)
    return base.directory.write_id


def _statement(delta: DeltaDir) -> int:
    return -1 if delta.statement_id is None else delta.statement_id


def _numbers(delta: DeltaDir) -> tuple[int, int, int]:
    return delta.min_write_id, delta.max_write_id, _statement(delta)


def _reading_order(delta: DeltaDir, path: str) -> tuple[int, int, int, str]:
    # Of the deltas that begin at one write id the widest comes first: it makes the others obsolete.
    return delta.min_write_id, -delta.max_write_id, _statement(delta), path
