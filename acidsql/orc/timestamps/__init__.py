"""pyarrow's ORC reader and writer, with what they do wrong to timestamps and old dates mended.

Nothing outside imports more of this folder than the two names below. On the day pyarrow does all of
it right, `MendedFile` becomes pyarrow's ORCFile and `MendedSink` becomes `orc.sink.OrcSink`.
docs/pyarrow.md lists the defects, the issues upstream, and what can go when one is mended;
tests/unit/orc/timestamps/test_defects.py fails on that day.
"""

from acidsql.orc.timestamps.reading import MendedFile
from acidsql.orc.timestamps.writing import MendedSink

__all__ = ["MendedFile", "MendedSink"]
