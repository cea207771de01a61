"""The local file an ORC writer writes into."""

from __future__ import annotations

import io
from typing import BinaryIO


class Sink(io.RawIOBase):
    """A new file that keeps an error of the disk to itself until `finish`.

    pyarrow's ORC writer (seen with 26.0) ends the whole process when its stream fails. So after an
    error this one takes everything and stores nothing. OSError if the file cannot be created.
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
        """Close the file. Raises the OSError that kept anything from being written."""
        try:
            self._file.close()
        except OSError as error:
            self.error = self.error or error
        if self.error is not None:
            raise self.error
