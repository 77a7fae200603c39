"""Named pipelines as data: documented stages, and points where packages insert passes.

A stage creates its passes from the options of its pipeline. Options are values: text in a setting, a recipe or another
file is never parsed as a pipeline. A pipeline prints as the `-p` text that reproduces it, and its name can be used as
an element of such a text.

A package can insert passes at points: its `Contribution` maps `<pipeline>.<stage>.before`,
`<pipeline>.<stage>.<pass>.before`, or the same names with `.after`, to the text of passes. If several packages use one
point, their passes run in the order of the packages' names. An unknown point is an error in every pipeline that it
could refer to.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, LiteralString, TypeVar, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.arithmetic.schemes import Storage
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, nearest_name, text_error, unknown
from qmlir.ir.passes import TakesValues
from qmlir.passmanager.pipeline import NestedPipeline, Pipeline, make_pass, option_hints, parse_pipeline
from qmlir.quantization.recipe import TypeOptions
from qmlir.quantization.recipe_text import RecipeText
from qmlir.quantization.settings import QuantizeSettings, normalize_settings, setting_rows
from qmlir.registry.package import WITHOUT_VARIABLE
from qmlir.target import HOST, Target, find_target, find_targets, installed_targets, targets_of

Step = ModulePass | NestedPipeline

_Options = TypeVar("_Options")


@dataclass(frozen=True)
class Stage(Generic[_Options]):
    """A sequence of passes, created from the options of the pipeline."""

    name: str
    summary: str
    passes: Callable[[_Options], Sequence[ModulePass | Sequence[Step]]]
    """Returns the passes. A nested sequence holds passes that only some options request; packages cannot insert passes
    around these."""

    def steps(self, options: _Options) -> Iterator[tuple[str, Sequence[Step]]]:
        """Yields each pass with the name that points use for it: `dce` for the first `dce`, `dce#2` for the second.

        A nested sequence is yielded as a whole, with an empty name.
        """
        counts: Counter[str] = Counter()
        for each in self.passes(options):
            if not isinstance(each, ModulePass):
                yield "", each
                continue
            counts[each.name] += 1
            yield f"{each.name}#{counts[each.name]}" if counts[each.name] > 1 else each.name, (each,)


Inserted = Callable[[str], Iterable[Step]]
"""A function that returns the passes that packages insert at a given point."""


@dataclass(frozen=True)
class NamedPipeline(Generic[_Options]):
    """Stages in order, and the options from which their passes are created."""

    name: str
    summary: str
    stages: tuple[Stage[_Options], ...]
    options: _Options
    """The default options, an instance of a dataclass."""

    added: Mapping[str, Sequence[Step]] = field(default_factory=dict[str, Sequence[Step]])
    """The passes that targets insert, by point."""

    reads: Callable[[Mapping[str, Any]], _Options] | None = None
    """Creates the options from those in a pipeline text. If it is `None`, these replace the defaults in `options`."""

    def points(self) -> Iterator[str]:
        """Yields the points where packages can insert passes: around each stage, and around each of its passes."""
        for stage in self.stages:
            point = f"{self.name}.{stage.name}"
            yield f"{point}.before"
            names = (name for name, _ in stage.steps(self.options) if name)
            yield from (f"{point}.{name}.{side}" for name in names for side in ("before", "after"))
            yield f"{point}.after"

    def _steps(self, stages: Collection[str], options: _Options, inserted: Inserted) -> Iterator[Step]:
        def around(point: str, inner: Iterable[Step]) -> Iterator[Step]:
            before, after = f"{point}.before", f"{point}.after"
            yield from (*inserted(before), *self.added.get(before, ()))
            yield from inner
            yield from (*self.added.get(after, ()), *inserted(after))

        def steps(stage: Stage[_Options], point: str) -> Iterator[Step]:
            for name, group in stage.steps(options):
                yield from around(f"{point}.{name}", group) if name else group

        for stage in self.stages:
            if not stages or stage.name in stages:
                point = f"{self.name}.{stage.name}"
                yield from around(point, steps(stage, point))

    def _with(self, options: Mapping[str, Any]) -> _Options:
        return replace(cast(Any, self.options), **options)

    def passes(self, *stages: str, **options: Any) -> Pipeline:
        """Returns the passes of the pipeline, or of the named stages only; `options` override its default options.

        Raises `DiagnosticError` if a pass does not accept the value of an option, or if a package inserts an unknown
        pass or names an unknown point.
        """
        return self._passes(stages, self._with(options))

    def _passes(self, stages: Collection[str], options: _Options) -> Pipeline:
        for package, point, message in unknown_points():
            pipeline = point.partition(".")[0]
            if pipeline == self.name or pipeline not in PIPELINES:
                raise _package_error(package, message)
        return Pipeline(tuple(self._steps(stages, options, _inserted)))

    def text(self, *stages: str, **options: Any) -> str:
        """Returns the text of the passes that `passes` returns, in the syntax of `-p`."""
        return self.passes(*stages, **options).text()

    def own_text(self, *stages: str, **options: Any) -> str:
        """Returns the text of the pipeline without the passes that packages insert."""
        return Pipeline(tuple(self._steps(stages, self._with(options), lambda _: ()))).text()

    @property
    def hints(self) -> Mapping[str, Any]:
        """The type of each option that a pipeline text may set, including `stages`, which selects stages by name."""
        hints = {name: hint for name, hint in option_hints(type(self.options)).items() if name not in _NOT_IN_TEXT}
        return {**hints, "stages": tuple[str, ...]}

    def expanded(self, options: Mapping[str, Any]) -> Pipeline:
        """Returns the passes of the pipeline with the `options` of a pipeline text, which have the names in `hints`.

        Raises `ValueError` for an unknown stage, and `DiagnosticError` in the same cases as `passes`.
        """
        given = dict(options)
        own = [stage.name for stage in self.stages]
        stages: Sequence[str] = given.pop("stages", own)
        for stage in stages:
            if stage not in own:
                raise ValueError(unknown("stage", stage, own))
        return self._passes(stages, self._with(given) if self.reads is None else self.reads(given))

    def for_targets(self, targets: Iterable[Target]) -> "NamedPipeline[_Options]":
        """Returns this pipeline with the passes that `targets` add at its points.

        Raises `DiagnosticError` if a target names an unknown point or pass.
        """
        added: dict[str, list[Step]] = {}
        for target in targets:
            for point, text in target.stages.items():
                if wrong := _unknown_point(point):
                    raise text_error(f"target '{target.name}': {wrong}")
                steps = parse_pipeline(text, default_environment().passes).steps
                added.setdefault(point, []).extend(steps)
        return replace(self, added=added)


def _package_error(package: registry.Package, message: str) -> DiagnosticError:
    hint = f" ({WITHOUT_VARIABLE}={package.name} leaves it out)" if package.version else ""  # a plug-in has no version
    where = registry.bracketed(next((each.position for each in package.contributions if each.stages), ""))
    return text_error(f"package '{package.title}': {message}{where}{hint}")


def _inserted(point: str) -> Iterator[Step]:
    """Yields the passes that packages insert at a point, parsed one by one, so that an error names the package."""
    for package, text in registry.inserted_passes(point):
        try:
            yield from parse_pipeline(text, default_environment().passes).steps
        except DiagnosticError as error:
            raise _package_error(package, f"'{text}' at '{point}': {error.diagnostic.message}") from error


def unknown_points() -> Iterator[tuple[registry.Package, str, str]]:
    """Yields each point that a package names but no pipeline has: the package, the point, and an error message."""
    for package in registry.packages():
        for point, _ in package.rows("stages"):
            if wrong := _unknown_point(point):
                yield package, point, wrong


def _unknown_point(point: str) -> str:
    pipeline = PIPELINES.get(point.partition(".")[0])
    if pipeline is not None and point in pipeline.points():
        return ""
    known = [each for pipeline in PIPELINES.values() for each in pipeline.points()]
    return f"unknown pipeline point '{point}'{nearest_name(point, known)}"


CLEAN: LiteralString = "canonicalize,cse,dce"


def _pass(name: str, **options: Any) -> ModulePass:
    """Returns the pass `name` with these options."""
    return make_pass(default_environment().passes, name, options)


def _passes(text: LiteralString) -> tuple[ModulePass, ...]:
    """Returns the passes of a pipeline text that has no options."""
    return tuple(map(_pass, text.split(",")))


def clean_passes() -> tuple[ModulePass, ...]:
    """Returns the passes of the pipeline text `CLEAN`."""
    return _passes(CLEAN)


STORE: LiteralString = "quant-store-constants"
"""The pass that stores float constants as integers."""

GIVEN = "given"
"""The placeholder in a pipeline text for a profile that is passed as a value instead of a path."""


@dataclass(frozen=True)
class ImportOptions:
    """The options of the pipeline `import`, which has none."""


IMPORT = NamedPipeline(
    "import",
    "a model that was imported with quantize and dequantize casts to one whose operations compute on integers",
    (
        Stage[ImportOptions](
            "raise",
            "integer arithmetic that is spelled in operators, and operations between a dequantize and a quantize cast, "
            "become operations on quantized types, with one rounding",
            lambda _: _passes("quant-raise-integers,quant-propagate-types,dce"),
        ),
    ),
    ImportOptions(),
)


@dataclass(frozen=True)
class ProfileOptions:
    """The options of the pipeline `profile`, which are those of the pass `calib-insert-observers`."""

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
            lambda options: [_pass("calib-insert-observers", **vars(options))],
        ),
    ),
    ProfileOptions(),
)


_SHORT_SUMS: Mapping[int, LiteralString] = {
    1: "quant-fit-i16-accumulators{steps=1}",
    2: "quant-fit-i16-accumulators{steps=2}",
    4: "quant-fit-i16-accumulators{steps=4}",
}

_WIDTH_TEXTS: tuple[LiteralString, ...] = (
    "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
)  # fmt: skip
_WIDTHS: Mapping[int, LiteralString] = {int(each): each for each in _WIDTH_TEXTS}
"""The widths of accumulators that weights are fitted to, besides those of short sums."""


@dataclass(frozen=True)
class QuantizeOptions(TypeOptions):
    """The options of the pipeline `quantize`: the settings of `qmlir.quantize` and internal ones."""

    recipe: str | RecipeText = ""
    """A recipe, or the path of a recipe file; empty for none."""

    device: tuple[str, ...] = ()
    keep_composites: tuple[str, ...] = ()
    requantize: str = ""
    """`f32`, or a shift and how it rounds ties, such as `shift:up`."""

    accumulator_bits: int = 32
    accumulator_pairs: int = 0
    states: tuple[str, ...] = ()
    """Pairs `input=output` of a state input and the output that updates it."""

    inputs_as: tuple[str, ...] = ()
    outputs_as: tuple[str, ...] = ()
    """The types of inputs and outputs that callers pass as integers: `i8` for all, `NAME=u8` for one."""

    assert_all_quantized: bool = False
    profile: str = GIVEN
    """The path of the profile, or the placeholder for a profile passed as a value; empty if the module has ranges."""

    is_trained: bool = False
    """True if constants stay floats before their casts, and equal constants of different nodes are not merged."""

    repair: tuple[Step, ...] = ()
    unrolls: bool = False
    """True if long recurrent layers are unrolled into the parts of all their steps."""

    @staticmethod
    def of(settings: QuantizeSettings, module: ModuleOp | None = None) -> "QuantizeOptions":
        """Returns the options for `settings`, with the CPU's defaults if neither they nor `module` name a target.

        Raises `TypeError` for a name that is not a setting, and `DiagnosticError` for an invalid value.
        """
        said = normalize_settings(settings)
        if not said.get("device") and (module is None or not targets_of(module)):
            defaults: dict[str, Any] = {"granularity": "channel", "keep_composites": kept_composites()}
            said = {**defaults, **said}
        made = QuantizeOptions(**said)
        find_targets(made.device)
        made.rules()
        made.check_accumulators()
        if made.assert_all_quantized and (
            made.activations == str(Storage.F32) or made.activations.startswith("dynamic")
        ):
            raise text_error(
                f"assert_all_quantized contradicts activations={made.activations}, which keep operations in float; "
                "help: omit one of them"
            )
        if made.requantize:
            _requantize(made)  # the pass checks it
        return made

    def check_accumulators(self) -> None:
        """Raises `DiagnosticError` for other values of `accumulator_bits` or `accumulator_pairs` than supported."""
        bits, pairs = self.accumulator_bits, self.accumulator_pairs
        if type(bits) is not int or bits not in (16, *_WIDTHS, 32):
            raise text_error(f"accumulator_bits must be an integer from 16 to 32, but got {bits!r}")
        if pairs and bits != 16:
            raise text_error(
                f"accumulator_pairs has no effect on {bits}-bit accumulators; help: pass --accumulator-bits 16 "
                "(accumulator_bits=16)"
            )
        if pairs and (pairs not in _SHORT_SUMS or isinstance(pairs, bool)):
            raise text_error(f"accumulator_pairs must be one of {', '.join(map(str, _SHORT_SUMS))}, but got {pairs!r}")

    @property
    def ports(self) -> dict[str, tuple[str, ...]]:
        """The options about the types of inputs and outputs."""
        return {"inputs_as": self.inputs_as, "outputs_as": self.outputs_as}

    @property
    def shorten(self) -> LiteralString:
        """The pass, as pipeline text, that adapts weights to the accumulators; empty for 32-bit accumulators."""
        if (width := _WIDTHS.get(self.accumulator_bits)) is not None:
            return f"quant-fit-accumulators{{bits={width}}}"
        return _SHORT_SUMS[self.accumulator_pairs or 1] if self.accumulator_bits == 16 else ""

    @property
    def keeps_floats(self) -> bool:
        """True if constants stay floats before their casts until the stage `repair` stores them as integers."""
        return self.is_trained or bool(self.shorten)

    @property
    def settings(self) -> QuantizeSettings:
        """The settings of `qmlir.quantize` that result in these options, including defaults that may change."""
        said: dict[str, Any] = {}
        for name in setting_rows():
            value = getattr(self, name, None)
            if (value and value != getattr(_DEFAULTS, name)) or (name in _OF_TARGETS and not self.device):
                said[name] = value
        if self.device:
            said["device"] = ",".join(self.device)
        if self.states:
            said["states"] = dict(each.split("=", 1) for each in self.states)
        said |= {name: list(entries) for name, entries in self.ports.items() if entries}
        return cast(QuantizeSettings, said)

    @property
    def types(self) -> "QuantizeOptions":
        """A copy with only the options that become rules, and the recipe."""
        return QuantizeOptions(**{name: getattr(self, name) for name in _RULES})

    def deciding(self, name: str, **more: Any) -> ModulePass:
        """Returns the pass `name` with the recipe and the type options of `self`, and the options in `more`."""
        rules = {each: value for each in _RULES if (value := getattr(self, each))}
        made = _pass(name, **{each: str(value) for each, value in rules.items()}, **more)
        if isinstance(self.recipe, RecipeText) and isinstance(made, TakesValues):
            return made.given({"given_recipe": self.recipe})
        return made


_DEFAULTS = QuantizeOptions()
_OF_TARGETS = ("granularity", "keep_composites")
_RULES = ("recipe", *option_hints(TypeOptions))
_NOT_IN_TEXT = ("is_trained", "repair", "unrolls")


def literal_steps(text: LiteralString) -> tuple[Step, ...]:
    """Returns the passes of a pipeline text that is a literal in the source code."""
    return parse_pipeline(text, default_environment().passes).steps


def _cse(options: QuantizeOptions) -> ModulePass:
    """Returns `cse`, which keeps equal constants separate if they are trained.

    They are merged before they are folded.
    """
    return _pass("cse", **({"keep_places": True} if options.keeps_floats else {}))


def _lower(options: QuantizeOptions) -> Sequence[ModulePass | Sequence[ModulePass]]:
    keep = options.keep_composites
    merge = [_cse(options)] if options.keeps_floats else []
    unroll = {"unroll": True} if options.unrolls or options.keeps_floats else {}  # passes on weights need the parts
    of_parts = QuantizeOptions(accumulator=options.accumulator, recipe=options.recipe) if keep else QuantizeOptions()
    return [
        merge, *_passes("quant-expand-floats,nn-compute-in-f32,canonicalize,nn-fold-constants"),
        _cse(options), _pass("nn-recognize", keep=keep), _pass("nn-recognize-masks"),
        of_parts.deciding("nn-decompose", keep=keep, **unroll),
        merge, _pass("canonicalize"), _cse(options), *_passes("dce,nn-tie-embeddings"),
    ]  # fmt: skip


def _requantize(options: QuantizeOptions) -> ModulePass:
    mode, _, ties = options.requantize.partition(":")
    return _pass("quant-set-requantize", mode=mode.replace("-", "_") or None, ties=ties or None)


def _read_options(given: Mapping[str, Any]) -> QuantizeOptions:
    settings = {name: value for name, value in given.items() if name != "profile"}
    return replace(QuantizeOptions.of(cast(QuantizeSettings, settings)), profile=given.get("profile", ""))


QUANTIZE = NamedPipeline(
    "quantize",
    "a float model to one whose values have quantized types",
    (
        Stage[QuantizeOptions](
            "target",
            "the module gets the descriptions of the targets, if any are named",
            lambda options: [[_pass("quant-set-target", targets=options.device)] if options.device else []],
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
            lambda options: [
                [options.deciding("calib-give-ranges", states=options.states, **options.ports)]
                if options.recipe
                else [],
                *([_pass("calib-apply-profile", profile=options.profile)] if options.profile else []),
            ],
        ),
        Stage(
            "mask",
            "what masks a softmax by its statistics becomes its mask",
            lambda options: [_pass("nn-recognize-masks"), _cse(options), _pass("dce")],
        ),
        Stage(
            "balance",
            "columns that are far larger than the others are parted from them, or divided by factors",
            lambda options: [
                options.deciding("nn-split-outlier-channels"),
                options.deciding("nn-smooth"),
                _pass("dce"),
            ],
        ),
        Stage(
            "decide",
            "each value gets its quantized type",
            lambda options: [
                options.deciding(
                    "quant-assign-types",
                    assert_all_quantized=options.assert_all_quantized,
                    states=options.states,
                    **options.ports,
                    float_constants=options.keeps_floats,
                )
            ],
        ),
        Stage(
            "propagate",
            "operations that only move values keep their quantized types",
            lambda _: _passes("quant-propagate-types"),
        ),
        Stage(
            "repair",
            "weights and biases make up for what rounding loses, if an effort is asked for or worth it",
            lambda options: [
                options.repair or (literal_steps(f"{options.shorten},{STORE}") if options.shorten else ())
            ],
        ),
        Stage(
            "raise",
            "contractions with dynamic activations quantize their data at run time; parts become the composites that "
            "they came from, with the types of all parts",
            lambda _: [*_passes("nn-quantize-dynamically,nn-raise"), *clean_passes()],
        ),
        Stage(
            "rescale",
            "each operation requantizes in the mode of its target, or by a shift if all scales are powers of two",
            lambda options: [_requantize(options)],
        ),
        Stage(
            "store",
            "states, and inputs and outputs of a chosen type, enter and leave as stored integers",
            lambda options: [
                [_pass("quant-store-ports", **options.ports, states=options.states)]
                if any(options.ports.values())
                else [],
                _pass("quant-store-states", states=options.states),
            ],
        ),
    ),
    QuantizeOptions(),
    reads=_read_options,
)


@dataclass(frozen=True)
class CompileOptions:
    """The options of the pipeline `compile`."""

    isa: str = "generic"
    threads: int = 1
    tuned: str = ""
    """The path of tuned schedules."""


COMPILE = NamedPipeline(
    "compile",
    "a module of static shapes to loops over register tiles, with one memory arena",
    (
        Stage[CompileOptions](
            "lower",
            "stored integers with explicit roundings; custom kernels are checked against what they replace",
            lambda _: [
                *clean_passes(),
                _pass("quant-expand-floats", integers_only=True),
                *_passes("convert-nn-to-kernel,kernel-verify-custom"),
                *clean_passes(),
            ],
        ),
        Stage(
            "fuse",
            "layouts become channels-last, elementwise chains are fused; accumulators are proven not to overflow",
            lambda options: [
                *_passes(
                    "kernel-propagate-layout,kernel-fuse,kernel-lookup-tables,kernel-narrow,kernel-analyze-ranges"
                ),
                _pass("kernel-requantize-by-integers", isa=options.isa),
                *_passes("kernel-simplify-rounding,math-expand"),
                *clean_passes(),
            ],
        ),
        Stage(
            "schedule",
            "algorithms and tile sizes come from the tables of the instruction set; weights are packed for them",
            lambda options: [
                _pass("kernel-winograd", **vars(options)),
                *(
                    _pass(name, isa=options.isa)
                    for name in ("kernel-tile-producers", "kernel-split-rows", "kernel-split-tables")
                ),
                _pass("kernel-assign-schedule", **vars(options)),
                *_passes("kernel-pack,kernel-fuse-attention,kernel-fill-halo"),
            ],
        ),
        Stage(
            "bufferize",
            "tensors become buffers in one arena; each kernel becomes a function; results may lie over inputs",
            lambda _: _passes(
                "kernel-bufferize,kernel-mark-in-place,kernel-outline,kernel-merge-functions,kernel-plan-memory"
            ),
        ),
        Stage(
            "loops",
            "kernels become loops over register tiles, which end at runtime sizes; threads divide them",
            lambda _: [
                *_passes("convert-kernel-to-loops,kernel-follow-lengths,simd-legalize"),
                *clean_passes(),
                *_passes("kernel-mark-read-only,team-divide"),
            ],
        ),
    ),
    CompileOptions(),
)

_CORE: Mapping[str, NamedPipeline[Any]] = {each.name: each for each in (IMPORT, PROFILE, QUANTIZE, COMPILE)}


class _Pipelines(Mapping[str, NamedPipeline[Any]]):
    """The pipelines of the core, of extensions and of packages, imported on demand."""

    def __getitem__(self, name: str) -> NamedPipeline[Any]:
        if name in _CORE:
            return _CORE[name]
        return cast(NamedPipeline[Any], registry.named("pipelines")[name].load(NamedPipeline))

    def __iter__(self) -> Iterator[str]:
        return iter({**_CORE, **registry.named("pipelines")})

    def __len__(self) -> int:
        return len({**_CORE, **registry.named("pipelines")})


PIPELINES = _Pipelines()
"""The named pipelines of the core, of extensions and of packages."""


def kept_composites() -> tuple[str, ...]:
    """Returns the composites that `quantize` does not decompose if neither `keep_composites` nor a target is set."""
    return find_target(HOST).keep


def quantize_pipeline(
    settings: QuantizeSettings | QuantizeOptions, module: ModuleOp, **options: Any
) -> NamedPipeline[QuantizeOptions]:
    """Returns the pipeline `quantize` for `module` with `settings`, including the passes of the targets.

    The targets are those that `settings` name, or else those of the module. `options` override the options that follow
    from `settings`. Raises the same errors as `QuantizeOptions.of`.
    """
    made = settings if isinstance(settings, QuantizeOptions) else QuantizeOptions.of(settings, module)
    targets = find_targets(made.device) if made.device else installed_targets(targets_of(module))
    return replace(QUANTIZE.for_targets(targets), options=replace(made, **options))


def quantize_lowering(module: ModuleOp) -> Pipeline:
    """Returns the passes with which the pipeline `quantize` lowers `module` under the default settings."""
    return quantize_pipeline({}, module).passes("target", "lower")
