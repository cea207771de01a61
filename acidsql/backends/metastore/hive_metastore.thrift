// The methods, structs and fields of the Hive Metastore's service that acidsql uses, of Hive 3.1 and 4.x.
//
// No field has a default, so a field that is not set is not sent: to servers, "not set" differs from "the default".
// Names are Hive's, with its spelling mistakes. "4" marks what Apache Hive 3.1 does not have.
// A struct that is read, changed and written back keeps its other fields: see unknown_fields.py.

// -- exceptions

exception MetaException { 1: string message }
exception NoSuchObjectException { 1: string message }
exception AlreadyExistsException { 1: string message }
exception InvalidObjectException { 1: string message }
exception InvalidOperationException { 1: string message }
exception InvalidInputException { 1: string message }
exception UnknownDBException { 1: string message }
exception UnknownTableException { 1: string message }
exception ConfigValSecurityException { 1: string message }
exception NoSuchTxnException { 1: string message }
exception TxnAbortedException { 1: string message }
exception TxnOpenException { 1: string message }
exception NoSuchLockException { 1: string message }

// -- tables

enum PrincipalType { USER = 1, ROLE = 2, GROUP = 3 }
enum ClientCapability { TEST_CAPABILITY = 1, INSERT_ONLY_TABLES = 2 }

struct FieldSchema { 1: string name, 2: string type, 3: string comment }
struct SerDeInfo { 1: string name, 2: string serializationLib, 3: map<string, string> parameters }
struct Order { 1: string col, 2: i32 order }

struct StorageDescriptor {
  1: list<FieldSchema> cols,
  2: string location,
  3: string inputFormat,
  4: string outputFormat,
  5: bool compressed,
  6: i32 numBuckets,
  7: SerDeInfo serdeInfo,
  8: list<string> bucketCols,
  9: list<Order> sortCols,
  10: map<string, string> parameters,
  12: optional bool storedAsSubDirectories
}

struct Table {
  1: string tableName,
  2: string dbName,
  3: string owner,
  4: i32 createTime,
  5: i32 lastAccessTime,
  6: i32 retention,
  7: StorageDescriptor sd,
  8: list<FieldSchema> partitionKeys,
  9: map<string, string> parameters,
  10: string viewOriginalText,
  11: string viewExpandedText,
  12: string tableType,
  14: optional bool temporary,
  17: optional string catName,
  18: optional PrincipalType ownerType,
  19: optional i64 writeId,                            // 4
  20: optional bool isStatsCompliant,                  // 4
  22: optional byte accessType,                        // 4
  23: optional list<string> requiredReadCapabilities,  // 4
  24: optional list<string> requiredWriteCapabilities, // 4
  25: optional i64 id                                  // 4
}

struct Partition {
  1: list<string> values,
  2: string dbName,
  3: string tableName,
  4: i32 createTime,
  5: i32 lastAccessTime,
  6: StorageDescriptor sd,
  7: map<string, string> parameters,
  9: optional string catName,
  10: optional i64 writeId,          // 4
  11: optional bool isStatsCompliant // 4
}

struct Database {
  1: string name,
  2: string description,
  3: string locationUri,
  4: map<string, string> parameters,
  6: optional string ownerName,
  7: optional PrincipalType ownerType,
  8: optional string catalogName,
  9: optional i32 createTime,           // 4
  10: optional string managedLocationUri // 4
}

struct EnvironmentContext { 1: map<string, string> properties }
struct ClientCapabilities { 1: required list<ClientCapability> values }

struct GetDatabaseRequest {
  1: optional string name,
  2: optional string catalogName,
  3: optional list<string> processorCapabilities,
  4: optional string processorIdentifier
}

struct GetTableRequest {
  1: required string dbName,
  2: required string tblName,
  3: optional ClientCapabilities capabilities,
  4: optional string catName,
  6: optional string validWriteIdList,
  7: optional bool getColumnStats,
  8: optional list<string> processorCapabilities,
  9: optional string processorIdentifier,
  10: optional string engine
}
struct GetTableResult { 1: required Table table, 2: optional bool isStatsCompliant }

