"""What the engine keeps from one statement for the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from acidsql.engines.spark.deletes import KeptFilters
from acidsql.engines.spark.small_files import KeptFiles


@dataclass(frozen=True, slots=True)
class Kept:
    """Filters of deleted rows, and the events of small files."""

    filters: KeptFilters = field(default_factory=KeptFilters)
    files: KeptFiles = field(default_factory=KeptFiles)

    def clear(self) -> None:
        """Forget everything."""
        self.filters.clear()
        self.files.clear()
