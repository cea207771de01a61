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
    """A new local ORC file. OSError, of any method, if the disk refuses it."""

    def __init__(self, path: str, **options: Any) -> None:
        self._sink = Sink(path)
        self._writer: Any = None
        stream: Any = self._sink
        try:
            with uninterrupted():
                self._writer = pa_orc.ORCWriter(stream, **options)
        except BaseException:
            self._sink.close()
            raise

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        """Write rows."""
        with uninterrupted():
            self._writer.write(table)
        if self._sink.error is not None:
            raise self._sink.error

    def close(self) -> None:
        """Finish the file. Idempotent."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with uninterrupted():
                try:
                    writer.close()
                finally:
                    self._sink.finish()


class Sink(io.RawIOBase):
    """A new file whose writes never raise: `finish` raises the first error of the disk.

    After an error, further bytes are dropped. OSError if the file cannot be created.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - closed by finish
        self.error: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        size = memoryview(data).nbytes
        if self.error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self.error = error
        return size

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        """Close the file. Raises the OSError because of which bytes were not written."""
        try:
            self._file.close()
        except OSError as error:
            self.error = self.error or error
        if self.error is not None:
            raise self.error
