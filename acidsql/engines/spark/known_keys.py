"""The keys of a source whose rows the driver holds, beside those of the target's rows.

Spark looks for hashes of the keys while it scans the target, and so leaves out nearly all rows that
no source row matches. Where an ON condition says nothing but that keys are equal, and no two rows
of the source have one key, the driver finds the matches among the others itself. That spares a
join, for which Spark would build a table of the keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from acidsql.engines.matches import KEY, SOURCE_ROW
from acidsql.engines.spark.key_bits import key_words, may_be_key
from acidsql.engines.spark.key_hash import can_hash, hash_of, have_one_hash, row_hashes
from acidsql.plans.merge import MergePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField, StructType

_PLACE = "__acidsql_place"


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """The target's columns that are compared, and what the source's rows have in their place.

    ``source`` has a column for each of the ``fields``, called `KEY` with its index, and SOURCE_ROW.
    Rows of the source with a null among their keys, which match no row, are left out.
    """

    fields: Sequence[StructField]
    source: pa.Table

    @staticmethod
    def of(
        plan: MergePlan, target: StructType, source: StructType, rows: pa.Table
    ) -> KnownKeys | None:
        """The keys of a plan; None without keys, or if values are converted to be compared.

        ``rows`` are those of the source, numbered by SOURCE_ROW. No two columns have one name.
        """
        theirs = {field.name.lower(): field for field in source}
        ours = {field.name: field for field in target}
        pairs = [(ours.get(k.target), theirs.get(k.source.lower())) for k in plan.keys]
        fields = [a for a, b in pairs if a and b and have_one_hash(a, b) and can_hash(a)]
        if not fields or len(fields) < len(pairs):
            return None
        keys = rows.select([*(b.name for _, b in pairs if b), SOURCE_ROW])
        names = [f"{KEY}{i}" for i in range(len(pairs))]
        return KnownKeys(fields, keys.rename_columns([*names, SOURCE_ROW]).drop_null())

    def near(self, target: DataFrame) -> DataFrame | None:
        """The rows of the target that may have one of the keys. Nearly all others are left out.

        None if Spark's classes cannot be reached.
        """
        columns = [self.source.column(name).combine_chunks() for name in self._names]
        words = key_words(row_hashes(columns))
        found = may_be_key(target.sparkSession, words, hash_of(self.fields))
        return None if found is None else target.where(found)

    def are_unique(self) -> bool:
        """Whether no two rows of the source have one key. Then no row has several `matches`."""
        names = self._names
        return self.source.group_by(names).aggregate([]).num_rows == self.source.num_rows

    def matches(self, rows: pa.Table) -> pa.Table:
        """Each pair of one of the ``rows``, which have `KEY` columns, and a row of the source.

        It is told by its SOURCE_ROW.
        """
        names = self._names
        places = pa.array(np.arange(rows.num_rows))
        ours = rows.select(names).append_column(_PLACE, places)
        theirs = self.source.cast(
            pa.schema([*(ours.schema.field(n) for n in names), self.source.schema.field(-1)])
        )
        found = ours.join(theirs, names, join_type="inner")
        matched = rows.take(found.column(_PLACE))
        return matched.append_column(SOURCE_ROW, found.column(SOURCE_ROW))

    @property
    def _names(self) -> list[str]:
        return self.source.column_names[:-1]
