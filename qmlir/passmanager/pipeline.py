"""Pass pipelines and their textual form.

`a,b{k=1 list=1,2 flag s="x"}` runs on the module; `builtin.module(func.func(cse,dce),a)` names the operations that
passes run on. As in xDSL, a pass is a frozen dataclass whose fields are the options.

    pipeline := [step {"," step}]
    step     := anchor "(" pipeline ")" | (pass | named) ["{" {option} "}"]
    option   := name ["=" value {"," value}]
    value    := string | word

`named` is the name of a pipeline, which expands to its passes.

Users and packages write this text. The tree itself builds passes with `make_pass`, passes options as values, and prints
the text from the passes, so that a value from a file can never become another pass.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Literal, NoReturn, Protocol, get_args, get_origin, get_type_hints

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, get_pass_option_infos
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, ParameterType
from xdsl.utils.hints import isa, type_repr

from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error
from qmlir.ir.passes import TakesValues, WritesFiles
from qmlir.text.renames import PASSES, renamed

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]


class Expansion(Protocol):
    """A named pipeline that pipeline text can refer to."""

    @property
    def hints(self) -> Mapping[str, Any]:
        """The type of each option, by name."""
        ...

    def expanded(self, options: Mapping[str, Any]) -> "Pipeline":
        """Returns the pipeline for these options. Raises `ValueError` or `DiagnosticError` for invalid values."""
        ...


Expansions = Mapping[str, Expansion]
"""Named pipelines by their names."""


@dataclass(frozen=True)
class NestedPipeline:
    """Passes that run on each operation named `anchor` directly inside the operation of the outer pipeline."""

    anchor: str
    steps: tuple["ModulePass | NestedPipeline", ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(step_text, self.steps))})"

    def given(self, values: Mapping[str, Any]) -> "NestedPipeline":
        """Returns these passes, each with the `values` that it accepts."""
        return NestedPipeline(self.anchor, tuple(_given(step, values) for step in self.steps))


def make_pass(factories: PassFactories, name: str, options: Mapping[str, Any]) -> ModulePass:
    """Builds the pass `name` with these options. Raises `DiagnosticError` if a value has the wrong type."""
    pass_type = factories[name]()
    hints = get_type_hints(pass_type) if options else {}
    for option, value in options.items():
        hint = hints[option]
        # To Python a bool is an int.
        is_number = not isinstance(value, bool) or bool in (hint, *get_args(hint))
        if not (is_number and isa(value, hint)):
            raise pipeline_error(f"option '{option}' of pass '{name}' must be {_accepted(hint, str(value))}")
    try:
        return pass_type(**options)
    except ValueError as error:  # the constructor of a pass may check its options
        raise pipeline_error(f"pass '{name}': {str(error).splitlines()[0]}") from error


def _lines(step: "ModulePass | NestedPipeline", depth: int = 0) -> str:
    """Returns the text of a step, with one pass per line."""
    indent = "  " * depth
    if not isinstance(step, NestedPipeline):
        return f"{indent}{step_text(step)}"
    inner = ",\n".join(_lines(each, depth + 1) for each in step.steps)
    return f"{indent}{step.anchor}(\n{inner}\n{indent})"


@dataclass(frozen=True)
class Pipeline:
    """A sequence of passes for a module. Parsing its text builds an equal pipeline."""

    steps: tuple[ModulePass | NestedPipeline, ...]

    def __str__(self) -> str:
        return str(NestedPipeline(ModuleOp.name, self.steps))

    def text(self) -> str:
        """The text of the pipeline without the enclosing `builtin.module(…)`."""
        return ",".join(map(step_text, self.steps))

    def dump(self) -> str:
        """Returns the text over several lines, in the format of MLIR's `--dump-pass-pipeline`."""
        return f"Pass Manager with {len(self.steps)} passes:\n{_lines(NestedPipeline(ModuleOp.name, self.steps))}\n\n"

    def given(self, **values: Any) -> "Pipeline":
        """Returns these passes, each with the `values` that it accepts in addition to its options."""
        return Pipeline(tuple(_given(step, values) for step in self.steps))

    def check_writes_nothing(self, source: str) -> None:
        """Raises `DiagnosticError` if a pass has an option that names a file to write.

        The pipeline was read from `source`, which must not cause files to be written.
        """
        for step in _passes(self.steps):
            for option in step.WRITES if isinstance(step, WritesFiles) else ():
                if getattr(step, option) is not None:
                    writes = f"option '{option}' of pass '{step.name}' names a file to write"
                    raise pipeline_error(f"{writes}, which {source} may not: pass it on the command line, with -p")


