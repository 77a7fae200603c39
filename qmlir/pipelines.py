"""Named pipelines as data: stages, each with what it is for, and points where a package puts passes of its own.

A pipeline prints as the `-p` text that reproduces it, and its name is an element of such a text. A package's
`Contribution` maps `<pipeline>.<stage>.before`, `<pipeline>.<stage>.<pass>.before`, or the same with `.after`, to the
text of passes; they run there in the order of the packages' names. What is not a point is an error of every pipeline
that it could be meant for.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error
from qmlir.passmanager.pipeline import parse_pipeline
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings, setting_rows, understood
from qmlir.quantization.short_sums import STEPS
from qmlir.registry.package import WITHOUT_VARIABLE
from qmlir.target import HOST, Target, find_target, find_targets, installed_targets, targets_of


@dataclass(frozen=True)
class Stage:
    """Some passes in order: their text, in which `<name>` stands for a value that is given later."""

    name: str
    passes: str
    summary: str

    def steps(self) -> Iterator[tuple[str, str]]:
        """Each pass with its name in points: `dce`, `dce#2` for the second one; a value that is later none or several
        passes has no name."""
        counts: Counter[str] = Counter()
        for text in _STEP.findall(self.passes):
            name = text.partition("{")[0].partition("<")[0]
            counts[name] += 1
            yield f"{name}#{counts[name]}" if name and counts[name] > 1 else name, text


_STEP = re.compile(r"[^,{]+(?:\{[^}]*\}[^,]*)?")
"""A pass in the text of a stage, which has no nests."""

Inserted = Callable[[str], Iterable[str]]
"""The passes that packages insert at a point."""


@dataclass(frozen=True)
class NamedPipeline:
    """Stages in order."""

    name: str
    summary: str
    stages: tuple[Stage, ...]
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    """What stands for `<name>` where `text` is given no value of `name`."""

    added: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The passes that targets want at points, next to those of the pipeline."""

    def points(self) -> Iterator[str]:
        """The points where packages insert passes: around each stage, and around each pass of it."""
        for stage in self.stages:
            point = f"{self.name}.{stage.name}"
            yield f"{point}.before"
            yield from (f"{point}.{name}.{side}" for name, _ in stage.steps() if name for side in ("before", "after"))
            yield f"{point}.after"

    def _parts(self, values: Mapping[str, str], names: tuple[str, ...], inserted: Inserted) -> Iterator[str]:
        def around(point: str, inner: Iterable[str]) -> Iterator[str]:
            before, after = f"{point}.before", f"{point}.after"
            yield from (*inserted(before), *self.added.get(before, ()))
            yield from inner
            yield from (*self.added.get(after, ()), *inserted(after))

        def steps(stage: Stage, point: str) -> Iterator[str]:
            for name, text in stage.steps():
                for key, value in {**self.defaults, **values}.items():
                    text = text.replace(f"<{key}>", value)
                yield from around(f"{point}.{name}", [text]) if name else [text]

        for stage in self.stages:
            if not names or stage.name in names:
                point = f"{self.name}.{stage.name}"
                yield from around(point, steps(stage, point))

    def text(self, *stages: str, **values: str) -> str:
        """The pipeline as `-p` takes it, or only the named stages; `<name>` in a stage becomes the value of `name`.

        Raises `DiagnosticError` if a package inserts an unknown pass, or names an unknown point.
        """
        for package, point, message in unknown_points():
            pipeline = point.partition(".")[0]
            if pipeline == self.name or pipeline not in PIPELINES:
                raise _package_error(package, message)
        return ",".join(part for part in self._parts(values, stages, _inserted) if part)

    def for_targets(self, targets: Iterable[Target]) -> "NamedPipeline":
        """This pipeline with the passes that `targets` want at its points.

        Raises `DiagnosticError` if a target names an unknown point.
        """
        known = {point for pipeline in PIPELINES.values() for point in pipeline.points()}
        added: dict[str, list[str]] = {}
        for target in targets:
            for point, passes in target.stages.items():
                if point not in known:
                    near = nearest_name(point, known)
                    raise text_error(f"target '{target.name}': '{point}' is not a point of a pipeline{near}")
                added.setdefault(point, []).append(passes)
        return replace(self, added=added)

    def own_text(self, *stages: str, **values: str) -> str:
        """What `text` says, without what packages insert."""
        return ",".join(part for part in self._parts(values, stages, lambda _: ()) if part)


