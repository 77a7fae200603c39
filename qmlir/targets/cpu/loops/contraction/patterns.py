"""The patterns that make loops of contractions on memory: by the variant of packed operands, or over scalars.

Loops over scalars take any operands as they are: an element after the other.
"""

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from qmlir import registry
from qmlir.dialects.kernel.contraction import ContractionOp, ConvOp
from qmlir.dialects.kernel.lowering.scalars import Scalar
from qmlir.dialects.kernel.ops import shaped
from qmlir.dialects.kernel.packed_ops import PackedBlocksOp, PackedOp
from qmlir.dialects.kernel.winograd import WinogradOp
from qmlir.ir.builtin_types import integer_list
from qmlir.ir.diagnostics import op_error
from qmlir.targets.cpu.loops.contraction.epilogue import for_each, write_element
from qmlir.targets.cpu.loops.contraction.geometry import readings_of
from qmlir.targets.cpu.loops.contraction.tiles import BlockWriter, LoopVariant, TiledVariant
from qmlir.targets.cpu.loops.emitter import Emitter, Index, add, times
from qmlir.targets.cpu.loops.structured import replace_by_loops


class ScalarWriter:
    """Emits the scalar loops of one contraction: element by element, terms in row-major order."""

    def __init__(self, op: ContractionOp):
        assert op.outs is not None
        self.op = op
        self.y = op.outs
        self.accumulator: Attribute = op.accumulator_type
        self.readings = readings_of(op)

    def write(self, emit: Emitter) -> None:
        """Emits all loops at the insertion point of `emit`."""
        for_each(emit, shaped(self.y)[0], self._write_element)

    def _write_element(self, emit: Emitter, place: Sequence[Index]) -> None:
        zero = emit.constant(0, self.accumulator)
        total = self._sum(emit, zero, place, [], shaped(self.op.w)[0][self._terms_axis() :])
        write_element(emit, self.op, self.readings, self.y, total, place)

    def _terms_axis(self) -> int:
        return 1 if isinstance(self.op, ConvOp) else len(shaped(self.op.w)[0]) - 1

    def _sum(
        self, emit: Emitter, total: SSAValue, place: Sequence[Index], terms: list[Index], sizes: Sequence[int]
    ) -> SSAValue:
        if not sizes:
            return self._added(emit, total, place, terms)

        def write(inner: Emitter, term: Index, before: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return [self._sum(inner, before[0], place, [*terms, term], sizes[1:])]

        return emit.carried(sizes[0], [total], write)[0]

    def _added(self, emit: Emitter, total: SSAValue, place: Sequence[Index], terms: list[Index]) -> SSAValue:
        op, zero_points = self.op, self.op.weight_zero_points
        x_place, w_place = self._places(emit, place, terms)
        x = self._read(emit, op.x, x_place, is_unsigned=op.input_unsigned is not None)
        if (offset := op.input_zero_point.value.data) and not x.is_float:
            x = x - offset
        center = op.weight_zero_point.value.data if zero_points is None else self._read(emit, zero_points, [place[-1]])
        w = self._read(emit, op.w, w_place, is_unsigned=op.weight_unsigned is not None)
        if isinstance(center, Scalar) or (center and not w.is_float):
            w = w - center
        return (Scalar(total, emit) + x * w).value

    def _read(self, emit: Emitter, memory: SSAValue, place: Sequence[Index], *, is_unsigned: bool = False) -> Scalar:
        """Loads an element and converts it to the type of the sum."""
        return Scalar(emit.load(memory, place), emit, is_unsigned).to(self.accumulator)

    def _places(self, emit: Emitter, place: Sequence[Index], terms: Sequence[Index]) -> tuple[list[Index], list[Index]]:
        op = self.op
        if not isinstance(op, ConvOp):
            return [*place[:-1], *terms], [*place[: len(shaped(op.w)[0]) - 2], place[-1], *terms]
        moved = [
            add(emit, times(emit, position, stride), times(emit, tap, dilation))
            for position, stride, tap, dilation in zip(
                place[1:-1], integer_list(op.strides), terms[:-1], integer_list(op.dilations), strict=True
            )
        ]
        channel: Index = terms[-1]
        if op.group_count > 1:
            size = op.channels() // op.group_count
            group = emit.binary(arith.DivUIOp, emit.index(place[-1]), emit.index(size))
            channel = add(emit, times(emit, group, shaped(op.w)[0][-1]), channel)
        return [place[0], *moved, channel], [place[-1], *terms]


class ContractionToLoops(RewritePattern):
    """Lowers a contraction on memrefs to scalar loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractionOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is None:
            return
        if isinstance(op, WinogradOp):
            raise op_error(op, f"is not packed for variant '{op.form.variant}'; run kernel-pack")
        replace_by_loops(op, rewriter, ScalarWriter(op).write)


class PackedToLoops(RewritePattern):
    """Lowers a contraction with packed operands on memrefs to the loops of its variant."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PackedOp, rewriter: PatternRewriter, /) -> None:
        if op.outs is not None:
            variant = registry.named("variants")[op.layout.variant.name].load(LoopVariant)
            if isinstance(op, PackedBlocksOp):
                assert isinstance(variant, TiledVariant)
                tiled = variant
                replace_by_loops(op, rewriter, lambda emit: BlockWriter(op, tiled, emit).write(emit))
            else:
                replace_by_loops(op, rewriter, lambda emit: variant.write(op, emit))


PATTERNS = (ContractionToLoops(), PackedToLoops())
"""The patterns for contractions."""
