"""Texts compressed by Hadoop's block codecs: their first sizes, before the JVM believes them.

A ``.snappy`` or ``.lz4`` file is a sequence of blocks: the size of the block in 4 bytes, then
chunks, each behind its compressed size in 4 bytes (Hadoop BlockDecompressorStream). Hadoop
allocates as many bytes as a chunk's size says. The first bytes of any other file, taken for a size,
are hundreds of megabytes, and a JVM that cannot allocate them ends.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import BinaryIO

from acidsql.errors import CorruptFileError
from acidsql.ports.storage import Storage

BLOCK_CODECS = (".snappy", ".lz4")
"""The endings of their files."""

_END = b"\0\0\0\0"
"""A block of no bytes, behind which Hadoop reads nothing."""

_CHUNK_MAX = 64 << 20
"""Writers make chunks of 64 or 256 KiB."""


def require_blocks(files: Iterable[tuple[str, int]], storage: Storage) -> None:
    """CorruptFileError if a file of these paths and sizes is called so, and begins otherwise."""
    for path, size in files:
        if path.lower().endswith(BLOCK_CODECS):
            with storage.open_input(path) as stream:
                require_block(stream, path, size)


def require_block(stream: BinaryIO, path: str, size: int) -> None:
    """CorruptFileError unless the stream begins with a block that fits into the file."""
    head = stream.read(8)
    if not head or head[:4] == _END:
        return
    if len(head) == 8:
        block, chunk = struct.unpack(">ii", head)
        if block > 0 and 0 < chunk <= min(size - 8, _most_of(block), _CHUNK_MAX):
            return
    raise CorruptFileError(
        f"{path} is not what its name says",
        detail="It does not begin as a file of Hadoop's block codecs does.",
        hint="Give the file another name if it is not compressed.",
    )


def _most_of(block: int) -> int:
    """The most bytes that a compressed block of this size has, by the codecs' bounds."""
    return 64 + block + block // 6
