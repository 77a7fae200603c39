"""Workflows that combine several stages of the compiler, one per file: from a model and data to a result.

Code that only ONNX files or folders require is imported on first use.
"""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.pipelines import IMPORT as IMPORT
    from qmlir.workflows.folder import model_in as model_in
else:
    __getattr__, __dir__ = attached(__name__)
