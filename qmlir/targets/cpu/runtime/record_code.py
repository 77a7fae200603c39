"""How emitted code finds what adds values to records: by a symbol of the process, which `records` provides."""

import zlib
from functools import cache
from pathlib import Path

RECORDS = "qmlir_add_to_record_"
"""What the name of the code begins with that adds values to records, which programs find in the process."""

CHUNK = 1 << 12
"""The elements that are added at a time."""

MOST_BINS = 1 << 12
"""Bins up to which there is memory for four parts of a histogram."""

SCRATCH = (CHUNK, CHUNK, 4 * MOST_BINS)
"""The 32-bit words of the working memory that the code takes."""


@cache
def record_symbol() -> str:
    """The name of the code: another version of its file has another one."""
    return f"{RECORDS}{zlib.crc32((Path(__file__).parent / 'operations' / 'records.py').read_bytes()):08x}"
