-- Write ids. Each statement is named by the line before it; parameters are bound, and have a type
-- where nothing else says what they are.

-- name: write_id
SELECT T2W_WRITEID FROM TXN_TO_WRITE_ID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND T2W_TXNID = :txn_id;

-- name: write_id_of_open
SELECT T2W_WRITEID FROM TXN_TO_WRITE_ID JOIN TXNS ON TXN_ID = T2W_TXNID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND T2W_TXNID = :txn_id AND TXN_STATE = 'o';

-- name: write_ids_of_txn
SELECT T2W_DATABASE, T2W_TABLE, T2W_WRITEID FROM TXN_TO_WRITE_ID WHERE T2W_TXNID = :txn_id;

-- name: write_ids_above
SELECT T2W_TXNID, T2W_WRITEID FROM TXN_TO_WRITE_ID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND T2W_TXNID > :high_watermark;

-- name: highest_write_id
-- Downwards from the highest write id, until one is found. The plus keeps databases from
-- looking by transaction.
SELECT T2W_TXNID, T2W_WRITEID FROM TXN_TO_WRITE_ID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND +T2W_TXNID <= :high_watermark
ORDER BY T2W_DATABASE DESC, T2W_TABLE DESC, T2W_WRITEID DESC LIMIT 1;

-- name: txn_of_write_id
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXN_TO_WRITE_ID JOIN TXNS ON TXN_ID = T2W_TXNID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table AND T2W_WRITEID = :write_id;

-- name: next_write_id
SELECT NWI_NEXT FROM NEXT_WRITE_ID WHERE NWI_DATABASE = :database AND NWI_TABLE = :table;

-- name: given_out
-- One query for a snapshot: the counter, and the writes into the table itself that left a
-- directory.
SELECT NWI_NEXT, CTC_WRITEID FROM NEXT_WRITE_ID
LEFT JOIN COMPLETED_TXN_COMPONENTS
  ON CTC_DATABASE = NWI_DATABASE AND CTC_TABLE = NWI_TABLE AND CTC_PARTITION IS NULL
  AND CTC_WRITTEN = 'Y'
WHERE NWI_DATABASE = :database AND NWI_TABLE = :table;

-- name: bump_next_write_id
-- The first write id of a table is 1.
INSERT INTO NEXT_WRITE_ID (NWI_DATABASE, NWI_TABLE, NWI_NEXT) VALUES (:database, :table, 2)
ON CONFLICT (NWI_DATABASE, NWI_TABLE) DO UPDATE SET NWI_NEXT = NEXT_WRITE_ID.NWI_NEXT + 1;

-- name: seed_write_id
INSERT INTO NEXT_WRITE_ID (NWI_DATABASE, NWI_TABLE, NWI_NEXT) VALUES (:database, :table, :next)
ON CONFLICT (NWI_DATABASE, NWI_TABLE) DO UPDATE SET NWI_NEXT = :next
WHERE NEXT_WRITE_ID.NWI_NEXT < :next;

-- name: insert_write_id
-- The last write id counted. Without :txn_id it belongs to the newest transaction.
INSERT INTO TXN_TO_WRITE_ID (T2W_DATABASE, T2W_TABLE, T2W_TXNID, T2W_WRITEID)
SELECT NWI_DATABASE, NWI_TABLE,
  COALESCE(CAST(:txn_id AS BIGINT), (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID)), NWI_NEXT - 1
FROM NEXT_WRITE_ID WHERE NWI_DATABASE = :database AND NWI_TABLE = :table;
