"""Runs any batch size with programs for one sample or a fixed chunk, and chooses the size of chunks.

A program with a dynamic batch is compiled for one sample. If samples are little work, or use each weight only a few
times, it is also compiled for chunks of about 16, 256 and so on samples: a row of weights that is loaded then serves
all samples of the chunk. CPU time per sample in µs, on one core of an EPYC with AVX512-VNNI, by the batch size of the
program:

    layers of a perceptron    1     16    256   4096
    64, 32, 10                3.0   0.28  0.11  0.03
    784, 256, 10              4.5   0.91  0.73  0.69
    1024, 1024, 1024          28    6.0   5.3   4.9
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import ConstantLike

from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import DiagnosticError, Severity, emit
from qmlir.ir.interfaces import MultipliesAndAdds, volume
from qmlir.specialization.batch import (
    BatchAxes,
    batch_candidates,
    batch_of,
    dynamic_axes,
    mark_batch,
    proof_of,
    with_size,
)
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import specialize
from qmlir.targets.cpu.runtime.batches import BatchPlan
from qmlir.targets.cpu.runtime.ports import OPEN

PIECE_FACTOR = 16
"""The ratio of consecutive chunk sizes."""

SIZE_STEP = 8
"""Chunk sizes are multiples of `size / SIZE_STEP` from half to twice `size`, so that little padding is needed."""

LOADING_SAMPLES = 2
"""The time to load the weights for a chunk, in samples.

A row of a perceptron of 3 x 1024 channels takes 40 µs alone, and 16 rows together 227.
"""

LEAST_GAIN = 0.95
"""The ratio of computed samples, padding included, below which a size near a chunk size is worth compiling for."""

MOST_WORK = 1 << 25
"""The maximum number of products and elements that a chunk of several samples computes, at most a millisecond of work.

As the table above shows, larger chunks gain little, and their values don't stay in the caches. It doesn't apply while
chunks that are smaller by `PIECE_FACTOR` use each weight less than `PIECE_FACTOR` times per load.
"""

Shapes = Mapping[str, tuple[int, ...]]


def batch_plan(module: ModuleOp, threads: int, function: str = "main") -> BatchPlan:
    """Returns the plan to run batches in chunks, up to `threads` at once, or a plan with the reason if it can't."""
    try:
        found = batch_of(module, function)
    except DiagnosticError as error:
        return BatchPlan(reason=error.diagnostic.message, threads=threads)
    return BatchPlan(found.inputs, found.outputs, threads=threads)


@dataclass(frozen=True)
class Work:
    """The number of products and elements that a function with static shapes computes, and of weights in products."""

    computed: int
    weights: int

    @staticmethod
    def of(module: ModuleOp, function: str = "main") -> "Work":
        """Counts the work of `function`."""
        computed, weights = 0, dict[SSAValue, int]()
        for op in function_of(module, function).walk():
            if isinstance(op, MultipliesAndAdds):
                computed += op.multiply_adds()
                weights |= {value: _volume(value) for value in map(_source, op.operands) if _is_constant(value)}
            computed += sum(map(_volume, op.results))
        return Work(computed, sum(weights.values()))

    def pays(self, size: int) -> bool:
        """Returns true if a chunk of `size` samples is faster than one of `size / PIECE_FACTOR`, given this work of
        one sample."""
        return size * self.computed <= MOST_WORK or size // PIECE_FACTOR * self.computed < PIECE_FACTOR * self.weights


def _volume(value: SSAValue) -> int:
    type_ = ranked_tensor(value.type)
    return 0 if type_ is None else volume(type_.get_shape())


def _source(value: SSAValue) -> SSAValue:
    """Returns the value of which `value` is a cast or another layout."""
    while isinstance(op := value.owner, Operation) and len(op.operands) == 1 and not op.regions:
        value = op.operands[0]
    return value


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.has_trait(ConstantLike)