struct GetTablesRequest {
  1: required string dbName,
  2: optional list<string> tblNames,
  3: optional ClientCapabilities capabilities,
  4: optional string catName,
  5: optional list<string> processorCapabilities,
  6: optional string processorIdentifier
}
struct GetTablesResult { 1: required list<Table> tables }

struct AlterTableRequest {
  1: optional string catName,
  2: required string dbName,
  3: required string tableName,
  4: required Table table,
  5: optional EnvironmentContext environmentContext,
  6: optional i64 writeId,
  7: optional string validWriteIdList,
  8: optional list<string> processorCapabilities,
  9: optional string processorIdentifier
}
struct AlterTableResponse {}

// -- constraints

struct SQLPrimaryKey {
  1: string table_db, 2: string table_name, 3: string column_name, 4: i32 key_seq, 5: string pk_name,
  6: bool enable_cstr, 7: bool validate_cstr, 8: bool rely_cstr, 9: optional string catName
}
struct SQLForeignKey {
  1: string pktable_db, 2: string pktable_name, 3: string pkcolumn_name, 4: string fktable_db,
  5: string fktable_name, 6: string fkcolumn_name, 7: i32 key_seq, 8: i32 update_rule, 9: i32 delete_rule,
  10: string fk_name, 11: string pk_name, 12: bool enable_cstr, 13: bool validate_cstr, 14: bool rely_cstr,
  15: optional string catName
}
struct SQLUniqueConstraint {
  1: string catName, 2: string table_db, 3: string table_name, 4: string column_name, 5: i32 key_seq,
  6: string uk_name, 7: bool enable_cstr, 8: bool validate_cstr, 9: bool rely_cstr
}
struct SQLNotNullConstraint {
  1: string catName, 2: string table_db, 3: string table_name, 4: string column_name, 5: string nn_name,
  6: bool enable_cstr, 7: bool validate_cstr, 8: bool rely_cstr
}
struct SQLDefaultConstraint {
  1: string catName, 2: string table_db, 3: string table_name, 4: string column_name,
  5: string default_value, 6: string dc_name, 7: bool enable_cstr, 8: bool validate_cstr, 9: bool rely_cstr
}
struct SQLCheckConstraint {
  1: string catName, 2: string table_db, 3: string table_name, 4: string column_name,
  5: string check_expression, 6: string dc_name, 7: bool enable_cstr, 8: bool validate_cstr,
  9: bool rely_cstr
}
struct SQLAllTableConstraints {
  1: optional list<SQLPrimaryKey> primaryKeys,
  2: optional list<SQLForeignKey> foreignKeys,
  3: optional list<SQLUniqueConstraint> uniqueConstraints,
  4: optional list<SQLNotNullConstraint> notNullConstraints,
  5: optional list<SQLDefaultConstraint> defaultConstraints,
  6: optional list<SQLCheckConstraint> checkConstraints
}
struct AllTableConstraintsRequest { 1: required string dbName, 2: required string tblName, 3: required string catName }
struct AllTableConstraintsResponse { 1: required SQLAllTableConstraints allTableConstraints }
struct PrimaryKeysRequest { 1: required string db_name, 2: required string tbl_name, 3: optional string catName }
struct PrimaryKeysResponse { 1: required list<SQLPrimaryKey> primaryKeys }
struct ForeignKeysRequest {
  1: string parent_db_name, 2: string parent_tbl_name, 3: string foreign_db_name, 4: string foreign_tbl_name,
  5: optional string catName
}
struct ForeignKeysResponse { 1: required list<SQLForeignKey> foreignKeys }
struct UniqueConstraintsRequest { 1: required string catName, 2: required string db_name, 3: required string tbl_name }
struct UniqueConstraintsResponse { 1: required list<SQLUniqueConstraint> uniqueConstraints }
struct NotNullConstraintsRequest { 1: required string catName, 2: required string db_name, 3: required string tbl_name }
struct NotNullConstraintsResponse { 1: required list<SQLNotNullConstraint> notNullConstraints }
struct DefaultConstraintsRequest { 1: required string catName, 2: required string db_name, 3: required string tbl_name }
struct DefaultConstraintsResponse { 1: required list<SQLDefaultConstraint> defaultConstraints }
struct CheckConstraintsRequest { 1: required string catName, 2: required string db_name, 3: required string tbl_name }
struct CheckConstraintsResponse { 1: required list<SQLCheckConstraint> checkConstraints }
struct AddPrimaryKeyRequest { 1: required list<SQLPrimaryKey> primaryKeyCols }
struct AddForeignKeyRequest { 1: required list<SQLForeignKey> foreignKeyCols }
struct AddUniqueConstraintRequest { 1: required list<SQLUniqueConstraint> uniqueConstraintCols }
struct AddNotNullConstraintRequest { 1: required list<SQLNotNullConstraint> notNullConstraintCols }
struct AddDefaultConstraintRequest { 1: required list<SQLDefaultConstraint> defaultConstraintCols }
struct AddCheckConstraintRequest { 1: required list<SQLCheckConstraint> checkConstraintCols }
struct DropConstraintRequest {
  1: required string dbname, 2: required string tablename, 3: required string constraintname,
  4: optional string catName
}

