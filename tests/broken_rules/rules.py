"""Rules of correctness, each with the smallest change that breaks it and a fast test that notices.

Each test needs no Spark, Java or network; stores are in memory or SQLite files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokenRule:
    """``old`` stands once in ``file``, which is below the package; ``new`` in its place breaks it.

    ``caught_by`` is the test that fails then: a file below ``tests`` and the name of a test. Of its
    parameters those with PostgreSQL are left out.
    """

    rule: str
    broken: str
    file: str
    old: str
    new: str
    caught_by: str


RULES = [
    BrokenRule(
        "Of two transactions that overlap and change the same place, the first committer wins.",
        "A commit in the moment in which the other one opened does not count",
        "txn/conflict.py",
        "and txn_id <= change.commit_id",
        "and txn_id < change.commit_id",
        "unit/txn/test_conflict.py::test_intervals_that_meet_overlap",
    ),
    BrokenRule(
        "The store's SQL is never more lenient about conflicts than the rule.",
        "The same, in the commit's first step",
        "backends/relational/txns.sql",
        "JOIN WRITE_SET ON WS_COMMIT_ID >= :txn_id",
        "JOIN WRITE_SET ON WS_COMMIT_ID > :txn_id",
        "unit/backends/test_store_txns.py"
        "::test_a_txn_opened_after_the_other_one_but_before_its_commit_conflicts",
    ),
    BrokenRule(
        "Who waited for a lock does not write on a snapshot that could never commit.",
        "Nobody is asked whether the statement has lost meanwhile",
        "execution/write.py",
        "    is_new = txn.granted_on_open\n",
        "    is_new = True\n",
        "unit/execution/test_write.py::test_who_has_lost_is_told_to_whom_and_where",
    ),
    BrokenRule(
        "Who waited while its table was dropped and made again writes under a new write id.",
        "Under the one it had in the former table",
        "execution/write.py",
        "if not is_new and write_id != NO_WRITE_ID and not txn.still_has(table, write_id):",
        "if False:",
        "unit/execution/test_write.py"
        "::test_a_table_made_again_meanwhile_is_written_under_its_own_write_id",
    ),
    BrokenRule(
        "No rows are written below a base that has a higher write id.",
        "Bases with lower write ids are looked for",
        "execution/overtaking.py",
        "base.write_id > own",
        "base.write_id < own",
        "unit/execution/test_write.py::test_whose_rows_a_base_would_hide_is_told_so",
    ),
    BrokenRule(
        "An overwrite hides no committed row that it has not seen.",
        "The newest write id is left out",
        "model/snapshot.py",
        "range(earlier.high_watermark + 1, mark + 1)",
        "range(earlier.high_watermark + 1, mark)",
        "unit/execution/test_write.py::test_who_would_hide_rows_of_a_later_write_id_is_told_so",
    ),
    BrokenRule(
        "Locks are compatible as Hive's matrix says.",
        "Two changes of one place need not wait for each other",
        "txn/locks.py",
        "{LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE}",
        "{LockType.SHARED_WRITE, LockType.EXCLUSIVE}",
        "unit/backends/test_store_locks.py::test_the_compatibility_matrix",
    ),
    BrokenRule(
        "Nobody overtakes a request that waits.",
        "Only locks that are granted are waited for",
        "txn/locks.py",
        "return other.state is LockState.ACQUIRED or not any(",
        "return other.state is LockState.ACQUIRED and not any(",
        "unit/backends/test_store_locks.py::test_nobody_overtakes_a_waiting_request",
    ),
    BrokenRule(
        "Of transactions that wait in a circle the youngest loses.",
        "The oldest loses",
        "txn/deadlock.py",
        "    while circle := _circle(queues.waiting, queues.ahead, queues.pass_over(victims)):\n"
        "        victim = max(circle)",
        "    while circle := _circle(queues.waiting, queues.ahead, queues.pass_over(victims)):\n"
        "        victim = min(circle)",
        "unit/txn/test_deadlock.py::test_two_that_want_what_the_other_has",
    ),
    BrokenRule(
        "A transaction times out by its last heartbeat.",
        "By its start",
        "backends/relational/txns.sql",
        "WHERE TXN_STATE = 'o' AND TXN_LAST_HEARTBEAT < :oldest_ms ORDER BY TXN_ID",
        "WHERE TXN_STATE = 'o' AND TXN_STARTED < :oldest_ms ORDER BY TXN_ID",
        "unit/backends/test_store_txns.py::test_only_txns_without_a_heartbeat_time_out",
    ),
    BrokenRule(
        "The cleaner waits for everybody who may still read.",
        "Not for what a reader opened beside an older one has seen",
        "backends/relational/compactions.sql",
        "SELECT MIN(MHL_MIN_OPEN_TXNID) FROM MIN_HISTORY_LEVEL",
        "SELECT MIN(MHL_TXNID) FROM MIN_HISTORY_LEVEL",
        "unit/backends/test_store_compactions.py"
        "::test_a_txn_opened_beside_an_older_one_stands_in_for_it",
    ),
    BrokenRule(
        "The cleaner goes by compactions that every reader knows.",
        "By those that are committed by now",
        "background/cleaner.py",
        "min(txns.high_watermark, txns.min_open - 1, (compaction.next_txn_id or 0) - 1)",
        "min(txns.high_watermark, txns.min_open - 1)",
        "unit/background/test_cleaner.py"
        "::test_a_reader_keeps_what_a_compaction_makes_obsolete_that_it_does_not_see",
    ),
    BrokenRule(
        "The cleaner itself goes by compactions that no open transaction may miss.",
        "It leaves that to the store",
        "background/cleaner.py",
        "min(txns.high_watermark, txns.min_open - 1, (compaction.next_txn_id or 0) - 1)",
        "min(txns.high_watermark, (compaction.next_txn_id or 0) - 1)",
        "unit/background/test_cleaner.py"
        "::test_an_older_reader_keeps_what_it_reads_even_where_the_store_would_clean",
    ),
    BrokenRule(
        "What reaches above a compaction's highest write id makes nothing obsolete.",
        "Only what begins above it does not",
        "layout/obsolete.py",
        "highest_write_id(directory) > cap",
        "getattr(directory, 'min_write_id', highest_write_id(directory)) > cap",
        "unit/layout/test_acid_state.py"
        "::test_what_a_later_compaction_wrote_makes_nothing_obsolete_for_an_earlier",
    ),
    BrokenRule(
        "A compaction covers no open write id.",
        "It goes up to the high watermark",
        "model/snapshot.py",
        "mark = WriteId(min(self.high_watermark, self.min_open - 1))",
        "mark = WriteId(self.high_watermark)",
        "unit/layout/test_acid_state.py::test_snapshot_functions",
    ),
    BrokenRule(
        "A snapshot sees nothing of an aborted write id.",
        "Only open ones are exceptions",
        "model/snapshot.py",
        "return tuple(sorted(self.open | self.aborted))",
        "return tuple(sorted(self.open))",
        "unit/layout/test_acid_state.py::test_ranges_seen_in_part_need_a_row_filter",
    ),
    BrokenRule(
        "A snapshot sees nothing of an open write id.",
        "Only aborted ones are not valid",
        "model/snapshot.py",
        "            and write_id not in self.open\n",
        "",
        "unit/layout/test_acid_state.py::test_overwrite_of_the_lowest_open_write_id_is_not_read",
    ),
    BrokenRule(
        "What a compaction has not committed is not read.",
        "It is, unless it was aborted",
        "layout/acid_state.py",
        "not self.valid_txns.is_valid(directory.visibility_id):",
        "self.valid_txns.is_aborted(directory.visibility_id):",
        "unit/layout/test_acid_state.py::test_uncommitted_compaction_is_ignored_then_used",
    ),
    BrokenRule(
        "INSERT OVERWRITE hides what has its base's write id or a lower one.",
        "Deltas are chosen from write id 1 on",
        "layout/acid_state.py",
        "current = WriteId(0) if self.base is None else _write_id(self.base)",
        "current = WriteId(0)",
        "unit/layout/test_acid_state.py::test_newest_base_makes_the_rest_obsolete",
    ),
    BrokenRule(
        "A directory that is missing is an error, not an empty table.",
        "Nobody looks whether it is there",
        "engines/selection.py",
        "if must_exist(snapshot, storage) and storage.is_missing(location):",
        "if not must_exist(snapshot, storage):",
        "unit/definitions/test_missing_directories.py"
        "::test_a_missing_table_is_neither_read_nor_written",
    ),
    BrokenRule(
        "A name is never a path.",
        "Any text but the empty one is joined to a directory",
        "model/naming.py",
        "    if not is_path_part(text):",
        "    if not text:",
        "unit/model/test_naming.py::test_a_name_is_no_path",
    ),
    BrokenRule(
        "A row's bucket is that of Hive's hash, version 2.",
        "The seed is the usual one of murmur3",
        "layout/murmur.py",
        "np.uint32(104729)",
        "np.uint32(0)",
        "unit/layout/test_bucketing.py::test_as_hive_put_them",
    ),
    BrokenRule(
        "A delete takes away the row of its write id, bucket and row number.",
        "Many deletes are joined without the bucket",
        "engines/spark/deletes.py",
        "    names = [*ROW_ID_COLUMNS]\n",
        "    names = [ROW_ID_COLUMNS[0], ROW_ID_COLUMNS[2]]\n",
        "unit/engines/spark/test_deletes.py::test_all_parts_of_the_row_id_are_compared",
    ),
    BrokenRule(
        "No two rows share the packed key by which few deletes are joined.",
        "The statement id is left out of the key",
        "engines/spark/deletes.py",
        "(bucket >> 4 & 16773120 | bucket & 4095)\n        return",
        "(bucket >> 4 & 16773120)\n        return",
        "unit/engines/spark/test_deletes.py::test_no_two_rows_share_a_packed_key",
    ),
    BrokenRule(
        "Stripes are skipped only by statistics of the values that a query sees.",
        "By those of a column that is converted when it is read, too",
        "engines/spark/events.py",
        "if f is not None and not f.converted}",
        "if f is not None}",
        "unit/engines/spark/test_events.py"
        "::test_files_of_before_are_searched_by_their_names_and_only_for_values_they_hold",
    ),
    BrokenRule(
        "A MERGE updates a row by at most one source row.",
        "It is an error only if every match updates the row",
        "engines/spark/merge.py",
        "if end - start > 1 and any(legs[leg].is_update",
        "if end - start > 1 and all(legs[leg].is_update",
        "unit/engines/spark/test_merge.py::test_a_row_is_updated_by_one_source_row_at_most",
    ),
    BrokenRule(
        "An UPDATE deletes the old row and inserts the new one under one statement id.",
        "The new one is inserted under that of a MERGE's first leg",
        "engines/changes.py",
        "output.insert(batch, partition, bucket_id, leg.statement_id)",
        "output.insert(batch, partition, bucket_id, legs[0].statement_id)",
        "unit/engines/test_changes.py::test_each_leg_writes_under_its_statement_id",
    ),
    BrokenRule(
        "No two writes of a transaction share a statement id.",
        "A MERGE of several legs counts as one write",
        "execution/transaction_block.py",
        "self._next_statement_id = first + statement_count(plan)",
        "self._next_statement_id = first + 1",
        "unit/execution/test_write.py::test_each_leg_of_a_merge_takes_a_statement_id_of_its_block",
    ),
    BrokenRule(
        "A block goes on after a failed statement only when the statement's files are gone.",
        "It goes on in any case",
        "execution/write.py",
        "            _undo(plan, context, block, engine, error)\n",
        "            pass\n",
        "unit/execution/test_write.py::test_a_failed_statement_whose_files_stay_loses_its_block",
    ),
    BrokenRule(
        "A transaction that waited in vain for a lock wins no conflict by it.",
        "What its request may reach in partitions yet unknown stays recorded",
        "txn/locks.py",
        "c.partition in (asked.partition, None)",
        "c.partition == asked.partition",
        "unit/backends/test_store_locks.py::test_who_waited_in_vain_wins_no_conflict",
    ),
    BrokenRule(
        "What a transaction deleted of its own rows is out of its files when it commits.",
        "Nothing is folded",
        "execution/commit.py",
        "        _fold_own_deletes(txn, uncommitted, store, engine, held)\n",
        "",
        "unit/execution/test_own_deletes.py::test_what_is_committed",
    ),
    BrokenRule(
        "A minor compaction keeps the rows that a later write id deleted.",
        "It leaves out all rows that are deleted",
        "orc/merge.py",
        "own = row_ids.where(current == row_ids.write_ids)",
        "own = row_ids",
        "unit/orc/test_merge.py::test_minor",
    ),
    BrokenRule(
        "The base of a rebalance hides no write that is still open.",
        "Nobody looks whether a lower write id is open",
        "background/rebalance.py",
        "    if now.min_open < own:\n",
        "    if False:\n",
        "unit/background/test_rebalance.py::test_it_does_not_wait_for_ever",
    ),
    BrokenRule(
        "A rebalance reads no row that its base does not hide.",
        "It reads whatever its snapshot sees",
        "background/rebalance.py",
        "high_watermark=WriteId(min(write_ids.high_watermark, own)),",
        "high_watermark=write_ids.high_watermark,",
        "unit/background/test_rebalance.py"
        "::test_a_higher_write_id_of_an_older_transaction_is_not_read",
    ),
    BrokenRule(
        "For other transactions a rebalance is an update of all rows.",
        "As a compaction it changes nothing",
        "backends/memory/txns.py",
        "        if txn.type is TxnType.COMPACTION:\n            return None\n",
        "        if txn.type is not TxnType.DEFAULT:\n            return None\n",
        "unit/backends/test_store_compaction_requests.py"
        "::test_a_rebalance_is_an_update_for_those_who_began_before",
    ),
    BrokenRule(
        "A timestamp is the wall clock of the zone that the file names.",
        "Its seconds are counted from 2015 in UTC, whatever the zone",
        "orc/timestamps/stored.py",
        "base = BASE_S if zone in _NO_ZONE else _seconds_at(BASE_S, zone)",
        "base = BASE_S",
        "unit/orc/timestamps/test_timestamps.py::test_other_zones_and_calendars",
    ),
    BrokenRule(
        "Spark's reader reads timestamps only where its JVMs run in UTC.",
        "Only where one of them does not",
        "engines/spark/timestamps.py",
        "    zones = _jvm_zones(spark) - _UTC",
        "    zones = _jvm_zones(spark) & _UTC",
        "unit/engines/spark/test_timestamps.py::test_every_zone_counts_and_is_asked_for_once",
    ),
]
