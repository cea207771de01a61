"""Rules of correctness, each with the smallest change that breaks it and a fast test that notices.

Each test needs no Spark, Java or network; stores are in memory or SQLite files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BrokenRule:
    """A rule, and the change that breaks it: ``new`` in the place of ``old`` in ``file``.

    ``file`` is below the package and has ``old`` once. ``broken`` ends the sentence "The broken
    version …". ``caught_by`` is the test that fails then: a file below ``tests`` and the name of a
    test. The cases of that test on PostgreSQL are left out.
    """

    rule: str
    broken: str
    file: str
    old: str
    new: str
    caught_by: str


RULES = [
    BrokenRule(
        "Statistics are true only of a snapshot with the same valid write ids.",
        "looks at the high watermark alone, and so overlooks aborted and open write ids below it",
        "model/statistics.py",
        """    return f"{mark} without {len(exceptions)} {_digest(map(str, exceptions))}"\n""",
        "    return str(mark)\n",
        "unit/model/test_statistics.py::test_statistics_are_not_true_any_more",
    ),
    BrokenRule(
        "A partition that was dropped and made again has no statistics, nor has its table.",
        "keeps the statistics of a table whose partitions are dropped",
        "backends/relational/catalog.py",
        """        self._sql.run("delete_statistics", table_id=table_id)
        for partition in map(str, partitions):
