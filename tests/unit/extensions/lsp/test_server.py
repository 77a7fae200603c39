"""`qmlir lsp` as an editor starts it: messages of the protocol on its standard input and output."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qmlir.tools.qmlir_cli import main

# The first name has a character of two UTF-16 units: positions of the protocol count those.
TEXT = """\
func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "\U0001d6fc"} func.return %0 : tensor<2xf32>
}
"""
WRONG = TEXT.replace("nn.relu %x : tensor<2xf32>", "nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>")


class Client:
    """Speaks with a server over its pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]"):
        self.process = process
        self.last = 0

    def send(self, method: str, **params: Any) -> int:
        """Send a request, or a notification where nothing waits for an answer."""
        self.last += 1
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith("textDocument/did") and method not in ("initialized", "exit"):
            body["id"] = self.last
        data = json.dumps(body).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()
        return self.last

    def receive(self) -> dict[str, Any]:
        """The next message."""
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return json.loads(stream.read(length))

    def ask(self, method: str, **params: Any) -> Any:
        """The result of a request."""
        number = self.send(method, **params)
        while (message := self.receive()).get("id") != number:
            pass
        return message["result"]

    def diagnostics(self) -> dict[str, Any]:
        """What the server says next of a text."""
        while (message := self.receive()).get("method") != "textDocument/publishDiagnostics":
            pass
        return message["params"]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    command = [sys.executable, "-c", "from qmlir.tools.qmlir_cli import console_main; console_main()", "lsp", "--stdio"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        client = Client(process)
        found = client.ask("initialize", processId=None, rootUri=None, capabilities={})
        assert {"hoverProvider", "definitionProvider", "textDocumentSync"} <= found["capabilities"].keys()
        assert found["serverInfo"]["name"] == "qmlir-lsp"
        client.send("initialized")
        yield client
        client.ask("shutdown")
        client.send("exit")
        assert process.wait(timeout=60) == 0


def _at(uri: str, line: int, character: int) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def _range(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def test_a_text_is_opened_asked_about_changed_and_closed(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "net.mlir").as_uri()
    document = {"uri": uri, "languageId": "mlir", "version": 1, "text": TEXT}
    client.send("textDocument/didOpen", textDocument=document)
    assert client.diagnostics() == {"uri": uri, "version": 1, "diagnostics": []}

    position = TEXT.splitlines()[1].index("%0 :") + 1  # the letter takes two units
    found = client.ask("textDocument/hover", **_at(uri, 1, position))
    assert found["range"] == _range(1, position, position + 2)
    assert found["contents"]["kind"] == "markdown"
    assert "%0 : tensor<2xf32>" in found["contents"]["value"]
    assert client.ask("textDocument/definition", **_at(uri, 1, position)) == {"uri": uri, "range": _range(1, 2, 4)}
    assert client.ask("textDocument/hover", **_at(uri, 2, 0)) is None
    assert client.ask("textDocument/definition", **_at(uri, 2, 0)) is None

    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": WRONG}]}
    client.send("textDocument/didChange", **changed)
    said = client.diagnostics()
    (fault,) = said["diagnostics"]
    assert (said["version"], fault["severity"], fault["source"]) == (2, 1, "qmlir")
    assert "sizes 2 and 3 cannot be broadcast" in fault["message"]
    assert fault["range"] == _range(1, 2, len(WRONG.splitlines()[1]) + 1)

    twice = TEXT + TEXT
    client.send("textDocument/didChange", textDocument={"uri": uri, "version": 3}, contentChanges=[{"text": twice}])
    (fault,) = client.diagnostics()["diagnostics"]
    assert fault["range"]["start"] == {"line": 3, "character": 0}
    (note,) = fault["relatedInformation"]
    assert note["location"]["range"]["start"] == {"line": 0, "character": 0}
    assert "see existing symbol definition here" in note["message"]

    part = {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 6, "character": 0}}, "text": ""}
    client.send("textDocument/didChange", textDocument={"uri": uri, "version": 4}, contentChanges=[part])
    assert client.diagnostics()["diagnostics"] == []
    client.send("textDocument/didClose", textDocument={"uri": uri})
    assert client.diagnostics()["diagnostics"] == []


def test_without_pygls_there_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("qmlir.extensions.lsp.lsp_command.find_spec", lambda name: None)
    assert main(["lsp"]) == 1
    assert capsys.readouterr().err == "error: the language server requires pygls; run pip install 'qmlir[lsp]'\n"
