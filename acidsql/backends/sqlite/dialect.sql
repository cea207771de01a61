-- The statements that SQLite words in its own way. Each statement is named by the line before it. A
-- writer holds the lock of the whole file, so a row that will be changed needs no lock of its own.
-- The clock does without 'subsec', which SQLite has only since 3.42.

-- name: clock
SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);

-- name: txn_to_change
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_ID = :txn_id;

-- name: txn_ids_as_text
GROUP_CONCAT(TXN_ID);

-- name: write_ids_of_txns
-- Of transactions whose ids are a text with commas between them.
SELECT T2W_TXNID, T2W_WRITEID
FROM JSON_EACH('[' || :txn_ids || ']') AS WANTED CROSS JOIN TXN_TO_WRITE_ID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND T2W_TXNID = WANTED.value;

-- name: txn_range_to_change
SELECT TXN_ID, TXN_STATE FROM TXNS WHERE TXN_ID BETWEEN :first AND :last;

-- name: next_txn_id_to_change
SELECT NTXN_NEXT FROM NEXT_TXN_ID;

-- name: next_txn_id_of_change
SELECT NTXN_NEXT FROM NEXT_TXN_ID;

-- name: owner_to_change
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_ID = (
  SELECT HL_TXNID FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = :lock_id LIMIT 1
);

-- name: lock_to_change
SELECT HL_TXNID, HL_LOCK_STATE FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = :lock_id;

-- name: next_compaction_id_to_change
SELECT NCQ_NEXT FROM NEXT_COMPACTION_QUEUE_ID;

-- name: oldest_initiated_to_change
SELECT CQ_ID FROM COMPACTION_QUEUE
WHERE CQ_STATE = 'i' AND (
  CQ_POOL_NAME = CAST(:pool AS TEXT)
  OR (CAST(:pool AS TEXT) IS NULL AND (
    CQ_POOL_NAME IS NULL OR CQ_ENQUEUE_TIME < :now_ms - CAST(:waits_ms AS BIGINT)
  ))
)
ORDER BY CQ_ID LIMIT 1;

-- name: compaction_to_change
SELECT CQ_ID FROM COMPACTION_QUEUE WHERE CQ_ID = :id;

-- name: delete_locks
-- The locks of one request; without a request, the locks of a transaction that has ended.
DELETE FROM HIVE_LOCKS
WHERE HL_TXNID = :txn_id AND (
  HL_LOCK_EXT_ID = :lock_id
  OR :lock_id IS NULL
    AND NOT EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'o')
);