def _passes(steps: Iterable[ModulePass | NestedPipeline]) -> Iterator[ModulePass]:
    for step in steps:
        if isinstance(step, NestedPipeline):
            yield from _passes(step.steps)
        else:
            yield step


def _given(step: ModulePass | NestedPipeline, values: Mapping[str, Any]) -> ModulePass | NestedPipeline:
    return step.given(values) if isinstance(step, NestedPipeline | TakesValues) else step


def step_text(step: ModulePass | NestedPipeline) -> str:
    """Returns the pipeline text of `step`; options with their default value are omitted."""
    if isinstance(step, NestedPipeline):
        return str(step)
    text = " ".join(starmap(_option_text, step.spec().parameters.items()))
    return f"{step.name}{{{text}}}" if text else step.name


def _option_text(name: str, values: ParameterListType) -> str:
    is_flag = not values or (len(values) == 1 and values[0] is True)
    return name if is_flag else f"{name}={','.join(map(_value_text, values))}"


_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES = {written: meant for meant, written in _ESCAPED.items()}


def _value_text(value: ParameterType) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{"".join(_ESCAPED.get(character, character) for character in value)}"'
        case float():
            # xDSL parses a number with an exponent only if it has a decimal point.
            text = repr(value)
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        case int():
            return str(value)


def pipeline_error(message: str) -> DiagnosticError:
    """Returns an error about pipeline text."""
    return text_error(f"in the pass pipeline: {message}")


def option_hints(options: type[Any]) -> dict[str, Any]:
    """Returns the type of each field of `options`, which is a pass or the class of a named pipeline's options."""
    hints = get_type_hints(options)
    return {field.name: hints[field.name] for field in dataclasses.fields(options)}


def option_rows(pass_type: type[ModulePass]) -> list[tuple[str, str, str]]:
    """Returns the name, type and default of each option of a pass; the default of a required option is empty."""

    def default(field: dataclasses.Field[Any]) -> str:
        if field.default_factory is not dataclasses.MISSING:
            return repr(field.default_factory())
        return "" if field.default is dataclasses.MISSING else repr(field.default)

    defaults = {field.name: default(field) for field in dataclasses.fields(pass_type)}
    return [(info.name, info.expected_type, defaults[info.name]) for info in get_pass_option_infos(pass_type)]


_TOKEN = re.compile(r'\s*(?:(?P<mark>[(){},=])|"(?P<string>(?:[^"\\]|\\[\\"nrt])*)"|(?P<word>[^\s(){},="]+))')
_PLACE = re.compile(r"<([a-z_]+)>")
_INTEGER = re.compile(r"[-+]?\d+")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class _Token:
    text: str
    column: int
    is_word: bool = False
    is_string: bool = False

    def reading(self) -> ParameterType:
        """Returns the value of the token if no type is known: string, Boolean, number or word."""
        if self.is_string:
            return self.text
        if self.text in ("true", "false"):
            return self.text == "true"
        if _INTEGER.fullmatch(self.text):
            return int(self.text)
        return float(self.text) if _NUMBER.fullmatch(self.text) else self.text


_END = ""


def _tokens(text: str) -> Iterator[_Token]:
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            column = text.index('"', position) + 1
            raise pipeline_error(f"column {column}: unterminated string or unknown escape")
        kind = found.lastgroup or ""
        column = found.start(kind) + (0 if kind == "string" else 1)
        content = found[kind]
        if kind == "string":
            content = re.sub(r"\\.", lambda escape: _ESCAPES[escape[0]], content)
        yield _Token(content, column, kind == "word", kind == "string")
        position = found.end()
    yield _Token(_END, end + 1)


def _readings(values: Sequence[_Token]) -> Iterator[ParameterListType]:
    """Yields the possible interpretations of the values of an option, most likely first."""
    yield tuple(value.reading() for value in values)
    if not any(value.is_string for value in values):
        with suppress(ValueError):
            yield tuple(float(value.text) for value in values)
    yield tuple(value.text for value in values)


