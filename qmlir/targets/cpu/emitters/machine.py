"""The machine that a program without Python is for, by what LLVM calls it."""

from dataclasses import dataclass

HOST = "host"
"""As the processor: this computer's own."""


@dataclass(frozen=True)
class AheadMachine:
    """A triple (this computer's where it is empty), a processor (`generic` where it is empty, this one for `host`), and
    features that are added or taken away: `+dotprod,-fullfp16`."""

    triple: str = ""
    cpu: str = ""
    features: str = ""
