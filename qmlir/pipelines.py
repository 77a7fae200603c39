"""Named pipelines as data: stages, each with what it is for, and points where a package puts passes of its own.

A stage makes its passes of the options of its pipeline, which are values: nothing that a setting, a recipe or another
file says becomes text that is parsed. A pipeline prints as the `-p` text that reproduces it, and its name is an element
of such a text. A package's `Contribution` maps `<pipeline>.<stage>.before`, `<pipeline>.<stage>.<pass>.before`, or the
same with `.after`, to the text of passes; they run there in the order of the packages' names. What is not a point is an
error of every pipeline that it could be meant for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, LiteralString, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error, unknown
from qmlir.passmanager.pipeline import NestedPipeline, PassSpec, Pipeline, parse_pipeline, spec, step_text
from qmlir.quantization.recipe import OPTIONS, simple_rules
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings, names_in, setting_rows, understood
from qmlir.registry.package import WITHOUT_VARIABLE
from qmlir.target import HOST, Target, find_target, find_targets, installed_targets, targets_of
from qmlir.text.renames import new_name

Step = ModulePass | NestedPipeline

_Options = TypeVar("_Options")


@dataclass(frozen=True)
class Stage(Generic[_Options]):
    """Some passes in order, made of the options of the pipeline."""

    name: str
    summary: str
    passes: Callable[[_Options], Sequence[PassSpec | Sequence[PassSpec | Step]]]
    """A sequence in it holds passes that only some options ask for: there are no points around these."""

    def steps(self, options: _Options) -> Iterator[tuple[str, Sequence[PassSpec | Step]]]:
        """The passes, each with its name in points: `dce`, `dce#2` for the second one; empty for a sequence."""
        counts: Counter[str] = Counter()
        for each in self.passes(options):
            if not isinstance(each, PassSpec):
                yield "", each
                continue
            counts[each.name] += 1
            yield f"{each.name}#{counts[each.name]}" if counts[each.name] > 1 else each.name, (each,)


Inserted = Callable[[str], Iterable[Step]]
"""The passes that packages insert at a point."""


@dataclass(frozen=True)
class NamedPipeline(Generic[_Options]):
    """Stages in order, and the options that their passes are made of."""

    name: str
    summary: str
    stages: tuple[Stage[_Options], ...]
    options: _Options
    """A dataclass."""

    added: Mapping[str, Sequence[Step]] = field(default_factory=dict[str, Sequence[Step]])
    """The passes that targets want at points, next to those of the pipeline."""

    def points(self) -> Iterator[str]:
        """The points where packages insert passes: around each stage, and around each pass of it."""
        for stage in self.stages:
            point = f"{self.name}.{stage.name}"
            yield f"{point}.before"
            names = (name for name, _ in stage.steps(self.options) if name)
            yield from (f"{point}.{name}.{side}" for name in names for side in ("before", "after"))
            yield f"{point}.after"

    def _steps(self, stages: tuple[str, ...], options: Mapping[str, Any], inserted: Inserted) -> Iterator[Step]:
        given = replace(cast(Any, self.options), **options)
        factories = default_environment().passes

        def around(point: str, inner: Iterable[Step]) -> Iterator[Step]:
            before, after = f"{point}.before", f"{point}.after"
            yield from (*inserted(before), *self.added.get(before, ()))
            yield from inner
            yield from (*self.added.get(after, ()), *inserted(after))

        def steps(stage: Stage[_Options], point: str) -> Iterator[Step]:
            for name, group in stage.steps(given):
                built = (each.build(factories) if isinstance(each, PassSpec) else each for each in group)
                yield from around(f"{point}.{name}", built) if name else built

        for stage in self.stages:
            if not stages or stage.name in stages:
                point = f"{self.name}.{stage.name}"
                yield from around(point, steps(stage, point))

    def passes(self, *stages: str, **options: Any) -> Pipeline:
        """The passes of the pipeline, or only of the named stages; `options` replace some of its options.

        Raises `DiagnosticError` if an option has a value that a pass does not take, and if a package inserts an unknown
        pass, or names an unknown point.
        """
        for package, point, message in unknown_points():
            pipeline = point.partition(".")[0]
            if pipeline == self.name or pipeline not in PIPELINES:
                raise _package_error(package, message)
        return Pipeline(tuple(self._steps(stages, options, _inserted)))

    def text(self, *stages: str, **options: Any) -> str:
        """The text of `passes`, as `-p` takes it."""
        return ",".join(map(step_text, self.passes(*stages, **options).steps))

    def own_text(self, *stages: str, **options: Any) -> str:
        """The text without the passes that packages insert."""
        return ",".join(map(step_text, self._steps(stages, options, lambda _: ())))

    def for_targets(self, targets: Iterable[Target]) -> "NamedPipeline[_Options]":
        """This pipeline with the passes that `targets` want at its points.

        Raises `DiagnosticError` if a target names an unknown point, or an unknown pass.
        """
        known = {point for pipeline in PIPELINES.values() for point in pipeline.points()}
        added: dict[str, list[Step]] = {}
        for target in targets:
            for point, text in target.stages.items():
                if point not in known:
                    near = nearest_name(point, known)
                    raise text_error(f"target '{target.name}': unknown pipeline point '{point}'{near}")
                steps = parse_pipeline(text, default_environment().passes).steps
                added.setdefault(point, []).extend(steps)
        return replace(self, added=added)


def _package_error(package: registry.Package, message: str) -> DiagnosticError:
    hint = f" ({WITHOUT_VARIABLE}={package.name} leaves it out)" if package.version else ""  # a plug-in has none
    where = registry.bracketed(next((each.place for each in package.contributions if each.stages), ""))
    return text_error(f"package '{package.title}': {message}{where}{hint}")


def _inserted(point: str) -> Iterator[Step]:
    """What packages insert at a point, each text read by itself, so that an error names the package."""
    for package, text in registry.inserted_passes(point):
        try:
            yield from parse_pipeline(text, default_environment().passes).steps
        except DiagnosticError as error:
            raise _package_error(package, f"'{text}' at '{point}': {error.diagnostic.message}") from error


def unknown_points() -> Iterator[tuple[registry.Package, str, str]]:
    """Each point that a package names and no pipeline has, with a message."""
    known = [point for pipeline in PIPELINES.values() for point in pipeline.points()]
    for package in registry.packages():
        for point, _ in package.rows("stages"):
            if point not in known:
                yield package, point, f"unknown pipeline point '{point}'{nearest_name(point, known)}"


CLEAN: LiteralString = "canonicalize,cse,dce"


def _specs(*names: str) -> tuple[PassSpec, ...]:
    """Passes without options."""
    return tuple(map(PassSpec, names))


_CLEAN = _specs(*CLEAN.split(","))

STORE: LiteralString = "quant-store-constants"
"""What makes integers of constants that were kept as floats."""

GIVEN = "given"
"""How the text of a pipeline calls the profile that its passes are given as a value."""


@dataclass(frozen=True)
class ImportOptions:
    """There are none."""


IMPORT = NamedPipeline(
    "import",
    "a model that was imported with quantize and dequantize casts to one whose operations compute on integers",
    (
        Stage[ImportOptions](
            "raise",
            "an operation between a dequantize and a quantize cast becomes one on quantized types, with one rounding",
            lambda _: _specs("quant-propagate-types", "dce"),
        ),
    ),
    ImportOptions(),
)


@dataclass(frozen=True)
class ProfileOptions:
    """The options of `calib-insert-observers`."""

    axis: int | None = None
    constants: bool = False
    observers: tuple[str, ...] = ()


PROFILE = NamedPipeline(
    "profile",
    "a lowered model to one that records statistics of its values when it runs on samples",
    (
        Stage[ProfileOptions](
            "observe",
            "each value that will be quantized gets an observer, under its key in the profile",
            lambda options: [spec("calib-insert-observers", **vars(options))],
        ),
    ),
    ProfileOptions(),
)


@dataclass(frozen=True)
class QuantizeOptions:
    """The options of the pipeline `quantize`."""

    targets: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    rules: Mapping[str, str] = field(default_factory=dict[str, str])
    """The options of `quant-assign-types` for all values, and the path of a recipe."""

    assert_all_quantized: bool = False
    states: tuple[str, ...] = ()
    """Each as `input=output`."""

    requantize: str = ""
    """`f32`, or a shift with what it does with ties, `shift:up`."""

    is_trained: bool = False
    """Constants of floats stay behind their casts, and those of several places apart."""

    repair: tuple[Step, ...] = ()
    profile: str = GIVEN
    """Its path, or the name of a value."""

    unrolls: bool = False
    """Long recurrent layers become the parts of all of their steps."""

    @staticmethod
    def of(settings: QuantizeSettings, *, has_targets: bool = False, is_trained: bool = False) -> "QuantizeOptions":
        """The options for `settings`. `has_targets` says that the module itself names targets.

        Where weights get short sums, constants stay floats until the stage `repair` stores them.

        Raises `TypeError` for what is not a setting, and `DiagnosticError` for a value that is none.
        """
        settings = understood(settings)
        targets, shorten = target_text(settings), short_sums_text(settings)
        has_targets = has_targets or bool(targets)
        rules = quantize_options(settings, has_targets=has_targets)
        is_strict = rules.pop("assert_all_quantized", False)
        simple_rules(**{name: str(value) for name, value in rules.items() if name in OPTIONS})  # they are checked here
        made = QuantizeOptions(
            tuple(each.name for each in find_targets(targets)) if targets else (),
            tuple(settings.get("keep_composites", () if has_targets else kept_composites())),
            {name: str(value) for name, value in rules.items() if value},
            bool(is_strict),
            tuple(f"{enters}={leaves}" for enters, leaves in settings.get("states", {}).items()),
            settings.get("requantize") or "",
            is_trained or bool(shorten),
            literal_steps(f"{shorten},{STORE}") if shorten else (),
        )
        if made.requantize:
            _requantize(made).build(default_environment().passes)  # the pass checks it
        return made


def literal_steps(text: LiteralString) -> tuple[Step, ...]:
    """The passes of a text that is written in the source."""
    return parse_pipeline(text, default_environment().passes).steps


def _places(options: QuantizeOptions) -> Mapping[str, bool]:
    """The option of `cse` by which what is computed of one constant is one constant, and merged before it is folded."""
    return {"keep_places": True} if options.is_trained else {}


def _lower(options: QuantizeOptions) -> Sequence[PassSpec | Sequence[PassSpec]]:
    keep, places = options.keep, _places(options)
    merge = [spec("cse", **places)] if options.is_trained else []
    unroll = {"unroll": True} if options.unrolls or options.is_trained else {}  # what changes weights reads the parts
    of_parts = {name: options.rules[name] for name in ("recipe", "accumulator") if keep and name in options.rules}
    return [
        merge, *_specs("quant-expand-floats", "nn-compute-in-f32", "canonicalize", "nn-fold-constants"),
        spec("cse", **places),
        spec("nn-recognize", keep=keep), spec("nn-recognize-masks"),
        spec("nn-decompose", keep=keep, **of_parts, **unroll),
        merge, spec("canonicalize"), spec("cse", **places), *_specs("dce", "nn-share-tables"),
    ]  # fmt: skip


def _requantize(options: QuantizeOptions) -> PassSpec:
    mode, _, ties = options.requantize.partition(":")
    return spec("quant-set-requantize", mode=mode or None, ties=ties or None)


QUANTIZE = NamedPipeline(
    "quantize",
    "a float model to one whose values have quantized types",
    (
        Stage[QuantizeOptions](
            "target",
            "the module gets the descriptions of the targets, if any are named",
            lambda options: [[spec("quant-set-target", targets=options.targets)] if options.targets else []],
        ),
        Stage(
            "lower",
            "floats become f32, and small ones integers of the same numbers where 8 bits hold them; what is computed "
            "of constants is a constant, quantized weights keep their integers; parts of a composite in "
            "`keep_composites` become that composite, what masks a softmax its mask; "
            "other composites are decomposed into parts; a head that is the transpose of an embedding table reads the "
            "table",
            _lower,
        ),
        Stage(
            "profile",
            "recorded ranges become the types of values",
            lambda options: [spec("calib-apply-profile", profile=options.profile)],
        ),
        Stage(
            "mask",
            "what masks a softmax by its statistics becomes its mask",
            lambda options: [spec("nn-recognize-masks"), spec("cse", **_places(options)), spec("dce")],
        ),
        Stage(
            "balance",
            "columns that are far larger than the others are parted from them, or divided by factors",
            lambda options: [
                spec("nn-split-columns", **options.rules),
                spec("nn-smooth", **options.rules),
                spec("dce"),
            ],
        ),
        Stage(
            "decide",
            "each value gets its quantized type",
            lambda options: [
                spec(
                    "quant-assign-types",
                    **options.rules,
                    assert_all_quantized=options.assert_all_quantized,
                    states=options.states,
                    float_constants=options.is_trained,
                )
            ],
        ),
        Stage(
            "propagate",
            "operations that only move values keep their quantized types",
            lambda _: _specs("quant-propagate-types"),
        ),
        Stage(
            "repair",
            "weights and biases make up for what rounding loses, if an effort is asked for or worth it",
            lambda options: [options.repair],
        ),
        Stage(
            "raise",
            "parts become the composites that they came from, with the types of all parts",
            lambda _: [spec("nn-raise"), *_CLEAN],
        ),
        Stage(
            "rescale",
            "each operation requantizes in the mode of its target, or by a shift if all scales are powers of two",
            lambda options: [_requantize(options)],
        ),
        Stage(
            "store",
            "states that are named enter and leave as stored integers",
            lambda options: [spec("quant-store-states", states=options.states)],
        ),
    ),
    QuantizeOptions(),
)


@dataclass(frozen=True)
class GradientOptions:
    """The options of `nn-gradient`."""

    wrt: tuple[str, ...] = ()
    loss: str = ""
    function: str = "main"
    recompute: bool = False


GRADIENT = NamedPipeline(
    "gradient",
    "a float model to the function of its results and the function of their gradients",
    (
        Stage[GradientOptions](
            "simplify", "nothing is differentiated that folds away, or that nothing uses", lambda _: _CLEAN
        ),
        Stage(
            "differentiate",
            "passes that change the gradient run before this stage",
            lambda options: [spec("nn-gradient", **vars(options))],
        ),
        Stage("clean", "constants and products that several rules need are computed once", lambda _: _CLEAN),
    ),
    GradientOptions(),
)


@dataclass(frozen=True)
class CompileOptions:
    """The options of the pipeline `compile`."""

    isa: str = "generic"
    threads: int = 1
    tuned: str = ""
    """The path of tuned schedules."""

    @property
    def scheduled(self) -> Mapping[str, Any]:
        """The options of passes that choose schedules."""
        return vars(self)


COMPILE = NamedPipeline(
    "compile",
    "a module of static shapes to loops over register tiles, with one memory arena",
    (
        Stage[CompileOptions](
            "lower",
            "stored integers with explicit roundings; custom kernels are checked against what they replace",
            lambda _: [
                *_CLEAN,
                spec("quant-expand-floats", integers_only=True),
                *_specs("convert-nn-to-kernel", "kernel-verify-custom"),
                *_CLEAN,
            ],
        ),
        Stage(
            "fuse",
            "layouts become channels-last, elementwise chains are fused; accumulators are proven not to overflow",
            lambda options: [
                *_specs(
                    "kernel-propagate-layout",
                    "kernel-fuse",
                    "kernel-tabulate",
                    "kernel-narrow",
                    "kernel-analyze-ranges",
                ),
                spec("kernel-requantize-by-integers", isa=options.isa),
                *_specs("kernel-simplify-rounding", "math-expand"),
                *_CLEAN,
            ],
        ),
        Stage(
            "schedule",
            "algorithms and tile sizes come from the tables of the instruction set; weights are packed for them",
            lambda options: [
                spec("kernel-winograd", **vars(options)),
                *(
                    spec(name, isa=options.isa)
                    for name in ("kernel-interleave", "kernel-split-rows", "kernel-split-tables")
                ),
                spec("kernel-assign-schedule", **vars(options)),
                *_specs("kernel-pack", "kernel-join-rows", "kernel-fill-borders"),
            ],
        ),
        Stage(
            "bufferize",
            "tensors become buffers in one arena; each kernel becomes a function; results may lie over inputs",
            lambda _: _specs(
                "kernel-bufferize", "kernel-mark-in-place", "kernel-outline", "kernel-share", "kernel-plan-memory"
            ),
        ),
        Stage(
            "loops",
            "kernels become loops over register tiles, divided among threads; read-only arguments are marked",
            lambda _: [
                *_specs("convert-kernel-to-loops", "simd-legalize"),
                *_CLEAN,
                *_specs("kernel-mark-read-only", "team-divide"),
            ],
        ),
    ),
    CompileOptions(),
)

PIPELINES: Mapping[str, NamedPipeline[Any]] = {
    pipeline.name: pipeline for pipeline in (IMPORT, PROFILE, QUANTIZE, GRADIENT, COMPILE)
}
"""Every named pipeline."""


def kept_composites() -> tuple[str, ...]:
    """The composites that `quantize` keeps whole by default, without `keep_composites` and targets: those of the
    host."""
    return find_target(HOST).keep


_NOT_OF_ASSIGNMENT = ("keep_composites", "device", "requantize", "states", "accumulator_bits", "accumulator_pairs")
"""The settings that `quant-assign-types` has no option for."""


def quantize_options(settings: QuantizeSettings, *, has_targets: bool = False) -> dict[str, str | bool]:
    """Those of `settings` that are options of `quant-assign-types`; defaults are left out where targets have their own.

    Raises `TypeError` for what is not a setting.
    """
    given: dict[str, object] = {**({} if has_targets else {"granularity": "channel"}), **understood(settings)}
    return {
        name: value if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if name not in _NOT_OF_ASSIGNMENT
    }


def target_text(settings: QuantizeSettings) -> str:
    """The targets that `settings` name, `npu,cpu`; nothing where they name none."""
    return ",".join(names_in("device", settings.get("device") or ""))


_SHORT_SUMS: Mapping[int, LiteralString] = {
    1: "quant-shorten-sums{steps=1}",
    2: "quant-shorten-sums{steps=2}",
    4: "quant-shorten-sums{steps=4}",
}


def short_sums_text(settings: QuantizeSettings) -> LiteralString:
    """The pass that gives weights short sums, as pipeline text; nothing where `settings` ask for none.

    Raises `DiagnosticError` for a number of pairs that no loops are made for.
    """
    bits: Any = settings.get("accumulator_bits") or 32
    pairs: Any = settings.get("accumulator_pairs") or 0
    if bits not in (16, 32):
        raise text_error(f"accumulator_bits must be 16 or 32, but got {bits!r}")
    if pairs and bits != 16:
        raise text_error(
            "accumulator_pairs has no effect on 32-bit accumulators; help: pass --accumulator-bits 16 "
            "(accumulator_bits=16)"
        )
    if pairs and (pairs not in _SHORT_SUMS or isinstance(pairs, bool)):
        raise text_error(f"accumulator_pairs must be one of {', '.join(map(str, _SHORT_SUMS))}, but got {pairs!r}")
    return _SHORT_SUMS[pairs or 1] if bits == 16 else ""


def given_recipe(settings: QuantizeSettings) -> RecipeText | None:
    """The recipe of `settings` that the passes are given as a value; `None` where it is a file, or none."""
    recipe = understood(settings).get("recipe", "")
    return recipe if isinstance(recipe, RecipeText) else None


def quantize_pipeline(
    settings: QuantizeSettings, module: ModuleOp, *, is_trained: bool = False
) -> NamedPipeline[QuantizeOptions]:
    """The pipeline `quantize` for `module` by `settings`, with the passes of the targets.

    The targets are those that `settings` name, or else the module. Raises as `QuantizeOptions.of`.
    """
    named, said = target_text(settings), targets_of(module)
    pipeline = QUANTIZE.for_targets(find_targets(named) if named else installed_targets(said))
    return replace(pipeline, options=QuantizeOptions.of(settings, has_targets=bool(said), is_trained=is_trained))


def _text(words: Sequence[str]) -> str:
    return ",".join(words)


def _flag(words: Sequence[str]) -> bool:
    """A flag that is named without a value is set."""
    if words and words not in (["true"], ["false"]):
        raise ValueError(f"expected true or false, but got {_text(words)}")
    return words != ["false"]


def _whole(words: Sequence[str]) -> int:
    try:
        return int(_text(words))
    except ValueError as error:
        raise ValueError(f"expected an integer, but got {_text(words)}") from error


def _pairs(words: Sequence[str]) -> dict[str, str]:
    return {enters: leaves for enters, _, leaves in (each.partition("=") for each in words)}


def _given(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return options


def _quantize_given(options: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = {name: value for name, value in options.items() if name != "profile"}
    made = QuantizeOptions.of(cast(QuantizeSettings, settings))
    return {**vars(made), "profile": options.get("profile", GIVEN)}


_READERS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "keep_composites": list,
    "states": _pairs,
    "accumulator_bits": _whole,
    "accumulator_pairs": _whole,
    "assert_all_quantized": _flag,
}

_SETTINGS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    name: _READERS.get(name, _text) for name in setting_rows() if name != "exclude"
}

_ELEMENTS: Mapping[
    str, tuple[Mapping[str, Callable[[Sequence[str]], Any]], Callable[[Mapping[str, Any]], Mapping[str, Any]]]
] = {
    "import": ({}, _given),
    "profile": ({"axis": _whole, "constants": _flag, "observers": tuple}, _given),
    "quantize": ({"profile": _text, **_SETTINGS}, _quantize_given),
    "gradient": ({"wrt": tuple, "loss": _text, "function": _text, "recompute": _flag}, _given),
    "compile": ({"isa": _text, "threads": _whole, "tuned": _text}, _given),
}
"""The options of a pipeline that stands in the text of another: what makes a value of the words of each, and what makes
options of the pipeline of all."""


def option_names(name: str) -> tuple[str, ...]:
    """The options of the pipeline `name` in the text of another, without `stages`."""
    return tuple(_ELEMENTS[name][0])


def options_in(name: str, words: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """The options of the pipeline `name` from the words of text. Raises `ValueError` for one that it does not have."""
    known, made = _ELEMENTS[name]
    given: dict[str, Any] = {}
    for option, each in words.items():
        if option not in known:
            new = new_name(option)
            if new in known:
                raise ValueError(f"option '{option}' is now '{new}'")
            raise ValueError(unknown("option", option, (*known, "stages")))
        try:
            given[option] = known[option](each)
        except ValueError as error:
            raise ValueError(f"option '{option}': {error}") from error
    return made(given)


def element(name: str, words: Mapping[str, Sequence[str]]) -> Pipeline:
    """The pipeline `name` as an element of a text, with the words of its options; `stages` are some of its stages.

    Without a profile, `quantize` takes the ranges that the module has. Raises `ValueError` for an unknown option or
    stage, and `DiagnosticError` as `NamedPipeline.passes`.
    """
    pipeline = PIPELINES[name]
    options = options_in(name, {option: each for option, each in words.items() if option != "stages"})
    own = [stage.name for stage in pipeline.stages]
    stages = words.get("stages", own)
    for stage in stages:
        if stage not in own:
            raise ValueError(unknown("stage", stage, own))
    if name == "quantize" and not words.get("profile"):
        stages = [stage for stage in stages if stage != "profile"]
    return pipeline.passes(*stages, **options) if stages else Pipeline(())


ELEMENTS: Mapping[str, Callable[[Mapping[str, Sequence[str]]], Pipeline]] = {
    name: partial(element, name) for name in PIPELINES
}
"""What `parse_pipeline` makes of the names of pipelines."""


def quantize_lowering(module: ModuleOp) -> Pipeline:
    """The passes by which `quantize` lowers `module` where no setting says anything else."""
    return quantize_pipeline({}, module).passes("target", "lower")
