"""`qmlir completion`: the script is one that its shell accepts, and bash completes with it."""

import io
import shutil
import subprocess

import pytest
import shtab

from qmlir.tools import qmlir_cli


def script(shell: str) -> str:
    out = io.StringIO()
    assert qmlir_cli.main(["completion", shell], stdout=out, stderr=io.StringIO()) == 0
    return out.getvalue()


@pytest.mark.parametrize("shell", shtab.SUPPORTED_SHELLS)
def test_every_command_and_its_options(shell: str) -> None:
    text = script(shell)
    for row in qmlir_cli.rows():
        assert row.name in text
    assert "weight-scheme" in text
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=text, text=True, check=True, capture_output=True)


def completed(words: str) -> set[str]:
    """What bash offers for the last of `words`."""
    array = " ".join(f"'{word}'" for word in words.split(" "))
    text = (
        f"{script('bash')}\nCOMP_WORDS=({array}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))\n"
        "$(complete -p qmlir | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"
    )
    done = subprocess.run(["bash", "--norc", "-c", text], capture_output=True, text=True, check=True)
    return {line.strip() for line in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes() -> None:
    assert completed("qmlir com") == {"compile", "compare", "completion"}
    assert completed("qmlir quantize --weight-s") == {"--weight-scheme"}
    assert "compiled" in completed("qmlir run --engine com")