def _package_error(package: registry.Package, message: str) -> DiagnosticError:
    hint = f" ({WITHOUT_VARIABLE}={package.name} leaves it out)" if package.version else ""  # a plug-in has none
    where = registry.bracketed(next((each.place for each in package.contributions if each.stages), ""))
    return text_error(f"package '{package.title}': {message}{where}{hint}")


def _inserted(point: str) -> Iterator[str]:
    """What packages insert at a point, each text read by itself, so that an error names the package."""
    for package, text in registry.inserted_passes(point):
        try:
            parse_pipeline(text, default_environment().passes)
        except DiagnosticError as error:
            raise _package_error(package, f"'{text}' at '{point}': {error.diagnostic.message}") from error
        yield text


def unknown_points() -> Iterator[tuple[registry.Package, str, str]]:
    """Each point that a package names and no pipeline has, with a message."""
    known = [point for pipeline in PIPELINES.values() for point in pipeline.points()]
    for package in registry.packages():
        for point, _ in package.rows("stages"):
            if point not in known:
                yield package, point, f"'{point}' is not a point of a pipeline{nearest_name(point, known)}"


CLEAN = "canonicalize,cse,dce"

IMPORT = NamedPipeline(
    "import",
    "a model that was imported with quantize and dequantize casts to one whose operations compute on integers",
    (
        Stage(
            "raise",
            "quant-propagate-types,dce",
            "an operation between a dequantize and a quantize cast becomes one on quantized types, with one rounding",
        ),
    ),
)

PROFILE = NamedPipeline(
    "profile",
    "a lowered model to one that records statistics of its values when it runs on samples",
    (
        Stage(
            "observe",
            "calib-insert-observers<options>",
            "each value that will be quantized gets an observer, under its key in the profile",
        ),
    ),
    defaults={"options": ""},
)

QUANTIZE = NamedPipeline(
    "quantize",
    "a float model to one whose values have quantized types",
    (
        Stage("target", "<targets>", "the module gets the descriptions of the targets, if any are named"),
        Stage(
            "lower",
            "<merge>,quant-expand-floats,nn-compute-in-f32,canonicalize,cse<places>,nn-recognize<keep>,"
            "nn-recognize-masks,nn-decompose<decompose>,<merge>,canonicalize,cse<places>,dce,nn-share-tables",
            "floats become f32, and small ones integers of the same numbers where 8 bits hold them; parts of a "
            "composite in `keep` become that composite, what masks a softmax its mask; "
            "other composites are decomposed into parts; a head that is the transpose of an embedding table reads the "
            "table",
        ),
        Stage("profile", 'calib-apply-profile{profile="<profile>"}', "recorded ranges become the types of values"),
        Stage("mask", "nn-recognize-masks,cse<places>,dce", "what masks a softmax by its statistics becomes its mask"),
        Stage(
            "balance",
            "nn-split-columns<rules>,nn-smooth<rules>,dce",
            "columns that are far larger than the others are parted from them, or divided by factors",
        ),
        Stage("decide", "quant-assign-types<options>", "each value gets its quantized type"),
        Stage("propagate", "quant-propagate-types", "operations that only move values keep their quantized types"),
        Stage(
            "repair",
            "<repair>",
            "weights and biases make up for what rounding loses, if an effort is asked for or worth it",
        ),
        Stage(
            "raise",
            f"nn-raise,{CLEAN}",
            "parts become the composites that they came from, with the types of all parts",
        ),
        Stage(
            "rescale",
            "quant-set-requantize<requantize>",
            "each operation requantizes in the mode of its target, or by a shift if all scales are powers of two",
        ),
        Stage("store", "quant-store-states<states>", "states that are named enter and leave as stored integers"),
    ),
    defaults={
        "targets": "",
        "repair": "",
        "requantize": "",
        "states": "",
        "decompose": "<keep>",
        "rules": "<options>",
        "merge": "",
        "places": "",
    },
)

