"""The language server: what editors show of a text of MLIR. `document` knows no protocol, `server` needs pygls."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached

if TYPE_CHECKING:
    from qmlir.tools.lsp.server import serve as serve
else:
    __getattr__, __dir__ = attached(__name__)
