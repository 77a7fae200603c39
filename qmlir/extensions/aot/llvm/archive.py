"""Archives of objects (`.a`) as linkers of System V, GNU and LLVM read them: an index of symbols, and the objects.

A file is `!<arch>\\n` and members, each a head of 60 characters and its bytes, filled up to an even number. The first
member, called `/`, has the number of symbols, the place of the member of each (32 bits, the highest byte first), and
their names, each ended by a zero byte; one called `//` has names that are longer than 15 characters.
"""

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_LONGEST = 15


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
    return head.encode("ascii") + data + b"\n" * (len(data) % 2)


def archive(name: str, data: bytes, symbols: Sequence[str]) -> bytes:
    """An archive of one object that defines these symbols."""
    long_names, own = b"", f"{name}/"
    if len(name) > _LONGEST:
        long_names, own = _member("//", f"{name}/\n".encode("ascii")), "/0"
    names = b"".join(symbol.encode("ascii") + b"\0" for symbol in symbols)
    size = 4 + 4 * len(symbols) + len(names)
    place = len(_MAGIC) + len(_member("/", bytes(size))) + len(long_names)
    index = b"".join([len(symbols).to_bytes(4, "big"), place.to_bytes(4, "big") * len(symbols), names])
    return b"".join([_MAGIC, _member("/", index), long_names, _member(own, data)])
