-- Transactions. Each statement is named by the line before it; parameters are bound,
-- and have a type where nothing else says what they are.

-- the clock -----------------------------------------------------------------------------------

-- name: now_ms
SELECT :now_ms;

-- transactions --------------------------------------------------------------------------------

-- name: next_txn_id
SELECT NTXN_NEXT FROM NEXT_TXN_ID;

-- name: bump_next_txn_id
UPDATE NEXT_TXN_ID SET NTXN_NEXT = NTXN_NEXT + :count;

-- name: seed_txn_id
UPDATE NEXT_TXN_ID SET NTXN_NEXT = :next WHERE NTXN_NEXT < :next;

-- name: count_open
SELECT COUNT(*) FROM TXNS WHERE TXN_STATE = 'o';

-- name: min_open
SELECT MIN(TXN_ID) FROM TXNS WHERE TXN_STATE = 'o';

-- name: insert_txn
-- The transaction that stands :back ids before the next one. The counter is locked. A subquery that
-- comes first, before CROSS JOIN, costs SQLite no temporary table.
INSERT INTO TXNS (TXN_ID, TXN_STATE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST, TXN_TYPE)
SELECT NTXN_NEXT - CAST(:back AS BIGINT), 'o', NOW_MS, NOW_MS, CAST(:user AS TEXT),
  CAST(:host AS TEXT), CAST(:type AS BIGINT)
FROM (SELECT :now_ms AS NOW_MS LIMIT 1) AS CLOCK CROSS JOIN NEXT_TXN_ID;

-- name: insert_min_history
-- For a transaction that is open: so the least open transaction exists.
INSERT INTO MIN_HISTORY_LEVEL (MHL_TXNID, MHL_MIN_OPEN_TXNID)
SELECT NTXN_NEXT - CAST(:back AS BIGINT), (SELECT MIN(TXN_ID) FROM TXNS WHERE TXN_STATE = 'o')
FROM NEXT_TXN_ID;

-- name: opened
-- The newest transaction and the newest lock request, or the request that the transaction has
-- inherited. While the counters are locked, the newest ones belong to this store transaction.
SELECT NTXN_NEXT - 1, LOCK_ID,
  (SELECT MAX(HL_LOCK_STATE) FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = LOCK_ID)
FROM (
  SELECT COALESCE(CAST(:lock_id AS BIGINT), NL_NEXT - 1) AS LOCK_ID FROM NEXT_LOCK_ID LIMIT 1
) AS REQUEST CROSS JOIN NEXT_TXN_ID;

-- name: txn
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_ID = :txn_id;

-- name: show_txns
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_STATE <> 'c' ORDER BY TXN_ID;

-- name: heartbeat
UPDATE TXNS SET TXN_LAST_HEARTBEAT = :now_ms WHERE TXN_ID = :txn_id AND TXN_STATE = 'o';

-- name: heartbeat_range
UPDATE TXNS SET TXN_LAST_HEARTBEAT = :now_ms
WHERE TXN_ID BETWEEN :first AND :last AND TXN_STATE = 'o';

-- name: abort_txn
UPDATE TXNS SET TXN_STATE = 'a', TXN_META_INFO = :reason WHERE TXN_ID = :txn_id AND TXN_STATE = 'o';

-- name: commit_txn
UPDATE TXNS SET TXN_STATE = 'c', TXN_LAST_HEARTBEAT = :now_ms
WHERE TXN_ID = :txn_id AND TXN_STATE = 'o';

-- name: commit_unrivalled
-- Unless another transaction has changed one of the places meanwhile.
UPDATE TXNS SET TXN_STATE = 'c', TXN_LAST_HEARTBEAT = :now_ms
WHERE TXN_ID = :txn_id AND TXN_STATE = 'o' AND NOT EXISTS (
  SELECT 1 FROM TXN_COMPONENTS JOIN WRITE_SET ON WS_COMMIT_ID >= :txn_id AND WS_TXNID <> :txn_id
    AND WS_DATABASE = TC_DATABASE AND WS_TABLE = TC_TABLE
    AND COALESCE(WS_PARTITION, '') = COALESCE(TC_PARTITION, '')
  WHERE TXN_TYPE <> :compaction AND TC_TXNID = :txn_id AND TC_OPERATION_TYPE IN ('u', 'd')
);

