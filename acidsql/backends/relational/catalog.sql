-- The catalog. Each statement is named by the line before it; parameters are bound.

-- name: place_default_database
-- The store may be older than the warehouse that it is used with.
INSERT INTO DBS (NAME, DB_LOCATION_URI, OWNER_NAME) VALUES (:name, :location, '')
ON CONFLICT (NAME) DO UPDATE SET DB_LOCATION_URI = :location
WHERE DBS.DB_LOCATION_URI = '';

-- name: insert_database
INSERT INTO DBS (NAME, DB_LOCATION_URI, "DESC", OWNER_NAME)
VALUES (:name, :location, :comment, :owner);

-- name: delete_database
DELETE FROM DBS WHERE NAME = :name;

-- name: database
SELECT NAME, DB_LOCATION_URI, "DESC", OWNER_NAME FROM DBS WHERE NAME = :name;

-- name: set_database_parameter
INSERT INTO DATABASE_PARAMS (DB_NAME, PARAM_KEY, PARAM_VALUE) VALUES (:name, :key, :value)
ON CONFLICT (DB_NAME, PARAM_KEY) DO UPDATE SET PARAM_VALUE = EXCLUDED.PARAM_VALUE;

-- name: database_parameters
SELECT PARAM_KEY, PARAM_VALUE FROM DATABASE_PARAMS WHERE DB_NAME = :name ORDER BY PARAM_KEY;

-- name: databases
SELECT NAME FROM DBS ORDER BY NAME;

-- name: insert_table
INSERT INTO TBLS (DB_NAME, TBL_NAME, LOCATION, OWNER, CREATE_TIME, COMMENT)
VALUES (:database, :table, :location, :owner, :created_s, :comment);

-- name: insert_column
INSERT INTO COLUMNS_V2 (TBL_ID, INTEGER_IDX, COLUMN_NAME, TYPE_NAME, COMMENT)
VALUES (:table_id, :number, :name, :type, :comment);

-- name: insert_partition_key
INSERT INTO PARTITION_KEYS (TBL_ID, INTEGER_IDX, PKEY_NAME, PKEY_TYPE, PKEY_COMMENT)
VALUES (:table_id, :number, :name, :type, :comment);

-- name: insert_bucketing_column
INSERT INTO BUCKETING_COLS (TBL_ID, INTEGER_IDX, BUCKET_COL_NAME, NUM_BUCKETS, BUCKETING_VERSION)
VALUES (:table_id, :number, :name, :count, :version);

-- name: insert_parameter
INSERT INTO TABLE_PARAMS (TBL_ID, PARAM_KEY, PARAM_VALUE) VALUES (:table_id, :key, :value);

-- name: insert_constraint
INSERT INTO KEY_CONSTRAINTS (
  TBL_ID, INTEGER_IDX, CONSTRAINT_NAME, CONSTRAINT_TYPE, COLUMN_NAMES, EXPRESSION,
  PARENT_DB_NAME, PARENT_TBL_NAME, PARENT_COLUMN_NAMES, IS_ENABLED, IS_RELY
)
VALUES (
  :table_id, :number, :name, :type, :columns, :expression,
  :parent_database, :parent_table, :parent_columns, :enabled, :rely
);

-- name: constraints
SELECT CONSTRAINT_NAME, CONSTRAINT_TYPE, COLUMN_NAMES, EXPRESSION,
  PARENT_DB_NAME, PARENT_TBL_NAME, PARENT_COLUMN_NAMES, IS_ENABLED, IS_RELY
FROM KEY_CONSTRAINTS WHERE TBL_ID = :table_id ORDER BY INTEGER_IDX;

-- name: table
SELECT TBL_ID, LOCATION, OWNER, CREATE_TIME, COMMENT FROM TBLS
WHERE DB_NAME = :database AND TBL_NAME = :table AND VIEW_EXPANDED_TEXT IS NULL;

-- name: insert_view
INSERT INTO TBLS (
  DB_NAME, TBL_NAME, LOCATION, OWNER, CREATE_TIME, COMMENT, VIEW_ORIGINAL_TEXT, VIEW_EXPANDED_TEXT
)
VALUES (:database, :table, '', :owner, :created_s, :comment, :original_text, :expanded_text);

-- name: update_view
UPDATE TBLS
SET OWNER = :owner, CREATE_TIME = :created_s, COMMENT = :comment,
  VIEW_ORIGINAL_TEXT = :original_text, VIEW_EXPANDED_TEXT = :expanded_text
WHERE TBL_ID = :table_id;

-- name: rename_view
UPDATE TBLS SET DB_NAME = :database, TBL_NAME = :table WHERE TBL_ID = :table_id;

