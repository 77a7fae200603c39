"""Resources: the bytes of `dense_resource<key>`, which a text has in `{-# dialect_resources … #-}` at its end.

xDSL keeps them in one table of its builtin dialect for all modules of the process. So a key that another module uses
for other bytes is renamed while it is read.
"""

import itertools
import re

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface

_BLOB = re.compile(r"0x(?:[0-9A-Fa-f]{2}){4,}")
"""The alignment in four bytes, then the data."""


def is_blob(text: str) -> bool:
    """Whether `text` has the bytes of a resource in hexadecimal digits."""
    return _BLOB.fullmatch(text) is not None


def resource_key(interface: OpAsmDialectInterface, key: str, blob: str) -> str:
    """The key under which the table of `interface` has `blob`: `key`, or `key_0`, `key_1`, … if other bytes have it.

    An empty `blob` stands for a resource that the text doesn't define; a key without bytes is found for it.
    """
    for name in itertools.chain([key], (f"{key}_{number}" for number in itertools.count())):
        known = interface.lookup(name)
        if not known and blob:
            if known is None:
                interface.declare_resource(name)
            interface.parse_resource(name, blob)
        if not known or known == blob:
            return name
    raise AssertionError("an infinite iterator ended")
