"""`pytest --update-checks`: writes the CHECK lines that fail anew from what the commands print now, for review.

SSA names become captures, so that no test depends on them. What passes is left alone, comments stay, and a check that a
person has shaped (`-NOT`, `-DAG`, `-COUNT`, or a number behind `check.expect`) is never rewritten: the file is refused
with the reason.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filecheck.options import parse_argv_options
from lit.ShCommands import Command, Seq

from tests.support.run_lines import COMMENTS, Outcome, RunLine, Shell, read_file, run_file, run_line

_STRING_OR_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|%[A-Za-z0-9_$.-]+')
_BRACKETS = re.compile(r"\[\[|\{\{")
_ESCAPES = {"[[": r"{{\[\[}}", "{{": r"{{\{\{}}"}
_FUNCTION = re.compile(r"func\.func (?:private |public )?(@[\w$.-]+)\(")
_SHAPED = re.compile(r"-(?:NOT|DAG|COUNT-\d+):")
_NAME = re.compile(r"(?:\[\[|%)(\w[\w$.-]*)")
_CAPTURE = re.compile(r"\[\[\w+(?::[^\]]*)?\]\]|%[\w$.-]+")
_EXPECTATION = "check.expect"


class Refusal(Exception):
    """Why a file's checks are left to a person."""


@dataclass
class Group:
    """The check lines of one function, or of what stands outside of functions."""

    function: str | None
    lines: list[str] = field(default_factory=list[str])


def _anonymous(text: str, names: dict[str, str]) -> str:
    """`text` as a pattern, each SSA name a capture where it is first and a reference where it comes again."""

    def replace(found: re.Match[str]) -> str:
        name = found[0]
        if name.startswith('"'):
            return name
        if name in names:
            return f"[[{names[name]}]]"
        names[name] = f"V{len(names)}"
        return f"[[{names[name]}:%.+]]"

    return _STRING_OR_VALUE.sub(replace, _BRACKETS.sub(lambda found: _ESCAPES[found[0]], text))


def check_groups(output: str, prefix: str, comment: str = "//") -> list[Group]:
    """The check lines for an output: a label for each function, the rest line by line."""
    groups: list[Group] = []
    names: dict[str, str] = {}
    follows = False
    for line in output.splitlines():
        text = line.strip()
        if not text or text in ("builtin.module {", "module {", "}"):
            follows = False
            continue
        if found := _FUNCTION.match(text):
            names = {}
            group = Group(found[1], [f"{comment} {prefix}-LABEL: {found[1]}("])
            groups.append(group)
            if signature := text[found.end() :].removesuffix("{").strip():
                group.lines.append(f"{comment} {prefix}-SAME: {_anonymous(signature, names)}")
        else:
            if not groups:
                groups.append(Group(None))
            groups[-1].lines.append(f"{comment} {prefix}{'-NEXT' if follows else ''}: {_anonymous(text, names)}")
        follows = True
    return groups


def _filecheck_of(line: RunLine, path: Path) -> tuple[list[Command], str]:
    """The commands in front of `| filecheck %s` and the prefix of its checks."""
    pipeline = line.tree.rhs if isinstance(line.tree, Seq) else line.tree
    *producers, last = pipeline.commands
    if not producers or last.args[0] != "filecheck":
        raise Refusal(f"{line.position} does not end in '| filecheck %s'")
    options = parse_argv_options([str(word) for word in last.args])
    if options.match_filename != str(path) or options.input_file != "-" or len(options.check_prefixes) != 1:
        raise Refusal(f"{line.position} has other checks than those of one prefix in this file")
    return producers, options.check_prefixes[0]


def _printed(line: RunLine, producers: Sequence[Command], hidden: Sequence[Path]) -> str | None:
    """What the commands in front of filecheck print, or `None` where they fail themselves."""
    shell = Shell()
    if isinstance(line.tree, Seq) and shell.run(line.tree.lhs) != 0:
        return None
    code, text = shell.run_pipeline(producers)
    if code:
        return None
    for folder in hidden:
        text = text.replace(str(folder), "\0")
    return text


