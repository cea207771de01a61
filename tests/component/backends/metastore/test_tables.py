"""Tables of a metastore, as we know them, and back."""

from dataclasses import replace

import pytest

from acidsql.backends.metastore.databases import Roots, database_from, database_to
from acidsql.backends.metastore.idl import hms
from acidsql.backends.metastore.tables import (
    change_table,
    partition_from,
    partition_to,
    table_from,
    table_to,
)
from acidsql.errors import UnsupportedStatementError
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import MATERIALIZED_QUERY, Bucketing, Column, FileFormat, Table, TableKind
from acidsql.model.types import parse_type
from acidsql.ports.catalog import Database, Partition

WHOLE = Table(
    TableName("sales", "t"),
    (
        Column("id", parse_type("bigint"), "the key"),
        Column("price", parse_type("decimal(10,2)")),
        Column("notes", parse_type("map<string,array<struct<a:int,`b c`:char(3)>>>")),
        Column("at", parse_type("timestamp with local time zone")),
    ),
    "/warehouse/sales.db/t",
    (Column("d", parse_type("date"), "the day"), Column("k", parse_type("string"))),
    Bucketing(("id", "price"), 4, 2),
    {"transactional": "true", "bucketing_version": "2", "x": "ü'\""},
    "a comment",
    "ann",
    1_700_000_000,
)
COLUMNS = (Column("id", parse_type("int")), Column("v", parse_type("string")))
PLAIN = Table(TableName("default", "p"), COLUMNS, "/w/p", parameters={"bucketing_version": "2"})

AVRO = replace(PLAIN, format=FileFormat.AVRO)


def struct(table=PLAIN, descriptor=None, **fields):
    """As a metastore sends the table, with other fields here and there."""
    made = table_to(table)
    for key, value in (descriptor or {}).items():
        setattr(made.sd, key, value)
    parameters = {**made.parameters, **fields.pop("parameters", {})}
    for key, value in {"parameters": parameters, **fields}.items():
        setattr(made, key, value)
    return made


@pytest.mark.parametrize(
    "table",
    [
        WHOLE,
        PLAIN,
        replace(PLAIN, parameters={"EXTERNAL": "TRUE"}),
        replace(PLAIN, format=FileFormat.PARQUET, location="hdfs://nn:8020/w/p"),
        replace(PLAIN, format=FileFormat.AVRO),
        replace(PLAIN, format=FileFormat.TEXT),
        *(replace(PLAIN, format=FileFormat.TEXT, field_delimiter=c) for c in ",|\t7"),
        replace(PLAIN, parameters={"transactional": "true",
                                   "transactional_properties": "insert_only"}),
    ],
)  # fmt: skip
def test_a_table_comes_back_as_it_was(table):
    assert table_from(table_to(table)) == table


def test_what_hive_keeps():
    sent = table_to(WHOLE)
    assert sent.sd.location == "file:/warehouse/sales.db/t"
    assert [f.type for f in sent.sd.cols][2:] == [
        "map<string,array<struct<a:int,b c:char(3)>>>",
        "timestamp with local time zone",
    ]
    assert (sent.sd.numBuckets, sent.sd.bucketCols) == (4, ["id", "price"])
    assert sent.parameters["comment"] == "a comment"
    assert sent.tableType == "MANAGED_TABLE"
    assert table_to(replace(PLAIN, parameters={"EXTERNAL": "TRUE"})).tableType == "EXTERNAL_TABLE"
    delimited = table_to(replace(PLAIN, format=FileFormat.TEXT, field_delimiter="7"))
    assert delimited.sd.serdeInfo.parameters == {"field.delim": "55", "serialization.format": "55"}
    assert table_to(PLAIN).sd.numBuckets == -1


def test_no_note_of_ours_about_files_that_others_write():
    assert "acidsql.columns" in PLAIN.created_empty().parameters
    assert table_to(PLAIN.created_empty()).parameters == PLAIN.parameters
    assert table_from(struct(parameters={"acidsql.columns": "x"})) == PLAIN


def test_who_has_made_a_table_anew_is_kept():
    remade = PLAIN.remade(7)
    assert table_from(table_to(remade)) == remade
    changed = struct()
    change_table(changed, remade)
    assert table_from(changed).remade_by == 7


def test_what_the_metastore_notes_about_rows_is_no_property():
    noted = {"COLUMN_STATS_ACCURATE": "{}", "numRows": "7", "transient_lastDdlTime": "1"}
    assert table_from(struct(parameters=noted)) == PLAIN
    with pytest.raises(
        UnsupportedStatementError, match="only the metastore may set the property 'numRows'"
    ):
        table_to(replace(PLAIN, parameters={"numRows": "7"}))


def test_a_table_of_hive_2_has_the_first_hash():
    old = struct(WHOLE)
    del old.parameters["bucketing_version"]
    assert table_from(old).bucketing == Bucketing(("id", "price"), 4, 1)


