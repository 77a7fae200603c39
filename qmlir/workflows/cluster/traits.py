"""What the bits of an answer may depend on besides job and task: the code, the packages that compute, the processor.

Integers are the same everywhere. The sums of float products are not: BLAS and compiled code take the instructions that
the processor has, and add up in the order that suits them.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version

from qmlir import registry
from qmlir.interpreter.jobs.job import content_digest
from qmlir.targets.cpu.host import host_features
from qmlir.targets.cpu.runtime.processor import processor_name

_COMPUTING = ("numpy", "numba", "llvmlite", "ml_dtypes", "onnxruntime")


@dataclass(frozen=True)
class Traits:
    """Of one process."""

    qmlir: str
    code: str
    """A digest of the code of qmlir, and of the installed packages that add to it; plug-ins are of a job."""

    packages: Mapping[str, str]
    """The versions of what computes."""

    processor: str
    """Its name, with a digest of its features."""

    @property
    def digest(self) -> str:
        """One word for all of them."""
        return content_digest(self)

    def difference(self, other: "Traits") -> str:
        """Where both differ first, `qmlir 0.1.0 and 0.2.0`; empty where they do not."""
        if self.qmlir != other.qmlir:
            return f"qmlir {self.qmlir} and {other.qmlir}"
        if self.code != other.code:
            return f"the code of qmlir {self.qmlir}, or of packages that add to it"
        for name in self.packages.keys() | other.packages.keys():
            mine, its = self.packages.get(name, "none"), other.packages.get(name, "none")
            if mine != its:
                return f"{name} {mine} and {its}"
        return "" if self.processor == other.processor else f"processors: {self.processor} and {other.processor}"


def traits() -> Traits:
    """Those of this process."""
    always = registry.packages()
    return _traits(always[: len(always) - len(registry.plug_ins())])


@lru_cache(1)
def _traits(always: tuple[registry.Package, ...]) -> Traits:
    features = content_digest(sorted(host_features()))[:8]
    packages = {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{each: _release(each) for each in _COMPUTING},
    }
    return Traits(version("qmlir"), registry.code_digest(always), packages, f"{processor_name()} ({features})")


def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
