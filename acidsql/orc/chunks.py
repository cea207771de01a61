"""Compressed sections of an ORC file: chunks behind three-byte headers (ORC specification)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acidsql.orc.protobuf import read_varint

COMPRESSIONS = {0: "none", 1: "zlib", 2: "snappy", 3: "lzo", 4: "lz4", 5: "zstd"}
"""The names of compressions by their numbers in the postscript."""

CHUNK_HEADER = 3
"""How many bytes stand before each chunk. They hold its size and whether it is compressed."""

_MIN_MATCH = 4


def decompress_section(section: bytes, compression: str, block_size: int) -> bytes:
    """The decompressed bytes of a section. ValueError if the section is malformed."""
    if compression == "none":
        return section
    result = bytearray()
    at = 0
    while at < len(section):
        header = int.from_bytes(section[at : at + CHUNK_HEADER], "little")
        at += CHUNK_HEADER
        size, is_original = header >> 1, header & 1
        if at + size > len(section):
            raise ValueError("a compressed chunk is longer than its section")
        chunk = section[at : at + size]
        result += chunk if is_original else _decompress(chunk, compression, block_size)
        at += size
    return bytes(result)


def original_chunks(data: bytes, compression: str, block_size: int) -> bytes:
    """The data as a section of chunks that are marked as not compressed ("original").

    >>> original_chunks(b"abc", "zlib", 2).hex()
    '050000616203000063'
    """
    if compression == "none":
        return data
    result = bytearray()
    for at in range(0, len(data), block_size):
        chunk = data[at : at + block_size]
        result += (len(chunk) << 1 | 1).to_bytes(CHUNK_HEADER, "little") + chunk
    return bytes(result)


def compressed_chunks(data: bytes, compression: str, block_size: int) -> bytes:
    """The data as a section of chunks, each compressed if that makes it smaller."""
    if compression == "none":
        return data
    result = bytearray()
    for at in range(0, len(data), block_size):
        chunk = data[at : at + block_size]
        smaller = _compress(chunk, compression)
        if len(smaller) < len(chunk):
            result += (len(smaller) << 1).to_bytes(CHUNK_HEADER, "little") + smaller
        else:
            result += original_chunks(chunk, compression, block_size)
    return bytes(result)


_CODECS: Mapping[str, Any] = {"snappy": "snappy", "lz4": "lz4_raw", "zstd": "zstd"}
"""Arrow's names of the codecs that it has."""


def _compress(chunk: bytes, compression: str) -> bytes:
    if compression == "zlib":
        deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)  # raw, without zlib's header
        return deflate.compress(chunk) + deflate.flush()
    return bytes(pa.Codec(_CODECS[compression]).compress(chunk, asbytes=True))


def _decompress(chunk: bytes, compression: str, block_size: int) -> bytes:
    if compression == "zlib":
        return _inflate(chunk, block_size)
    if compression == "lz4":
        return _decompress_lz4(chunk, block_size)
    try:
        if compression == "snappy":
            size, _ = read_varint(chunk, 0)
            if size > block_size:
                raise ValueError("a chunk is larger than the file's blocks")
            return bytes(pa.Codec("snappy").decompress(chunk, size, asbytes=True))
        if compression == "zstd":
            with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
                return bytes(stream.read(block_size))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"a chunk is not {compression}") from error
    raise ValueError(f"compression {compression} is not supported")


def _inflate(chunk: bytes, block_size: int) -> bytes:
    try:
        # Raw deflate, without zlib's header.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, block_size)
    except zlib.error as error:
        raise ValueError("a chunk is not zlib") from error


def _decompress_lz4(chunk: bytes, block_size: int) -> bytes:
    """One raw LZ4 block, decompressed here: Arrow's codec would need its exact size beforehand."""
    result = bytearray()
    at = 0
    try:
        while at < len(chunk):
            token = chunk[at]
            literals, at = _lz4_length(chunk, at + 1, token >> 4)
            if at + literals > len(chunk):
                raise ValueError("a chunk is not lz4")
            result += chunk[at : at + literals]
            at += literals
            if at == len(chunk):
                return bytes(result)
            distance = chunk[at] | chunk[at + 1] << 8
            size, at = _lz4_length(chunk, at + 2, token & 15)
            size += _MIN_MATCH
            if not 0 < distance <= len(result) or len(result) + size > block_size:
                raise ValueError("a chunk is not lz4")
            for _ in range(size):
                result.append(result[-distance])
    except IndexError as error:
        raise ValueError("a chunk is not lz4") from error
    raise ValueError("a chunk is not lz4")


def _lz4_length(chunk: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while chunk[at] == 255:
            length, at = length + 255, at + 1
        length, at = length + chunk[at], at + 1
    return length, at
