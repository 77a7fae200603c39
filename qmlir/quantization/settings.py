"""The settings of `qmlir.quantize`, one row each, and the options that all passes that decide types share."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from os import PathLike
from typing import Any, ClassVar, TypeVar, cast, get_type_hints

from qmlir.ir.diagnostics import text_error
from qmlir.ir.passes import TakesValues
from qmlir.quantization.recipe import Recipe, TypeOptions, make_recipe, read_rules
from qmlir.quantization.recipe_text import RecipeText, meant, setting_hint, spelled, text_of
from qmlir.quantization.setting_rows import PORT_TYPES
from qmlir.quantization.setting_rows import QuantizeSettings as QuantizeSettings
from qmlir.quantization.setting_rows import setting_rows as setting_rows
from qmlir.text.files import path_of


def normalize_settings(settings: QuantizeSettings) -> dict[str, Any]:
    """Returns `settings` as fields of `QuantizeOptions`, with values translated and `exclude` converted to rules.

    Raises `TypeError` for an unknown name, and `DiagnosticError` for a value of the wrong type and for a recipe that
    cannot be read.
    """
    rows = setting_rows()
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in rows:
            raise _no_setting("quantize", name, value, tuple(rows))
        if value is not None:
            field = rows[name].field
            found[name] = value if name == "exclude" or not field else spelled(field, text_of(value))
    recipe: Any = found.get("recipe") or ""
    if not isinstance(recipe, RecipeText):
        recipe = (
            str(path_of(recipe) if recipe else "")
            if isinstance(recipe, str | PathLike)
            else RecipeText.of(recipe) or ""
        )
    excluded = names_in("exclude", found.pop("exclude", ()), split=False)
    if tables := [{"node": each, "quantize": False} for each in excluded]:
        read_rules(recipe)  # errors in the recipe are reported before the exclusions are added
        recipe = (RecipeText.of(recipe) or RecipeText("", "")).with_rules(tables, "exclude")
    if recipe:
        found["recipe"] = recipe
    for name in {"device", "keep_composites"} & found.keys():
        found[name] = names_in(name, found[name])
    if "states" in found:
        found["states"] = _states_in(found["states"])
    for name in {"inputs_as", "outputs_as"} & found.keys():
        found[name] = _ports_in(name, found[name])
    return found


def _states_in(given: Any) -> tuple[str, ...]:
    """Returns pairs `INPUT=OUTPUT`, also from a mapping of inputs to outputs. Raises `DiagnosticError`."""
    if isinstance(given, Mapping) and all(map(_is_text, chain(*cast(Mapping[Any, Any], given).items()))):
        return tuple(f"{enters}={leaves}" for enters, leaves in cast(Mapping[str, str], given).items())
    if not isinstance(given, list | tuple):
        raise text_error(f"states must be names of outputs by the names of inputs, but got {given!r}")
    words = names_in("states", cast(Any, given))
    if wrong := next((each for each in words if "=" not in each), ""):
        raise text_error(f"state must be spelled input=output or past_*=present_*, but got '{wrong}'")
    return words


def _ports_in(setting: str, given: Any) -> tuple[str, ...]:
    """Returns types as entries `TYPE` and `NAME=TYPE`, also from types by name. Raises `DiagnosticError`."""
    if isinstance(given, Mapping):
        given = [f"{name}={type_}" for name, type_ in cast(Mapping[Any, Any], given).items()]
    if not isinstance(given, str | Sequence):
        raise text_error(f"{setting} must be a type, or types by the names of {setting[:-3]}, but got {given!r}")
    words = [given] if isinstance(given, str) else names_in(setting, given)
    entries = tuple(name for word in words for name in names_in(setting, word))
    check_port_types(setting, entries)
    return entries


def check_port_types(setting: str, entries: Sequence[str]) -> None:
    """Raises `DiagnosticError` for an entry without one of the known types."""
    for entry in entries:
        if entry.rpartition("=")[2] not in PORT_TYPES:
            known = ", ".join(PORT_TYPES)
            raise text_error(f"{setting} must be one of {known}, or NAME=TYPE with one of them, but got '{entry}'")


def _no_setting(function: str, name: str, value: Any, known: Sequence[str]) -> TypeError:
    """Returns the error for a setting that `function` does not have, with `value` translated for the hint."""

    def written(of: str, example: str) -> str:
        return f"{of}={meant(setting_rows()[of].field, value, example)!r}"

    hint = setting_hint(name, value, known, written)
    return TypeError(f"{function} has no setting '{name}'{hint} (available: {', '.join(known)})")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def names_in(setting: str, value: Any, *, split: bool = True) -> tuple[str, ...]:
    """Returns the names in a list or a comma-separated text. Raises `DiagnosticError` for any other value."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip()) if split else (value,)
    if not isinstance(value, Sequence) or not all(map(_is_text, cast(Sequence[Any], value))):
        raise text_error(f"{setting} must be names, but got {value!r}")
    return tuple(cast(Sequence[str], value))


_Function = TypeVar("_Function", bound=Callable[..., Any])


def tells_settings(**words: str) -> Callable[[_Function], _Function]:
    """Returns a decorator that adds all settings to the signature and docstring of a function, for `help`.

    The function must accept `**settings`. An unknown keyword raises `TypeError` with the most similar name. `words`
    replace long annotations in the signature.
    """

    def told(function: _Function) -> _Function:
        signature = inspect.signature(function)
        known = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        known = [each.replace(annotation=_Shown(words.get(each.name, _brief(each.annotation)))) for each in known]
        hints = get_type_hints(QuantizeSettings)
        more = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=_Shown(f"<{row.default or 'none'}>"),
                annotation=_Shown(_brief(hints[name])),
            )
            for name, row in setting_rows().items()
        ]  # fmt: skip
        lines = [
            f"    {name}: {row.summary}{f' (default: {row.default})' if row.default else ''}"
            for name, row in setting_rows().items()
        ]
        names = [each.name for each in (*known, *more) if each.kind is inspect.Parameter.KEYWORD_ONLY]
        accepted = {*names, *(each.name for each in known)}

        @wraps(function)
        def shown(*arguments: Any, **given: Any) -> Any:
            for name in given:
                if name not in accepted:
                    raise _no_setting(function.__name__, name, given[name], names)
            return function(*arguments, **given)

        made: Any = shown
        made.__signature__ = signature.replace(
            parameters=[*known, *more], return_annotation=_Shown(_brief(signature.return_annotation))
        )
        made.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\nSettings:\n" + "\n".join(lines) + "\n"
        return made

    return told


def _brief(annotation: Any) -> str:
    """Returns an annotation as text without module names."""
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", inspect.formatannotation(annotation))


@dataclass(frozen=True)
class _Shown:
    """A text that a signature shows instead of a default or an annotation."""

    text: str

    def __repr__(self) -> str:
        return self.text


# The options that all passes that decide types share: defaults for all values, and a recipe file for further rules.


@dataclass(frozen=True)
class TakesRecipe(TypeOptions, TakesValues):
    """A pass with options that become rules for all values, and a recipe with further rules."""

    recipe: str = ""

    VALUES: ClassVar[tuple[str, ...]] = ("given_recipe",)
    given_recipe: ClassVar[RecipeText | None] = None
    """A recipe in memory, which is used instead of the file named by the option `recipe`."""

    def whole_recipe(self) -> Recipe:
        """Returns the recipe that combines the options, the built-in rules and the given recipe."""
        return make_recipe(self.rules(), self.given_recipe or self.recipe)
