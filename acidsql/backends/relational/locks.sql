-- Locks. Each statement is named by the line before it; parameters are bound.

-- name: bump_next_lock_id
UPDATE NEXT_LOCK_ID SET NL_NEXT = NL_NEXT + 1;

-- name: next_lock_id
SELECT NL_NEXT FROM NEXT_LOCK_ID;

-- name: insert_lock
INSERT INTO HIVE_LOCKS
  (HL_LOCK_EXT_ID, HL_LOCK_INT_ID, HL_TXNID, HL_DB, HL_TABLE, HL_PARTITION, HL_LOCK_STATE,
   HL_LOCK_TYPE, HL_LAST_HEARTBEAT, HL_ACQUIRED_AT, HL_USER, HL_HOST, HL_AGENT_INFO,
   HL_BLOCKEDBY_EXT_ID, HL_BLOCKEDBY_INT_ID)
VALUES
  (:lock_id, :internal_id, :txn_id, :database, :table, :partition, :state,
   :type, 0, CASE CAST(:state AS TEXT) WHEN 'a' THEN :now_ms END, :user, :host, :agent_info,
   :by_lock_id, :by_internal_id);

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
-- One component names its blocker; the others forget theirs.
UPDATE HIVE_LOCKS
SET HL_BLOCKEDBY_EXT_ID = CASE HL_LOCK_INT_ID WHEN :internal_id THEN CAST(:by_lock_id AS BIGINT) END,
  HL_BLOCKEDBY_INT_ID =
    CASE HL_LOCK_INT_ID WHEN :internal_id THEN CAST(:by_internal_id AS BIGINT) END
WHERE HL_LOCK_EXT_ID = :lock_id;

-- name: delete_lock
DELETE FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = :lock_id;