def test_an_external_table_is_one_by_its_type():
    assert table_from(struct(tableType="EXTERNAL_TABLE")).external
    purged = table_from(
        struct(tableType="EXTERNAL_TABLE", parameters={"external.table.purge": "TRUE"})
    )
    assert (purged.external, purged.owns_files) == (True, True)


def test_a_materialized_view_of_hive_is_read_only():
    texts = {"viewExpandedText": "SELECT `t`.`a`", "viewOriginalText": "SELECT a"}
    table = table_from(struct(tableType="MATERIALIZED_VIEW", **texts))
    assert table.is_materialized_view
    assert table.read_only == "It is a materialized view that Hive rebuilds."
    assert table.parameters[MATERIALIZED_QUERY] == "SELECT `t`.`a`"
    assert MATERIALIZED_QUERY not in table.shown
    assert MATERIALIZED_QUERY not in table_to(table).parameters


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"parameters": {"storage_handler": "org.h.HBaseStorageHandler"}},
         "its storage handler is org.h.HBaseStorageHandler"),
        ({"parameters": {"table_type": "ICEBERG"}}, "an Iceberg table"),
        ({"parameters": {"spark.sql.sources.provider": "orc",
                         "spark.sql.sources.schema.numBuckets": "8"}},
         r"bucketed in Spark's own way \(8 buckets\)"),
        ({"descriptor": {"inputFormat": "org.apache.hadoop.mapred.SequenceFileInputFormat"}},
         "the files of table default.p are in a format that is not supported"),
        ({"descriptor": {"serdeInfo": hms.SerDeInfo(serializationLib="org.x.JsonSerDe")}},
         "not supported"),
        ({"descriptor": {"cols": [hms.FieldSchema(name="u", type="uniontype<int,string>")]}},
         'column "u" of table default.p: uniontype columns are not supported'),
        ({"descriptor": {"cols": [hms.FieldSchema(name="u", type="uniontype<int,string>")],
                         "bucketCols": ["u"], "numBuckets": 2}},
         'column "u" of table default.p: uniontype columns are not supported'),
        ({"table": AVRO,
          "descriptor": {"cols": [hms.FieldSchema(name="t", type="map<int,int>")]}},
         'column "t" of table default.p has a map whose keys are not of type string'),
        ({"table": AVRO, "parameters": {"avro.schema.url": "hdfs://nn/s.avsc"}},
         r"a schema of its own \(avro.schema…\)"),
        ({"descriptor": {"storedAsSubDirectories": True}}, "a skewed table"),
        ({"descriptor": {"location": None}}, "without a directory"),
        ({"accessType": 1, "requiredReadCapabilities": ["SECRETREAD", "EXTREAD"]},
         "does not let acidsql read table default.p"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_the_reason(changes, reason):
    with pytest.raises(UnsupportedStatementError, match=reason):
        table_from(struct(**changes))


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"escape.delim": "\\"}, "'escape.delim'"),
        ({"serialization.null.format": ""}, "'serialization.null.format' = ''"),
        ({"line.delim": "\r"}, "'line.delim'"),
        ({"field.delim": "§"}, "between fields stands '§'"),
        ({"field.delim": "-2"}, "between fields stands '-2'"),
    ],
)
def test_text_that_is_written_otherwise(properties, reason):
    text = struct(replace(PLAIN, format=FileFormat.TEXT))
    text.sd.serdeInfo.parameters.update(properties)
    with pytest.raises(UnsupportedStatementError, match=reason):
        table_from(text)


def test_text_with_head_lines_or_nested_values():
    text = replace(PLAIN, format=FileFormat.TEXT)
    with pytest.raises(UnsupportedStatementError, match=r"skip\.header\.line\.count"):
        table_from(struct(text, parameters={"skip.header.line.count": "1"}))
    with pytest.raises(UnsupportedStatementError, match=r"serialization\.null\.format"):
        table_from(struct(text, parameters={"serialization.null.format": ""}))
    defaults = {"skip.header.line.count": "0", "serialization.format": "1", "note": "1"}
    assert table_from(struct(text, parameters=defaults)).format is FileFormat.TEXT
    nested = (Column("a", parse_type("array<int>")),)
    with pytest.raises(UnsupportedStatementError, match="array<int> is not supported in text"):
        table_from(struct(replace(text, columns=nested)))


def test_avro_whose_serde_has_a_schema_of_its_own():
    """Hive reads the files by it: a field that a file lacks has the schema's default, not NULL."""
    avro = struct(AVRO)
    avro.sd.serdeInfo.parameters["avro.schema.literal"] = "{}"
    with pytest.raises(UnsupportedStatementError, match=r"table default\.p .*'avro.schema.lit"):
        table_from(avro)