-- name: txn_state
SELECT TXN_STATE FROM TXNS WHERE TXN_ID = :txn_id;

-- name: delete_min_history_of_ended
DELETE FROM MIN_HISTORY_LEVEL
WHERE MHL_TXNID = :txn_id
  AND NOT EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'o');

-- name: listed_txns
-- Read-only transactions write nothing that a snapshot would have to hide. There may be thousands of
-- aborted transactions, so the ids of a state are one text.
SELECT TXN_STATE, :txn_ids_as_text FROM TXNS
WHERE TXN_STATE IN ('o', 'a') AND TXN_TYPE <> :read_only AND TXN_ID <= :high_watermark
  AND (CAST(:txn_id AS BIGINT) IS NULL OR TXN_ID <> CAST(:txn_id AS BIGINT))
GROUP BY TXN_STATE;

-- name: listed_on_open
-- The same for the newest transaction, while the counter is locked: there is no later one.
SELECT TXN_STATE, :txn_ids_as_text FROM TXNS
WHERE TXN_STATE IN ('o', 'a') AND TXN_TYPE <> :read_only
  AND TXN_ID < (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID)
GROUP BY TXN_STATE;

-- name: anything_late
SELECT TXN_ID FROM TXNS WHERE TXN_STATE = 'o' AND TXN_LAST_HEARTBEAT < :oldest_ms
UNION ALL
SELECT CQ_ID FROM COMPACTION_QUEUE
WHERE CQ_STATE = 'w' AND (
  (CQ_TXN_ID IS NULL AND CQ_START < :oldest_ms)
  OR (CQ_TXN_ID IS NOT NULL AND NOT COALESCE((
    SELECT CASE TXN_STATE WHEN 'o' THEN CQ_START >= :begun_ms
      ELSE TXN_LAST_HEARTBEAT >= :oldest_ms END
    FROM TXNS WHERE TXN_ID = CQ_TXN_ID
  ), FALSE))
)
LIMIT 1;

-- name: late_txns
SELECT TXN_ID FROM TXNS WHERE TXN_STATE = 'o' AND TXN_LAST_HEARTBEAT < :oldest_ms ORDER BY TXN_ID;

-- components and write sets -------------------------------------------------------------------

-- name: components
SELECT TC_TXNID, TC_DATABASE, TC_TABLE, TC_PARTITION, TC_OPERATION_TYPE, TC_WRITEID
FROM TXN_COMPONENTS WHERE TC_TXNID = :txn_id ORDER BY INV_ID;

-- name: insert_component
-- Nothing is added to a transaction that has ended.
INSERT INTO TXN_COMPONENTS
  (TC_TXNID, TC_DATABASE, TC_TABLE, TC_PARTITION, TC_OPERATION_TYPE, TC_WRITEID)
SELECT CAST(:txn_id AS BIGINT), CAST(:database AS TEXT), CAST(:table AS TEXT),
  CAST(:partition AS TEXT), CAST(:operation AS TEXT), CAST(:write_id AS BIGINT)
WHERE NOT EXISTS (
  SELECT 1 FROM TXN_COMPONENTS
  WHERE TC_TXNID = :txn_id AND TC_DATABASE = :database AND TC_TABLE = :table
    AND COALESCE(TC_PARTITION, '') = COALESCE(CAST(:partition AS TEXT), '')
    AND TC_OPERATION_TYPE = :operation
    AND COALESCE(TC_WRITEID, 0) = COALESCE(CAST(:write_id AS BIGINT), 0)
) AND EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'o');

