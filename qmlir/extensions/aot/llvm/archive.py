"""Archives of objects (`.a`) as System V, GNU and LLVM linkers read them: a symbol index, and the objects.

A file is `!<arch>\\n` and members, each a header of 60 characters and its bytes, padded to an even size. The first
member, named `/`, holds the number of symbols, the offset of the member of each (32 bits, big-endian), and their names,
each terminated by a zero byte. A member named `//` holds names longer than 15 characters.
"""

from collections.abc import Sequence

_MAGIC = b"!<arch>\n"
_LONGEST = 15


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
    return head.encode("ascii") + data + b"\n" * (len(data) % 2)


def archive(name: str, data: bytes, symbols: Sequence[str]) -> bytes:
    """Returns an archive of one object that defines these symbols."""
    long_names, own = b"", f"{name}/"
    if len(name) > _LONGEST:
        long_names, own = _member("//", f"{name}/\n".encode("ascii")), "/0"
    names = b"".join(symbol.encode("ascii") + b"\0" for symbol in symbols)
    size = 4 + 4 * len(symbols) + len(names)
    place = len(_MAGIC) + len(_member("/", bytes(size))) + len(long_names)
    index = b"".join([len(symbols).to_bytes(4, "big"), place.to_bytes(4, "big") * len(symbols), names])
    return b"".join([_MAGIC, _member("/", index), long_names, _member(own, data)])
