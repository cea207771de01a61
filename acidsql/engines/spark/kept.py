"""What the engine keeps from one statement for the next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.row_bitmap import RowBitmap

if TYPE_CHECKING:
    from acidsql.engines.spark.events import Events


_KEPT_MAX, _KEPT_BYTES_MAX = 8, 8 << 20
"""How many filters are kept, and how large the bitmap of a kept one may be: 64 MiB at most."""

Filter = Callable[["Events"], "Events"]


class KeptFilters:
    """The filters for the last few bitmaps, each made once.

    Handing a bitmap to Spark may take longer than reading the deletes. A bitmap is recognised by a
    digest of its bits, not by the files it came from, so that no file system's idea of identity is
    trusted.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Filter] = OrderedDict()
        self._guard = threading.Lock()

    def filter(
        self, bitmap: RowBitmap, made_for: tuple[object, ...], make: Callable[[], Filter]
    ) -> Filter:
        """The filter of these bits: one that is kept for equal ``made_for``, or a new one."""
        key = (bitmap.digest(), bitmap.packing, *made_for)
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        if bitmap.size <= _KEPT_BYTES_MAX:
            with self._guard:
                self._kept[key] = made
                while len(self._kept) > _KEPT_MAX:
                    self._kept.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget all filters."""
        with self._guard:
            self._kept.clear()


@dataclass(frozen=True, slots=True)
class Kept:
    """Filters of deleted rows, and the contents of small files."""

    filters: KeptFilters = field(default_factory=KeptFilters)
    contents: FileContents = field(default_factory=FileContents)

    def clear(self) -> None:
        """Forget everything."""
        self.filters.clear()
        self.contents.clear()