-- name: insert_component_of_newest
-- With a write id if :written names the table, in which the newest transaction has one.
INSERT INTO TXN_COMPONENTS
  (TC_TXNID, TC_DATABASE, TC_TABLE, TC_PARTITION, TC_OPERATION_TYPE, TC_WRITEID)
VALUES (
  (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID), :database, :table, :partition, :operation,
  (SELECT NWI_NEXT - 1 FROM NEXT_WRITE_ID
   WHERE NWI_DATABASE = :database AND NWI_TABLE = CAST(:written AS TEXT))
);

-- name: delete_unknown_partition
DELETE FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id AND TC_DATABASE = :database AND TC_TABLE = :table AND TC_PARTITION IS NULL
  AND EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'o');

-- name: locked_places
-- The places that a transaction has locked against other changes.
SELECT HL_DB, HL_TABLE, HL_PARTITION FROM HIVE_LOCKS
WHERE HL_TXNID = :txn_id AND HL_LOCK_TYPE <> :shared;

-- name: delete_component
DELETE FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id AND TC_DATABASE = :database AND TC_TABLE = :table
  AND COALESCE(TC_PARTITION, '') = COALESCE(CAST(:partition AS TEXT), '')
  AND TC_OPERATION_TYPE = :operation;

-- name: complete_components
INSERT INTO COMPLETED_TXN_COMPONENTS
  (CTC_TXNID, CTC_DATABASE, CTC_TABLE, CTC_PARTITION, CTC_TIMESTAMP, CTC_WRITEID, CTC_UPDATE_DELETE)
SELECT TC_TXNID, TC_DATABASE, TC_TABLE, TC_PARTITION, CAST(:now_ms AS BIGINT), TC_WRITEID,
  CASE WHEN EXISTS (
    SELECT 1 FROM TXN_COMPONENTS WHERE TC_TXNID = :txn_id AND TC_OPERATION_TYPE IN ('u', 'd')
  ) THEN 'Y' ELSE 'N' END
FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id AND TC_OPERATION_TYPE <> 'c' AND EXISTS (
  SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'c' AND TXN_TYPE <> :compaction
)
ORDER BY INV_ID;

-- name: note_written_table
-- A committed transaction has no components left: what a second commit says does not count.
UPDATE COMPLETED_TXN_COMPONENTS SET CTC_WRITTEN = 'Y'
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table AND CTC_PARTITION IS NULL
  AND CTC_TXNID = :txn_id AND CTC_WRITEID = :write_id
  AND EXISTS (SELECT 1 FROM TXN_COMPONENTS WHERE TC_TXNID = :txn_id);

-- name: note_written_partition
UPDATE COMPLETED_TXN_COMPONENTS SET CTC_WRITTEN = 'Y'
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table AND CTC_PARTITION = :partition
  AND CTC_TXNID = :txn_id AND CTC_WRITEID = :write_id
  AND EXISTS (SELECT 1 FROM TXN_COMPONENTS WHERE TC_TXNID = :txn_id);

-- name: written
SELECT DISTINCT CTC_PARTITION, CTC_WRITEID FROM COMPLETED_TXN_COMPONENTS
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table AND CTC_WRITTEN = 'Y';

-- name: delete_components_of_committed
DELETE FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id
  AND EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'c');

-- name: write_set_since
-- The changes that were committed after a transaction had opened.
SELECT WS_DATABASE, WS_TABLE, WS_PARTITION, WS_TXNID, WS_COMMIT_ID, WS_OPERATION_TYPE
FROM WRITE_SET WHERE WS_COMMIT_ID >= :txn_id AND WS_TXNID <> :txn_id;

-- name: insert_write_set
-- After a drop several write ids may stand for one place. The write set has each place once.
INSERT INTO WRITE_SET
  (WS_DATABASE, WS_TABLE, WS_PARTITION, WS_TXNID, WS_COMMIT_ID, WS_OPERATION_TYPE)