def _position(lines: list[str], old: Sequence[int], groups: Sequence[Group]) -> list[str]:
    """`lines` with the lines at `old` replaced by the groups: where they stood together, else above each function."""
    removed = set(old)
    new = [line for group in groups for line in group.lines]
    if old and len(old) == old[-1] - old[0] + 1:
        return [*lines[: old[0]], *new, *lines[old[-1] + 1 :]]
    kept = [line for index, line in enumerate(lines) if index not in removed]
    defined = [found[1] for line in kept if (found := _FUNCTION.match(line))]
    if [group.function for group in groups] != defined:
        return [*kept, *([""] if kept and kept[-1] else []), *new]
    above = iter(groups)
    placed: list[str] = []
    for line in kept:
        if _FUNCTION.match(line):
            placed += next(above).lines
        placed.append(line)
    return placed


def _expectations(lines: Sequence[str]) -> Counter[str]:
    """What check operations expect, by the check lines: each with the constants it takes, without names of values."""
    defined: dict[str, str] = {}
    found: Counter[str] = Counter()
    for line in lines:
        names = _NAME.findall(line)
        if _EXPECTATION in line:
            parts = [*(defined[name] for name in names if "constant" in defined.get(name, "")), line]
            found[" -> ".join(_CAPTURE.sub("%", part).partition(":")[2].strip() for part in parts)] += 1
        elif names and " = " in line:
            defined[names[0]] = line
    return found


def _rewritten(text: str, prefix: str, groups: Sequence[Group]) -> str:
    """`text` with the check lines of `prefix` replaced."""
    lines = text.splitlines()
    check = re.compile(rf"\b{re.escape(prefix)}(?:-[A-Z]+(?:-\d+)?)?:")
    old = [index for index, line in enumerate(lines) if check.search(line)]
    for index in old:
        if not lines[index].lstrip().startswith(("//", "#")):
            raise Refusal(f"line {index + 1} has a check behind its code")
        if _SHAPED.search(lines[index]):
            raise Refusal(f"line {index + 1} is a check that a person has shaped")
    before = _expectations([lines[index] for index in old])
    after = _expectations([line for group in groups for line in group.lines])
    if before and before != after:
        changed = next(iter(before - after or after - before))
        raise Refusal(f"a number that a check operation expects would change: {changed}")
    return "\n".join(_position(lines, old, groups)) + "\n"


def update_file(path: Path, temporary: Path) -> Outcome:
    """Rewrite the checks of the RUN lines of `path` that fail, and give the outcome after that."""
    original = path.read_text(encoding="utf-8")
    text = original
    written: dict[str, list[Group]] = {}
    try:
        for line in read_file(path, temporary).lines:
            outcome = run_line(path, line)
            if not outcome.is_failure:
                continue
            producers, prefix = _filecheck_of(line, path)
            output = _printed(line, producers, [path.parent, temporary])
            if output is None:
                return outcome
            groups = check_groups(output, prefix, COMMENTS[path.suffix])
            for group in groups:
                group.lines = [re.sub(r"\0[^\s:'\"]*/", "{{.*}}", each).replace("\0", "{{.*}}") for each in group.lines]
            if written.setdefault(prefix, groups) != groups:
                raise Refusal(f"two RUN lines print different things for {prefix}")
            text = _rewritten(text, prefix, groups)
    except Refusal as refusal:
        return Outcome("FAIL", f"{path}: edit it by hand: {refusal}")
    path.write_text(text, encoding="utf-8")
    outcome = run_file(path, temporary)
    if outcome.is_failure:
        path.write_text(original, encoding="utf-8")
        return Outcome("FAIL", f"{path}: edit it by hand: the new checks do not pass\n{outcome.report}")
    return outcome