struct CreateTableRequest {
  1: required Table table,
  2: optional EnvironmentContext envContext,
  3: optional list<SQLPrimaryKey> primaryKeys,
  4: optional list<SQLForeignKey> foreignKeys,
  5: optional list<SQLUniqueConstraint> uniqueConstraints,
  6: optional list<SQLNotNullConstraint> notNullConstraints,
  7: optional list<SQLDefaultConstraint> defaultConstraints,
  8: optional list<SQLCheckConstraint> checkConstraints,
  9: optional list<string> processorCapabilities,
  10: optional string processorIdentifier
}

// -- partitions

struct AddPartitionsRequest {
  1: required string dbName,
  2: required string tblName,
  3: required list<Partition> parts,
  4: required bool ifNotExists,
  5: optional bool needResult,
  6: optional string catName,
  7: optional string validWriteIdList
}
struct AddPartitionsResult { 1: optional list<Partition> partitions, 2: optional bool isStatsCompliant }

struct DropPartitionsExpr { 1: required binary expr, 2: optional i32 partArchiveLevel }
union RequestPartsSpec { 1: list<string> names, 2: list<DropPartitionsExpr> exprs }
struct DropPartitionsRequest {
  1: required string dbName,
  2: required string tblName,
  3: required RequestPartsSpec parts,
  4: optional bool deleteData,
  5: optional bool ifExists,
  6: optional bool ignoreProtection,
  7: optional EnvironmentContext environmentContext,
  8: optional bool needResult,
  9: optional string catName
}
struct DropPartitionsResult { 1: optional list<Partition> partitions }

struct GetPartitionsByNamesRequest {
  1: required string db_name,
  2: required string tbl_name,
  3: optional list<string> names,
  4: optional bool get_col_stats,
  5: optional list<string> processorCapabilities,
  6: optional string processorIdentifier,
  7: optional string engine,
  8: optional string validWriteIdList
}
struct GetPartitionsByNamesResult { 1: required list<Partition> partitions }

struct PartitionsRequest {
  1: optional string catName,
  2: required string dbName,
  3: required string tblName,
  4: optional i16 maxParts,
  5: optional string validWriteIdList
}
struct PartitionsResponse { 1: required list<Partition> partitions }

struct AlterPartitionsRequest {
  1: optional string catName,
  2: required string dbName,
  3: required string tableName,
  4: required list<Partition> partitions,
  5: optional EnvironmentContext environmentContext,
  6: optional i64 writeId,
  7: optional string validWriteIdList
}
struct AlterPartitionsResponse {}

struct RenamePartitionRequest {
  1: optional string catName,
  2: required string dbName,
  3: required string tableName,
  4: required list<string> partVals,
  5: required Partition newPart,
  6: optional string validWriteIdList
}
struct RenamePartitionResponse {}

struct TruncateTableRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional list<string> partNames,
  4: optional i64 writeId,
  5: optional string validWriteIdList,
  6: optional EnvironmentContext environmentContext
}
struct TruncateTableResponse {}

