"""The language server for `.mlir` files. `document` does not depend on the protocol; `server` requires pygls."""

from typing import TYPE_CHECKING

from qmlir.lazy import attached
from qmlir.registry.contribution import INTERFACE, Contribution

if TYPE_CHECKING:
    from qmlir.extensions.lsp.server import serve as serve
else:
    __getattr__, __dir__ = attached(__name__)

CONTRIBUTION = Contribution(
    commands={"lsp": "qmlir.extensions.lsp.lsp_command:LSP"},
    command_help={"lsp": "start a language server for .mlir files"},
    built_for=INTERFACE,
)
