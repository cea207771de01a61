"""Tables: columns, partition keys, bucketing, location and kind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from acidsql.model.constraint import Constraint
from acidsql.model.ids import NO_TXN, TxnId
from acidsql.model.names import TableName
from acidsql.model.types import ColumnType

DEFAULT_POOL = "default"
"""What SHOW COMPACTIONS prints for the default pool."""
COMPACTION_POOL = "hive.compactor.worker.pool"
"""The property that names the pool of workers for the compactions of a table (Hive Constants)."""
HIVE4_NAMES = "acidsql.hive4.names"
"""The parameter of a table whose new files and compacted directories get Hive 4's names."""

POSITIONAL_EVOLUTION = "orc.force.positional.evolution"
"""ORC's property that decides how columns of older files are matched."""

CREATED_COLUMNS = "acidsql.columns"
"""A parameter of our own: the digest of the columns that the table got while it had no file.

Code that changes columns must drop the parameter. Otherwise the digest would fit again after the
columns were changed back, although files with other columns were written in between.
"""

MATERIALIZED_TEXT = "acidsql.materialized.text"
"""A parameter of our own: the query of a materialized view, as the user wrote it."""
MATERIALIZED_QUERY = "acidsql.materialized.query"
"""A parameter of our own: the query of a materialized view, as it is run.

Its names are spelled out, as in `View.expanded_text`.
"""
REMADE_BY = "acidsql.remade.by"
"""A parameter of our own: the id of the last transaction that gave rows of the table new write ids.

A snapshot that does not see that transaction sees neither the old rows nor the new ones.
"""
NOTED_CONSTRAINTS = "acidsql.constraints"
"""A parameter of our own in a Hive Metastore: the constraints of a table, while a column changes.

Meanwhile the metastore has none of them.
"""
RESERVED = (CREATED_COLUMNS, MATERIALIZED_TEXT, MATERIALIZED_QUERY, REMADE_BY, NOTED_CONSTRAINTS)
"""The parameters that no statement may give."""


class TableKind(Enum):
    """Whether and how a table is transactional."""

    FULL_ACID = "full-ACID"
    INSERT_ONLY = "insert-only"
    PLAIN = "plain"


class FileFormat(Enum):
    """How files hold rows; the values are the words after STORED AS. Full ACID is always ORC."""

    ORC = "ORC"
    PARQUET = "PARQUET"
    AVRO = "AVRO"
    TEXT = "TEXTFILE"


FIELD_DELIMITER = "\x01"
"""The character between the fields of a line of text, unless ROW FORMAT says otherwise (Hive)."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column; ``name`` is in lower case."""

    name: str
    type: ColumnType
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Bucketing:
    """CLUSTERED BY ``columns`` INTO ``count`` BUCKETS, with the version of Hive's hash."""

    columns: tuple[str, ...]
    count: int
    version: int = 2


