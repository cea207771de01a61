-- The statements that PostgreSQL words in its own way. Each one is named by the line before it.

-- sessions and store transactions -----------------------------------------------------------------

-- name: prepare_session
-- A commit that was answered survives a loss of power. A client that vanished is noticed while
-- other clients wait for its locks. Statements are planned once, mostly while tables are empty: so
-- plans have to use indexes, and no statement is compiled for what its plan seems to cost.
SELECT set_config('search_path', quote_ident(CAST(:schema AS TEXT)), false),
  set_config('lock_timeout', CAST(:lock_timeout AS TEXT), false),
  set_config('tcp_keepalives_idle', '30', false),
  set_config('tcp_keepalives_interval', '10', false),
  set_config('tcp_keepalives_count', '3', false),
  set_config('enable_seqscan', 'off', false),
  set_config('plan_cache_mode', 'force_generic_plan', false),
  set_config('jit', 'off', false),
  CASE current_setting('synchronous_commit')
    WHEN 'off' THEN set_config('synchronous_commit', 'on', false)
  END;

-- name: begin_reading
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: begin_writing
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;

-- name: lock_shared
LOCK TABLE TXN_LOCK_TBL IN SHARE MODE;

-- name: lock_alone
LOCK TABLE TXN_LOCK_TBL IN EXCLUSIVE MODE;

-- name: commit
COMMIT;

-- name: do_not_wait
SET LOCAL synchronous_commit = off;

-- name: sync_log
-- A store transaction of its own, which only writes a line to the log.
SELECT pg_logical_emit_message(true, 'acidsql', '');

-- name: clock
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT);

-- schema ------------------------------------------------------------------------------------------

-- name: lock_schema
-- The lock is held to the end of the migration.
SELECT pg_advisory_xact_lock(hashtextextended('acidsql ' || CAST(:schema AS TEXT), 0));

-- name: schema_exists
SELECT 1 FROM pg_namespace WHERE nspname = :schema;

-- name: version_table
SELECT to_regclass('version');

-- name: schema_version
SELECT SCHEMA_VERSION FROM VERSION;

-- name: set_schema_version
UPDATE VERSION SET SCHEMA_VERSION = :version;

-- rows that decide something, locked to the end of the verb ---------------------------------------

-- name: txn_to_change
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_ID = :txn_id FOR UPDATE;

-- name: txn_ids_as_text
STRING_AGG(CAST(TXN_ID AS TEXT), ',');

-- name: write_ids_of_txns
-- Of transactions whose ids are a text with commas between them.
SELECT T2W_TXNID, T2W_WRITEID
FROM UNNEST(CAST(STRING_TO_ARRAY(:txn_ids, ',') AS BIGINT[])) AS WANTED (TXN_ID)
JOIN TXN_TO_WRITE_ID ON T2W_TXNID = WANTED.TXN_ID
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table;

-- name: txn_range_to_change
SELECT TXN_ID, TXN_STATE FROM TXNS WHERE TXN_ID BETWEEN :first AND :last ORDER BY TXN_ID FOR UPDATE;

-- name: next_txn_id_to_change
SELECT NTXN_NEXT FROM NEXT_TXN_ID FOR UPDATE;

-- name: next_txn_id_of_change
-- Only if the transaction changes rows: a transaction that only inserts waits for no other one.
SELECT NTXN_NEXT FROM NEXT_TXN_ID
WHERE EXISTS (
  SELECT 1 FROM TXN_COMPONENTS WHERE TC_TXNID = :txn_id AND TC_OPERATION_TYPE IN ('u', 'd')
)
FOR UPDATE;

-- name: owner_to_change
SELECT TXN_ID, TXN_STATE, TXN_TYPE, TXN_STARTED, TXN_LAST_HEARTBEAT, TXN_USER, TXN_HOST,
  TXN_META_INFO
FROM TXNS WHERE TXN_ID = (
  SELECT HL_TXNID FROM HIVE_LOCKS WHERE HL_LOCK_EXT_ID = :lock_id LIMIT 1
)
FOR UPDATE;

-- name: lock_to_change
SELECT HL_TXNID, HL_LOCK_STATE FROM HIVE_LOCKS
WHERE HL_LOCK_EXT_ID = :lock_id ORDER BY HL_LOCK_INT_ID FOR UPDATE;

-- name: next_compaction_id_to_change
SELECT NCQ_NEXT FROM NEXT_COMPACTION_QUEUE_ID FOR UPDATE;

-- name: oldest_initiated_to_change
-- Passes over entries that other workers are taking.
SELECT CQ_ID FROM COMPACTION_QUEUE
WHERE CQ_STATE = 'i' AND (
  CQ_POOL_NAME = CAST(:pool AS TEXT)
  OR (CAST(:pool AS TEXT) IS NULL AND (
    CQ_POOL_NAME IS NULL OR CQ_ENQUEUE_TIME < :now_ms - CAST(:waits_ms AS BIGINT)
  ))
)
ORDER BY CQ_ID LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: compaction_to_change
SELECT CQ_ID FROM COMPACTION_QUEUE WHERE CQ_ID = :id FOR UPDATE;

-- locks that go -----------------------------------------------------------------------------------

-- name: delete_locks
-- The locks of one request; without a request, the locks of a transaction that has ended.
-- A session that waits for one of them is notified of its id when the store transaction commits.
-- If no session waits, nothing is notified: commits that notify wait for each other. A shared read
-- keeps only exclusive locks waiting.
WITH GONE AS (
  DELETE FROM HIVE_LOCKS
  WHERE HL_TXNID = :txn_id AND (
    HL_LOCK_EXT_ID = CAST(:lock_id AS BIGINT)
    OR CAST(:lock_id AS BIGINT) IS NULL
      AND NOT EXISTS (SELECT 1 FROM TXNS WHERE TXN_ID = :txn_id AND TXN_STATE = 'o')
  )
  RETURNING HL_LOCK_EXT_ID AS ID, HL_DB AS DB, HL_LOCK_TYPE AS KIND
)
SELECT pg_notify(current_schema(), CAST(ID AS TEXT)) FROM GONE
WHERE EXISTS (
  SELECT 1 FROM HIVE_LOCKS
  WHERE HL_DB = DB AND HL_LOCK_EXT_ID > ID AND HL_LOCK_STATE = 'w'
    AND (KIND <> 'r' OR HL_LOCK_TYPE = 'e')
);

-- name: unlisten
UNLISTEN *;
