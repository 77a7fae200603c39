"""The CPU that LLVM code is emitted for."""

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


@dataclass(frozen=True)
class Processor:
    """The properties of the CPU, other than its instruction set, that affect the emitted code."""

    triple: str
    features: frozenset[str] = frozenset()
    """CPU features, by LLVM's names."""

    @property
    def is_x86(self) -> bool:
        """True for 32-bit and 64-bit x86."""
        return self.triple.startswith(("x86_64", "i686", "i386"))

    @property
    def is_arm64(self) -> bool:
        """True for 64-bit ARM."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def is_wasm(self) -> bool:
        """True for WebAssembly, which has no fused multiply-add and no C library."""
        return self.triple.startswith("wasm")

    @property
    def has_extremes(self) -> bool:
        """True if LLVM has instructions for the minimum and maximum of two floats.

        On other CPUs it may call functions of C23, which few C libraries provide.
        """
        return self.triple.startswith("x86_64") or self.is_arm64 or self.is_wasm
