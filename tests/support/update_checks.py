"""`pytest --update-checks`: writes the CHECK lines of a file anew from what its commands print now, for review.

SSA names become captures, so that no test depends on them. A line with a number that a `check.` operation expects is
never changed: where one would have to, the file is refused.
"""

import re
from pathlib import Path

from tests.support.run_lines import RunLineError, output_for_filecheck, run_lines

_CHECK = re.compile(r"^\s*//\s*CHECK[-A-Z]*:")
_VALUE = re.compile(r"%[A-Za-z0-9_$.-]+(?:#\d+)?")
_BRACKETS = re.compile(r"\[\[|\{\{")
_ESCAPES = {"[[": r"{{\[\[}}", "{{": r"{{\{\{}}"}
_EXPECTS = "check.expect"


def _anonymous(line: str, names: dict[str, str]) -> str:
    def replace(found: re.Match[str]) -> str:
        name = found[0]
        if name in names:
            return f"[[{names[name]}]]"
        names[name] = f"V{len(names)}"
        return f"[[{names[name]}:%.+]]"

    return _VALUE.sub(replace, _BRACKETS.sub(lambda found: _ESCAPES[found[0]], line))


def check_lines(output: str) -> list[str]:
    """The CHECK lines for an output: a label for each function, the rest line by line."""
    lines: list[str] = []
    names: dict[str, str] = {}
    follows = False
    for line in output.splitlines():
        text = line.strip()
        if not text or text in ("builtin.module {", "}", "module {"):
            follows = False
            continue
        if text.startswith("func.func"):
            names = {}
            name = re.search(r"@[\w$.-]+", text)
            lines.append(f"// CHECK-LABEL: {name[0] if name else text}(")
            arguments = text[text.index("(") :]
            lines.append(f"// CHECK-SAME: {_anonymous(arguments.removesuffix('{').strip()[1:], names)}")
            follows = True
            continue
        kind = "CHECK-NEXT" if follows else "CHECK"
        lines.append(f"// {kind}: {_anonymous(text, names)}")
        follows = True
    return lines


def update_file(path: Path, temporary: Path) -> None:
    """Rewrite the CHECK lines of `path` where it has one plain pipeline into filecheck."""
    text = path.read_text(encoding="utf-8")
    commands = [command for command in run_lines(text) if "| filecheck" in command and "-prefix" not in command]
    if not commands:
        return
    output = output_for_filecheck(commands[0], path, temporary)
    new = check_lines(output)
    old = [line for line in text.splitlines() if _CHECK.match(line)]
    lost = [line for line in old if _EXPECTS in line and line not in new]
    if lost:
        raise RunLineError(f"a number that a check operation expects would change, edit it by hand: {lost[0]}")
    if [line.strip() for line in old] == new:
        return
    body = [line for line in text.splitlines() if not _CHECK.match(line)]
    path.write_text("\n".join([*body, "", *new]).rstrip() + "\n", encoding="utf-8")
