"""Targets: a description for passes, the pipeline that lowers to the target, and functions that emit and run code.

A package contributes a target as `Contribution.targets = {"npu": "package.module:TARGET"}`, as qmlir does with its CPU
target. Passes use only the description, which is stored on the module (`qmlir.dialects.target.attributes`).
`find_target` is for code that looks up a target by name: `quant-set-target`, the commands, and the workflows.
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
    "HOST", "INTERPRETER", "PART", "TARGETS", "Accepted", "Description", "Emit", "Execute", "ExecutionOptions", "Plain",
    "Runnable", "Support", "Target", "find_target", "find_targets", "function_of_target", "installed_targets",
    "set_targets", "target_names", "targets_of",
]  # fmt: skip

HOST = "cpu"
"""The default target, which also computes each operation that no other target supports."""


INTERPRETER = "interpreter"
"""The target of operations that cannot be compiled."""


@dataclass(frozen=True)
class ExecutionOptions:
    """Options for running a program; a target may ignore those that it does not support."""

    threads: int = 1
    isa: str = "host"
    tuned: bool = True
    progress: IO[str] | None = None
    emitter: str = "numba"


Runnable = Callable[[Mapping[str, Any] | Sequence[Any]], Mapping[str, Array]]
"""Runs a function: takes the inputs by name or in order, and returns the outputs by name. Quantized values are arrays
of stored integers."""


class Execute(Protocol):
    """Creates a callable that runs the function `function` of a module at the quantized level.

    The callable takes the inputs by name or in order, and returns the outputs by name, in order. As in the
    interpreter, all are arrays; a quantized tensor is the array of its stored integers.
    """

    def __call__(self, module: ModuleOp, function: str, running: ExecutionOptions) -> Runnable: ...


Emit = Callable[[ModuleOp], "str | bytes"]
"""Converts a module that the target's pipeline has lowered to text or bytes."""


@dataclass(frozen=True)
class Target(Description):
    """A description of a target, and the code that lowers a module for it, emits the result, and runs it.

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
    """The lowering from the quantized level to the input of `emit`: a named pipeline, or pipeline text.

    `<name>` in it is a placeholder, replaced with a value passed later or with its value in `defaults`.
    """

    defaults: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, kw_only=True)
    """The default value of each placeholder `<name>` in `lowering`."""

    stages: Mapping[str, str] = field(default_factory=dict[str, str], hash=False, kw_only=True)
    """Maps points of the named pipelines, such as `quantize.decide.before`, to passes that run there for this target.

    The passes in `Contribution.stages`, in contrast, run for every target.
    """

    emit: str = field(default="", kw_only=True)
    """The `module:object` of an `Emit` for a module lowered by `lowering`; empty if the target emits nothing."""

    suffix: str = field(default=".txt", kw_only=True)
    """The suffix of a file with the emitted output."""

    execute: str = field(default="", kw_only=True)
    """The `module:object` of an `Execute`; if it is empty, the interpreter runs the lowered module."""

    @property
    def description(self) -> Description:
        """The description, without the code, as it is stored on a module."""
        return Description(**{each.name: getattr(self, each.name) for each in fields(Description)})


def target_names() -> tuple[str, ...]:
    """Returns the names of all targets of qmlir and installed packages."""
    return tuple(sorted(registry.named("targets")))


def find_target(name: str) -> Target:
    """Returns the target `name`. Raises `DiagnosticError` if it is unknown or invalid."""
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
    """Returns the targets of a module by their `descriptions`, except those that no installed package contributes."""
    known = target_names()
    return tuple(find_target(each.name) for each in descriptions if each.name in known)


def function_of_target(target: Target, row: str) -> Callable[..., Any]:
    """Returns the function at `row` (`module:object`) of `target`. Raises `DiagnosticError` if it cannot be loaded."""
    try:
        found = registry.load(row)
    except (ImportError, AttributeError) as error:
        raise text_error(f"target '{target.name}': cannot load '{row}': {error}") from error
    if not callable(found):
        raise text_error(f"target '{target.name}': '{row}' is not a function")
    return found


def find_targets(names: str | Iterable[str]) -> tuple[Target, ...]:
    """Returns the targets named in a list, or in a text such as `npu,cpu`.

    Raises `DiagnosticError` for a name that `find_target` rejects, and for duplicates.
    """
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    if twice := next((name for name in listed if listed.count(name) > 1), None):
        raise text_error(f"duplicate target '{twice}'")
    return tuple(map(find_target, listed))
