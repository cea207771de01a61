"""CHECK TABLE: checks names against the catalog and the store, then reads the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from acidsql.check.directory import check_directories
from acidsql.check.names import Names, name_problems
from acidsql.check.result import CheckResult
from acidsql.execution.reading import Reading
from acidsql.execution.result import Result, count_text, text_rows
from acidsql.execution.scope import Scope
from acidsql.execution.transaction_block import TransactionBlock
from acidsql.layout.dir_names import BaseDir, DeltaDir, lies_hidden, parse_directory
from acidsql.layout.listing import ListedFile
from acidsql.layout.missing import missing_writes
from acidsql.model.access import Access, Operation
from acidsql.model.ids import WriteId
from acidsql.model.names import TableName
from acidsql.model.problem import Problem, ProblemKind
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind
from acidsql.planner.check import plan_check
from acidsql.plans.check import CheckPlan
from acidsql.ports.catalog import partition_not_found
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.statements import Check
from acidsql.txn.entities import CompactionState
from acidsql.txn.transaction import OpenTxn, TxnOpener


def run_check(
    statement: Check, block: TransactionBlock | None, open_txn: TxnOpener, scope: Scope
) -> Result:
    """What CHECK TABLE finds, as rows, under the snapshot of the block or of a read of its own."""
    plan = plan_check(statement, scope.names, scope.arguments)
    accesses = [Access.of(plan.table, Operation.SELECT)]
    reading = Reading.begin(accesses, scope.store, block, open_txn)
    with reading.released_on_error():
        table = scope.store.table(plan.table)
        snapshot = reading.context([table], {}).tables[plan.table]
        found = check_table(plan, snapshot, reading.txn, scope.store, scope.storage)
    reading.close()
    return problem_rows(plan, found)


def check_table(
    plan: CheckPlan, snapshot: TableSnapshot, txn: OpenTxn, store: Store, storage: Storage
) -> CheckResult:
    """Every problem of the table or partition under the transaction's snapshot, sorted by path.

    PartitionNotFoundError if the catalog does not know the partition.
    """
    wanted = _narrowed(plan, snapshot)
    names = list(_NameCheck(store, storage, snapshot, txn.valid_txns).problems(wanted))
    missing = {p.path for p in names if p.kind is ProblemKind.MISSING_DIRECTORY}
    there = tuple(p for p in wanted.partitions if p.location not in missing)
    read = check_directories(replace(wanted, partitions=there), txn.valid_txns, storage)
    found = _without_folded(read.problems, snapshot.table.name, store)
    problems = sorted({*names, *found}, key=lambda p: (p.path, p.kind.value, p.detail))
    return replace(read, problems=tuple(problems))


def _without_folded(problems: Sequence[Problem], table: TableName, store: Store) -> list[Problem]:
    """The problems that are left after COMMIT.

    Own deletes of an uncommitted write id are left out: COMMIT folds them.
    """
    if all(problem.kind is not ProblemKind.OWN_DELETE for problem in problems):
        return list(problems)
    uncommitted = store.valid_write_ids([table], store.valid_txns())[table].open

    def will_go(problem: Problem) -> bool:
        delta = parse_directory(problem.path.split("/")[-2])
        return isinstance(delta, DeltaDir) and delta.max_write_id in uncommitted

    return [p for p in problems if p.kind is not ProblemKind.OWN_DELETE or not will_go(p)]


def problem_rows(plan: CheckPlan, found: CheckResult) -> Result:
    """A row for each problem, and a message with the number of files and events read."""
    rows = [
        (str(p.partition) if p.partition else None, p.path, p.kind.value, p.detail)
        for p in found.problems
    ]
    result = text_rows("check", ["partition", "path", "problem", "detail"], rows)
    said = count_text(len(rows), "problem") if rows else "no problem"
    read = f"{count_text(found.files, 'file')}, {count_text(found.events, 'event')}"
    result.message = f"{plan.table}: {said} found in {read}"
    return result


def _narrowed(plan: CheckPlan, snapshot: TableSnapshot) -> TableSnapshot:
    if plan.partition is None:
        return snapshot
    found = tuple(p for p in snapshot.partitions if p.name == plan.partition)
    if not found:
        raise partition_not_found(plan.table, plan.partition)
    return replace(snapshot, partitions=found)


@dataclass(frozen=True, slots=True)
class _NameCheck:
    store: Store
    storage: Storage
    snapshot: TableSnapshot
    txns: ValidTxnList

    def problems(self, wanted: TableSnapshot) -> Iterator[Problem]:
        """The problems of the wanted directories; for a whole table also beside its partitions."""
        compacting = self._compacting()
        # Asked before listing: the directory of every write that was committed by now is there.
        committed = self.store.committed_writes(self.snapshot.table.name)
        listings = [(p, *self._list(p.location)) for p in wanted.partitions]
        compacting |= self._compacting()
        # The write ids are asked for after the listing, because each directory is made after its
        # write id is given out.
        latest = self.store.valid_write_ids([self.snapshot.table.name], self.store.valid_txns())[
            self.snapshot.table.name
        ]
        for place, files, directories in listings:
            partition = None if place.name is None else str(place.name)
            if not self.storage.exists(place.location):
                detail = "the catalog names this directory, but it does not exist"
                yield Problem(place.location, ProblemKind.MISSING_DIRECTORY, detail, place.name)
            else:
                ids = [w.write_id for w in committed if w.partition == partition]
                for write_id in self._missing(files, directories, ids):
                    detail = f"write id {write_id} was committed here, and no file has it"
                    yield Problem(place.location, ProblemKind.MISSING_WRITE, detail, place.name)
            names = Names(
                self.snapshot.table.kind,
                self.snapshot.write_ids,
                latest.high_watermark,
                partition in compacting,
                self.snapshot.table.format,
                bool(self.snapshot.table.bucketing),
            )
            for problem in name_problems(files, directories, names):
                path = f"{place.location}/{problem.path}"
                yield replace(problem, path=path, partition=place.name)
        if self.snapshot.table.partition_columns and wanted is self.snapshot:
            yield from self._beside_partitions(latest)

    def _missing(
        self, files: Sequence[ListedFile], directories: Sequence[str], committed: Sequence[WriteId]
    ) -> list[WriteId]:
        return missing_writes(files, directories, committed, self.snapshot.write_ids, self.txns)

    def _list(self, location: str) -> tuple[list[ListedFile], list[str]]:
        return self.storage.list_files(location), self.storage.list_directories(location)

    def _compacting(self) -> set[str | None]:
        """The partitions that a worker is compacting; None stands for the table itself."""
        name = self.snapshot.table.name
        return {
            c.partition
            for c in self.store.show_compactions()
            if (c.database, c.table) == (name.database, name.table)
            and c.state is CompactionState.WORKING
        }

    def _beside_partitions(self, latest: ValidWriteIdList) -> Iterator[Problem]:
        """The problems of files below the table that lie in no partition of the catalog."""
        table = self.snapshot.table
        root = table.location.rstrip("/")
        known = {
            p.location.rstrip("/")[len(root) + 1 :]
            for p in (*self.snapshot.partitions, *self._new_partitions())
            if p.location.startswith(f"{root}/")
        }
        depth = len(table.partition_columns)
        found: dict[str, list[str]] = {}
        for file in self.storage.list_files(root):
            parts = file.path.split("/")
            place = "/".join(parts[: min(depth, len(parts) - 1)])
            if place not in known:
                found.setdefault(place, []).append("/".join(parts[depth:]))
        for place, files in sorted(found.items()):
            path = f"{root}/{place}" if place else root
            kind = _problem_beside(place, files, table.kind, latest, depth)
            if kind is not None:
                detail = "the catalog knows no such partition, so its rows are not read"
                if kind is not ProblemKind.UNKNOWN_PARTITION:
                    detail = "it lies in no partition, so its files are not read"
                yield Problem(path, kind, detail)

    def _new_partitions(self) -> Sequence[PartitionLocation]:
        """The catalog's partitions as of now, with those that were added since the snapshot."""
        found = self.store.partitions(self.snapshot.table.name)
        return [PartitionLocation(p.name, p.location) for p in found]


def _problem_beside(
    place: str, files: Sequence[str], kind: TableKind, latest: ValidWriteIdList, depth: int
) -> ProblemKind | None:
    """The problem of a directory outside of every partition; None if it may be committed yet."""
    parts = place.split("/") if place else []
    if lies_hidden(place):
        return ProblemKind.LEFT_BEHIND
    if len(parts) < depth or not all("=" in part for part in parts):
        return ProblemKind.UNKNOWN_NAME
    if kind is TableKind.PLAIN:
        return ProblemKind.UNKNOWN_PARTITION
    directories = [parse_directory(f.partition("/")[0]) for f in files]
    if all(d is not None and not _is_committed(d, latest) for d in directories):
        return None
    return ProblemKind.UNKNOWN_PARTITION


def _is_committed(directory: BaseDir | DeltaDir, latest: ValidWriteIdList) -> bool:
    match directory:
        case BaseDir():
            return latest.is_valid(directory.write_id)
        case DeltaDir():
            return latest.is_valid(directory.min_write_id) or latest.is_valid(
                directory.max_write_id
            )
