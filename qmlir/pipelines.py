"""Named pipelines as data: stages, each with what it is for, and points where a package puts passes of its own.

A pipeline prints as the `-p` text that reproduces it. A package's `Contribution` maps `<pipeline>.<stage>.before` or
`<pipeline>.<stage>.after` to the text of passes; they run there in the order of the packages' names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TypedDict

from qmlir import registry
from qmlir.ir.diagnostics import nearest_name


@dataclass(frozen=True)
class Stage:
    """Some passes in order: their text, in which `<name>` stands for a value that is given later."""

    name: str
    passes: str
    summary: str


@dataclass(frozen=True)
class NamedPipeline:
    """Stages in order."""

    name: str
    summary: str
    stages: tuple[Stage, ...]
    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    """What stands for `<name>` where `text` is given no value of `name`."""

    def _parts(self, values: Mapping[str, str], names: tuple[str, ...]) -> Iterator[str]:
        for stage in self.stages:
            if names and stage.name not in names:
                continue
            point = f"{self.name}.{stage.name}"
            yield from registry.inserted_passes(f"{point}.before")
            text = stage.passes
            for key, value in {**self.defaults, **values}.items():
                text = text.replace(f"<{key}>", value)
            yield text
            yield from registry.inserted_passes(f"{point}.after")

    def text(self, *stages: str, **values: str) -> str:
        """The pipeline as `-p` takes it, or only the named stages; `<name>` in a stage becomes the value of `name`."""
        return ",".join(part for part in self._parts(values, stages) if part)


CLEAN = "canonicalize,cse,dce"

IMPORT = NamedPipeline(
    "import",
    "a model that came quantized, operations between casts, to one whose operations compute on integers",
    (
        Stage(
            "raise",
            "quant-propagate-types,dce",
            "an operation between casts becomes one on quantized types, with one rounding",
        ),
    ),
)

QUANTIZE = NamedPipeline(
    "quantize",
    "a float model to one whose values have quantized types",
    (
        Stage(
            "lower",
            f"canonicalize,nn-decompose<keep>,{CLEAN}",
            "composites become parts that are profiled one by one",
        ),
        Stage("profile", 'calib-apply-profile{profile="<profile>"}', "what a run saw becomes the types of values"),
        Stage("decide", "quant-assign-types<options>", "every value gets its quantized type"),
        Stage("propagate", "quant-propagate-types", "what moves values keeps their types"),
        Stage(
            "raise", f"nn-raise,{CLEAN}", "parts become the composites that they came from, with all their parameters"
        ),
    ),
)

COMPILE = NamedPipeline(
    "compile",
    "a module of known shapes to loops over registers, in one arena",
    (
        Stage("lower", f"{CLEAN},convert-nn-to-kernel,{CLEAN}", "stored integers, every rounding in the open"),
        Stage(
            "fuse",
            f"kernel-propagate-layout,kernel-fuse,kernel-tabulate,kernel-narrow,kernel-analyze-ranges,"
            f"kernel-simplify-rounding,math-expand,{CLEAN}",
            "channels last throughout, chains of elements in one kernel; every sum is proven to fit",
        ),
        Stage(
            "schedule",
            'kernel-winograd{isa="<isa>" threads=<threads><tuned>},kernel-interleave,'
            'kernel-assign-schedule{isa="<isa>" threads=<threads><tuned>},kernel-pack,'
            "kernel-fill-borders",
            "algorithms and tiles from the tables of the instruction set, weights in the layout that they want",
        ),
        Stage(
            "bufferize",
            "kernel-bufferize,kernel-outline,kernel-share,kernel-plan-memory",
            "memory for every tensor, planned in one arena; a function for each kernel",
        ),
        Stage("loops", f"convert-kernel-to-loops,simd-legalize,{CLEAN}", "loops over register tiles"),
    ),
    defaults={"tuned": ""},
)

PIPELINES: Mapping[str, NamedPipeline] = {pipeline.name: pipeline for pipeline in (IMPORT, QUANTIZE, COMPILE)}
"""Every named pipeline."""

KEPT_COMPOSITES = (
    "softmax", "log_softmax", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lp_norm",
    "gelu", "hard_swish", "swish", "mish", "selu", "celu", "hard_sigmoid",
)  # fmt: skip
"""What `quantize` keeps whole unless told otherwise: functions of one value, which a table of one lookup computes, and
normalizations, which are better in float between casts than in parts of 8 bits."""


class QuantizeSettings(TypedDict, total=False):
    """How to quantize: the settings of `qmlir.quantize`, all of which may be left out.

    From `activations` on they are options of `quant-assign-types`, the defaults for all values.
    """

    keep: Sequence[str]
    """The composites that stay whole while the others become parts, by kind or node: else `KEPT_COMPOSITES`."""

    activations: str
    """The storage of activations, `i8` (the default), `u8`, `i16`, `i4`, `i2<-1:1>`, …"""

    weights: str
    """The storage of weights, `i8<-127:127>` (the default), `i4`, …"""

    accumulator: str
    """The storage of sums before a bias, `i32` (the default), …"""

    scheme: str
    """Of activations: `asymmetric` (the default), `symmetric`, `asymmetric_pow2`, `symmetric_pow2`."""

    weight_scheme: str
    """Of weights: `symmetric` is the default."""

    granularity: str
    """Of weights: `channel` (the default), `tensor`, `block:N`; where it is empty, the recipe says it."""

    calibrator: str
    """How a range comes of what was seen: `min_max` is the default."""

    recipe: str | PathLike[str]
    """A TOML file of rules for chosen values."""

    assert_all_quantized: bool
    """Whether it is an error, which lists all of it, that something is left in float."""


def quantize_options(settings: QuantizeSettings) -> dict[str, str | bool]:
    """Those of `settings` that are options of `quant-assign-types`. Raises `TypeError` for what is no setting."""
    known = QuantizeSettings.__annotations__
    for name in settings:
        if name not in known:
            raise TypeError(f"there is no setting '{name}'{nearest_name(name, known)}, there are {', '.join(known)}")
    given: dict[str, object] = {"granularity": "channel", **settings}
    return {name: value if isinstance(value, bool) else str(value) for name, value in given.items() if name != "keep"}


def _options(values: Mapping[str, str | bool]) -> str:
    """The options of a pass as pipeline text, those left out that are empty or off."""
    written = " ".join(name if value is True else f'{name}="{value}"' for name, value in values.items() if value)
    return f"{{{written}}}" if written else ""


def pipeline_values(settings: QuantizeSettings) -> dict[str, str]:
    """What stands for `<keep>` and `<options>` in the pipeline `quantize`. Raises `TypeError` for no such setting."""
    keep = settings.get("keep", KEPT_COMPOSITES)
    return {"keep": f"{{keep={','.join(keep)}}}" if keep else "", "options": _options(quantize_options(settings))}
