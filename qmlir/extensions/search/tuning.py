"""Tuning of schedules on this machine: each contraction of a model is timed alone with its candidate schedules.

Variants are compared first, then tiles of the fast variants. All schedules are part of one program, so they run
alternately on the same memory, and the shortest of many times counts. A schedule replaces the built-in one only if it
is faster by `MARGIN` in both halves of the rounds. With several threads, the schedules that are fastest on one thread
are timed again in separate programs.

Results are stored next to the cache after every kernel, so an interrupted search can continue, and `qmlir.compile` uses
them.

A contraction is timed as a separate module that computes it once per schedule.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from math import inf
from typing import IO, Any

import numpy as np
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.tensor import EmptyOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from qmlir.analysis import is_movement
from qmlir.arithmetic.arrays import Array
from qmlir.dialects.kernel.attributes import ScheduleAttr
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.lowering.lowering import Input, Lowering, integer_types
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedOp
from qmlir.extensions.search.schedules import candidates, kernel_identity
from qmlir.extensions.search.tuned import OnTrouble, TunedKernel, key_of, read_store, store_path, write_store
from qmlir.interpreter.jobs import Begun, Job, ShippedModule
from qmlir.interpreter.progress import bar
from qmlir.interpreter.random_inputs import random_inputs
from qmlir.ir.control_flow import captured
from qmlir.ir.diagnostics import op_error, printable, text_error, without_remarks
from qmlir.ir.provenance import Origin, origins_of, set_origins
from qmlir.passmanager.manager import run_pipeline
from qmlir.passmanager.pipeline import Pipeline
from qmlir.pipelines import COMPILE
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.compiler import checked_isa, temporary_program
from qmlir.targets.cpu.scheduled.kernel_tile_producers import KernelTileProducers
from qmlir.targets.cpu.timing import time_steps
from qmlir.text.data import parse_data
from qmlir.text.tables import Readable, aligned, counted
from qmlir.workflows.loading import takes_model
from qmlir.workflows.workers import Cluster, workers_of

_TAKEN_ALONG = (ConstantOp, EmptyOp)
"""Operations without operands that may define an operand of a contraction. They are copied and timed with it, as in the
model.
"""


def schedule_number(names: Sequence[str]) -> int | None:
    """Returns the index of the schedule that a kernel with the node names `names` implements, if any."""
    found = [int(name.removeprefix("schedule")) for name in names if name.startswith("schedule")]
    return found[0] if found else None


def scheduled_variants(module: ModuleOp) -> dict[int, ScheduleAttr]:
    """Returns, by index, the schedules in a module made by `alone`, after the stage that assigns them."""
    found: dict[int, ScheduleAttr] = {}
    for op in module.walk():
        schedule = op.loops if isinstance(op, PackedOp) else op.schedule if isinstance(op, ContractionOp) else None
        number = schedule_number([origin.name for origin in origins_of(op)])
        if schedule is not None and number is not None:
            found[number] = schedule
    return found


def _moves_of(value: SSAValue) -> list[GenericOp]:
    """Returns the operations that move the elements of `value` from their source, in order."""
    found = list[GenericOp]()
    while isinstance(op := value.owner, GenericOp) and is_movement(op):
        found.insert(0, op)
        value = op.inputs[0]
    return found


def alone(op: ContractionOp, schedules: Sequence[ScheduleAttr | None]) -> ModuleOp:
    """Returns an integer-level module that computes `op` on tensors, once with each schedule.

    `None` stands for the built-in schedule. Constants and operations that move the weights are copied, since schedules
    depend on them. Other operands become inputs. The data operand is the sum of two inputs, so that it is allocated in
    the arena, as in a model. Each copy has a separate origin (`schedule_number`), and its result is an output.
    """
    moves = _moves_of(op.w)
    values = [*dict.fromkeys(value for each in (op, *moves) for value in captured(each) if value.owner not in moves)]
    given = [value for value in values if not isinstance(value.owner, _TAKEN_ALONG)]
    added = [op.x] if op.x in given else []
    arguments = [value.type for value in (*given, *added)]
    block = Block(arg_types=arguments)
    known: dict[SSAValue, SSAValue] = dict(zip(given, block.args, strict=False))
    for value in values:
        if isinstance(value.owner, _TAKEN_ALONG):
            known[value] = value.owner.clone().results[0]
            defined = known[value].owner
            assert isinstance(defined, Operation)
            block.add_op(defined)
    function = FuncOp("main", (arguments, [op.target.type] * len(schedules)), Region(block))
    made: list[SSAValue] = []
    for number, schedule in enumerate(schedules):
        own = dict(known)
        moved, copy = [each.clone(own) for each in moves], op.clone(own)
        copy.schedule = schedule
        for each in (*moved, copy):
            set_origins(each, [Origin(f"schedule{number}")])
            block.add_op(each)
        made.append(copy.results[0])
    block.add_op(ReturnOp(*made))
    if added:
        _add_input(block, known[op.x], block.args[-1])
    return ModuleOp([function])


def _add_input(block: Block, x: SSAValue, other: SSAValue) -> None:
    """Replaces all uses of `x` by its sum with `other`."""
    first = next(iter(block.ops))
    at = Lowering(first, PatternRewriter(first), integer_types())
    shape, element = shaped(x)
    users = list(x.uses)
    identity = AffineMap.identity(len(shape))
    total = at.compute([Input(x, identity), Input(other, identity)], shape, element, Scalar.__add__)
    for use in users:
        use.operation.operands[use.index] = total


MARGIN = 0.03
"""The fraction of the built-in schedule's time that a schedule must save to replace it; smaller differences are
noise.
"""

NEAR = 1.3
"""Tiles of a variant are tried if its time is at most this multiple of the fastest variant's time."""