""",
        "        for partition in map(str, partitions):\n",
        "unit/backends/test_store_statistics.py::test_what_changes_the_table_forgets_them",
    ),
    BrokenRule(
        "Of two transactions that overlap and change the same place, the first one to commit wins.",
        "overlooks a change that was committed when no other transaction had opened since",
        "txn/conflict.py",
        "and txn_id <= change.commit_id",
        "and txn_id < change.commit_id",
        "unit/txn/test_conflict.py::test_intervals_that_meet_overlap",
    ),
    BrokenRule(
        "The store's SQL finds every conflict that the rule in Python finds.",
        "overlooks the same change in the first step of a commit",
        "backends/relational/txns.sql",
        "JOIN WRITE_SET ON WS_COMMIT_ID >= :txn_id",
        "JOIN WRITE_SET ON WS_COMMIT_ID > :txn_id",
        "unit/backends/test_store_txns.py"
        "::test_a_txn_opened_after_the_other_one_but_before_its_commit_conflicts",
    ),
    BrokenRule(
        "A statement that waited for its locks fails if another transaction has committed a "
        "change of the same place meanwhile.",
        "treats all locks as granted at once, and asks the store for no such change",
        "execution/write.py",
        "    is_new = txn.granted_on_open\n",
        "    is_new = True\n",
        "component/execution/test_write.py::test_a_statement_that_has_lost_names_the_winner_and_the_place",
    ),
    BrokenRule(
        "A statement whose table was dropped and made again while the statement waited writes "
        "under a write id of the new table.",
        "writes under the write id that the statement got for the old table",
        "execution/write.py",
        "if not is_new and write_id != NO_WRITE_ID and not txn.still_has(table, write_id):",
        "if False:",
        "component/execution/test_write.py"
        "::test_a_table_made_again_meanwhile_is_written_under_its_own_write_id",
    ),
    BrokenRule(
        "No rows are written below a base that has a higher write id, because the base would hide "
        "them.",
        "looks for bases that have a lower write id",
        "execution/overtaking.py",
        "base.write_id > own",
        "base.write_id < own",
        "component/execution/test_write.py::test_a_statement_whose_rows_a_base_would_hide_fails",
    ),
    BrokenRule(
        "A DELETE writes a base in place of delete events only if no other transaction may have "
        "rows that the base would hide.",
        "overlooks lower write ids that are still open",
        "execution/emptying.py",
        "    if not snapshot.write_ids.sees_all_below(own, now):\n        return plan\n",
        "",
        "component/execution/test_write.py"
        "::test_no_base_hides_rows_of_a_lower_write_id_that_is_open",
    ),
    BrokenRule(
        "An overwrite hides no committed row that its snapshot does not see.",
        "overlooks the newest committed write id",
        "model/snapshot.py",
        "range(earlier.high_watermark + 1, mark + 1)",
        "range(earlier.high_watermark + 1, mark)",
        "component/execution/test_write.py::test_an_overwrite_that_would_hide_a_later_write_fails",
    ),
    BrokenRule(
        "Locks are compatible as Hive's matrix says.",
        "grants two exclusive write locks of one place at the same time",
        "txn/locks.py",
        "{LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE}",
        "{LockType.SHARED_WRITE, LockType.EXCLUSIVE}",
        "unit/backends/test_store_locks.py::test_the_compatibility_matrix",
    ),
    BrokenRule(
        "A lock request does not overtake an earlier request that waits.",
        "makes a request wait for granted locks only",
        "txn/locks.py",
        "return other.state is LockState.ACQUIRED or not any(",
        "return other.state is LockState.ACQUIRED and not any(",
        "unit/backends/test_store_locks.py::test_no_request_overtakes_a_waiting_one",
    ),
    BrokenRule(
        "Of transactions that wait for each other in a circle, the youngest one is aborted.",
        "aborts the oldest one",
        "txn/deadlock.py",
        "            victim = max(filter(may_lose, circle), default=None)",
        "            victim = min(filter(may_lose, circle), default=None)",
        "unit/txn/test_deadlock.py::test_two_transactions_that_want_what_the_other_has",
    ),
    BrokenRule(
        "A transaction times out when its last heartbeat is too old.",
        "lets a transaction time out when its start is too long ago",
        "backends/relational/txns.sql",
        "WHERE TXN_STATE = 'o' AND TXN_LAST_HEARTBEAT < :oldest_ms ORDER BY TXN_ID",
        "WHERE TXN_STATE = 'o' AND TXN_STARTED < :oldest_ms ORDER BY TXN_ID",
        "unit/backends/test_store_txns.py::test_only_txns_without_a_heartbeat_time_out",
    ),
    BrokenRule(
        "The cleaner waits for every transaction that may still read the old directories.",
        "looks at the ids of open transactions only, not at the older transactions that were open "
        "when a reader began",
        "backends/relational/compactions.sql",
        "SELECT MIN(MHL_MIN_OPEN_TXNID) FROM MIN_HISTORY_LEVEL",
        "SELECT MIN(MHL_TXNID) FROM MIN_HISTORY_LEVEL",
        "unit/backends/test_store_compactions.py"
        "::test_a_txn_opened_beside_an_older_one_keeps_what_that_one_may_read",
    ),
    BrokenRule(
        "The cleaner counts only compactions that every open reader sees.",
        "also counts compactions that were committed after the one that is being cleaned up",
        "background/cleaner.py",
        "min(txns.high_watermark, txns.min_open - 1, (compaction.next_txn_id or 0) - 1)",
        "min(txns.high_watermark, txns.min_open - 1)",
        "component/background/test_cleaner.py"
        "::test_a_reader_keeps_what_a_compaction_makes_obsolete_that_it_does_not_see",
    ),
    BrokenRule(
        "The cleaner itself checks that every open transaction sees the compaction.",
        "relies on the store to name no compaction too early",
        "background/cleaner.py",
        "min(txns.high_watermark, txns.min_open - 1, (compaction.next_txn_id or 0) - 1)",
        "min(txns.high_watermark, (compaction.next_txn_id or 0) - 1)",
        "component/background/test_cleaner.py"
        "::test_an_older_reader_keeps_what_it_reads_even_where_the_store_would_clean",
    ),
    BrokenRule(
        "A directory that reaches above a compaction's highest write id makes no other directory "
        "obsolete.",
        "ignores only the directories that begin above that write id",
        "layout/obsolete.py",
        "highest_write_id(directory) > cap",
        "getattr(directory, 'min_write_id', highest_write_id(directory)) > cap",
        "unit/layout/test_acid_state.py"
        "::test_a_later_compaction_makes_nothing_obsolete_for_an_earlier_one",
    ),
    BrokenRule(
        "A compaction covers no open write id.",
        "covers all write ids up to the high watermark",
        "model/snapshot.py",
        "mark = WriteId(min(self.high_watermark, self.min_open - 1))",
        "mark = WriteId(self.high_watermark)",
        "unit/layout/test_acid_state.py::test_snapshot_functions",
    ),
    BrokenRule(
        "A snapshot sees no rows of an aborted write id.",
        "counts only open write ids among the exceptions of a snapshot",
        "model/snapshot.py",
        "return tuple(sorted(self.open | self.aborted))",
        "return tuple(sorted(self.open))",
        "unit/layout/test_acid_state.py::test_ranges_seen_in_part_need_a_row_filter",
    ),
    BrokenRule(
        "A snapshot sees no rows of an open write id.",
        "takes an open write id for a valid one",
        "model/snapshot.py",
        "            and write_id not in self.open\n",
        "",
        "unit/layout/test_acid_state.py::test_overwrite_of_the_lowest_open_write_id_is_not_read",
    ),
    BrokenRule(
        "Readers ignore the directories of a compaction that has not committed.",
        "reads the directories of every compaction that has not been aborted",
        "layout/acid_state.py",
        "not self.valid_txns.is_valid(directory.visibility_id):",
        "self.valid_txns.is_aborted(directory.visibility_id):",
        "unit/layout/test_acid_state.py::test_uncommitted_compaction_is_ignored_then_used",
    ),
    BrokenRule(
        "The base of an INSERT OVERWRITE hides every delta up to the base's own write id.",
        "reads the deltas from write id 1 on beside the base",
        "layout/acid_state.py",
        "current = WriteId(0) if self.base is None else _write_id(self.base)",
        "current = WriteId(0)",
        "unit/layout/test_acid_state.py::test_newest_base_makes_the_rest_obsolete",
    ),
    BrokenRule(
        "A directory that is missing is an error, not an empty table.",
        "reads without a look whether the directory is there",
        "engines/selection.py",
        "if must_exist(snapshot, storage) and storage.is_missing(location):",
        "if not must_exist(snapshot, storage):",
        "component/definitions/test_missing_directories.py"
        "::test_a_missing_table_is_neither_read_nor_written",
    ),
    BrokenRule(
        "A name in a statement never leads to another directory as a path.",
        "accepts every text that is not empty as the name of a directory",
        "model/naming.py",
        "    if not is_path_part(text):",
        "    if not text:",
        "unit/model/test_naming.py::test_a_name_is_no_path",
    ),
    BrokenRule(
        "A row goes into the bucket that Hive's hash, version 2, says.",
        "starts murmur3 with the usual seed 0 instead of Hive's",
        "layout/murmur.py",
        "np.uint32(104729)",
        "np.uint32(0)",
        "unit/layout/test_bucketing.py::test_rows_are_in_the_buckets_that_hive_chose",
    ),
    BrokenRule(
        "A sample of buckets hashes each column by its type in the table.",
        "takes Spark's type for it, and so hashes the padding of a char within a struct",
        "planner/bucket_sample.py",
        "    return HashKey(text=text, column=column.name if column else None)\n",
        "    return HashKey(text=text, column=None)\n",
        "unit/planner/test_bucket_sample.py::test_columns_have_the_types_of_the_table",
    ),
    BrokenRule(
        "A delete event removes the row that has the same write id, bucket and row number.",
        "joins a large number of deletes without the bucket",
        "engines/spark/deletes.py",
        "    names = [*ROW_ID_COLUMNS]\n",
        "    names = [ROW_ID_COLUMNS[0], ROW_ID_COLUMNS[2]]\n",
        "unit/engines/spark/test_deletes.py::test_all_parts_of_the_row_id_are_compared",
    ),
    BrokenRule(
        "No row has the packed key by which another row is deleted.",
        "leaves out that the other bits must be those of the deleted rows",
        "engines/spark/key_packing.py",
        "is not distinct from {common[name]}",
        "is not distinct from {name} & {~mask[name]}",
        "unit/engines/spark/test_key_packing.py::test_only_a_deleted_row_has_its_key",
    ),
    BrokenRule(
        "A bucket is merged only if no file of it has rows, or deletes of rows, of another one.",
        "misses deletes that lie in the files of another bucket",
        "orc/merge_rows.py",
        "if bucket is not None and",
        "if bucket is None and",
        "unit/orc/test_merge.py::test_rows_of_another_bucket_are_refused",
    ),
    BrokenRule(
        "A stripe is skipped only by statistics of the values that the query sees.",
        "also skips by the statistics of a column whose values are converted on reading",
        "engines/spark/events.py",
        "if f is not None and not f.converted}",
        "if f is not None}",
        "unit/engines/spark/test_events.py"
        "::test_older_files_are_searched_by_the_names_and_values_they_hold",
    ),
    BrokenRule(
        "A MERGE fails if it would update a target row and a second source row would change that "
        "row, too.",
        "fails only if every matching source row would update the row",
        "engines/matches.py",
        "updated = np.logical_or.reduceat(updates, starts)",
        "updated = np.logical_and.reduceat(updates, starts)",
        "unit/engines/test_matches.py::test_a_row_is_updated_by_one_source_row_at_most",
    ),
    BrokenRule(
        "An UPDATE deletes the old row and inserts the new row under the same statement id.",
        "inserts the new row under the statement id of the MERGE's first leg",
        "engines/changes.py",
        "output.insert(batch, partition, bucket_id, leg.statement_id)",
        "output.insert(batch, partition, bucket_id, legs[0].statement_id)",
        "unit/engines/test_changes.py::test_each_leg_writes_under_its_statement_id",
    ),
    BrokenRule(
        "No two writes of a transaction share a statement id.",
        "counts a MERGE with several legs as one write",
        "execution/transaction_block.py",
        "self._next_statement_id = first + statement_count(plan)",
        "self._next_statement_id = first + 1",
        "component/execution/test_write.py::test_each_leg_of_a_merge_takes_a_statement_id_of_its_block",
    ),
    BrokenRule(
        "No INSERT of a multi-insert hides rows of another one.",
        "does not compare where the legs have written",
        "engines/placed_write.py",
        "if other is not write and (replaces",
        "if other is None and (replaces",
        "component/execution/test_multi_insert.py"
        "::test_legs_that_meet_in_a_partition_are_refused_before_they_are_published",
    ),
    BrokenRule(
        "If one leg of a multi-insert fails, the files of the others go, too.",
        "removes the files of the first leg only",
        "engines/spark/runner.py",
        "        for write in writes:\n            discard_write(",
        "        for write in writes[:1]:\n            discard_write(",
        "component/execution/test_multi_insert.py"
        "::test_a_leg_that_cannot_be_published_takes_the_others_with_it",
    ),
    BrokenRule(
        "INSERT OVERWRITE DIRECTORY removes nothing but what such statements have written.",
        "takes a file for one of them by its name alone, where no mark is",
        "layout/result_dir.py",
        "int(match[1]) <= last",
        "int(match[1]) > 0",
        "unit/layout/test_result_dir.py::test_anything_else_is_foreign",
    ),
    BrokenRule(
        "Of statements that fill a directory at a time, the files of one are there in the end.",
        "does not look for a later mark once its files are there",
        "definitions/result_directory.py",
        "if listed.generation > self._generation:",
        "if listed.generation < 0:",
        "component/definitions/test_insert_directory.py"
        "::test_of_two_at_a_time_the_files_of_one_are_there",
    ),
    BrokenRule(
        "A block goes on after a failed statement only if the statement's files have been removed.",
        "lets the block go on and leaves the files",
        "execution/write.py",
        "            _undo(plan, context, block, engine, error)\n",
        "            pass\n",
        "component/execution/test_write.py::test_a_failed_statement_whose_files_stay_loses_its_block",
    ),
    BrokenRule(
        "A transaction that waited in vain for a lock wins no conflict by that lock.",
        "keeps the record of the changes that the request announced without naming a partition",
        "txn/locks.py",
        "c.partition in (asked.partition, None)",
        "c.partition == asked.partition",
        "unit/backends/test_store_locks.py::test_a_transaction_that_waited_in_vain_wins_no_conflict",
    ),
    BrokenRule(
        "A commit takes the rows that its transaction both wrote and deleted out of the "
        "transaction's files.",
        "leaves such rows and their delete events in the files",
        "execution/commit.py",
        "        _fold_own_deletes(txn, uncommitted, store, engine, held)\n",
        "",
        "component/execution/test_own_deletes.py::test_what_is_committed",
    ),
    BrokenRule(
        "A minor compaction keeps a row that a later write id deleted.",
        "drops every deleted row",
        "orc/merge.py",
        "own = row_ids.where(current == row_ids.write_ids)",
        "own = row_ids",
        "unit/orc/test_merge.py::test_minor",
    ),
    BrokenRule(
        "The base of a rebalance hides no write that is still open.",
        "does not look whether a lower write id is open",
        "background/rebalance.py",
        "    if now.min_open < own:\n",
        "    if False:\n",
        "component/background/test_rebalance.py::test_it_does_not_wait_for_ever",
    ),
    BrokenRule(
        "A rebalance reads no row that its base does not hide.",
        "reads whatever its snapshot sees",
        "background/rebalance.py",
        "high_watermark=WriteId(min(write_ids.high_watermark, own)),",
        "high_watermark=write_ids.high_watermark,",
        "component/background/test_rebalance.py"
        "::test_a_higher_write_id_of_an_older_transaction_is_not_read",
    ),
    BrokenRule(
        "For other transactions a rebalance is an update of all rows.",
        "takes a rebalance for a compaction, which changes nothing",
        "backends/memory/txns.py",
        "        if txn.type is TxnType.COMPACTION:\n            return None\n",
        "        if txn.type is not TxnType.DEFAULT:\n            return None\n",
        "unit/backends/test_store_compaction_requests.py"
        "::test_a_rebalance_is_an_update_for_those_who_began_before",
    ),
    BrokenRule(
        "A timestamp is a wall clock time in the zone that the file names.",
        "counts seconds from the start of 2015 in UTC, whatever zone the file names",
        "orc/timestamps/stored.py",
        "base = BASE_S if is_utc(zone) else instant_of(BASE_S, zone)",
        "base = BASE_S",
        "unit/orc/timestamps/test_timestamps.py::test_other_zones_and_calendars",
    ),
    BrokenRule(
        "The bounds of timestamps hold for their fractions.",
        "leaves the bounds of the whole seconds that pyarrow has written",
        "orc/timestamps/splice.py",
        "signed(bound) + _SECOND_MS * (-1 if n % 2 else 1)",
        "signed(bound)",
        "unit/orc/timestamps/test_timestamps.py::test_bounds_hold_for_fractions",
    ),
    BrokenRule(
        "A constant of type timestamp is wall-clock time, unless it names a zone.",
        "also takes one with a zone for wall-clock time",
        "grammar/wall_clocks.py",
        "    return _NO_ZONE.fullmatch(string_value(found[0].text)) is not None",
        "    return True",
        "unit/grammar/test_wall_clocks.py::test_all_else_stays",
    ),
    BrokenRule(
        "Spark's own reader reads timestamps only if all of Spark's JVMs run in UTC.",
        "uses that reader only if none of the JVMs runs in UTC",
        "engines/spark/timestamps.py",
        "    zones = _jvm_zones(spark) - _UTC",
        "    zones = _jvm_zones(spark) & _UTC",
        "unit/engines/spark/test_timestamps.py::test_every_zone_counts_and_is_asked_for_once",
    ),
    BrokenRule(
        "A row that is given to `session.insert` is written as it is, or nothing is written.",
        "cuts a time of day off to make a date",
        "engines/conversion.py",
        "        if not _equal(days.cast(kind), array):",
        "        if False:",
        "unit/engines/test_conversion.py::test_what_does_not_fit_names_its_row",
    ),
    BrokenRule(
        "A stream makes no value of one kind into another.",
        "takes Arrow times with a zone, at any depth, for times without one",
        "streaming/arrow_kinds.py",
        "    return None if found in (None, wanted) else",
        "    return None if found in (None, wanted, _INSTANT) else",
        "unit/streaming/test_arrow_kinds.py::test_zones_must_agree_at_any_depth",
    ),
    BrokenRule(
        "A reader of batches that was read already is refused.",
        "does not remember which readers were read, and inserts no rows",
        "engines/given_rows.py",
        "    if reader in _READ:",
        "    if False:",
        "unit/engines/test_given_rows.py"
        "::test_a_reader_that_was_read_is_not_taken_for_an_empty_one",
    ),
    BrokenRule(
        "No write id of another writer lies between those of a batch, which share a directory.",
        "accepts write ids with holes between them",
        "txn/txn_batch.py",
        "if list(self.write_ids) != list(range(first, last + 1)):",
        "if False:",
        "unit/txn/test_txn_batch.py::test_write_ids_with_holes_are_refused",
    ),
    BrokenRule(
        "No row of a stream is written below a base that hides it.",
        "does not look for such a base when a transaction begins",
        "streaming/batches.py",
        "            if by is None:\n",
        "            if True:\n",
        "unit/streaming/test_connection.py::test_an_overwrite_hides_no_later_rows_of_a_batch",
    ),
    BrokenRule(
        "A file that grows is a whole file at each of its lengths, with the rows up to there.",
        "leaves the stripes the offsets that they had in their part",
        "orc/appended.py",
        "offset=stripe.offset + moved",
        "offset=stripe.offset",
        "unit/orc/test_appended.py::test_every_length_of_the_file_is_a_whole_file",
    ),
    BrokenRule(
        "The side file of a file with an unfinished end stays.",
        "removes the side file as those of whole files",
        "streaming/files.py",
        "if file.is_whole and file.sides:",
        "if file.sides:",
        "unit/streaming/test_connection.py::test_a_failure_kills_the_batch",
    ),
    BrokenRule(
        "A mutex has one owner until its lease has ended.",
        "gives the mutex to every owner that asks",
        "backends/relational/mutexes.sql",
        "WHERE AUX_TABLE.MT_COMMENT = EXCLUDED.MT_COMMENT OR AUX_TABLE.MT_EXPIRES <= :now_ms",
        "WHERE TRUE",
        "unit/backends/test_store_mutexes.py"
        "::test_a_lease_ends_by_the_clock_of_the_store_unless_it_is_renewed",
    ),
    BrokenRule(
        "VACUUM goes by overwrites that every open transaction sees.",
        "counts overwrites that are committed by now",
        "background/vacuum.py",
        "TxnId(oldest - 1), aborted=frozenset(t for t in valid.aborted if t < oldest)",
        "valid.high_watermark, aborted=valid.aborted",
        "component/background/test_vacuum.py::test_what_an_open_reader_may_read_stays",
    ),
    BrokenRule(
        "What the base of a compaction replaces is left to the entry of that compaction.",
        "takes the base of a compaction for that of an overwrite",
        "layout/obsolete.py",
        "    return name in compacted or base.visibility_id != NO_TXN\n",
        "    return False\n",
        "component/background/test_vacuum.py::test_a_base_of_a_compaction_is_no_overwrite",
    ),
    BrokenRule(
        "A compaction copies a stripe only if all of its rows stay.",
        "copies every stripe that has the output's form",
        "orc/merge_inserts.py",
        "        may_copy and rows == stripe.rows,\n",
        "        may_copy,\n",
        "unit/orc/test_merge_inserts.py::test_a_stripe_that_loses_a_row_is_rewritten_alone",
    ),
    BrokenRule(
        "The index of an event column points to the first row of each group.",
        "lets the index of every group point to the first group of its stripe",
        "orc/event_columns.py",
        "original_place(len(self.data), self.tail)",
        "original_place(0, self.tail)",
        "unit/orc/test_event_columns.py::test_each_group_of_rows_begins_where_the_index_says",
    ),
    BrokenRule(
        "A bound of merged stripes stays only if each stripe with values says it.",
        "takes the bounds of the stripes that say some",
        "orc/statistics_merge.py",
        "        if all(kind in part for part in filled):\n",
        "        filled = [part for part in filled if kind in part]\n        if filled:\n",
        "unit/orc/test_statistics_merge.py"
        "::test_a_bound_stays_only_where_every_stripe_with_values_has_it",
    ),
    BrokenRule(
        "The value of a variable cannot end a statement of a script.",
        "accepts a semicolon in a value",
        "grammar/lexer.py",
        'if token.text == ";" and replaced',
        'if token.text == ";;" and replaced',
        "unit/grammar/test_variables.py::test_a_value_stays_in_its_statement",
    ),
    BrokenRule(
        "Files of which nobody says what they are become no ACID table.",
        "takes them in",
        "definitions/create_table.py",
        "if unsaid is not None and not adoption.is_empty",
        "if unsaid is None and not adoption.is_empty",
        "component/definitions/test_table_defaults.py"
        "::test_files_of_which_nobody_says_what_they_are",
    ),
    BrokenRule(
        "No write leaves a NULL in a column that is NOT NULL.",
        "looks at no row",
        "engines/required.py",
        "if rows.column(name).null_count:",
        "if rows.column(name).null_count < 0:",
        "component/session/test_constraints.py::test_rows_of_python_do_the_same",
    ),
    BrokenRule(
        "A row that leaves out a column gets the DEFAULT of that column.",
        "takes the defaults of the columns that the row has",
        "planner/defaults.py",
        "if c not in columns and default_of",
        "if c in columns and default_of",
        "component/session/test_constraints.py::test_rows_of_python_do_the_same",
    ),
    BrokenRule(
        "A WHERE around a view prunes the scans in it only if the view makes each row by itself.",
        "also prunes below a LIMIT and a GROUP BY",
        "planner/view_predicates.py",
        "    return clauses <= _CLAUSES and all(\n",
        "    return all(\n",
        "unit/planner/test_view_predicates.py::test_what_makes_rows_of_several_gets_none",
    ),
    BrokenRule(
        "In a statement that changes rows, row__id is that of the target.",
        "takes the NULL that a plain table of a subquery has",
        "planner/text.py",
        "if all(lacks) and not self.changes_rows:",
        "if all(lacks):",
        "unit/planner/test_row_ids.py::test_the_row_ids_of_a_plain_table_take_the_place_of_no_others",
    ),
    BrokenRule(
        "A statement that defines a view locks the views in its query.",
        "locks the tables only, so two sessions could make a cycle of two views",
        "definitions/create_view.py",
        "lock_components([*query_accesses(self.plan), *views])",
        "lock_components(query_accesses(self.plan))",
        "component/definitions/test_views.py::test_whoever_makes_a_view_locks_the_views_in_it",
    ),
    BrokenRule(
        "The store remembers an aborted write as long as a file may hold its rows.",
        "takes a compaction whose highest write id is that of the write for its writer",
        "background/aborted_writes.py",
        "        if c.write_id is not None and c.operation is not WriteOperation.COMPACT\n",
        "        if c.write_id is not None\n",
        "component/background/test_aborted_writes.py"
        "::test_a_dead_compaction_up_to_the_same_write_id_makes_nothing_forgotten",
    ),
    BrokenRule(
        "A committed write whose files are gone is an error, not empty.",
        "takes an empty directory for the write",
        "layout/missing.py",
        "        and not (_is_of_one_write(d) and name not in filled)\n",
        "",
        "component/check/test_missing_writes.py::test_a_directory_without_its_files_is_missing_too",
    ),
    BrokenRule(
        "A scan takes a directory for one of inserts alone only if its writer has said so.",
        "takes every directory for one, and so shows the events of older formats as rows",
        "layout/acid_state.py",
        "not _is_delete(directory) and any(f.path == VERSION_FILE for f in files)",
        "not _is_delete(directory)",
        "unit/layout/test_acid_state.py::test_a_writer_of_the_format_with_split_updates_says_so",
    ),
    BrokenRule(
        "Changed rows are sorted before they are written, unless they are sorted already.",
        "looks at the first part of the order alone",
        "engines/rows.py",
        "        equal &= key[1:] == key[:-1]\n",
        "        equal[:] = False\n",
        "unit/engines/test_changes.py::test_every_change_is_written_once",
    ),
    BrokenRule(
        "Columns are copied only of a stripe all of whose rows have new versions.",
        "copies those of every stripe that has a row with a new version",
        "orc/set_columns.py",
        "is_whole = there.all() and",
        "is_whole = there.any() and",
        "property/test_set_columns.py::test_the_file_is_that_of_whole_rows",
    ),
    BrokenRule(
        "The scan of a MERGE's target leaves out no row that has a key of the source.",
        "sets one of the two bits that the scan looks up for a key",
        "engines/spark/key_bits.py",
        "    bits[whole & np.uint64((1 << length) - 1)] = True\n",
        "",
        "unit/engines/spark/test_known_keys.py::test_both_bits_of_each_hash_are_set",
    ),
    BrokenRule(
        "Rows are alike if all of their values are: a MERGE's clauses are asked of each row of the "
        "source that differs from others, and each row goes to the partition of its values.",
        "takes rows for alike that have the same value in the last of the columns",
        "engines/distinct_rows.py",
        "codes = groups * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy()",
        "codes = encoded.indices.to_numpy()",
        "unit/engines/test_distinct_rows.py::test_rows_are_alike_if_all_their_values_are",
    ),
    BrokenRule(
        "Days and timestamps of a Parquet file are those that clocks at its writer showed.",
        "takes the dates of Hive 4 for Gregorian ones",
        "engines/parquet_times.py",
        'days = said.get(_PROLEPTIC) == b"false"',
        "days = False",
        "unit/engines/test_parquet_times.py::test_what_hives_say",
    ),
    BrokenRule(
        "Columns of an insert-only ORC table are found as Hive 4 finds them, by their position.",
        "finds them by position in full-ACID tables alone",
        "model/table.py",
        "return default and self.kind is not TableKind.PLAIN",
        "return default and self.kind is TableKind.FULL_ACID",
        "unit/model/test_table.py::test_whose_columns_are_matched_by_position",
    ),
    BrokenRule(
        "A file that a link does not lead to any more is an error, not a file without rows.",
        "leaves the link out of the listing",
        "backends/storage/local.py",
        "                        _refuse_broken_link(entry, prefix)\n",
        "",
        "unit/backends/test_storage.py::test_a_link_to_nothing_is_no_missing_row",
    ),
    BrokenRule(
        "A plain table becomes transactional only if no other table has files in its directory.",
        "does not look for other tables",
        "definitions/conversion.py",
        "        _refuse_shared(now, scope, place)\n",
        "",
        "component/definitions/test_alter.py"
        "::test_nor_does_a_table_become_transactional_that_shares_its_directory",
    ),
    BrokenRule(
        "Hive finds a field of a struct by the letters of its type.",
        "writes the names of fields in lower case, and Hive reads NULL",
        "orc/schema.py",
        "arrow_type(as_spelled(c.type))",
        "arrow_type(c.type)",
        "unit/orc/test_writer.py::test_fields_have_the_names_by_which_hive_finds_them",
    ),
    BrokenRule(
        "A change of a column leaves the letters of its fields as they are.",
        "takes those of the statement",
        "definitions/columns.py",
        "    return replace(new, type=old.type)\n",
        "    return new\n",
        "component/definitions/test_columns.py::"
        "test_names_of_fields_keep_their_capital_letters_where_hive_keeps_them",
    ),
    BrokenRule(
        "A process that dies while it changes a column over a Hive Metastore loses no constraint.",
        "changes the column without a note of the constraints",
        "backends/metastore/catalog.py",
        "            note(struct, table.constraints)\n",
        "",
        "component/backends/metastore/test_constraints.py::"
        "test_a_process_that_dies_while_it_changes_a_column_leaves_a_note",
    ),
]
