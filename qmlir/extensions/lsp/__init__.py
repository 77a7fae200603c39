"""The language server for `.mlir` files."""

from qmlir.registry.contribution import INTERFACE, Contribution

CONTRIBUTION = Contribution(
    commands={
        "lsp": "qmlir.tools.commands.lsp:LSP",
    },
    command_help={
        "lsp": "start a language server for .mlir files",
    },
    built_for=INTERFACE,
)