SECONDS_EACH = 0.6
"""The approximate number of seconds for timing all schedules of one kernel."""

_LEAST_ROUNDS, _MOST_ROUNDS = 6, 300
"""Limits on the number of rounds in each half."""

_FINALISTS = 3
"""The number of schedules, the fastest on one thread, that are also timed on several threads."""

_TO_KERNELS = ("lower", "fuse")


_MICRO = 1e6


def _short(schedule: str) -> str:
    """Formats the variant and the tile of a schedule, such as `u8s8_dot 6 x 4`, and other fields that are set."""
    fields = dict(part.split(" = ") for part in schedule.partition("<")[2].rstrip(">").split(", "))
    tile = f"{fields.get('rows', '1')} x {fields.get('vectors', '1')}"
    block = f", block {fields['block']}" if "block" in fields else ""
    divided = ", divided" if "threads" in fields else ""
    return f"{fields['variant'].strip(chr(34))} {tile}{block}{divided}"


@dataclass(frozen=True, repr=False)
class FoundKernel(Readable):
    """A contraction of a model, and its fastest schedule."""

    name: str
    """The operation and its shape, such as `conv3x3 1x56x56x64`."""

    nodes: tuple[str, ...]
    """The nodes of the model that the kernel runs; nodes of equal sizes and types share it."""

    multiply_adds: int
    """Multiply-adds of one call."""

    tuned: TunedKernel
    """The schedules that were compared, with their times."""

    is_new: bool
    """False if the result was stored before."""

    @property
    def gain(self) -> str:
        """The time saved by the schedule that was found, such as `-12%`; empty if the built-in one is fastest."""
        return f"{-100 * self.tuned.gain:.0f}%" if self.tuned.schedule is not None else ""

    def text(self) -> str:
        """Format the result as one line.

        Returns:
            The kernel, and its fastest schedule.
        """
        tuned = self.tuned
        if tuned.schedule is None:
            return f"{printable(self.name)}: {_short(tuned.default)} stays, of {tuned.tried}\n"
        found = f"{_short(tuned.schedule)} in place of {_short(tuned.default)}"
        return f"{printable(self.name)}: {found}, {self.gain}\n"

    def row(self) -> tuple[str, ...]:
        """Return the cells of its row in the table of `TuneResult.text`.

        Returns:
            The cells: kernel, number of nodes, built-in schedule and its time, the schedule that was found, its time
            and gain.
        """
        tuned = self.tuned
        known = (self.name, str(len(self.nodes)), _short(tuned.default), f"{_MICRO * tuned.default_seconds:.1f}")
        if tuned.schedule is None:
            return (*known, "", "", "")
        return (*known, _short(tuned.schedule), f"{_MICRO * tuned.seconds:.1f}", self.gain)


_HEAD = ("kernel", "times", "table", "us", "found", "us", "gain")


