"""Habits that make prose hard to read, counted: docstrings, messages, pages and help texts.

`prose.toml` has the rules and, for each surface, the largest count that is accepted. A count may fall, never rise:
`python -m tests.unit.test_prose` lowers the counts of the file to those of the tree.
"""

import argparse
import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from docs.generator.commands import subcommands
from qmlir.text.toml import parse_toml
from qmlir.tools import qmlir_cli, qmlir_opt, qmlir_translate

ROOT = Path(__file__).parents[2]
RULES = Path(__file__).with_name("prose.toml")

_REPORTING = re.compile(
    r"(error|warn|remark|note|refuse|refused|unsupported|fail|fault|reject|complain|reason|decline|declined|say|report|emit)",
    re.IGNORECASE,
)
"""Functions whose texts are messages."""


@dataclass(frozen=True)
class Text:
    """A text of a surface, and where it is."""

    where: str
    text: str


def _literal(node: ast.AST | None) -> str | None:
    """The text of a string, `{expression}` for what is computed; `None` for other expressions."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            f"{{{ast.unparse(each.value)}}}" if isinstance(each, ast.FormattedValue) else str(ast.literal_eval(each))
            for each in node.values
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _literal(node.left), _literal(node.right)
        if left is not None or right is not None:
            return (left or f"{{{ast.unparse(node.left)}}}") + (right or f"{{{ast.unparse(node.right)}}}")
    return None


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    def below(node: ast.AST) -> Iterator[tuple[int, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if child.name.startswith("_"):
                    continue
                if text := ast.get_docstring(child):
                    yield child.lineno, text
            yield from below(child)

    if text := ast.get_docstring(tree):
        yield 1, text
    yield from below(tree)


def _messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call, least = node.exc, 3
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if not _REPORTING.search(name) or name[0].isupper():
                continue
            call, least = node, 3
        elif isinstance(node, ast.Return):
            text = _literal(node.value)
            if text and len(text.split()) >= 4 and "\n" not in text:
                yield node.lineno, text
            continue
        else:
            continue
        for each in (*call.args, *(keyword.value for keyword in call.keywords)):
            text = _literal(each)
            if text and len(text.split()) >= least:
                yield node.lineno, text


def _passages(text: str) -> Iterator[str]:
    """The paragraphs and list items of a page of Markdown, without code, tables and headings."""
    kept: list[str] = []
    is_code = False
    for line in [*text.split("\n"), ""]:
        is_fence, is_item = line.strip().startswith("```"), bool(re.match(r"\s*[-*] ", line))
        ends = is_fence or is_item or not line.strip() or line.startswith(("#", "|", "<!--"))
        if ends and kept:
            yield " ".join(kept)
            kept = []
        is_code ^= is_fence
        if not is_code and not is_fence and (is_item or not ends):
            kept.append(line.strip())


@cache
def surfaces() -> Mapping[str, tuple[Text, ...]]:
    """The texts of each surface."""
    found: dict[str, dict[Text, None]] = {name: {} for name in ("docstrings", "messages", "pages", "help")}
    for path in sorted((ROOT / "qmlir").rglob("*.py")):
        if "templates" in path.parts:
            continue
        tree = ast.parse(path.read_text())
        where = path.relative_to(ROOT)
        for surface, texts in (("docstrings", _docstrings(tree)), ("messages", _messages(tree))):
            found[surface] |= {Text(f"{where}:{line}", text): None for line, text in texts}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        where = path.relative_to(ROOT)
        if not {"reference", "lab"} & set(where.parts):
            found["pages"] |= {
                Text(str(where), text): None for text in _passages(path.read_text()) if len(text.split()) >= 20
            }
    parsers: tuple[argparse.ArgumentParser, ...] = (
        *subcommands(), qmlir_opt.build_argument_parser(), qmlir_translate.build_argument_parser(),
    )  # fmt: skip
    for parser in parsers:
        found["help"] |= {
            Text(f"{parser.prog} {action.option_strings or action.dest}", action.help): None
            for action in parser.actions
            if action.help
        }
    found["help"] |= {Text(f"qmlir {row.name}", row.summary): None for row in qmlir_cli.rows()}
    return {name: tuple(texts) for name, texts in found.items()}


@dataclass(frozen=True)
class Rule:
    """A habit: its pattern, what to write instead, and the accepted count of each surface that it is about."""

    pattern: str
    instead: str
    counts: Mapping[str, int]

    def hits(self, surface: str) -> list[Text]:
        return [each for each in surfaces()[surface] if re.search(self.pattern, each.text, re.MULTILINE)]


def rules() -> dict[str, Rule]:
    return {name: Rule(**table) for name, table in parse_toml(RULES.read_text(), "prose.toml").items()}


@pytest.mark.parametrize("name", list(rules()))
def test_no_count_rises(name: str) -> None:
    rule = rules()[name]
    for surface, most in rule.counts.items():
        hits = rule.hits(surface)
        shown = "\n".join(f"{each.where}: {' '.join(each.text.split())[:150]}" for each in hits)
        assert len(hits) <= most, f"{name}: {len(hits)} {surface}, at most {most}; write {rule.instead}\n{shown}"


def test_surfaces_are_read() -> None:
    assert {name: len(texts) >= 150 for name, texts in surfaces().items()} == dict.fromkeys(surfaces(), True)
    assert [*_passages("# T\none\ntwo\n\n- a\n  b\n- c\n```\ncode\n```\n| x |\n")] == ["one two", "- a b", "- c"]
    assert _literal(ast.parse("'a' + x + f'{y} b'", mode="eval").body) == "a{x}{y} b"


if __name__ == "__main__":
    lines = RULES.read_text().split("\n")
    known, current = rules(), ""
    for position, line in enumerate(lines):
        if line.startswith("["):
            current = line.strip("[]")
        elif line.startswith("counts"):
            each = known[current]
            low = {surface: min(most, len(each.hits(surface))) for surface, most in each.counts.items()}
            lines[position] = f"counts = {{ {', '.join(f'{surface} = {number}' for surface, number in low.items())} }}"
    RULES.write_text("\n".join(lines))
