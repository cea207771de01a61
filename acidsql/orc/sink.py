"""pyarrow's ORC writer, kept from ending the whole process.

pyarrow (seen with 26.0) ends the process when the Python file it writes to raises an exception, be
it an error of the disk or Ctrl-C.
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.process.interrupts import uninterrupted


class OrcSink:
    """An ORC file in an opened file, which the caller closes afterwards.

    OSError or MemoryError, of any method, if the file does not take the bytes.
    """

    def __init__(self, file: BinaryIO, **options: Any) -> None:
        self._sink = Sink(file)
        stream: Any = self._sink
        with uninterrupted():
            self._writer: Any = pa_orc.ORCWriter(stream, **options)

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Write rows."""
        with uninterrupted():
            self._writer.write(table)
        self._sink.check()

    def close(self) -> None:
        """Finish the file. Idempotent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with uninterrupted():
                writer.close()
            self._sink.check()


class Sink(io.RawIOBase):
    """A stream whose writes never raise: `check` raises the first error of the file beneath.

    After an error, further bytes are dropped.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._error: OSError | MemoryError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        size = memoryview(data).nbytes
        if self._error is None:
            try:
                self._file.write(data)
            except (OSError, MemoryError) as error:
                self._error = error
        return size

    def flush(self) -> None:
        pass

    def check(self) -> None:
        """Raise the error because of which bytes were not written, if there was one."""
        if self._error is not None:
            raise self._error