@dataclass(frozen=True, repr=False)
class TuneResult(Readable):
    """The outcome of tuning."""

    path: str
    """The file that stores the results."""

    isa: str
    """The instruction set."""

    threads: int
    """Number of threads."""

    kernels: tuple[FoundKernel, ...]
    """The kernels, sorted by decreasing work."""

    remaining: int
    """The number of kernels that were not reached in time; the next run begins with them."""

    def text(self) -> str:
        """Format the result.

        Returns:
            A table of the kernels, and the time that their schedules save together.
        """
        if not self.kernels and not self.remaining:
            return "nothing to search: the model has no matrix product or convolution without a schedule\n"
        left = f"{counted(self.remaining, 'kernel')} not searched in time; run qmlir tune again to continue"
        if not self.kernels:
            return f"{left}\n"
        lines = [*aligned([_HEAD, *(each.row() for each in self.kernels)], {"times", "us", "gain"}), ""]
        default = sum(len(each.nodes) * each.tuned.default_seconds for each in self.kernels)
        best = sum(len(each.nodes) * each.tuned.seconds for each in self.kernels)
        faster = sum(each.tuned.schedule is not None for each in self.kernels)
        lines.append(
            f"faster schedules for {faster} of {counted(len(self.kernels), 'kernel')}: {_MICRO * best:.0f} us "
            f"instead of {_MICRO * default:.0f} us; qmlir compile reads them from {self.path}"
        )
        if self.remaining:
            lines.append(left)
        return "".join(f"{line}\n" for line in lines)


@dataclass
class TunableKernel:
    """A contraction that represents all contractions of the model that share its kernel."""

    op: ContractionOp
    identity: str
    nodes: list[str]
    uses: int = 0

    @property
    def name(self) -> str:
        """A short description of the contraction: its kind, sizes and number of terms."""
        taps = "x".join(map(str, shaped(self.op.w)[0][1:-1])) if isinstance(self.op, ConvOp) else ""
        kind = "depthwise" if isinstance(self.op, ConvOp) and self.op.group_count > 1 else self.op.name.split(".")[1]
        reads = f"x{self.op.terms()}" if isinstance(self.op, ConvOp) else ""
        shape = "x".join(map(str, shaped(self.op.target)[0]))
        return f"{kind}{taps} {shape} of {reads.removeprefix('x') or self.op.terms()}"

    @property
    def work(self) -> int:
        """The multiply-adds of all contractions of this kind."""
        return self.uses * self.op.multiply_adds()


def _run(module: ModuleOp, passes: Pipeline) -> None:
    with without_remarks():
        run_pipeline(module, passes)


def kernels_of(module: ModuleOp, function: str, isa: str, threads: int) -> list[TunableKernel]:
    """Returns the contractions of a static module without a schedule, one per kernel, by decreasing work."""
    lowered = module.clone()
    _run(lowered, COMPILE.passes(*_TO_KERNELS, isa=isa))
    _run(lowered, Pipeline((KernelTileProducers(isa=isa),)))
    found: dict[str, TunableKernel] = {}
    for op in function_of(lowered, function).walk():
        if isinstance(op, ContractionOp) and op.schedule is None and op.multiply_adds():
            identity = kernel_identity(op, isa, threads)
            kernel = found.setdefault(identity, TunableKernel(op, identity, []))
            kernel.nodes += [origin.name for origin in origins_of(op)[:1]]
            kernel.uses += 1
    return sorted(found.values(), key=lambda each: -each.work)


def _scheduled(op: ContractionOp, schedules: Sequence[ScheduleAttr | None], isa: str, threads: int) -> ModuleOp:
    module = alone(op, schedules)
    _run(module, COMPILE.passes("schedule", isa=isa, threads=threads))
    return module


def _memory(program: Any) -> dict[str, Array]:
    return {port.name: np.zeros(port.shape, port.dtype) for port in program.outputs}


def _check_equal(op: ContractionOp, outputs: Mapping[str, Array], names: Sequence[str]) -> None:
    """Raises `DiagnosticError` if two schedules compute different bits."""
    first, *others = outputs.values()
    for name, other in zip(names[1:], others, strict=True):
        if first.tobytes() != other.tobytes():
            raise op_error(op, f"computes different values with {name} and with {names[0]}; please report this bug")