def test_parquet_whose_columns_are_found_by_position():
    """acidsql finds them by name: a column that Hive has renamed would be NULL."""
    key = "parquet.column.index.access"
    parquet = replace(PLAIN, format=FileFormat.PARQUET)
    assert table_from(struct(parquet, parameters={key: "false"})).format is FileFormat.PARQUET
    with pytest.raises(UnsupportedStatementError, match=r"table default\.p by the property"):
        table_from(struct(parquet, parameters={key: "TRUE"}))
    by_serde = struct(parquet)
    by_serde.sd.serdeInfo.parameters[key] = "true"
    with pytest.raises(UnsupportedStatementError, match="by position, by the property"):
        table_from(by_serde)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"accessType": 8}, None),
        ({"accessType": 2, "requiredWriteCapabilities": ["MAGICWRITE", "EXTWRITE"]},
         "The metastore asks for MAGICWRITE for writing."),
        ({"descriptor": {"sortCols": [hms.Order(col="id", order=1)]}},
         "Its files are sorted (SORTED BY), and acidsql does not write sorted files."),
        ({"descriptor": {"bucketCols": ["b"], "numBuckets": 2,
                         "cols": [hms.FieldSchema(name="b", type="binary")]}},
         'It is bucketed by "b" of type binary, which Hive hashes in its own way.'),
        ({"partitionKeys": [hms.FieldSchema(name="p", type="varchar(4)"),
                            hms.FieldSchema(name="q", type="char(4)")]},
         'Its partition column "q" is of type char(4): Hive pads the names of such partitions with'
         " blanks."),
    ],
)  # fmt: skip
def test_what_may_be_written(changes, reason):
    assert table_from(struct(**changes)).read_only == reason


@pytest.mark.parametrize("format", [FileFormat.ORC, FileFormat.AVRO, FileFormat.PARQUET])
def test_fields_with_capital_letters(format):
    """Hive looks for a field Bb in files, so we must not forget how it is spelled."""
    text = "array<struct<a:int,Bb:map<string,struct<Cc:int>>>>"
    theirs = struct(replace(PLAIN, format=format))
    theirs.sd.cols = [hms.FieldSchema(name="c", type=text)]
    (column,) = table_from(theirs).columns
    assert table_from(theirs).read_only is None
    assert str(column.type) == text
    assert column == Column("c", parse_type(text.lower()))
    made = table_to(replace(PLAIN, columns=(column,)))
    assert [f.type for f in made.sd.cols] == [text]
    change_table(theirs, replace(PLAIN, columns=(Column("d", column.type),)))
    assert [(f.name, f.type) for f in theirs.sd.cols] == [("d", text)]


def test_a_change_leaves_what_is_not_ours():
    theirs = struct(
        WHOLE,
        parameters={"COLUMN_STATS_ACCURATE": "{}", "numRows": "7", "totalSize": "7", "gone": "1"},
        retention=5,
    )
    theirs.sd.cols[3].type = "timestamp with local time zone('UTC')"
    theirs.sd.location = "file:///warehouse/sales.db/t"
    columns = (*WHOLE.columns, Column("more", parse_type("int")))
    change_table(theirs, replace(WHOLE, columns=columns, parameters={"transactional": "true"}))
    assert theirs.parameters == {"totalSize": "7", "transactional": "true", "comment": "a comment"}
    assert [f.type for f in theirs.sd.cols][3:] == ["timestamp with local time zone('UTC')", "int"]
    assert theirs.sd.location == "file:///warehouse/sales.db/t"
    assert theirs.retention == 5


def test_partitions():
    name = PartitionName.of({"d": "2026-01-01", "k": None})
    partition = Partition(name, "/warehouse/sales.db/t/d=2026-01-01/k=a%2Fb")
    table = struct(WHOLE)
    sent = partition_to(partition, table)
    assert sent.values == ["2026-01-01", "__HIVE_DEFAULT_PARTITION__"]
    assert sent.sd.location == "file:/warehouse/sales.db/t/d=2026-01-01/k=a%2Fb"
    assert partition_from(sent, table) == partition
    assert table.sd.location == "file:/warehouse/sales.db/t"
    sent.sd.numBuckets = 8
    with pytest.raises(UnsupportedStatementError, match="has 8 buckets, its table 4"):
        partition_from(sent, table)
    sent.sd.inputFormat = "org.apache.hadoop.mapred.TextInputFormat"
    with pytest.raises(UnsupportedStatementError, match="are in a format"):
        partition_from(sent, table)


def test_the_kind_is_told_by_the_parameters():
    assert table_from(struct(WHOLE)).kind is TableKind.FULL_ACID
    with pytest.raises(UnsupportedStatementError, match="not stored as ORC"):
        table_from(struct(replace(PLAIN, format=FileFormat.TEXT,
                                  parameters={"transactional": "true"})))  # fmt: skip


def test_databases():
    sent = database_to(Database("Sales", "/warehouse/sales.db", "ours", "ann"))
    one_root = Roots("/warehouse", "")
    here = "/warehouse/sales.db"
    assert database_from(sent, one_root) == Database("sales", here, "ours", "ann", here)
    two_roots = Roots("/managed", "/warehouse")
    assert database_from(sent, two_roots).managed_location == "/managed/sales.db"
    sent.name = "default"
    sent.locationUri = "file:/warehouse"
    assert database_from(sent, two_roots).managed_location == "/managed"
    sent.managedLocationUri = "hdfs://nn/own"
    assert database_from(sent, two_roots).managed_location == "hdfs://nn/own"
