"""A module as files in memory, for a process that shares no file system: its text, and its weights beside it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from xdsl.dialects.builtin import ModuleOp

from qmlir.environment import default_environment
from qmlir.text.parsing import load_module
from qmlir.text.printing import PrintOptions, Weights, save_module

_MODULE = "module.mlir"


@dataclass(frozen=True)
class ShippedModule:
    """The files of a module, by name."""

    files: Mapping[str, bytes]

    @staticmethod
    def of(module: ModuleOp) -> "ShippedModule":
        """Those of `module`."""
        with TemporaryDirectory(prefix="qmlir-module-") as folder:
            save_module(module, Path(folder) / _MODULE, PrintOptions(weights=Weights.SIDECAR))
            return ShippedModule({path.name: path.read_bytes() for path in Path(folder).iterdir()})

    def module(self) -> ModuleOp:
        """The module, read anew. Raises `DiagnosticError`."""
        with TemporaryDirectory(prefix="qmlir-module-") as folder:
            for name, content in self.files.items():
                (Path(folder) / name).write_bytes(content)
            return load_module(default_environment().new_context(), Path(folder) / _MODULE)