@dataclass(frozen=True)
class Timer:
    """Times the schedules of one kernel."""

    op: ContractionOp
    isa: str
    threads: int

    def default(self) -> ScheduleAttr:
        """Returns the built-in schedule, including the choice of an algorithm."""
        return scheduled_variants(_scheduled(self.op, [None], self.isa, self.threads))[0]

    def one_thread(self, schedules: Sequence[ScheduleAttr]) -> dict[ScheduleAttr, tuple[float, float]]:
        """Returns the shortest seconds in each half of the rounds, for each schedule that the kernel supports."""
        module = _scheduled(self.op, schedules, self.isa, self.threads)
        known = scheduled_variants(module)
        inputs = inputs_for(module)
        _run(module, COMPILE.passes("bufferize", "loops"))
        with temporary_program(module) as program:
            outputs = _memory(program)
            first = time_steps(program, inputs, 2, outputs)
            _check_equal(self.op, outputs, [f"schedule {number}" for number in range(len(schedules))])
            rounds = _rounds(sum(each.seconds for each in first))
            halves = [_by_number(time_steps(program, inputs, rounds, outputs), len(schedules)) for _ in range(2)]
        return {
            schedule: (halves[0][number], halves[1][number])
            for number, schedule in enumerate(schedules)
            if known.get(number) == schedule and inf not in (halves[0][number], halves[1][number])
        }

    def together(self, schedules: Sequence[ScheduleAttr]) -> dict[ScheduleAttr, tuple[float, float]]:
        """Returns the shortest seconds in each half of the rounds, of programs run alternately on all threads."""
        with ExitStack() as stack:
            calls: list[Callable[[], object]] = []
            for schedule in schedules:
                module = _scheduled(self.op, [schedule], self.isa, self.threads)
                inputs = inputs_for(module)
                _run(module, COMPILE.passes("bufferize", "loops"))
                program = stack.enter_context(temporary_program(module))
                calls.append(partial(program, inputs, _memory(program)))
            first = [_seconds(call) for call in calls for _ in range(2)][1::2]
            rounds = _rounds(sum(first))
            halves = [
                [min(times) for times in zip(*([_seconds(call) for call in calls] for _ in range(rounds)), strict=True)]
                for _ in range(2)
            ]
        return {schedule: (halves[0][position], halves[1][position]) for position, schedule in enumerate(schedules)}


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _rounds(seconds: float) -> int:
    return max(_LEAST_ROUNDS, min(_MOST_ROUNDS, int(SECONDS_EACH / 2 / max(seconds, 1e-9))))


def _by_number(times: Sequence[Any], count: int) -> list[float]:
    """Returns the seconds of each schedule, summed over its kernels; infinity if it has none."""
    own = ([each.seconds for each in times if schedule_number(each.nodes) == number] for number in range(count))
    return [sum(seconds) if seconds else inf for seconds in own]


def inputs_for(module: ModuleOp) -> dict[str, Array]:
    """Returns random inputs for timing a kernel."""
    return random_inputs(function_of(module, "main"), 0)


def _tuned(kernel: TunableKernel, isa: str, threads: int) -> TunedKernel:
    """Times the schedules of a kernel, and returns the result."""
    timer = Timer(kernel.op, isa, threads)
    default = timer.default()
    every = list(dict.fromkeys((default, *candidates(kernel.op, isa, threads))))
    schedules = _of_fast_variants(timer, every)
    if threads == 1:
        times = timer.one_thread(schedules)
    else:
        times = timer.together(_finalists(timer, default, schedules))
    best = min(times, key=lambda each: min(times[each]))
    is_faster = best != default and all(
        one < (1 - MARGIN) * other for one, other in zip(times[best], times[default], strict=True)
    )
    chosen = best if is_faster else default
    return TunedKernel(
        kernel.identity, str(best) if is_faster else None, str(default), min(times[chosen]), min(times[default]),
        len(every),
    )  # fmt: skip


def _of_fast_variants(timer: "Timer", every: Sequence[ScheduleAttr]) -> list[ScheduleAttr]:
    """Returns the schedules of variants whose first schedule is near the fastest, and those of the built-in one."""
    first: dict[str, ScheduleAttr] = {}
    for each in every:
        first.setdefault(each.variant, each)
    if len(first) == 1:
        return list(every)
    times = {each.variant: min(found) for each, found in timer.one_thread(list(first.values())).items()}
    near = NEAR * min(times.values())
    default = every[0].variant
    return [each for each in every if each.variant == default or times.get(each.variant, inf) <= near]


def _finalists(timer: Timer, default: ScheduleAttr, schedules: Sequence[ScheduleAttr]) -> list[ScheduleAttr]:
    """Returns the built-in schedule and those fastest on one thread, each with and without threading."""

    def tile(each: ScheduleAttr) -> tuple[object, ...]:
        return (each.variant, each.rows, each.vectors, each.lanes, each.k_unroll, each.block, each.prefetch, each.ahead)

    ways: dict[tuple[object, ...], list[ScheduleAttr]] = {}
    for each in schedules:
        ways.setdefault(tile(each), []).append(each)
    times = timer.one_thread([found[0] for found in ways.values()])
    fastest = sorted(times, key=lambda each: min(times[each]))[:_FINALISTS]
    return list(
        dict.fromkeys((default, *ways[tile(default)], *(each for found in fastest for each in ways[tile(found)])))
    )