GRADIENT = NamedPipeline(
    "gradient",
    "a float model to the function of its results and the function of their gradients",
    (
        Stage("simplify", CLEAN, "nothing is differentiated that folds away, or that nothing uses"),
        Stage("differentiate", "nn-gradient<options>", "passes that change the gradient run before this stage"),
        Stage("clean", CLEAN, "constants and products that several rules need are computed once"),
    ),
    defaults={"options": ""},
)

COMPILE = NamedPipeline(
    "compile",
    "a module of static shapes to loops over register tiles, with one memory arena",
    (
        Stage(
            "lower",
            f"{CLEAN},quant-expand-floats{{integers_only}},convert-nn-to-kernel,kernel-verify-custom,{CLEAN}",
            "stored integers with explicit roundings; custom kernels are checked against what they replace",
        ),
        Stage(
            "fuse",
            f"kernel-propagate-layout,kernel-fuse,kernel-tabulate,kernel-narrow,kernel-analyze-ranges,"
            f'kernel-requantize-by-integers{{isa="<isa>"}},'
            f"kernel-simplify-rounding,math-expand,{CLEAN}",
            "layouts become channels-last, elementwise chains are fused; accumulators are proven not to overflow",
        ),
        Stage(
            "schedule",
            'kernel-winograd{isa="<isa>" threads=<threads><tuned>},kernel-interleave{isa="<isa>"},'
            'kernel-split-rows{isa="<isa>"},kernel-split-tables{isa="<isa>"},'
            'kernel-assign-schedule{isa="<isa>" threads=<threads><tuned>},kernel-pack,'
            "kernel-join-rows,kernel-fill-borders",
            "algorithms and tile sizes come from the tables of the instruction set; weights are packed for them",
        ),
        Stage(
            "bufferize",
            "kernel-bufferize,kernel-mark-in-place,kernel-outline,kernel-share,kernel-plan-memory",
            "tensors become buffers in one arena; each kernel becomes a function; results may lie over inputs",
        ),
        Stage(
            "loops",
            f"convert-kernel-to-loops,simd-legalize,{CLEAN},kernel-mark-read-only,team-divide",
            "kernels become loops over register tiles, divided among threads; read-only arguments are marked",
        ),
    ),
    defaults={"tuned": "", "isa": "generic"},
)

PIPELINES: Mapping[str, NamedPipeline] = {
    pipeline.name: pipeline for pipeline in (IMPORT, PROFILE, QUANTIZE, GRADIENT, COMPILE)
}
"""Every named pipeline."""


def kept_composites() -> tuple[str, ...]:
    """The composites that `quantize` keeps whole by default, without `keep` and targets: those of the host."""
    return find_target(HOST).keep


def quantize_options(settings: QuantizeSettings, *, has_targets: bool = False) -> dict[str, str | bool]:
    """Those of `settings` that are options of `quant-assign-types`; defaults are left out where targets have their own.

    Raises `TypeError` for what is not a setting.
    """
    given: dict[str, object] = {**({} if has_targets else {"granularity": "channel"}), **understood(settings)}
    return {
        name: value if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if name not in ("keep", "target", "requantize", "states", "short_sums")
    }


def target_text(settings: QuantizeSettings) -> str:
    """The targets that `settings` name, `npu,cpu`; nothing where they name none."""
    target = settings.get("target") or ""
    return target if isinstance(target, str) else ",".join(target)


STORE = "quant-store-constants"
"""What makes integers of constants that were kept as floats."""