-- name: view
SELECT TBL_ID, OWNER, CREATE_TIME, COMMENT, VIEW_ORIGINAL_TEXT, VIEW_EXPANDED_TEXT FROM TBLS
WHERE DB_NAME = :database AND TBL_NAME = :table AND VIEW_EXPANDED_TEXT IS NOT NULL;

-- name: views
SELECT TBL_NAME FROM TBLS
WHERE DB_NAME = :database AND VIEW_EXPANDED_TEXT IS NOT NULL ORDER BY TBL_NAME;

-- name: named
SELECT TBL_ID FROM TBLS WHERE DB_NAME = :database AND TBL_NAME = :table;

-- name: names
SELECT TBL_NAME FROM TBLS WHERE DB_NAME = :database ORDER BY TBL_NAME;

-- name: columns
SELECT COLUMN_NAME, TYPE_NAME, COMMENT FROM COLUMNS_V2
WHERE TBL_ID = :table_id ORDER BY INTEGER_IDX;

-- name: partition_keys
SELECT PKEY_NAME, PKEY_TYPE, PKEY_COMMENT FROM PARTITION_KEYS
WHERE TBL_ID = :table_id ORDER BY INTEGER_IDX;

-- name: bucketing
SELECT BUCKET_COL_NAME, NUM_BUCKETS, BUCKETING_VERSION FROM BUCKETING_COLS
WHERE TBL_ID = :table_id ORDER BY INTEGER_IDX;

-- name: parameters
SELECT PARAM_KEY, PARAM_VALUE FROM TABLE_PARAMS WHERE TBL_ID = :table_id ORDER BY PARAM_KEY;

-- name: tables
SELECT TBL_NAME FROM TBLS
WHERE DB_NAME = :database AND VIEW_EXPANDED_TEXT IS NULL ORDER BY TBL_NAME;

-- name: partitions
SELECT PART_NAME, LOCATION FROM PARTITIONS WHERE TBL_ID = :table_id ORDER BY PART_NAME;

-- name: add_partition
INSERT INTO PARTITIONS (TBL_ID, PART_NAME, LOCATION) VALUES (:table_id, :name, :location)
ON CONFLICT (TBL_ID, PART_NAME) DO NOTHING;

-- name: delete_table
DELETE FROM TBLS WHERE TBL_ID = :table_id;

-- name: forget_components
DELETE FROM TXN_COMPONENTS WHERE TC_DATABASE = :database AND TC_TABLE = :table;

-- name: forget_completed_components
DELETE FROM COMPLETED_TXN_COMPONENTS WHERE CTC_DATABASE = :database AND CTC_TABLE = :table;

-- name: forget_write_ids
DELETE FROM TXN_TO_WRITE_ID WHERE T2W_DATABASE = :database AND T2W_TABLE = :table;

-- name: forget_next_write_id
DELETE FROM NEXT_WRITE_ID WHERE NWI_DATABASE = :database AND NWI_TABLE = :table;

-- name: forget_write_set
DELETE FROM WRITE_SET WHERE WS_DATABASE = :database AND WS_TABLE = :table;

-- name: forget_queue
DELETE FROM COMPACTION_QUEUE WHERE CQ_DATABASE = :database AND CQ_TABLE = :table;

-- name: forget_history
DELETE FROM COMPLETED_COMPACTIONS WHERE CC_DATABASE = :database AND CC_TABLE = :table;

-- name: insert_format
INSERT INTO SDS (TBL_ID, STORED_AS, FIELD_DELIM)
VALUES (:table_id, :stored_as, :field_delimiter)
ON CONFLICT (TBL_ID) DO UPDATE SET STORED_AS = :stored_as, FIELD_DELIM = :field_delimiter;

-- name: format
SELECT STORED_AS, FIELD_DELIM FROM SDS WHERE TBL_ID = :table_id;

-- name: update_table
UPDATE TBLS
SET LOCATION = :location, OWNER = :owner, CREATE_TIME = :created_s, COMMENT = :comment
WHERE TBL_ID = :table_id;

-- name: delete_columns
DELETE FROM COLUMNS_V2 WHERE TBL_ID = :table_id;

-- name: delete_partition_keys
DELETE FROM PARTITION_KEYS WHERE TBL_ID = :table_id;

-- name: delete_bucketing
DELETE FROM BUCKETING_COLS WHERE TBL_ID = :table_id;

-- name: delete_parameters
DELETE FROM TABLE_PARAMS WHERE TBL_ID = :table_id;

-- name: delete_constraints
DELETE FROM KEY_CONSTRAINTS WHERE TBL_ID = :table_id;

-- name: delete_statistics
DELETE FROM PLACE_STATISTICS WHERE TBL_ID = :table_id;

