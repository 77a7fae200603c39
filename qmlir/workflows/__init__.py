"""What takes several stages of the compiler, one file each: from a model and data to a result.

What only an ONNX file or a folder needs is loaded with the first one.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.pipelines import IMPORT as IMPORT
    from qmlir.workflows.folder import model_in as model_in
else:
    __getattr__, __dir__ = attached(__name__)