def short_sums_text(settings: QuantizeSettings) -> str:
    """The pass that gives weights short sums, as pipeline text; nothing where `settings` ask for none.

    Raises `DiagnosticError` for a number of pairs that no loops are made for.
    """
    steps = settings.get("short_sums") or ""
    if steps and str(steps) not in map(str, STEPS):
        raise text_error(f"short sums have {', '.join(map(str, STEPS))} pairs of products, found {steps}")
    return f"quant-shorten-sums{{steps={steps}}}" if steps else ""


def _options(values: Mapping[str, str | bool], *more: str) -> str:
    """The options of a pass as pipeline text, those left out that are empty or off; `more` are written already."""
    given = (name if value is True else f'{name}="{value}"' for name, value in values.items() if value)
    written = " ".join(filter(None, (*given, *more)))
    return f"{{{written}}}" if written else ""


def _requantize_text(text: str) -> str:
    """The options by which everything requantizes as `text` says, `f32` or `shift:up`; the pass checks them."""
    mode, _, ties = text.partition(":")
    return f"{{mode={mode}{f' ties={ties}' if ties else ''}}}"


_KEEP_PLACES = "{keep_places}"


def pipeline_values(
    settings: QuantizeSettings, *, has_targets: bool = False, is_trained: bool = False
) -> dict[str, str]:
    """What stands for `<name>` in the pipeline `quantize` by `settings`; `has_targets`: the module names some itself.

    Where it `is_trained`, constants of floats stay behind their casts, and those of several places apart. So they do
    where weights get short sums, until the stage `repair` stores them.

    Raises `TypeError` for what is not a setting, and `DiagnosticError` for what is not a target.
    """
    settings = understood(settings)
    targets, shorten = target_text(settings), short_sums_text(settings)
    is_trained = is_trained or bool(shorten)
    has_targets = has_targets or bool(targets)
    keep = settings.get("keep", () if has_targets else kept_composites())
    options = quantize_options(settings, has_targets=has_targets)
    states = ",".join(f'"{enters}={leaves}"' for enters, leaves in settings.get("states", {}).items())
    values = {
        "keep": f"{{keep={','.join(keep)}}}" if keep else "",
        "options": _options(options, f"states={states}" if states else "", "float_constants" if is_trained else ""),
    }
    if is_trained:  # what is computed of one constant is one constant, so it is merged before it is folded
        values |= {"merge": f"cse{_KEEP_PLACES}", "places": _KEEP_PLACES}
    if states:
        values["states"] = f"{{states={states}}}"
    # Those who only make rules of the options have none of these.
    if options.pop("assert_all_quantized", False) or states or is_trained:
        values["rules"] = _options(options)
    if keep and (of_parts := {name: options[name] for name in ("recipe", "accumulator") if options.get(name)}):
        values["decompose"] = f"{{keep={','.join(keep)} {_options(of_parts)[1:]}"
    if shorten:
        values["repair"] = f"{shorten},{STORE}"
    if requantize := settings.get("requantize"):
        values["requantize"] = _requantize_text(requantize)
    if targets:
        listed = ",".join(f'"{each.name}"' for each in find_targets(targets))
        values["targets"] = f"quant-set-target{{targets={listed}}}"
    return values


GIVEN = "given"
"""How the text of a pipeline calls the profile that its passes are given as a value."""


def given_recipe(settings: QuantizeSettings) -> RecipeText | None:
    """The recipe of `settings` that the passes are given as a value; `None` where it is a file, or none."""
    recipe = understood(settings).get("recipe", "")
    return recipe if isinstance(recipe, RecipeText) else None


def quantize_pipeline(
    settings: QuantizeSettings, module: ModuleOp, *, is_trained: bool = False
) -> tuple[NamedPipeline, dict[str, str]]:
    """The pipeline `quantize` for `module` by `settings`, with the passes of the targets, and the values for its text.

    The targets are those that `settings` name, or else the module. Raises as `pipeline_values`.
    """
    named, said = target_text(settings), targets_of(module)
    values = pipeline_values(settings, has_targets=bool(said), is_trained=is_trained)
    return QUANTIZE.for_targets(find_targets(named) if named else installed_targets(said)), values


