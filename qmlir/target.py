"""What a target is: a description for passes, the pipeline that lowers for it, and rows of what emits and runs.

A package offers one as `Contribution.targets = {"npu": "package.module:TARGET"}`, as the tree does with its CPU target.
Passes know its description only, which stands on the module (`qmlir.dialects.target.attributes`); `find_target` is for
those who name a target: `quant-set-target`, the commands, the workflows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import IO, Any, Protocol

from xdsl.dialects.builtin import ModuleOp

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.target.attributes import PART, TARGETS, set_targets, targets_of
from qmlir.dialects.target.description import Accepted, Description, Plain, Support
from qmlir.ir.diagnostics import text_error, unknown

__all__ = [
    "HOST", "INTERPRETER", "PART", "TARGETS", "Accepted", "Description", "Emit", "Execute", "Plain", "Runnable",
    "Running", "Support", "Target", "find_target", "find_targets", "function_of_target", "installed_targets",
    "set_targets", "target_names", "targets_of",
]  # fmt: skip

HOST = "cpu"
"""The target of everything that no other target computes, and the default."""


INTERPRETER = "interpreter"
"""The target of what has no compiled form."""


@dataclass(frozen=True)
class Running:
    """How a program is to run, as far as a target knows about such things."""

    threads: int = 1
    isa: str = "host"
    tuned: bool = True
    progress: IO[str] | None = None
    emitter: str = "numba"


Runnable = Callable[[Mapping[str, Any] | Sequence[Any]], Mapping[str, Array]]
"""What runs a function: inputs by name or in order, outputs by name; quantized ones are arrays of stored integers."""


class Execute(Protocol):
    """Makes something to call of a module of the quantized level: what runs its function `function`.

    It is called with the inputs by name or in order, and gives the outputs by name, in order. All of them are arrays as
    the interpreter has them: a quantized tensor is the array of its stored integers.
    """

    def __call__(self, module: ModuleOp, function: str, running: Running) -> Runnable: ...


Emit = Callable[[ModuleOp], "str | bytes"]
"""Makes a text, or bytes, of a module that the target's pipeline has lowered."""


@dataclass(frozen=True)
class Target(Description):
    """A description, and what is code: how a module is lowered for the target, emitted and run.

    ```python
    from qmlir.target import Accepted, Support, Target

    TARGET = Target(
        "npu",
        summary="a fixed-point accelerator",
        supports=(
            Support(
                "nn.conv",
                input=Accepted(storages=("i8",), schemes=("symmetric_pow2",)),
                weight=Accepted(("i4",), ("symmetric_pow2",), ("channel", "tensor")),
                accumulator=Accepted(("i32",)),
            ),
            Support("nn.add", role="bias_add", bias=Accepted(("i16",)), output=Accepted(("i8", "i16"))),
        ),
        requantize=("shift:even",),
        raises=("npu.block",),
        lowering="convert-nn-to-npu,canonicalize",
        emit="qmlir_npu.emit:emit",
        suffix=".npu",
    )
    ```
    """

    summary: str = field(default="", kw_only=True)
    """One line for listings."""

    lowering: str = field(default="", kw_only=True)
    """From the quantized level to what it emits: the name of a named pipeline, or pipeline text.

    `<name>` in it stands for a value that is given later, or for that of `defaults`.
    """

    defaults: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, kw_only=True)
    """The default of each `<name>` in `lowering`."""

    stages: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, kw_only=True)
    """Points of the named pipelines, such as `quantize.decide.before`, to the text of passes that run there for it.

    Those of `Contribution.stages` run for every target.
    """

    emit: str = field(default="", kw_only=True)
    """The row of an `Emit`; empty for a target that emits nothing. It takes a module that `lowering` has lowered."""

    suffix: str = field(default=".txt", kw_only=True)
    """The end of the name of a file that holds what it emits."""

    execute: str = field(default="", kw_only=True)
    """The row of an `Execute`; where it is empty, the interpreter runs the module as the pipeline has lowered it."""

    @property
    def description(self) -> Description:
        """What stands on a module."""
        return Description(**{each.name: getattr(self, each.name) for each in fields(Description)})


def target_names() -> tuple[str, ...]:
    """The names of all targets, of the tree and of packages."""
    return tuple(sorted(registry.named("targets")))


def find_target(name: str) -> Target:
    """The target `name`. Raises `DiagnosticError` where there is none, or where it is none."""
    known = registry.named("targets")
    if name not in known:
        raise text_error(unknown("target", name, sorted(known)))
    try:
        found = known[name].load(Target)
        if found.name != name:
            raise known[name].error(f"its name must be '{name}', but got '{found.name}'")
        try:
            found.check()
        except ValueError as error:
            raise known[name].error(str(error)) from error
    except registry.PackageError as error:
        raise text_error(str(error)) from error
    return found


def installed_targets(descriptions: Iterable[Description]) -> tuple[Target, ...]:
    """The targets of a module, without those that no installed package offers."""
    known = target_names()
    return tuple(find_target(each.name) for each in descriptions if each.name in known)


def function_of_target(target: Target, row: str) -> Callable[..., Any]:
    """The function that a row of `target` names. Raises `DiagnosticError` where there is none."""
    try:
        found = registry.load(row)
    except (ImportError, AttributeError) as error:
        raise text_error(f"target '{target.name}': cannot load '{row}': {error}") from error
    if not callable(found):
        raise text_error(f"target '{target.name}': '{row}' is not a function")
    return found


def find_targets(names: str | Iterable[str]) -> tuple[Target, ...]:
    """The targets of a list, or of its text `npu,cpu`. Raises `DiagnosticError`, for a name that is there twice too."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if twice := next((name for name in listed if listed.count(name) > 1), None):
        raise text_error(f"duplicate target '{twice}'")
    return tuple(map(find_target, listed))