@dataclass(frozen=True, slots=True)
class Table:
    """What the catalog knows of a table.

    ``columns`` leaves the partition columns out. ``location`` is a URI or an absolute path.
    ``field_delimiter`` is used for text only. ``read_only`` is the reason why nothing may be
    written; None if there is none.
    """

    name: TableName
    columns: tuple[Column, ...]
    location: str
    partition_columns: tuple[Column, ...] = ()
    bucketing: Bucketing | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    owner: str = ""
    created_s: int = 0
    format: FileFormat = FileFormat.ORC
    field_delimiter: str = FIELD_DELIMITER
    read_only: str | None = None
    constraints: tuple[Constraint, ...] = ()

    @property
    def external(self) -> bool:
        """Whether the table is declared external: its files may belong to somebody else."""
        return is_external(self.parameters)

    @property
    def owns_files(self) -> bool:
        """Whether DROP of the table or of a partition removes files.

        Hive 4 declares plain tables external. It marks those whose files DROP still removes with
        ``external.table.purge``.
        """
        return not self.external or _is_true(self.parameters, "external.table.purge")

    @property
    def is_immutable(self) -> bool:
        """Whether rows may only be written where there are none, or replace those that there are.

        (Hive: hive_metastoreConstants.IS_IMMUTABLE.)
        """
        return _is_true(self.parameters, "immutable")

    @property
    def kind(self) -> TableKind:
        """Full-ACID, insert-only or plain, by the parameters that Hive reads."""
        return kind_of(self.parameters)

    def created_empty(self) -> Table:
        """The table with a note that it gets its columns while it has no file."""
        digest = columns_digest(self.columns)
        return replace(self, parameters={**self.parameters, CREATED_COLUMNS: digest})

    def remade(self, by: TxnId) -> Table:
        """The table with a note that this transaction gives rows of it new write ids."""
        return replace(self, parameters={**self.parameters, REMADE_BY: str(by)})

    @property
    def remade_by(self) -> TxnId:
        """The last transaction that gave rows of it new write ids; 0 if none did."""
        text = self.parameters.get(REMADE_BY, "")
        return TxnId(int(text)) if text.isascii() and text.isdigit() else NO_TXN

    @property
    def is_made_empty(self) -> bool:
        """Whether the table and its partitions are known to have begun without files."""
        return CREATED_COLUMNS in self.parameters

    @property
    def is_unchanged(self) -> bool:
        """Whether the table was empty when it got its present columns, so that all files agree."""
        return self.parameters.get(CREATED_COLUMNS) == columns_digest(self.columns)

    def matches_by_position(self, default: bool) -> bool:
        """Whether columns of older ORC files match the table's by their position, not by name.

        ``default`` counts where an ACID table does not say so itself. A plain table has files of
        any writer, whose columns are found by name then.
        """
        text = self.parameters.get(POSITIONAL_EVOLUTION, "").lower()
        if text in ("true", "false"):
            return text == "true"
        return default and self.kind is not TableKind.PLAIN

    @property
    def noted(self) -> dict[str, str]:
        """The parameters without `CREATED_COLUMNS`, for what changes parameters or files."""
        return {k: v for k, v in self.parameters.items() if k != CREATED_COLUMNS}

    @property
    def shown(self) -> dict[str, str]:
        """The parameters that users see: those without a meaning of their own for us."""
        return {k: v for k, v in self.parameters.items() if k not in RESERVED}

    @property
    def is_materialized_view(self) -> bool:
        """Whether the rows are those of a query, which only a rebuild changes."""
        return MATERIALIZED_QUERY in self.parameters

    @property
    def noun(self) -> str:
        """What messages call it."""
        return "materialized view" if self.is_materialized_view else "table"

    @property
    def hive4_names(self) -> bool:
        """Whether new files get Hive 4's names, which only Hive 4 reads right (docs/interop.md)."""
        return self.parameters.get(HIVE4_NAMES, "").lower() == "true"

    def compaction_pool(self, of_database: Mapping[str, str]) -> str | None:
        """The pool of workers for its compactions; None for the default pool.

        The properties of its database count if it has none of its own (Hive
        CompactorUtil.getPoolName).
        """
        return pool_of({**of_database, **self.parameters}.get(COMPACTION_POOL, ""))

    @property
    def bucket_columns(self) -> tuple[str, ...]:
        """The columns by whose values a row finds its bucket; none in an unbucketed table."""
        return () if self.bucketing is None else self.bucketing.columns

    @property
    def hash_version(self) -> int:
        """The version of Hive's hash by which the table's rows find a bucket, in samples, too."""
        if self.bucketing is not None:
            return self.bucketing.version
        return 2 if self.parameters.get("bucketing_version") == "2" else 1

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """The columns as a query sees them: partition columns last."""
        return self.columns + self.partition_columns

    def encloses(self, location: str) -> bool:
        """Whether the directory of a partition lies in the table's own, by their texts."""
        return location.startswith(f"{self.location}/")

    def column(self, name: str) -> Column | None:
        """The column of that name, in any case, or None."""
        wanted = name.lower()
        return next((c for c in self.all_columns if c.name == wanted), None)


def is_external(parameters: Mapping[str, str]) -> bool:
    """Whether a table of these parameters is declared external."""
    return _is_true(parameters, "external")


def _is_true(parameters: Mapping[str, str], key: str) -> bool:
    return any(k.lower() == key and v.lower() == "true" for k, v in parameters.items())


def kind_of(parameters: Mapping[str, str]) -> TableKind:
    """Full-ACID, insert-only or plain, by the parameters that Hive reads."""
    if parameters.get("transactional", "").lower() != "true":
        return TableKind.PLAIN
    if parameters.get("transactional_properties", "").lower() == "insert_only":
        return TableKind.INSERT_ONLY
    return TableKind.FULL_ACID


def columns_digest(columns: Sequence[Column]) -> str:
    """A short text that differs for columns with other names or types."""
    text = ",".join(f"{column.name} {column.type}" for column in columns)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def pool_of(text: str) -> str | None:
    """The pool of compaction workers that a text names; None for the default pool.

    >>> pool_of(" fast "), pool_of("Default"), pool_of("")
    ('fast', None, None)
    """
    name = text.strip()
    return None if name.lower() in ("", DEFAULT_POOL) else name