SELECT DISTINCT TC_DATABASE, TC_TABLE, TC_PARTITION, TC_TXNID,
  (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID), TC_OPERATION_TYPE
FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id AND TC_OPERATION_TYPE IN ('u', 'd') AND EXISTS (
  SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'c' AND TXN_TYPE <> :compaction
);

-- trimming ------------------------------------------------------------------------------------

-- name: trim_write_set
DELETE FROM WRITE_SET WHERE WS_COMMIT_ID < :least;

-- name: trim_txns
DELETE FROM TXNS
WHERE TXN_STATE <> 'o' AND TXN_LAST_HEARTBEAT < :oldest_ms
  AND NOT EXISTS (SELECT 1 FROM TXN_COMPONENTS WHERE TC_TXNID = TXN_ID);

-- name: min_needed
-- Nothing at or above this transaction may be forgotten.
SELECT MIN(LEAST_ID) FROM (
  SELECT MIN(TXN_ID) AS LEAST_ID FROM TXNS WHERE TXN_STATE <> 'c'
  UNION ALL SELECT MIN(MHL_MIN_OPEN_TXNID) FROM MIN_HISTORY_LEVEL
  UNION ALL SELECT NTXN_NEXT FROM NEXT_TXN_ID
) AS NEEDED;

-- name: trim_write_ids
-- Write ids are not in the order of transactions. A committed one above a kept one stays, because
-- the high watermark of a snapshot is the greatest write id that has a mapping.
DELETE FROM TXN_TO_WRITE_ID
WHERE T2W_TXNID < :floor AND NOT EXISTS (
  SELECT 1 FROM (
    SELECT T2W_DATABASE AS KEPT_DATABASE, T2W_TABLE AS KEPT_TABLE, MIN(T2W_WRITEID) AS LEAST_ID
    FROM TXN_TO_WRITE_ID WHERE T2W_TXNID >= :floor GROUP BY T2W_DATABASE, T2W_TABLE
  ) AS KEPT
  WHERE KEPT_DATABASE = T2W_DATABASE AND KEPT_TABLE = T2W_TABLE AND LEAST_ID < T2W_WRITEID
);

-- name: trim_completed_components
-- Two rows say that a place was written to: its last write, and its last write that left a
-- directory.
DELETE FROM COMPLETED_TXN_COMPONENTS
WHERE EXISTS (
  SELECT 1 FROM (
    SELECT CTC_DATABASE AS LAST_DATABASE, CTC_TABLE AS LAST_TABLE,
      COALESCE(CTC_PARTITION, '') AS LAST_PARTITION, CTC_WRITTEN AS LAST_WRITTEN,
      MAX(COALESCE(CTC_WRITEID, 0)) AS LAST_ID
    FROM COMPLETED_TXN_COMPONENTS
    GROUP BY CTC_DATABASE, CTC_TABLE, COALESCE(CTC_PARTITION, ''), CTC_WRITTEN
  ) AS LATEST
  WHERE LAST_DATABASE = CTC_DATABASE AND LAST_TABLE = CTC_TABLE
    AND LAST_PARTITION = COALESCE(CTC_PARTITION, '') AND LAST_WRITTEN = CTC_WRITTEN
    AND LAST_ID > COALESCE(CTC_WRITEID, 0)
);

-- name: aborted_components
SELECT TC_TXNID, TC_DATABASE, TC_TABLE, TC_PARTITION, TC_OPERATION_TYPE, TC_WRITEID
FROM TXNS JOIN TXN_COMPONENTS ON TC_TXNID = TXN_ID
WHERE TXN_STATE = 'a' AND TXN_LAST_HEARTBEAT < :oldest_ms ORDER BY INV_ID;

-- name: forget_aborted
DELETE FROM TXN_COMPONENTS
WHERE TC_TXNID = :txn_id AND TC_DATABASE = :database AND TC_TABLE = :table
  AND EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'a');
