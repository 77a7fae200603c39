"""Programs for several targets: they run the parts of a module one at a time, each on its target.

Arrays passed between parts have the interpreter's representation: stored integers for quantized values. A program is
therefore bit-identical to the interpreter on the same module.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.scf import IfOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir import registry
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.nn.island.ops import TABLE, OnnxIslandOp
from qmlir.environment import default_environment
from qmlir.ir.diagnostics import DiagnosticError, op_error, text_error, warn, without_remarks
from qmlir.ir.equivalence import fingerprint
from qmlir.ir.evaluation import RegionEvaluator, arguments_by, evaluate, evaluator_of, not_computed, operand_layout
from qmlir.ir.provenance import origins_of
from qmlir.ir.signature import MAIN, inputs_of, outputs_of
from qmlir.passmanager.manager import run_pipeline
from qmlir.specialization.inputs import function_of, signature_text
from qmlir.specialization.specialize import is_open
from qmlir.target import HOST, ExecutionOptions, Runnable, find_target
from qmlir.targets.cpu.batch_tiling import OpenBatch, batch_plan
from qmlir.targets.cpu.compiler import load_program, module_bytes, module_of_bytes, open_port
from qmlir.targets.cpu.emitters.card import PARTS_FORM, CardPort, ProgramCard
from qmlir.targets.cpu.emitters.emitter import checked_emitter
from qmlir.targets.cpu.host import resolved_isa
from qmlir.targets.cpu.package import CARD
from qmlir.targets.cpu.program import Program, RunnableProgram
from qmlir.targets.cpu.runtime import ports as runtime
from qmlir.targets.cpu.runtime.batches import AnyBatch
from qmlir.targets.cpu.saved import MODULE, PROGRAM_FIRST, saved_parts, seal_parts
from qmlir.targets.lowering import emitted, execute_for
from qmlir.targets.partitioning.quant_partition import outline_host, target_of
from qmlir.targets.parts import part_module
from qmlir.text.files import access, is_file_name, note_sources, path_of
from qmlir.text.parsing import load_module
from qmlir.text.printing import PrintOptions, Weights, save_module
from qmlir.text.tables import counted
from qmlir.text.writing import folder_result

_FILES = (MODULE, Path(MODULE).with_suffix(".safetensors").name, CARD)
"""The files of a saved program other than emitted code and the folders of parts."""

_FILE_NAME = re.compile(r"\w[\w.-]{0,199}")
"""Matches names without a directory, which can only name a file in the folder itself."""

Make = Callable[[ModuleOp, str, str], Runnable]
"""Creates the callable for a part from the module, the name of the part, and the name of its target."""


@dataclass(frozen=True)
class PartCall:
    """A part in a run: its name, its target, the callable that runs it, and the operation that calls it."""

    name: str
    target: str
    run: Runnable
    call: CallOp


Action = Callable[[list[Any]], None]
"""Performs one step of a run on the list of its values, which are identified by their indices."""


class StaticProgram:
    """The parts of a function with static shapes, ready to run in order."""

    def __init__(self, module: ModuleOp, function: str, make: Make | None = None):
        """`make` is required if the function has parts, that is, calls."""
        self.module = module
        self.function = function_of(module, function)
        self._make = make
        self._steps: list[PartCall] = []
        self._positions: dict[SSAValue, int] = {}
        self._values: list[Any] = []
        """The initial list of values of a run: constants, and `None` for all other values."""

        block = self.function.body.block
        for argument in block.args:
            self._position(argument)
        self._actions = self._actions_of(block)
        returned = block.last_op
        operands = () if returned is None else returned.operands
        pairs = zip(outputs_of(self.function), operands, strict=True)
        self._outputs = [(port.name, self._position(operand)) for port, operand in pairs]

    @property
    def steps(self) -> tuple[PartCall, ...]:
        """The parts in execution order, including those of both branches of an `scf.if`."""
        return tuple(self._steps)

    def _position(self, value: SSAValue) -> int:
        """Returns the index of a value in the list of values of a run."""
        if value not in self._positions:
            self._positions[value] = len(self._positions)
            self._values.append(None)
        return self._positions[value]

    def _actions_of(self, block: Block) -> list[Action]:
        actions: list[Action] = []
        for op in block.ops:
            results = list(map(self._position, op.results))
            if op.has_trait(ConstantLike, value_if_unregistered=False):
                for position, value in zip(results, evaluate(op, []) or (), strict=True):
                    self._values[position] = value
            elif op is not block.last_op:
                actions.append(self._action(op, list(map(self._position, op.operands)), results))
        return actions

    def _action(self, op: Operation, operands: Sequence[int], results: Sequence[int]) -> Action:
        if isinstance(op, IfOp):
            return self._choice(op, operands[0], results)
        compute = self._computed(op)

        def act(values: list[Any]) -> None:
            found = compute([values[position] for position in operands])
            for position, value in zip(results, found, strict=True):
                values[position] = value

        return act

    def _computed(self, op: Operation) -> Callable[[Sequence[Any]], Iterable[Any]]:
        """Returns a function that computes the results of `op`, a part or an operation with an evaluator."""
        if isinstance(op, CallOp):
            step = self._part(op)
            return lambda given: step.run(given).values()
        if isinstance(op, OnnxIslandOp):
            return _prepared(op)
        evaluator, layout = evaluator_of(op), operand_layout(op)
        if evaluator is None or isinstance(evaluator, RegionEvaluator):
            raise op_error(op, "is not in a part and has no evaluator")
        return lambda given: evaluator(op, *arguments_by(layout, given))

    def _part(self, op: CallOp) -> PartCall:
        name = op.callee.root_reference.data
        if not _FILE_NAME.fullmatch(name):  # a file or folder is named after the part
            raise op_error(op, f"calls part '{name}', whose name must consist of letters, digits, '_', '-' and '.'")
        assert self._make is not None
        target = target_of(function_of(self.module, name)) or HOST
        self._steps.append(PartCall(name, target, self._make(self.module, name, target), op))
        return self._steps[-1]

    def _choice(self, op: IfOp, condition: int, results: Sequence[int]) -> Action:
        branches: list[tuple[list[Action], list[int]]] = []
        for region in op.regions:
            actions = self._actions_of(region.block) if region.blocks else []
            end = region.block.last_op if region.blocks else None
            branches.append((actions, [] if end is None else list(map(self._position, end.operands))))
        (then, given), (other, given_otherwise) = branches

        def choose(values: list[Any]) -> None:
            actions, gives = (then, given) if values[condition] else (other, given_otherwise)
            for action in actions:
                action(values)
            for position, each in zip(results, gives, strict=True):
                values[position] = values[each]

        return choose

    def run(self, arrays: Sequence[Array]) -> dict[str, Array]:
        """Runs all parts; returns the outputs by name."""
        values = self._values.copy()
        values[: len(arrays)] = arrays
        for action in self._actions:
            action(values)
        return {name: values[position] for name, position in self._outputs}

    @cached_property
    def any_batch(self) -> AnyBatch:
        """The runner that accepts any batch size."""
        function = self.function
        ports = ([open_port(function, port) for port in side] for side in (inputs_of(function), outputs_of(function)))
        return AnyBatch(batch_plan(without_calls(self.module), 1, function.sym_name.data), *ports)

    def run_into(self, arrays: Sequence[Array], targets: Sequence[Array]) -> None:
        """Runs all parts; copies the outputs to `targets`."""
        for target, found in zip(targets, self.run(arrays).values(), strict=True):
            target[...] = found


def _prepared(op: OnnxIslandOp) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Returns a function that computes the results of an island, which is prepared once."""
    run = registry.table(TABLE)["prepare"](op)

    def compute(given: Sequence[Any]) -> Sequence[Any]:
        try:
            return run(given)
        except DiagnosticError:
            raise
        except Exception as error:  # errors of runtimes have no common base class
            raise not_computed(op, error) from error

    return compute


