"""Modules of loops as typed Python source, which numba compiles."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.targets.cpu.emitters.numba.emit import emit_module as emit_module
else:
    __getattr__, __dir__ = attached(__name__)
