"""What takes several stages of the compiler, one file each: from a model and data to a result."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.workflows.raising import raise_quantized as raise_quantized
else:
    __getattr__, __dir__ = attached(__name__)
