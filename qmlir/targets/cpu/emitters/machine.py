"""The target machine of a program compiled ahead of time, described by LLVM's names."""

from dataclasses import dataclass

HOST = "host"
"""The CPU name that stands for this machine's CPU."""


@dataclass(frozen=True)
class AheadMachine:
    """The machine for ahead-of-time compilation: an LLVM triple, a CPU, and features such as `+dotprod,-fullfp16`.

    An empty triple stands for this machine's, and an empty CPU for `generic`; the CPU `host` is this machine's.
    Features with `+` are added to those of the CPU, features with `-` are removed.
    """

    triple: str = ""
    cpu: str = ""
    features: str = ""