// -- transactions

enum TxnState { COMMITTED = 1, ABORTED = 2, OPEN = 3 }
enum TxnType {
  DEFAULT = 0, REPL_CREATED = 1, READ_ONLY = 2, COMPACTION = 3, MATER_VIEW_REBUILD = 4, SOFT_DELETE = 5,
  REBALANCE_COMPACTION = 6
}

struct TxnInfo {
  1: required i64 id,
  2: required TxnState state,
  3: required string user,
  4: required string hostname,
  5: optional string agentInfo,
  6: optional i32 heartbeatCount,
  7: optional string metaInfo,
  8: optional i64 startedTime,
  9: optional i64 lastHeartbeatTime
}
struct GetOpenTxnsInfoResponse { 1: required i64 txn_high_water_mark, 2: required list<TxnInfo> open_txns }
struct GetOpenTxnsResponse {
  1: required i64 txn_high_water_mark,
  2: required list<i64> open_txns,
  3: optional i64 min_open_txn,
  4: required binary abortedBits
}
struct GetOpenTxnsRequest { 1: optional list<TxnType> excludeTxnTypes } // 4

struct OpenTxnRequest {
  1: required i32 num_txns,
  2: required string user,
  3: required string hostname,
  4: optional string agentInfo,
  7: optional TxnType txn_type // 4
}
struct OpenTxnsResponse { 1: required list<i64> txn_ids }

struct AbortTxnRequest {
  1: required i64 txnid,
  2: optional string replPolicy,
  3: optional TxnType txn_type, // 4
  4: optional i64 errorCode     // 4
}
struct AbortTxnsRequest {
  1: required list<i64> txn_ids,
  2: optional i64 errorCode // 4
}
struct CommitTxnRequest {
  1: required i64 txnid,
  2: optional string replPolicy,
  6: optional bool exclWriteEnabled, // 4
  7: optional TxnType txn_type       // 4
}

struct HeartbeatRequest { 1: optional i64 lockid, 2: optional i64 txnid }
struct HeartbeatTxnRangeRequest { 1: required i64 min, 2: required i64 max }
struct HeartbeatTxnRangeResponse { 1: required set<i64> aborted, 2: required set<i64> nosuch }

struct GetValidWriteIdsRequest {
  1: required list<string> fullTableNames,
  2: optional string validTxnList, // 3.1 requires it
  3: optional i64 writeId          // 4
}
struct TableValidWriteIds {
  1: required string fullTableName,
  2: required i64 writeIdHighWaterMark,
  3: required list<i64> invalidWriteIds,
  4: optional i64 minOpenWriteId,
  5: required binary abortedBits
}
struct GetValidWriteIdsResponse { 1: required list<TableValidWriteIds> tblValidWriteIds }

struct TxnToWriteId { 1: required i64 txnId, 2: required i64 writeId }
struct AllocateTableWriteIdsRequest {
  1: required string dbName,
  2: required string tableName,
  3: optional list<i64> txnIds,
  4: optional string replPolicy,
  5: optional list<TxnToWriteId> srcTxnToWriteIdList
}
struct AllocateTableWriteIdsResponse { 1: required list<TxnToWriteId> txnToWriteIds }
struct SeedTableWriteIdsRequest {
  1: required string dbName,
  2: required string tableName,
  3: required i64 seedWriteId
} // 4
struct SeedTxnIdRequest { 1: required i64 seedTxnId } // 4
struct MaxAllocatedTableWriteIdRequest { 1: required string dbName, 2: required string tableName } // 4
struct MaxAllocatedTableWriteIdResponse { 1: required i64 maxWriteId } // 4

enum DataOperationType { SELECT = 1, INSERT = 2, UPDATE = 3, DELETE = 4, UNSET = 5, NO_TXN = 6 }

struct AddDynamicPartitions {
  1: required i64 txnid,
  2: required i64 writeid,
  3: required string dbname,
  4: required string tablename,
  5: required list<string> partitionnames,
  6: optional DataOperationType operationType
}

// -- locks