def without_calls(module: ModuleOp) -> ModuleOp:
    """Returns a clone of a module with all parts inlined, so that analyses see their operations."""
    with without_remarks():  # the parts of devices stay in the module
        return run_pipeline(module.clone(), "inline")


class HybridProgram(RunnableProgram):
    """A compiled model for several targets, created by `compile`. Call it with the inputs to get the outputs.

    It can be copied and pickled; a pickle contains the module. If dimensions are dynamic, the parts for a new
    combination of sizes are compiled when it is first called with these sizes.
    """

    def __init__(self, module: ModuleOp, function: str, running: ExecutionOptions, make: Make):
        self._module, self._running, self._make = module, running, make
        self._function = function_of(module, function)
        self._name = function
        self._ports = [open_port(self._function, port) for port in inputs_of(self._function)]
        self._chains: dict[tuple[tuple[int, ...], ...], StaticProgram] = {}
        self._lock = Lock()
        is_fixed = not any(map(is_open, self._function.function_type.inputs))
        self._only = StaticProgram(module, function, make) if is_fixed else None
        self._batch = None if is_fixed else OpenBatch(without_calls(module), function)

    def __reduce__(self) -> "tuple[Callable[..., HybridProgram], tuple[Any, ...]]":
        running = self._running
        return _again, (module_bytes(self._module), self._name, replace(running, progress=None))

    @property
    def inputs(self) -> tuple[runtime.ArrayPort, ...]:
        """The inputs in order, with names, NumPy types and shapes."""
        return tuple(self._ports)

    @property
    def outputs(self) -> tuple[runtime.ArrayPort, ...]:
        """The outputs in order, with names, NumPy types and shapes."""
        return tuple(open_port(self._function, port) for port in outputs_of(self._function))

    @property
    def steps(self) -> tuple[PartCall, ...]:
        """The parts in the order in which they run. Raises `DiagnosticError` if dimensions are dynamic."""
        return self._fixed().steps

    @property
    def isa(self) -> str:
        """The instruction set of the parts for the CPU."""
        return self._running.isa

    @property
    def threads(self) -> int:
        """The maximum number of threads of the parts for the CPU."""
        return self._running.threads

    @property
    def signature(self) -> FuncOp:
        """The function of the module that the program computes, with its inputs and outputs."""
        return self._function

    def text(self) -> str:
        """Describes the program.

        Returns:
            The instruction set and threads of the CPU's parts, the inputs and outputs, and, for static shapes, the
            parts.
        """
        head = f"program for several targets, {self.isa} and {counted(self.threads, 'thread')} on the host\n"
        steps = () if self._only is None else self._only.steps
        parts = "".join(f"part {step.name}: {step.target}\n" for step in steps)
        return f"{head}{signature_text(self.signature)}{parts}"

    def _fixed(self) -> StaticProgram:
        if self._only is None:
            raise text_error("the program has dynamic dimensions; fix them with --shape (shapes=)")
        return self._only

    def _chain(self, arrays: Sequence[Array]) -> StaticProgram:
        if self._batch is None:
            return self._fixed()
        with self._lock:  # if two threads call with the same new shape, only one compiles
            sizes = {port.name: each.shape for port, each in zip(self._ports, arrays, strict=True)}
            named = self._batch.chunks(sizes)[0]
            shapes = tuple(named.values())
            if shapes not in self._chains:
                special = self._batch.specialized(self._module, named)
                self._chains[shapes] = StaticProgram(special, self._name, self._make)
            return self._chains[shapes]

    def __call__(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] | Array = (),
        outputs: Mapping[str, Array] | None = None,
        **named: Any,
    ) -> dict[str, Array]:
        """Runs the program.

        Args:
            inputs: Arrays by input name, a sequence of arrays in the order of the inputs, or the array of the only
                input. NumPy types and shapes must match; layout and byte order do not matter. If samples are
                independent, any batch size is accepted.
            outputs: Arrays by output name, to which these outputs are written. Each must have the type and shape of its
                output.

        Returns:
            The outputs by name. A quantized output contains the stored integers.

        Raises:
            InputError: An argument is missing or does not fit, or is a keyword argument.
        """
        self.refuse(named)
        given = runtime.by_name(self._ports, inputs)
        try:
            arrays = list(map(runtime.checked, self._ports, given))
        except runtime.InputError:
            count = None if self._only is None else self._only.any_batch.count(given)
            if self._only is None or count is None:
                raise
            return self._only.any_batch(given, count, outputs, self._only.run_into)
        chain = self._chain(arrays)
        count = None if self._batch is None else chain.any_batch.count(arrays)
        if count is not None:
            return chain.any_batch(arrays, count, outputs, chain.run_into)
        if outputs is not None:
            runtime.check_outputs(outputs, [port.name for port in outputs_of(self._function)])
        found = chain.run(arrays)
        targets = {
            name: runtime.check_target(name, array, found[name].dtype, found[name].shape)
            for name, array in (outputs or {}).items()
        }
        for name, array in targets.items():
            array[...] = found[name]
            found[name] = array
        return found

    def emitted(self) -> dict[str, str | bytes]:
        """Returns the code that targets emit for their parts.

        Returns:
            The contents of each file by name, such as `main_npu_0.txt`. Parts for the CPU are not included.

        Raises:
            DiagnosticError: The program has dynamic dimensions.
        """
        chain, found = self._fixed(), dict[str, str | bytes]()
        for step in chain.steps:
            target = find_target(step.target)
            if step.target != HOST and target.emit:
                found[f"{step.name}{target.suffix}"] = emitted(target, part_module(chain.module, step.name))
        return found

    def save(self, folder: str | PathLike[str], about: Mapping[str, Any] | None = None, *, force: bool = False) -> None:
        """Writes the program: the module, the code that targets emit, and a package for each part of the CPU.

        `load_program` loads it in an environment that has qmlir and the packages of the targets. Files that qmlir
        previously wrote into the folder are replaced; other files are kept.

        Args:
            folder: The folder to write.
            about: JSON values to store in the manifest of the program, such as the origin of the model.
            force: Replace files that qmlir did not write.

        Raises:
            DiagnosticError: The program has dynamic dimensions, a file is in the way, or the folder cannot be written.
        """
        with access(force=force):
            note_sources(self)
            with folder_result(path_of(folder), PROGRAM_FIRST) as whole:
                self.write(whole, about)
        message = f"the program in '{folder}' needs {' and '.join(self.needs())} where it runs"
        warn(f"{message}: qmlir.load_program('{folder}') opens it")

    def needs(self) -> tuple[str, ...]:
        """Returns the packages that the saved program needs, in addition to those of its targets.

        Returns:
            The names of the packages.
        """
        has_islands = any(isinstance(op, OnnxIslandOp) for op in self._module.walk())
        return ("qmlir", "ONNX Runtime") if has_islands else ("qmlir",)

    def write(self, folder: Path, about: Mapping[str, Any] | None = None) -> None:
        """Writes the files of `save` into a new folder, without its checks.

        Args:
            folder: The folder to create.
            about: JSON values to store in the manifest.

        Raises:
            DiagnosticError: The program has dynamic dimensions, or the name of a part cannot name a file.
            OSError: The folder exists or cannot be written.
        """
        chain, files = self._fixed(), self.emitted()
        for name in (*files, *(step.name for step in chain.steps)):
            if not is_file_name(name) or name in _FILES:
                raise text_error(f"part name {name[:50]!r} is not a valid file name; rename the part")
        folder.mkdir()
        save_module(chain.module, folder / MODULE, PrintOptions(weights=Weights.SIDECAR))
        for step in chain.steps:
            if isinstance(step.run, Program) and step.run.is_fixed:  # other parts are created for runtime sizes
                step.run.write(folder / step.name, about)
        for name, made in files.items():
            (folder / name).write_bytes(made.encode() if isinstance(made, str) else made)
        seal_parts(folder, self._card(chain), about)

    def _card(self, chain: StaticProgram) -> ProgramCard:
        """Returns the card, without the digests of files and parts."""
        parts = {step.name: step.target for step in chain.steps}
        sides = inputs_of(chain.function), outputs_of(chain.function)
        inputs, outputs = (tuple(CardPort.of(open_port(chain.function, port)) for port in side) for side in sides)
        nodes = (origin.name for op in chain.module.walk() for origin in origins_of(op))
        return ProgramCard(
            self._name, PARTS_FORM, self._running.emitter, ", ".join(dict.fromkeys(parts.values())),
            resolved_isa(self.isa), self.threads, fingerprint(chain.module), tuple(dict.fromkeys(nodes)),
            0, 0, 0, 0, inputs, outputs, parts=parts,
        )  # fmt: skip