-- name: keep_statistics
INSERT INTO PLACE_STATISTICS (TBL_ID, PART_NAME, STATISTICS)
VALUES (:table_id, :partition, :statistics)
ON CONFLICT (TBL_ID, PART_NAME) DO UPDATE SET STATISTICS = EXCLUDED.STATISTICS;

-- name: statistics
SELECT STATISTICS FROM PLACE_STATISTICS WHERE TBL_ID = :table_id AND PART_NAME = :partition;

-- name: partition
SELECT PART_NAME FROM PARTITIONS WHERE TBL_ID = :table_id AND PART_NAME = :name;

-- name: delete_partition
DELETE FROM PARTITIONS WHERE TBL_ID = :table_id AND PART_NAME = :name;

-- name: rename_partition
UPDATE PARTITIONS SET PART_NAME = :new_name, LOCATION = :location
WHERE TBL_ID = :table_id AND PART_NAME = :name;

-- name: rename_components
UPDATE TXN_COMPONENTS SET TC_DATABASE = :new_database, TC_TABLE = :new_table
WHERE TC_DATABASE = :database AND TC_TABLE = :table;

-- name: rename_completed_components
UPDATE COMPLETED_TXN_COMPONENTS SET CTC_DATABASE = :new_database, CTC_TABLE = :new_table
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table;

-- name: rename_write_ids
UPDATE TXN_TO_WRITE_ID SET T2W_DATABASE = :new_database, T2W_TABLE = :new_table
WHERE T2W_DATABASE = :database AND T2W_TABLE = :table;

-- name: rename_next_write_id
UPDATE NEXT_WRITE_ID SET NWI_DATABASE = :new_database, NWI_TABLE = :new_table
WHERE NWI_DATABASE = :database AND NWI_TABLE = :table;

-- name: rename_write_set
UPDATE WRITE_SET SET WS_DATABASE = :new_database, WS_TABLE = :new_table
WHERE WS_DATABASE = :database AND WS_TABLE = :table;

-- name: rename_queue
UPDATE COMPACTION_QUEUE SET CQ_DATABASE = :new_database, CQ_TABLE = :new_table
WHERE CQ_DATABASE = :database AND CQ_TABLE = :table;

-- name: rename_history
UPDATE COMPLETED_COMPACTIONS SET CC_DATABASE = :new_database, CC_TABLE = :new_table
WHERE CC_DATABASE = :database AND CC_TABLE = :table;

-- name: forget_partition_components
-- Not those of open transactions, which wait for their lock: they will write into the partition
-- that takes this place.
DELETE FROM TXN_COMPONENTS
WHERE TC_DATABASE = :database AND TC_TABLE = :table AND TC_PARTITION = :partition
  AND TC_TXNID NOT IN (SELECT TXN_ID FROM TXNS WHERE TXN_STATE = 'o');

-- name: rename_partition_components
UPDATE TXN_COMPONENTS SET TC_PARTITION = :new_partition
WHERE TC_DATABASE = :database AND TC_TABLE = :table AND TC_PARTITION = :partition
  AND TC_TXNID NOT IN (SELECT TXN_ID FROM TXNS WHERE TXN_STATE = 'o');

-- name: forget_partition_completed_components
DELETE FROM COMPLETED_TXN_COMPONENTS
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table AND CTC_PARTITION = :partition;

-- name: rename_partition_completed_components
UPDATE COMPLETED_TXN_COMPONENTS SET CTC_PARTITION = :new_partition
WHERE CTC_DATABASE = :database AND CTC_TABLE = :table AND CTC_PARTITION = :partition;

-- name: forget_partition_write_set
DELETE FROM WRITE_SET
WHERE WS_DATABASE = :database AND WS_TABLE = :table AND WS_PARTITION = :partition;

-- name: rename_partition_write_set
UPDATE WRITE_SET SET WS_PARTITION = :new_partition
WHERE WS_DATABASE = :database AND WS_TABLE = :table AND WS_PARTITION = :partition;

-- name: forget_partition_queue
DELETE FROM COMPACTION_QUEUE
WHERE CQ_DATABASE = :database AND CQ_TABLE = :table AND CQ_PARTITION = :partition;

-- name: rename_partition_queue
UPDATE COMPACTION_QUEUE SET CQ_PARTITION = :new_partition
WHERE CQ_DATABASE = :database AND CQ_TABLE = :table AND CQ_PARTITION = :partition;

-- name: forget_partition_history
DELETE FROM COMPLETED_COMPACTIONS
WHERE CC_DATABASE = :database AND CC_TABLE = :table AND CC_PARTITION = :partition;

-- name: rename_partition_history
UPDATE COMPLETED_COMPACTIONS SET CC_PARTITION = :new_partition
WHERE CC_DATABASE = :database AND CC_TABLE = :table AND CC_PARTITION = :partition;
