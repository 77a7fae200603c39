"""The target machine of a program without Python, by LLVM's names."""

from dataclasses import dataclass

HOST = "host"
"""The CPU name that stands for this machine's CPU."""


@dataclass(frozen=True)
class AheadMachine:
    """A triple (this computer's where it is empty), a processor (`generic` where it is empty, this one for `host`), and
    features that are added or taken away: `+dotprod,-fullfp16`."""

    triple: str = ""
    cpu: str = ""
    features: str = ""