# By workers


def _begin_tuning(subject: tuple[ShippedModule, str, str, int]) -> Begun:
    """Returns a function that answers the identity of a kernel with its tuning result, as JSON.

    `subject` is a static module, the name of its function, the instruction set, and the number of threads.
    """
    module, function, isa, threads = subject
    known = {kernel.identity: kernel for kernel in kernels_of(module.module(), function, isa, threads)}
    return lambda identity: json.dumps(asdict(_tuned(known[identity], isa, threads))).encode()


@takes_model
def tune(
    module: ModuleOp,
    *,
    isa: str = "host",
    threads: int = 1,
    function: str = "main",
    kernels: int | None = None,
    seconds: float | None = None,
    remeasure: bool = False,
    cluster: "Cluster | None" = None,
    progress: IO[str] | None = None,
    on_kernel: Callable[[FoundKernel], object] = lambda found: None,
    on_trouble: OnTrouble = lambda text: None,
) -> TuneResult:
    """Search for faster schedules of a model's contractions on this machine.

    Kernels with the most work come first. Results are stored next to the cache after each kernel, and `compile` uses
    them.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts. Shapes must be static.
        isa: Instruction set of the CPU, such as `avx2`; `host` is the best one of this CPU.
        threads: Number of threads to time kernels with, at least 1.
        function: Name of the function to tune.
        kernels: Maximum number of kernels. `None` searches all.
        seconds: Time after which no search of a kernel starts. `None` sets no limit.
        remeasure: Time kernels again whose result is stored.
        cluster: Address of a Dask scheduler (`tcp://host:port`), a Dask client, or a `concurrent.futures.Executor`,
            whose workers time the kernels, each one at a time. They must have the kind of CPU that this machine has.
        progress: Stream that shows progress: a terminal gets a bar, any other stream a line every ten seconds.
        on_kernel: Function that is called with each `FoundKernel`.
        on_trouble: Function that is called with the reason why a stored result cannot be used.

    Returns:
        The kernels with the times of their schedules. Printing it shows a table.

    Raises:
        DiagnosticError: The model has dynamic dimensions or cannot be compiled here, or the results cannot be stored.

    Example:
        >>> result = qmlir.tune("docs/examples/partition.mlir", seconds=0)
        >>> len(result.kernels), result.remaining
        (0, 3)
    """
    if kernels is not None and kernels < 1:
        raise text_error(f"kernels must be at least 1, but got {kernels}")
    wanted = checked_isa(isa, threads)
    path = store_path(wanted, threads)
    known = dict(read_store(path, on_trouble).kernels)
    write_store(path, known)  # an unwritable store is an error before the search
    static = specialize(module, function=function)
    chosen = kernels_of(static, function, wanted, threads)[:kernels]
    found: list[FoundKernel] = []
    remaining, begun = 0, time.monotonic()
    new = {kernel.identity: kernel for kernel in chosen if remeasure or key_of(kernel.identity) not in known}

    def in_time() -> Iterator[TunableKernel]:
        for kernel in new.values():
            if seconds is not None and time.monotonic() - begun >= seconds:
                return
            yield kernel

    with workers_of(cluster, same_processor=True) as workers, bar("tuning", len(chosen), progress) as advance:
        if workers is None:
            made = (_tuned(kernel, wanted, threads) for kernel in in_time())
        else:
            subject = ShippedModule.of(static), function, wanted, threads
            answers = workers.map(Job(_begin_tuning, subject), (kernel.identity for kernel in in_time()))
            made = (TunedKernel.of(parse_data(each, "the answer of a worker")) for each in answers)
        for position, kernel in enumerate(chosen):
            advance.at(position, len(chosen), kernel.name)
            key, is_new = key_of(kernel.identity), kernel.identity in new
            if is_new:
                tuned = next(made, None)
                if tuned is None:
                    remaining += 1
                    continue
                # Another search may have written meanwhile.
                known = {**read_store(path, on_trouble).kernels, key: tuned}
                write_store(path, known)
            each = FoundKernel(kernel.name, tuple(kernel.nodes), kernel.op.multiply_adds(), known[key], is_new)
            found.append(each)
            on_kernel(each)
    return TuneResult(str(path), wanted, threads, tuple(found), remaining)
