"""Ids that a Hive Metastore is to skip, because directories have them that it has not given out."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.backends.metastore.errors import UnknownMethodError
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.lost_answers import looked_at
from acidsql.backends.metastore.sense import given
from acidsql.backends.metastore.txns import AGENT, MetastoreTxns
from acidsql.errors import CommitStateUnknownError, StorageError, TxnError
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.commit import commit

_MOST_SEEDED = 10_000
"""The most write ids or txn ids that we use up one by one if a server cannot skip them."""


class MetastoreSeeding(MetastoreTxns):
    """The verbs of `TxnManager` that raise the ids which are given out next."""

    def seed_write_id(self, table: TableName, highest: WriteId) -> None:
        """As in the port, for a table that is transactional or not there yet."""
        mark = self._allocated(table)
        if mark >= highest:
            return
        request = hms.SeedTableWriteIdsRequest(
            dbName=table.database, tableName=table.table, seedWriteId=highest
        )
        if mark == 0:
            try:
                with looked_at(lambda: self._allocated(table) >= highest):
                    self._client.call("seed_write_id", request)
            except UnknownMethodError:
                pass
            else:
                return
        self._use_up(table, mark, highest)

    def _allocated(self, table: TableName) -> WriteId:
        """The highest write id that was given out; 0 if there is none."""
        now = self.valid_txns()
        return self.valid_write_ids([table], now)[table].high_watermark

    def _use_up(self, table: TableName, mark: WriteId, highest: WriteId) -> None:
        """Allocate the write ids one after the other, and commit them empty.

        One that is not committed would hide the rows of the directories that have it.
        """
        if highest - mark > _MOST_SEEDED:
            raise TxnError(
                f"the metastore cannot skip {highest - mark} write ids of {table}",
                hint="INSERT INTO … SELECT from the files into a new table.",
            )
        while mark < highest:
            txns = self.open_txns(highest - mark, AGENT, "")
            request = hms.AllocateTableWriteIdsRequest(
                dbName=table.database, tableName=table.table, txnIds=txns
            )
            answer = self._client.call("allocate_table_write_ids", request)
            allocated = max((m.writeId for m in answer.txnToWriteIds), default=None)
            mark = WriteId(given(allocated, f"write ids of {table}"))
            self._commit_unused(txns)

    def _commit_unused(self, txns: Sequence[TxnId]) -> None:
        """Commit transactions that only use up ids. StorageError if the metastore does not answer.

        A CommitStateUnknownError would be taken for one about the statement's own transaction.
        """
        for txn_id in txns:
            try:
                commit(txn_id, self.commit_txn)
            except CommitStateUnknownError as error:
                raise StorageError(
                    f"it is not known whether txnid:{txn_id} was committed, whose ids are skipped",
                    detail=error.detail,
                    hint="If it is aborted, directories with its ids stay hidden, with their rows.",
                ) from error

    def seed_txn_id(self, highest: TxnId) -> None:
        """As in the port."""
        mark = self.valid_txns().high_watermark
        if mark >= highest:
            return
        try:
            # This seed is the first id that is given out; the seed of write ids is the last one.
            request = hms.SeedTxnIdRequest(seedTxnId=highest + 1)
            with looked_at(lambda: self.valid_txns().high_watermark >= highest):
                self._client.call("seed_txn_id", request)
        except UnknownMethodError:
            if highest - mark > _MOST_SEEDED:
                raise TxnError(
                    f"the metastore cannot skip {highest - mark} transaction ids"
                ) from None
        else:
            return
        while mark < highest:
            txns = self.open_txns(highest - mark, AGENT, "")
            mark = max(txns)
            self._commit_unused(txns)
