-- Locks. Each statement is named by the line before it; parameters are bound.

-- name: bump_next_lock_id
UPDATE NEXT_LOCK_ID SET NL_NEXT = NL_NEXT + 1;

-- name: insert_lock
-- A lock of the newest request. Without :txn_id it belongs to the newest transaction. The lock
-- waits if it may have to: if an earlier lock has one of the types in :waits_for and meets its
-- place. LIMIT has a value computed once that is used twice.
INSERT INTO HIVE_LOCKS
  (HL_LOCK_EXT_ID, HL_LOCK_INT_ID, HL_TXNID, HL_DB, HL_TABLE, HL_PARTITION, HL_LOCK_STATE,
   HL_LOCK_TYPE, HL_LAST_HEARTBEAT, HL_ACQUIRED_AT, HL_USER, HL_HOST, HL_AGENT_INFO)
SELECT NL_NEXT - 1, CAST(:internal_id AS BIGINT), OWNER, CAST(:database AS TEXT),
  CAST(:table AS TEXT), CAST(:partition AS TEXT), STATE, CAST(:type AS TEXT), 0,
  CASE STATE WHEN 'a' THEN :now_ms END, CAST(:user AS TEXT), CAST(:host AS TEXT),
  CAST(:agent_info AS TEXT)
FROM (
  SELECT OWNER, CASE WHEN EXISTS (
    SELECT 1 FROM HIVE_LOCKS
    WHERE HL_DB = :database AND HL_TXNID <> OWNER
      AND (HL_TABLE IS NULL OR CAST(:table AS TEXT) IS NULL OR (
        HL_TABLE = :table AND COALESCE(HL_PARTITION = CAST(:partition AS TEXT), TRUE)
      ))
      AND CAST(:waits_for AS TEXT) LIKE '%' || HL_LOCK_TYPE || '%'
  ) THEN 'w' ELSE 'a' END AS STATE
  FROM (
    SELECT COALESCE(CAST(:txn_id AS BIGINT), (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID)) AS OWNER
  ) AS OWNERS
  LIMIT 1
) AS REQUEST CROSS JOIN NEXT_LOCK_ID;

-- name: hold_back
-- A request is granted as a whole.
UPDATE HIVE_LOCKS SET HL_LOCK_STATE = 'w', HL_ACQUIRED_AT = NULL
WHERE HL_LOCK_EXT_ID = (SELECT NL_NEXT - 1 FROM NEXT_LOCK_ID) AND EXISTS (
  SELECT 1 FROM HIVE_LOCKS
  WHERE HL_LOCK_EXT_ID = (SELECT NL_NEXT - 1 FROM NEXT_LOCK_ID) AND HL_LOCK_STATE = 'w'
);

-- name: asked
-- The newest request and its state.
SELECT NL_NEXT - 1,
  (SELECT MAX(HL_LOCK_STATE) FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = NL_NEXT - 1)
FROM NEXT_LOCK_ID;

-- name: txns_of_agent
SELECT DISTINCT HL_TXNID FROM HIVE_LOCKS
WHERE HL_AGENT_INFO = :agent_info AND HL_USER = :user AND HL_HOST = :host;

-- name: locks
SELECT HL_LOCK_EXT_ID, HL_LOCK_INT_ID, HL_TXNID, HL_DB, HL_TABLE, HL_PARTITION, HL_LOCK_STATE,
  HL_LOCK_TYPE, HL_LAST_HEARTBEAT, HL_ACQUIRED_AT, HL_USER, HL_HOST, HL_AGENT_INFO,
  HL_BLOCKEDBY_EXT_ID, HL_BLOCKEDBY_INT_ID
FROM HIVE_LOCKS
WHERE CAST(:up_to AS BIGINT) IS NULL OR HL_LOCK_EXT_ID <= CAST(:up_to AS BIGINT)
ORDER BY HL_LOCK_EXT_ID, HL_LOCK_INT_ID;

-- name: lock_head
SELECT HL_TXNID, HL_LOCK_STATE FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = :lock_id LIMIT 1;

-- name: acquire_lock
UPDATE HIVE_LOCKS
SET HL_LOCK_STATE = 'a', HL_ACQUIRED_AT = :now_ms,
  HL_BLOCKEDBY_EXT_ID = NULL, HL_BLOCKEDBY_INT_ID = NULL
WHERE HL_LOCK_EXT_ID = :lock_id;

-- name: block_lock
-- One component names its blocker. The other components of the request forget theirs.
UPDATE HIVE_LOCKS
SET HL_BLOCKEDBY_EXT_ID = CASE HL_LOCK_INT_ID WHEN :internal_id THEN CAST(:by_lock_id AS BIGINT) END,
  HL_BLOCKEDBY_INT_ID =
    CASE HL_LOCK_INT_ID WHEN :internal_id THEN CAST(:by_internal_id AS BIGINT) END
WHERE HL_LOCK_EXT_ID = :lock_id;

-- name: latest_request
SELECT MAX(HL_LOCK_EXT_ID) FROM HIVE_LOCKS WHERE HL_TXNID = :txn_id;

-- name: pass_on_locks
-- The locks of a transaction become the locks of the newest transaction.
UPDATE HIVE_LOCKS
SET HL_TXNID = (SELECT NTXN_NEXT - 1 FROM NEXT_TXN_ID), HL_USER = :user, HL_HOST = :host,
  HL_AGENT_INFO = :agent_info
WHERE HL_TXNID = :txn_id;
