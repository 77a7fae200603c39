"""Pass pipelines: their text, and the passes that it names.

`a,b{k=1 list=1,2 flag s="x"}` runs on the module; `builtin.module(func.func(cse,dce),a)` says on which operations a
group runs. Options are xDSL's: a pass is a frozen dataclass, its fields the options.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError

from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]


@dataclass(frozen=True)
class Nest:
    """Passes that run on every operation named `anchor` directly inside the one that the outer level runs on."""

    anchor: str
    steps: tuple["ModulePass | Nest", ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.steps))})"


@dataclass(frozen=True)
class Pipeline:
    """What runs on the module, in order. Its text builds the same pipeline again."""

    steps: tuple[ModulePass | Nest, ...]

    def __str__(self) -> str:
        return str(Nest(ModuleOp.name, self.steps))


def _error(message: str) -> DiagnosticError:
    return text_error(f"in the pass pipeline: {message}")


def _split_items(text: str) -> Iterator[str]:
    """The parts between commas that stand outside braces, parentheses and strings."""
    depth, start, in_string = 0, 0, False
    for index, character in enumerate(text):
        if character == '"' and (index == 0 or text[index - 1] != "\\"):
            in_string = not in_string
        elif in_string:
            continue
        elif character in "({":
            depth += 1
        elif character in ")}":
            depth -= 1
            if depth < 0:
                raise _error(f"column {index + 1}: '{character}' closes nothing in '{text}'")
        elif character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    if depth or in_string:
        raise _error(f"'{text}' is cut off")
    yield text[start:].strip()


def _build_pass(text: str, factories: PassFactories) -> ModulePass:
    try:
        spec = parse_spec(text).normalize_parameter_names()
    except ArgSpecParseError as error:
        raise _error(f"'{text}': {str(error).strip().splitlines()[-1].strip()}") from error
    if spec.name not in factories:
        raise _error(f"no pass '{spec.name}'{nearest_name(spec.name, factories)}")
    pass_type = factories[spec.name]()
    options = {info.name: info for info in get_pass_option_infos(pass_type)}
    for key in spec.parameters:
        if key not in options:
            accepted = ", ".join(f"{info.name}: {info.expected_type}" for info in options.values()) or "none"
            raise _error(f"pass '{spec.name}' has no option '{key}'{nearest_name(key, options)} (it has: {accepted})")
    # A flag that is named without a value is set.
    flags = {field.name for field in dataclasses.fields(pass_type) if field.type in (bool, "bool")}
    parameters = {key: (True,) if key in flags and not value else value for key, value in spec.parameters.items()}
    try:
        return pass_type.from_spec(ArgSpec(spec.name, parameters))
    except ValueError as error:
        raise _error(f"pass '{spec.name}': {str(error).splitlines()[0]}") from error


def _parse_steps(text: str, factories: PassFactories) -> Iterator[ModulePass | Nest]:
    if not text.strip():
        return
    for item in _split_items(text):
        head, parenthesis, _ = item.partition("(")
        if parenthesis and "{" not in head and item.endswith(")"):
            yield Nest(head.strip(), tuple(_parse_steps(item[len(head) + 1 : -1], factories)))
        elif item:
            yield _build_pass(item, factories)
        else:
            raise _error(f"a pass is missing between commas in '{text}'")


def parse_pipeline(text: str, factories: PassFactories) -> Pipeline:
    """The pipeline that `text` describes. Raises `DiagnosticError` with the nearest name for an unknown one."""
    steps = tuple(_parse_steps(text, factories))
    match steps:
        case (Nest(anchor=ModuleOp.name, steps=inner),):
            return Pipeline(inner)
        case _:
            return Pipeline(steps)


def option_rows(pass_type: type[ModulePass]) -> list[tuple[str, str, str]]:
    """Name, type and default (empty where the option is required) of each option of a pass."""

    def default(field: Any) -> str:
        return "" if field.default is dataclasses.MISSING else repr(field.default)

    defaults = {field.name: default(field) for field in dataclasses.fields(pass_type)}
    return [(info.name, info.expected_type, defaults[info.name]) for info in get_pass_option_infos(pass_type)]
