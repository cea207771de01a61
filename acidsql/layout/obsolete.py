"""What may be removed by the cleaner, or by a statement that takes a place out of its reach."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from acidsql.layout.acid_state import acid_state_and_history, says_compacted
from acidsql.layout.dir_names import BaseDir, DeltaDir, highest_write_id, parse_directory
from acidsql.layout.history import history
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import NO_TXN, WriteId
from acidsql.model.snapshot import Range, ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind


def obsolete(
    files: Iterable[ListedFile],
    valid_write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList | None = None,
    markers: Mapping[str, str] | None = None,
    kind: TableKind = TableKind.FULL_ACID,
    directories: Iterable[str] = (),
    *,
    minor: bool = False,
) -> list[str]:
    """The directories and original files that a compaction made obsolete, sorted.

    No snapshot that sees the compaction reads them. The caller caps the lists: ``valid_write_ids``
    at the highest write id that the compaction covered, ``valid_txns`` at its commit. Directories
    that reach above the cap are ignored: a later compaction may have written them, and an older
    snapshot may still read what was there before. After a ``minor`` compaction a compacted base at
    the cap is ignored, too. ``directories`` are the names directly below; some may hold no file,
    because their writer died before its first. The store may have forgotten such a write: a writer
    that was taken for dead made its directory after what it had left was removed.
    """
    files = list(files)
    filled = {f.path.partition("/")[0] for f in files}
    cap = valid_write_ids.high_watermark
    compacted = {path for path, text in (markers or {}).items() if says_compacted(text)}
    beyond = WriteId(cap - 1) if minor else cap
    later = {name for name in filled if _reaches_above(beyond if name in compacted else cap, name)}
    known = [f for f in files if f.path.partition("/")[0] not in later]
    state, _ = acid_state_and_history(known, valid_write_ids, valid_txns, markers, kind)
    empty = set(directories) - filled
    unfilled = aborted_without_files(empty, valid_write_ids)
    left = (name for name in empty if _is_of_ended_write(name, cap))
    return sorted({*state.obsolete, *state.aborted, *unfilled, *left})


def overwritten(
    files: Iterable[ListedFile],
    valid_write_ids: ValidWriteIdList,
    markers: Mapping[str, str],
    kind: TableKind,
) -> list[str]:
    """The directories and original files that the latest overwrite has replaced, sorted.

    Every open snapshot sees what ``valid_write_ids`` sees. An overwrite is there, in full, when its
    write id is committed. So who sees it has it in every listing, and needs nothing older. The base
    of a compaction may be younger than a listing that is still to be read: it replaces nothing
    here.

    >>> seen = [ListedFile(f"{d}/bucket_00000", 9) for d in ("delta_1_1_0", "base_2", "delta_3_3")]
    >>> overwritten(seen, ValidWriteIdList("db.t", WriteId(3)), {}, TableKind.FULL_ACID)
    ['delta_1_1_0']
    """
    files = list(files)
    compacted = {path for path, text in markers.items() if says_compacted(text)}
    found = {name: parse_directory(name) for name in {f.path.partition("/")[0] for f in files}}
    bases = {name: base for name, base in found.items() if isinstance(base, BaseDir)}
    latest = max(
        (
            base.write_id
            for name, base in bases.items()
            if not _is_compacted(name, base, compacted)
            and valid_write_ids.is_valid(base.write_id)
            and base.write_id < valid_write_ids.min_open
        ),
        default=None,
    )
    if latest is None:
        return []
    # Of a compacted base of the same number the snapshot would read one of the two.
    rivals = {
        name
        for name, base in bases.items()
        if base.write_id == latest and _is_compacted(name, base, compacted)
    }
    known = [f for f in files if f.path.partition("/")[0] not in rivals]
    below = replace(
        valid_write_ids,
        high_watermark=latest,
        open=frozenset(),
        aborted=frozenset(w for w in valid_write_ids.aborted if w < latest),
    )
    return _hidden(known, below, markers, kind)


def _hidden(
    files: Sequence[ListedFile],
    valid_write_ids: ValidWriteIdList,
    markers: Mapping[str, str],
    kind: TableKind,
) -> list[str]:
    """What the snapshot's base hides, sorted. What reaches above the snapshot is left alone."""
    mark = valid_write_ids.high_watermark
    tops = {f.path.partition("/")[0] for f in files}
    above = {name for name in tops if _reaches_above(mark, name)}
    known = [f for f in files if f.path.partition("/")[0] not in above]
    state, _ = acid_state_and_history(known, valid_write_ids, None, markers, kind)
    return sorted(state.obsolete)


def _is_compacted(name: str, base: BaseDir, compacted: Collection[str]) -> bool:
    return name in compacted or base.visibility_id != NO_TXN


def aborted_without_files(empty: Iterable[str], valid_write_ids: ValidWriteIdList) -> list[str]:
    """The names of aborted writes among the names of directories without a file, sorted."""
    return sorted(name for name in empty if _is_aborted(name, valid_write_ids))


def aborted(
    files: Sequence[ListedFile],
    valid_write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList,
    markers: Mapping[str, str],
    kind: TableKind,
) -> list[str]:
    """The directories of aborted writes anywhere below a listing, sorted.

    No snapshot reads them, whatever is open, as long as the store knows that they are aborted.

    >>> seen = [ListedFile("p=9/delta_2_2_0/bucket_00000", 9), ListedFile("p=9/delta_1_1/x", 9)]
    >>> ids = ValidWriteIdList.parse("db.t:2:9223372036854775807::2")
    >>> aborted(seen, ids, ValidTxnList(9), {}, TableKind.FULL_ACID)
    ['p=9/delta_2_2_0']
    """
    found = []
    for parent in {path.rpartition("/")[0] for path, _ in history(files).directories}:
        inside = f"{parent}/" if parent else ""
        state, _ = acid_state_and_history(
            [ListedFile(f.path[len(inside) :], f.size) for f in files if f.path.startswith(inside)],
            valid_write_ids,
            valid_txns,
            {path[len(inside) :]: m for path, m in markers.items() if path.startswith(inside)},
            kind,
        )
        found += [inside + path for path in state.aborted]
    return sorted(found)


def _reaches_above(cap: WriteId, name: str) -> bool:
    directory = parse_directory(name)
    return directory is not None and highest_write_id(directory) > cap


def _is_of_ended_write(name: str, cap: WriteId) -> bool:
    """Whether a directory is the delta of writes up to the cap, of which none is open."""
    directory = parse_directory(name)
    is_delta = isinstance(directory, DeltaDir) and directory.visibility_id == NO_TXN
    return is_delta and not _reaches_above(cap, name)


def _is_aborted(name: str, write_ids: ValidWriteIdList) -> bool:
    directory = parse_directory(name)
    match directory:
        case None:
            return False
        case BaseDir():
            return directory.write_id in write_ids.aborted
        case DeltaDir():
            bounds = directory.min_write_id, directory.max_write_id
            return write_ids.range_aborted(*bounds) is Range.ALL