enum LockType { SHARED_READ = 1, SHARED_WRITE = 2, EXCLUSIVE = 3, EXCL_WRITE = 4 }
enum LockLevel { DB = 1, TABLE = 2, PARTITION = 3 }
enum LockState { ACQUIRED = 1, WAITING = 2, ABORT = 3, NOT_ACQUIRED = 4 }

struct LockComponent {
  1: required LockType type,
  2: required LockLevel level,
  3: required string dbname,
  4: optional string tablename,
  5: optional string partitionname,
  6: optional DataOperationType operationType,
  7: optional bool isTransactional,
  8: optional bool isDynamicPartitionWrite
}
struct LockRequest {
  1: required list<LockComponent> component,
  2: optional i64 txnid,
  3: required string user,
  4: required string hostname,
  5: optional string agentInfo,
  6: optional bool zeroWaitReadEnabled, // 4
  7: optional bool exclusiveCTAS        // 4
}
struct LockResponse {
  1: required i64 lockid,
  2: required LockState state,
  3: optional string errorMessage // 4
}
struct CheckLockRequest { 1: required i64 lockid, 2: optional i64 txnid, 3: optional i64 elapsed_ms }
struct UnlockRequest { 1: required i64 lockid }

struct ShowLocksRequest {
  1: optional string dbname,
  2: optional string tablename,
  3: optional string partname,
  4: optional bool isExtended,
  5: optional i64 txnid // 4
}
struct ShowLocksResponseElement {
  1: required i64 lockid,
  2: required string dbname,
  3: optional string tablename,
  4: optional string partname,
  5: required LockState state,
  6: required LockType type,
  7: optional i64 txnid,
  8: required i64 lastheartbeat,
  9: optional i64 acquiredat,
  10: required string user,
  11: required string hostname,
  12: optional i32 heartbeatCount,
  13: optional string agentInfo,
  14: optional i64 blockedByExtId,
  15: optional i64 blockedByIntId,
  16: optional i64 lockIdInternal
}
struct ShowLocksResponse { 1: list<ShowLocksResponseElement> locks }

// -- compaction

enum CompactionType { MINOR = 1, MAJOR = 2, REBALANCE = 3 }

struct CompactionRequest {
  1: required string dbname,
  2: required string tablename,
  3: optional string partitionname,
  4: required CompactionType type,
  5: optional string runas,
  6: optional map<string, string> properties,
  7: optional string initiatorId,      // 4 from here on
  8: optional string initiatorVersion,
  9: optional string poolName,
  10: optional i32 numberOfBuckets,
  11: optional string orderByClause
}
struct CompactionResponse {
  1: required i64 id,
  2: required string state,
  3: required bool accepted,
  4: optional string errormessage // 4
}
struct ShowCompactRequest {}
struct ShowCompactResponseElement {
  1: required string dbname,
  2: required string tablename,
  3: optional string partitionname,
  4: required CompactionType type,
  5: required string state,
  6: optional string workerid,
  7: optional i64 start,
  8: optional string runAs,
  9: optional i64 hightestTxnId,
  10: optional string metaInfo,
  11: optional i64 endTime,
  12: optional string hadoopJobId,
  13: optional i64 id,
  14: optional string errorMessage,  // 4 from here on
  15: optional i64 enqueueTime,
  16: optional string workerVersion,
  17: optional string initiatorId,
  18: optional string initiatorVersion,
  19: optional i64 cleanerStart,
  20: optional string poolName,
  21: optional i64 nextTxnId,
  22: optional i64 txnId,
  23: optional i64 commitTime,
  24: optional i64 hightestWriteId
}
struct ShowCompactResponse { 1: required list<ShowCompactResponseElement> compacts }