def _part(module: ModuleOp, name: str, target: str, running: ExecutionOptions) -> Runnable:
    alone = part_module(module, name)
    function_of(alone, name).sym_name = StringAttr(MAIN)  # programs start at `main`
    return execute_for(find_target(target), alone, MAIN, running)


def _again(module: bytes, function: str, running: ExecutionOptions) -> HybridProgram:
    """Restores a pickled program: its parts are created again, those of the CPU from the cache."""
    return HybridProgram(module_of_bytes(module), function, running, partial(_part, running=running))


def compile_parts(module: ModuleOp, function: str, running: ExecutionOptions) -> HybridProgram:
    """Compiles a partitioned module; operations that belong to no part are compiled for this CPU.

    Raises `DiagnosticError` if a target is not installed, or if an operation can't be compiled.
    """
    clone = module.clone()
    called = function_of(clone, function)
    _check_calls(clone, called)
    outline_host(clone, called)
    return HybridProgram(clone, function, running, partial(_part, running=running))


def _check_calls(module: ModuleOp, function: FuncOp) -> None:
    """Raises `DiagnosticError` for a call of a function that is not a part."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    for op in function.walk():
        callee = functions.get(op.callee.root_reference.data) if isinstance(op, CallOp) else None
        if callee is not None and target_of(callee) is None:
            raise op_error(op, f"calls @{callee.sym_name.data}, which is not a part; inline it before partitioning")


def load_parts(path: Path, card: ProgramCard) -> HybridProgram:
    """Loads a program that `HybridProgram.save` wrote; its files must have been checked against its card.

    Raises `DiagnosticError`.
    """
    how, saved = ExecutionOptions(card.threads, emitter=checked_emitter(card.emitter)), saved_parts(card)
    module = load_module(default_environment().new_context(), path / MODULE)

    def make(module: ModuleOp, name: str, target: str) -> Runnable:
        return load_program(path / name) if name in saved else _part(module, name, target, how)

    functions = [op for op in module.ops if isinstance(op, FuncOp) and target_of(op) is None]
    if len(functions) != 1:
        raise text_error(
            f"'{path / MODULE}' must have exactly one function that is not a part, but got {len(functions)}"
        )
    return HybridProgram(module, functions[0].sym_name.data, how, make)
