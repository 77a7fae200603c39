"""Types that a target takes in the place of those that a model came with, and the rescales between them.

An operation between casts whose types no target takes stays in float. Often only the storage is another: `u8` with the
zero point 128 where the target has `i8` with 0. The same scale holds the same numbers there, so that no bit is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from qmlir.arithmetic.schemes import Scheme, Storage, symmetric_zero_point
from qmlir.dialects.quant.infer import element_type
from qmlir.dialects.quant.ops import DequantizeCastOp, QuantizeCastOp
from qmlir.dialects.quant.types import Granularity, UniformQuantizedType
from qmlir.dialects.target.description import Accepted, Support
from qmlir.ir.builtin_types import shape_of
from qmlir.ir.interfaces import Quantizable, Slot
from qmlir.ir.provenance import origins_of, set_origins
from qmlir.quantization.choice import Choice
from qmlir.quantization.element_types import storage_type, type_from_range
from qmlir.quantization.fusion import data_places, dequantized_from, requested_type
from qmlir.quantization.retyping import is_float, may_be_quantized, on_types, slots_of
from qmlir.quantization.supports import first_target, granularity_of, schemes_of, storage_of, targets_around


def _takes(accepted: Accepted, type_: UniformQuantizedType) -> bool:
    has_grid = accepted.has_storage(storage_of(type_)) and accepted.has_scheme(schemes_of(type_))
    return has_grid and accepted.has_granularity(granularity_of(type_))


def _moved(type_: UniformQuantizedType, storage: Storage, shift: int) -> UniformQuantizedType | None:
    """The numbers of `type_`, each stored as an integer that is `shift` larger; `None` where one does not fit."""
    low, high = type_.storage_min + shift, type_.storage_max + shift
    if low < storage.minimum or high > storage.maximum or type_.granularity is Granularity.BLOCK:
        return None
    held, zero_points = storage_type(storage), type_.zero_points + shift
    if type_.granularity is Granularity.AXIS:
        return UniformQuantizedType.per_axis(
            held, type_.expressed_type, type_.axis, type_.scales, zero_points, (low, high)
        )
    return UniformQuantizedType.per_tensor(held, type_.expressed_type, type_.scale, int(zero_points), (low, high))


def same_numbers(type_: UniformQuantizedType, accepted: Accepted) -> UniformQuantizedType | None:
    """The type of the same scales and numbers as `type_` that `accepted` takes; `None` where there is none."""
    for storage in accepted.integers:
        shifts = [storage.minimum - type_.storage_min]
        if len(zero_points := set(type_.zero_points.reshape(-1).tolist())) == 1:
            shifts.append(symmetric_zero_point(storage) - zero_points.pop())
        for shift in shifts:
            found = _moved(type_, storage, shift)
            if found is not None and _takes(accepted, found):
                return found
    return None


def nearest_grid(type_: UniformQuantizedType, accepted: Accepted) -> UniformQuantizedType | None:
    """A type that `accepted` takes, for the range of `type_`, which has one scale: values are rounded again."""
    if type_.granularity is not Granularity.TENSOR or not accepted.integers:
        return None
    low, high = (type_.scale * (limit - type_.zero_point) for limit in (type_.storage_min, type_.storage_max))
    scheme = next(iter(accepted.named_schemes), Scheme.ASYMMETRIC)
    return type_from_range(low, high, Choice(storage=accepted.integers[0], scheme=scheme))


@dataclass(frozen=True)
class Refit(RewritePattern):
    """`qcast(f(dcast(x), …)) -> qcast(dcast(f(qcast(dcast(x)), …)))`, so that a target computes `f` on integers.

    Each value that changes its type has a rescale. Where two operations in a row do so, the rescales between them are
    of one type and fold; constants are rescaled now. Unless `is_exact`, a value may be rounded to another grid.
    """

    is_exact: bool = True

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Quantizable) or not may_be_quantized(op) or not (targets := targets_around(op)):
            return
        places, results = data_places(op), [result for result in op.results if is_float(result)]
        sources = {place: dequantized_from(op.operands[place]) for place in places}
        types = {place: _uniform(source) for place, source in sources.items()}
        wanted = [requested_type(result) for result in results]
        if not places or len(results) != len(op.results) or None in types.values() or None in wanted:
            return
        for target in targets:
            for support in target.supports_of(op):
                made = self._made(op, support, sources, types, wanted)
                if made is None:
                    continue
                *casts, fused = made
                if first_target([target], fused, with_mode=False) is not None:
                    self._replace(op, casts, fused, rewriter)
                    return
                for each in reversed(made):
                    each.drop_all_references()

    def _made(
        self,
        op: Quantizable,
        support: Support,
        sources: dict[int, SSAValue | None],
        types: dict[int, UniformQuantizedType | None],
        wanted: Sequence[UniformQuantizedType | None],
    ) -> list[Operation] | None:
        """The rescales of operands, then the operation on types that `support` takes; `None` where there are none."""
        slots, operands = slots_of(op), list(op.operands)
        casts: dict[tuple[SSAValue, UniformQuantizedType], QuantizeCastOp] = {}
        results = [self._fitted(type_, support.slot(Slot.OUTPUT)) for type_ in wanted]
        for place, source in sources.items():
            fitted = self._fitted(types[place], support.slot(slots[place]))
            if fitted is None or source is None:
                results.append(None)
            elif fitted == types[place]:
                operands[place] = source
            else:
                if (source, fitted) not in casts:
                    cast = QuantizeCastOp(op.operands[place], TensorType(fitted, shape_of(source)))
                    set_origins(cast, origins_of(source.owner if isinstance(source.owner, Operation) else op))
                    casts[source, fitted] = cast
                operands[place] = casts[source, fitted].result
        try:
            if None in results:
                raise VerifyException("no type is supported")
            made = [*casts.values(), on_types(op, operands, results)]
        except VerifyException:
            for cast in casts.values():
                cast.drop_all_references()
            return None
        return made

    def _fitted(self, type_: UniformQuantizedType | None, accepted: Accepted | None) -> UniformQuantizedType | None:
        if type_ is None or accepted is None or _takes(accepted, type_):
            return type_
        found = same_numbers(type_, accepted)
        return nearest_grid(type_, accepted) if found is None and not self.is_exact else found

    @staticmethod
    def _replace(op: Operation, casts: Sequence[Operation], fused: Operation, rewriter: PatternRewriter) -> None:
        behind = [DequantizeCastOp(new, old.type) for old, new in zip(op.results, fused.results, strict=True)]
        for cast in behind:
            set_origins(cast, origins_of(op))
        rewriter.insert([*casts, fused, *behind])
        rewriter.replace(op, [], [cast.result for cast in behind])


def _uniform(value: SSAValue | None) -> UniformQuantizedType | None:
    element = None if value is None else element_type(value.type)
    return element if isinstance(element, UniformQuantizedType) else None