def _compile_values(options: Mapping[str, Any]) -> dict[str, str]:
    values = {"isa": "generic", "threads": "1"} | {name: str(value) for name, value in options.items()}
    return {**values, "tuned": f' tuned="{values["tuned"]}"'} if "tuned" in values else values


def _profile_values(options: Mapping[str, Any]) -> dict[str, str]:
    written = " ".join(name if value is True else f"{name}={value}" for name, value in options.items())
    return {"options": f"{{{written}}}"} if written else {}


def _gradient_options(wrt: Sequence[str], loss: str, function: str, recompute: bool) -> str:
    named = {"wrt": wrt, "loss": [loss] if loss else [], "function": [function] if function else []}
    quoted = {option: ",".join(f'"{name}"' for name in names) for option, names in named.items()}
    options = [f"{option}={names}" for option, names in quoted.items() if names]
    return f"{{{' '.join([*options, *(['recompute'] if recompute else [])])}}}"


def _gradient_values(options: Mapping[str, Any]) -> dict[str, str]:
    wrt = str(options["wrt"]).split(",") if "wrt" in options else ()
    told = (options.get("loss", ""), options.get("function", ""), bool(options.get("recompute")))
    return {"options": _gradient_options(wrt, *told)}


def gradient_text(wrt: Sequence[str], loss: str, function: str, recompute: bool) -> str:
    """The pipeline `gradient` with these options of `nn-gradient`."""
    return GRADIENT.text(options=_gradient_options(wrt, loss, function, recompute))


def _quantize_values(options: Mapping[str, Any]) -> dict[str, str]:
    settings = {name: value for name, value in options.items() if name != "profile"}
    return {**pipeline_values(cast(QuantizeSettings, settings)), "profile": options.get("profile", "")}


_ELEMENTS: Mapping[str, tuple[Sequence[str], Callable[[Mapping[str, Any]], dict[str, str]]]] = {
    "import": ((), dict),
    "profile": (("axis", "constants", "observers"), _profile_values),
    "quantize": (("profile", *(name for name in setting_rows() if name != "exclude")), _quantize_values),
    "gradient": (("wrt", "loss", "function", "recompute"), _gradient_values),
    "compile": (("isa", "threads", "tuned"), _compile_values),
}
"""The options of a pipeline that stands in the text of another, and what makes values for its `<name>` of them."""


def element_text(name: str, options: Mapping[str, Sequence[str]]) -> str:
    """The text of the pipeline `name` as an element of another, with `options`; `stages` are some of its stages.

    Without a profile, `quantize` takes the ranges that the module has. Raises `ValueError` for an unknown option or
    stage, and `DiagnosticError` as `NamedPipeline.text`.
    """
    pipeline, (known, values) = PIPELINES[name], _ELEMENTS[name]
    for option in options:
        if option not in (*known, "stages"):
            raise ValueError(
                f"no option '{option}'{nearest_name(option, known)} (it has: {', '.join((*known, 'stages'))})"
            )
    given = {key: list(each) if key == "keep" else ",".join(each) or True for key, each in options.items()}
    given.pop("stages", None)
    own = [stage.name for stage in pipeline.stages]
    stages = options.get("stages", own)
    for stage in stages:
        if stage not in own:
            raise ValueError(f"no stage '{stage}'{nearest_name(stage, own)} (it has: {', '.join(own)})")
    if name == "quantize" and not given.get("profile"):
        stages = [stage for stage in stages if stage != "profile"]
    return pipeline.text(*stages, **values(given)) if stages else ""


ELEMENTS: Mapping[str, Callable[[Mapping[str, Sequence[str]]], str]] = {
    name: partial(element_text, name) for name in PIPELINES
}
"""What `parse_pipeline` makes of the names of pipelines."""


def quantize_lowering(module: ModuleOp) -> str:
    """The passes by which `quantize` lowers `module` where no setting says anything else."""
    pipeline, values = quantize_pipeline({}, module)
    return pipeline.text("target", "lower", **values)
