"""The processor that code is emitted for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Processor:
    """What the emitted code depends on of the processor that it is for, beside its instruction set."""

    triple: str
    features: frozenset[str] = frozenset()
    """By LLVM's names."""

    @property
    def is_x86(self) -> bool:
        """Whether it is one of x86's."""
        return self.triple.startswith(("x86_64", "i686", "i386"))

    @property
    def is_arm64(self) -> bool:
        """Whether it is one of ARM's of 64 bits."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def is_wasm(self) -> bool:
        """Whether it is WebAssembly, which has no fused product and no C library."""
        return self.triple.startswith("wasm")

    @property
    def has_extremes(self) -> bool:
        """Whether LLVM has instructions for the smaller and larger of two floats: for some others it calls functions of
        C23, which few C libraries have."""
        return self.triple.startswith("x86_64") or self.is_arm64 or self.is_wasm