struct CompactionInfoStruct {
  1: required i64 id,
  2: required string dbname,
  3: required string tablename,
  4: optional string partitionname,
  5: required CompactionType type,
  6: optional string runas,
  7: optional string properties,
  8: optional bool toomanyaborts,
  9: optional string state,
  10: optional string workerId,
  11: optional i64 start,
  12: optional i64 highestWriteId,
  13: optional string errorMessage,
  14: optional bool hasoldabort,
  15: optional i64 enqueueTime,
  16: optional i64 retryRetention,
  17: optional string poolname,
  18: optional i32 numberOfBuckets,
  19: optional string orderByClause
}
struct OptionalCompactionInfoStruct { 1: optional CompactionInfoStruct ci }
struct FindNextCompactRequest {
  1: optional string workerId,
  2: optional string workerVersion,
  3: optional string poolName
}
struct AbortCompactionRequest { // 4
  1: required list<i64> compactionIds,
  2: optional string type,
  3: optional string poolName
}
struct AbortCompactionResponseElement {
  1: required i64 compactionId,
  2: optional string status,
  3: optional string message
}
struct AbortCompactResponse { 1: required map<i64, AbortCompactionResponseElement> abortedcompacts }

// -- the service

service ThriftHiveMetastore {
  list<string> set_ugi(1: string user_name, 2: list<string> group_names) throws (1: MetaException o1)
  string get_config_value(1: string name, 2: string defaultValue) throws (1: ConfigValSecurityException o1)

  void create_database(1: Database database)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  Database get_database_req(1: GetDatabaseRequest request)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void alter_database(1: string dbname, 2: Database db)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void drop_database(1: string name, 2: bool deleteData, 3: bool cascade)
    throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)
  list<string> get_all_databases() throws (1: MetaException o1)

  GetTableResult get_table_req(1: GetTableRequest req)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetTablesResult get_table_objects_by_name_req(1: GetTablesRequest req)
    throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  list<string> get_tables_by_type(1: string db_name, 2: string pattern, 3: string tableType)
    throws (1: MetaException o1)
  void create_table_req(1: CreateTableRequest request)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  void create_table_with_environment_context(1: Table tbl, 2: EnvironmentContext environment_context)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  void create_table_with_constraints(1: Table tbl, 2: list<SQLPrimaryKey> primaryKeys,
                                     3: list<SQLForeignKey> foreignKeys,
                                     4: list<SQLUniqueConstraint> uniqueConstraints,
                                     5: list<SQLNotNullConstraint> notNullConstraints,
                                     6: list<SQLDefaultConstraint> defaultConstraints,
                                     7: list<SQLCheckConstraint> checkConstraints)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  void create_table(1: Table tbl)
    throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3,
            4: NoSuchObjectException o4)
  AlterTableResponse alter_table_req(1: AlterTableRequest req)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_environment_context(1: string dbname, 2: string tbl_name, 3: Table new_tbl,
                                            4: EnvironmentContext environment_context)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  void drop_table_with_environment_context(1: string dbname, 2: string name, 3: bool deleteData,
                                           4: EnvironmentContext environment_context)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_table(1: string dbname, 2: string name, 3: bool deleteData)
    throws (1: NoSuchObjectException o1, 2: MetaException o3)

  AllTableConstraintsResponse get_all_table_constraints(1: AllTableConstraintsRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PrimaryKeysResponse get_primary_keys(1: PrimaryKeysRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  ForeignKeysResponse get_foreign_keys(1: ForeignKeysRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  UniqueConstraintsResponse get_unique_constraints(1: UniqueConstraintsRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  NotNullConstraintsResponse get_not_null_constraints(1: NotNullConstraintsRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  DefaultConstraintsResponse get_default_constraints(1: DefaultConstraintsRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  CheckConstraintsResponse get_check_constraints(1: CheckConstraintsRequest request)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void add_primary_key(1: AddPrimaryKeyRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_foreign_key(1: AddForeignKeyRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_unique_constraint(1: AddUniqueConstraintRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_not_null_constraint(1: AddNotNullConstraintRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_default_constraint(1: AddDefaultConstraintRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void add_check_constraint(1: AddCheckConstraintRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void drop_constraint(1: DropConstraintRequest req) throws (1: NoSuchObjectException o1, 2: MetaException o3)

  AddPartitionsResult add_partitions_req(1: AddPartitionsRequest request)
    throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  list<string> get_partition_names(1: string db_name, 2: string tbl_name, 3: i16 max_parts)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions(1: string db_name, 2: string tbl_name, 3: i16 max_parts)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsResponse get_partitions_req(1: PartitionsRequest req)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_by_names(1: string db_name, 2: string tbl_name, 3: list<string> names)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetPartitionsByNamesResult get_partitions_by_names_req(1: GetPartitionsByNamesRequest req)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_filter(1: string db_name, 2: string tbl_name, 3: string filter,
                                           4: i16 max_parts)
    throws (1: MetaException o1, 2: NoSuchObjectException o2)
  bool drop_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: bool deleteData)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  DropPartitionsResult drop_partitions_req(1: DropPartitionsRequest req)
    throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void alter_partitions_with_environment_context(1: string db_name, 2: string tbl_name,
                                                 3: list<Partition> new_parts,
                                                 4: EnvironmentContext environment_context)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  AlterPartitionsResponse alter_partitions_req(1: AlterPartitionsRequest req)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  void rename_partition(1: string db_name, 2: string tbl_name, 3: list<string> part_vals,
                        4: Partition new_part)
    throws (1: InvalidOperationException o1, 2: MetaException o2)
  RenamePartitionResponse rename_partition_req(1: RenamePartitionRequest req)
    throws (1: InvalidOperationException o1, 2: MetaException o2)

  GetOpenTxnsResponse get_open_txns()
  GetOpenTxnsResponse get_open_txns_req(1: GetOpenTxnsRequest getOpenTxnsRequest)
  GetOpenTxnsInfoResponse get_open_txns_info()
  OpenTxnsResponse open_txns(1: OpenTxnRequest rqst)
  void abort_txn(1: AbortTxnRequest rqst) throws (1: NoSuchTxnException o1)
  void abort_txns(1: AbortTxnsRequest rqst) throws (1: NoSuchTxnException o1)
  void commit_txn(1: CommitTxnRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  i64 get_latest_txnid_in_conflict(1: i64 txnId) throws (1: MetaException o1)
  void heartbeat(1: HeartbeatRequest ids)
    throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3)
  HeartbeatTxnRangeResponse heartbeat_txn_range(1: HeartbeatTxnRangeRequest txns)

  GetValidWriteIdsResponse get_valid_write_ids(1: GetValidWriteIdsRequest rqst)
    throws (1: NoSuchTxnException o1, 2: MetaException o2)
  void add_write_ids_to_min_history(1: i64 txnId, 2: map<string, i64> writeIds)
    throws (1: MetaException o2)
  AllocateTableWriteIdsResponse allocate_table_write_ids(1: AllocateTableWriteIdsRequest rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: MetaException o3)
  MaxAllocatedTableWriteIdResponse get_max_allocated_table_write_id(1: MaxAllocatedTableWriteIdRequest rqst)
    throws (1: MetaException o1)
  void seed_write_id(1: SeedTableWriteIdsRequest rqst) throws (1: MetaException o1)
  void seed_txn_id(1: SeedTxnIdRequest rqst) throws (1: MetaException o1)
  void add_dynamic_partitions(1: AddDynamicPartitions rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)

  LockResponse lock(1: LockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  LockResponse check_lock(1: CheckLockRequest rqst)
    throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3)
  void unlock(1: UnlockRequest rqst) throws (1: NoSuchLockException o1, 2: TxnOpenException o2)
  ShowLocksResponse show_locks(1: ShowLocksRequest rqst)

  CompactionResponse compact2(1: CompactionRequest rqst)
  ShowCompactResponse show_compact(1: ShowCompactRequest rqst)
  OptionalCompactionInfoStruct find_next_compact(1: string workerId) throws (1: MetaException o1)
  OptionalCompactionInfoStruct find_next_compact2(1: FindNextCompactRequest rqst)
    throws (1: MetaException o1)
  void update_compactor_state(1: CompactionInfoStruct cr, 2: i64 txn_id)
  void mark_compacted(1: CompactionInfoStruct cr) throws (1: MetaException o1)
  void mark_failed(1: CompactionInfoStruct cr) throws (1: MetaException o1)
  void mark_refused(1: CompactionInfoStruct cr) throws (1: MetaException o1)
  AbortCompactResponse abort_Compactions(1: AbortCompactionRequest rqst)
}
