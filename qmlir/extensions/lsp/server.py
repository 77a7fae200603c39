"""The language server on standard input and output, based on pygls: diagnostics, hovers and definitions."""

from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from qmlir.extensions.lsp.document import Document, LocatedDiagnostic, Place
from qmlir.ir.diagnostics import Severity, printable

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.REMARK: types.DiagnosticSeverity.Information,
    Severity.NOTE: types.DiagnosticSeverity.Hint,
}


def _range(text: TextDocument, position: Place) -> types.Range:
    start, end = map(text.client_position_at_offset, position)
    return types.Range(start, end)


def _diagnostic(text: TextDocument, placed: LocatedDiagnostic) -> types.Diagnostic:
    return types.Diagnostic(
        range=_range(text, placed.position),
        message=printable(placed.diagnostic.message),
        severity=_SEVERITIES[placed.diagnostic.severity],
        source="qmlir",
        related_information=[
            types.DiagnosticRelatedInformation(
                types.Location(text.uri, _range(text, note.position)), printable(note.diagnostic.message)
            )
            for note in placed.notes
        ],
    )


def language_server(*, allow_unregistered: bool = False) -> LanguageServer:
    """Returns a new server that is not started yet."""
    server = LanguageServer("qmlir-lsp", version("qmlir"))
    documents: dict[str, Document] = {}

    def refresh(params: types.DidOpenTextDocumentParams | types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        text = server.workspace.get_text_document(uri)
        found = documents[uri] = Document.read(text.source, Path(text.path), allow_unregistered=allow_unregistered)
        diagnostics = [_diagnostic(text, each) for each in found.diagnostics]
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, text.version))

    def closed(params: types.DidCloseTextDocumentParams) -> None:
        documents.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    def at(params: types.HoverParams | types.DefinitionParams) -> tuple[TextDocument, Document | None, int]:
        text = server.workspace.get_text_document(params.text_document.uri)
        return text, documents.get(text.uri), text.offset_at_position(params.position)

    def hover(params: types.HoverParams) -> types.Hover | None:
        text, document, position = at(params)
        found = document.hover(position) if document is not None else None
        if found is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, found[0]), _range(text, found[1]))

    def definition(params: types.DefinitionParams) -> types.Location | None:
        text, document, position = at(params)
        found = document.definition(position) if document is not None else None
        return None if found is None else types.Location(text.uri, _range(text, found))

    for feature, function in (
        (types.TEXT_DOCUMENT_DID_OPEN, refresh),
        (types.TEXT_DOCUMENT_DID_CHANGE, refresh),
        (types.TEXT_DOCUMENT_DID_CLOSE, closed),
        (types.TEXT_DOCUMENT_HOVER, hover),
        (types.TEXT_DOCUMENT_DEFINITION, definition),
    ):
        server.feature(feature)(function)
    return server


def serve(stdin: BinaryIO, stdout: BinaryIO, *, allow_unregistered: bool = False) -> None:
    """Answers the messages of a client until it disconnects, and closes both streams."""
    language_server(allow_unregistered=allow_unregistered).start_io(stdin, stdout)