def _chunk_sizes(count: int, size: int) -> list[int]:
    """Returns `size` and, after it, the size near it that pads `count` samples least, if that pays."""
    padded = {each: -(-count // each) * each for each in range(size // 2, 2 * size, size // SIZE_STEP)}
    best = min(padded, key=lambda each: (padded[each], -each))
    return [size, best] if padded[best] < LEAST_GAIN * padded[size] else [size]


class OpenBatch:
    """The dynamic batch of a function; proves for given input shapes that its samples are independent."""

    def __init__(self, module: ModuleOp, function: str) -> None:
        """Prepares the proof for `function`; `module` must not contain calls."""
        self._module, self._function = module, function
        self._candidates = batch_candidates(function_of(module, function))
        self._proofs: dict[Any, BatchAxes | DiagnosticError] = {}
        self._works: dict[tuple[tuple[str, tuple[int, ...]], ...], Work | None] = {}
        self._is_told = False

    def proof(self, shapes: Mapping[str, Sequence[int]]) -> BatchAxes | DiagnosticError:
        """Returns the batch axes for inputs of `shapes`, or the error that explains why there are none."""
        key = tuple(
            (len({shapes[name][axis] for name, axis in axes.items()}) == 1, *sorted(with_size(shapes, axes, 1).items()))
            for axes in self._candidates
        )
        if key not in self._proofs:
            found = proof_of(self._module, shapes, self._function)
            if isinstance(found, DiagnosticError):  # without its operation, which would keep a clone of the module
                found = DiagnosticError(replace(found.diagnostic.for_caller(), op=None))
            self._proofs[key] = found
        return self._proofs[key]

    def specialized(self, module: ModuleOp, shapes: Mapping[str, Sequence[int]]) -> ModuleOp:
        """Returns `module` specialized for inputs of `shapes`, annotated with the result of the batch proof."""
        known = specialize(module, shapes, function=self._function)
        dynamic = dynamic_axes(function_of(self._module, self._function))
        mark_batch(function_of(known, self._function), dynamic, self.proof(shapes))
        return known

    def one(self, shapes: Shapes) -> Shapes | None:
        """Returns the shapes of one sample if its program runs any batch and nothing else is dynamic; else `None`."""
        for axes in self._candidates:
            one = with_size(shapes, axes, 1)
            if any(OPEN in shape for shape in one.values()):
                continue
            proof = self.proof(one)
            if isinstance(proof, BatchAxes) and proof.inputs == axes and self._work(one) is not None:
                return one
        return None

    def chunks(self, shapes: Shapes) -> Sequence[Shapes]:
        """Returns the shapes of the chunks in which a batch can run, the fastest first.

        If samples depend on each other, these are the shapes of the whole batch.
        """
        proof = self.proof(shapes)
        if not isinstance(proof, BatchAxes):
            self._tell(proof)
            return [shapes]
        one = with_size(shapes, proof.inputs, 1)
        count = next(shapes[name][axis] for name, axis in proof.inputs.items())
        work = None if count == 1 else self._work(one)
        if work is None:
            return [shapes]
        sizes, size = [1], PIECE_FACTOR
        while size <= 2 * count and work.pays(size):
            for each in _chunk_sizes(count, size):
                times = [-(-count // chunk) * (chunk + LOADING_SAMPLES) for chunk in (each, sizes[0])]
                if times[0] < times[1]:
                    sizes.insert(0, each)
            size *= PIECE_FACTOR
        found = [with_size(shapes, proof.inputs, each) for each in sizes]
        return [one] if self._work(found[0]) is None else found

    def _tell(self, error: DiagnosticError) -> None:
        if not self._is_told and self._candidates:
            self._is_told = True
            said = f"compiling each new input size at its first call: {error.diagnostic.message}"
            emit(replace(error.diagnostic, severity=Severity.REMARK, message=said))

    def _work(self, shapes: Shapes) -> Work | None:
        """Returns the work for inputs of `shapes`; `None` if their program can't run other batch sizes."""
        key = tuple(sorted(shapes.items()))
        if key not in self._works:
            self._works[key] = self._work_of(shapes)
        return self._works[key]

    def _work_of(self, shapes: Shapes) -> Work | None:
        try:
            known = self.specialized(self._module, shapes)
        except DiagnosticError:  # this chunk doesn't fit; compiling the program for the whole batch reports any error
            return None
        return None if batch_plan(known, 1, self._function).reason else Work.of(known, self._function)