def _fits(values: ParameterListType, hint: Any) -> bool:
    """Returns True if xDSL accepts `values` for an option of type `hint`."""
    if not values and type(None) in get_args(hint):
        return True
    # To Python a bool is an int.
    if any(isinstance(value, bool) for value in values) and bool not in (hint, *get_args(hint)):
        return False
    return isa(values, hint) or (len(values) == 1 and isa(values[0], hint))


def _accepted(hint: Any, found: str) -> str:
    """Returns the end of a message: the type or the allowed values of an option, and the value that was `found`."""
    names = [name for each in (hint, *get_args(hint)) if get_origin(each) is Literal for name in get_args(each)]
    return (
        f"one of {', '.join(names)}, but got {found}{nearest_name(found, names)}"
        if names
        else f"{type_repr(hint)}, but got {found}"
    )


_DEEPEST = 64
"""The maximum nesting depth of pipelines."""


class _PipelineParser:
    """A recursive-descent parser of pipeline text. Errors name the column."""

    def __init__(self, text: str, factories: PassFactories, named: Expansions, values: Mapping[str, str]):
        self.factories = factories
        self.named = named
        self.values = values
        self.tokens = list(_tokens(text))
        self.position = 0
        self.depth = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    def take(self) -> _Token:
        token = self.next
        self.position += token.text != _END or token.is_string
        return token

    def is_next(self, mark: str) -> bool:
        return self.next.text == mark and not self.next.is_string

    def take_if(self, mark: str) -> bool:
        if not self.is_next(mark):
            return False
        self.take()
        return True

    @staticmethod
    def fail(token: _Token, message: str) -> NoReturn:
        line = " ".join(message.splitlines())  # a string in the pipeline can contain line breaks
        raise pipeline_error(f"column {token.column}: {line}")

    def fail_expected(self, wanted: str) -> NoReturn:
        found = "the end" if self.is_next(_END) else f"'{self.next.text}'"
        self.fail(self.next, f"expected {wanted}, but got {found}")

    def expect_word(self, wanted: str) -> _Token:
        if not self.next.is_word:
            self.fail_expected(wanted)
        return self.take()

    def pipeline(self) -> Pipeline:
        steps = self.steps(_END)
        match steps:
            case (NestedPipeline(anchor=ModuleOp.name, steps=inner),):
                return Pipeline(inner)
            case _ if any(isinstance(step, NestedPipeline) and step.anchor == ModuleOp.name for step in steps):
                token = next(token for token in self.tokens if token.text == ModuleOp.name)
                self.fail(token, f"'{ModuleOp.name}(…)' must enclose the whole pipeline, or be inside another one")
            case _:
                return Pipeline(steps)

    def steps(self, end: str) -> tuple[ModulePass | NestedPipeline, ...]:
        """Parses steps up to and including the mark `end`."""
        if self.take_if(end):
            return ()
        steps = [*self.step()]
        while not self.is_next(end):
            if not self.take_if(","):
                self.fail_expected("',' or ')'" if end else "','")
            steps += self.step()
        self.take()
        return tuple(steps)

    def step(self) -> Sequence[ModulePass | NestedPipeline]:
        """Parses the next step; a named pipeline expands to all its steps."""
        name = self.expect_word("a pass")
        if self.take_if("("):
            if "." not in name.text:
                self.fail(
                    name, f"'{name.text}' is not an operation to run passes on; write the options of a pass in {{…}}"
                )
            self.depth += 1
            if self.depth > _DEEPEST:
                self.fail(name, f"pipelines are nested more than {_DEEPEST} levels deep")
            nest = NestedPipeline(name.text, self.steps(")"))
            self.depth -= 1
            return (nest,)
        options = self.options() if self.take_if("{") else {}
        if name.text in self.named and name.text not in self.factories:
            return self.expand(name, options)
        return (self.build(name, options),)

    def expand(self, name: _Token, options: Mapping[str, tuple[_Token, list[_Token]]]) -> Sequence[Any]:
        """Returns the steps of a named pipeline with these options."""
        expansion = self.named[name.text]
        read = self.read_options(f"pipeline '{name.text}'", expansion.hints, options)
        # An option is the tuple of all values, or its only element.
        given = {key: values if isa(values, expansion.hints[key]) else values[0] for key, values in read.items()}
        try:
            return expansion.expanded(given).steps
        except (ValueError, DiagnosticError) as error:
            message = error.diagnostic.message if isinstance(error, DiagnosticError) else str(error)
            self.fail(name, f"pipeline '{name.text}': {message}")

    def options(self) -> dict[str, tuple[_Token, list[_Token]]]:
        """Parses options up to the closing brace: by name, the token of the name and those of the values."""
        options: dict[str, tuple[_Token, list[_Token]]] = {}
        while not self.take_if("}"):
            name = self.expect_word("an option or '}'")
            key = name.text.replace("-", "_")
            if key in options:
                self.fail(name, f"duplicate option '{name.text}'")
            values: list[_Token] = []
            if self.take_if("="):
                values.append(self.value())
                while self.take_if(","):
                    values.append(self.value())
            options[key] = name, values
        return options

    def value(self) -> _Token:
        if not self.next.is_word and not self.next.is_string:
            self.fail_expected("a value")
        token = self.take()
        position = _PLACE.fullmatch(token.text)
        if position is None or position[1] not in self.values:
            return token
        text = self.values[position[1]]
        is_word = text in ("true", "false") or _NUMBER.fullmatch(text) is not None
        return _Token(text, token.column, is_word, not is_word)

    def read_options(
        self, owner: str, hints: Mapping[str, Any], options: Mapping[str, tuple[_Token, list[_Token]]]
    ) -> dict[str, ParameterListType]:
        """Returns the option values of `owner` (a pass or a pipeline), interpreted according to their types."""
        found: dict[str, ParameterListType] = {}
        for key, (token, values) in options.items():
            if key not in hints:
                if now := renamed(key, hints):
                    self.fail(token, f"{owner}: option {now}")
                accepted = ", ".join(f"{option}: {type_repr(hint)}" for option, hint in hints.items()) or "none"
                near = nearest_name(key, hints)
                self.fail(token, f"{owner} has no option '{token.text}'{near} (available: {accepted})")
            # A flag without a value is true.
            readings = _readings(values) if values or not _fits((True,), hints[key]) else [(True,)]
            fitting = next((reading for reading in readings if _fits(reading, hints[key])), None)
            if fitting is None:
                given = ",".join(value.text for value in values) or "nothing"
                self.fail(token, f"option '{token.text}' of {owner} must be {_accepted(hints[key], given)}")
            found[key] = fitting
        return found

    def build(self, name: _Token, options: Mapping[str, tuple[_Token, list[_Token]]]) -> ModulePass:
        """Builds the pass `name` after checking its options against their types."""
        if name.text not in self.factories:
            known = (*self.factories, *self.named)
            if name.text in PASSES:
                self.fail(name, f"pass '{name.text}' is now '{PASSES[name.text]}'")
            self.fail(name, f"unknown pass '{name.text}'{nearest_name(name.text, known)}")
        try:
            pass_type = self.factories[name.text]()
        except ImportError as error:
            self.fail(name, f"cannot load pass '{name.text}': {error}")
        parameters = self.read_options(f"pass '{name.text}'", option_hints(pass_type), options) if options else {}
        missing = sorted(pass_type.required_fields() - parameters.keys())
        if missing:
            hints = option_hints(pass_type)
            wanted = ", ".join(f"{option}: {type_repr(hints[option])}" for option in missing)
            self.fail(name, f"pass '{name.text}' requires {wanted}")
        try:
            return pass_type.from_spec(ArgSpec(name.text, parameters))
        except ValueError as error:  # the constructor of a pass may check its options
            self.fail(name, f"pass '{name.text}': {str(error).splitlines()[0]}")


def parse_pipeline(
    text: str, factories: PassFactories, named: Expansions | None = None, values: Mapping[str, str] | None = None
) -> Pipeline:
    """Parses a pipeline. An option with the value `<name>` gets the value of `name` in `values`, without parsing it.

    Raises `DiagnosticError` with the column, and suggests the nearest name for an unknown one.
    """
    return _PipelineParser(text, factories, named or {}, values or {}).pipeline()
