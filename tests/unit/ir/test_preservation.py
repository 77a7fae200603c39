"""What passes say that they keep: one that says nothing keeps every bit."""

from dataclasses import dataclass

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from qmlir import registry
from qmlir.ir.passes import EVERY_BIT, MEANING, PRESERVES, ROUNDED, preservation_of


@dataclass(frozen=True)
class SilentPass(ModulePass):
    """A pass of a package that has never heard of any of this."""

    name = "silent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        return


def test_a_pass_that_says_nothing_keeps_every_bit() -> None:
    assert preservation_of(SilentPass()) is EVERY_BIT


_ROUNDED = {
    "canonicalize", "convert-kernel-to-loops", "convert-nn-to-kernel", "kernel-pack", "kernel-propagate-layout",
    "nn-contract-integers", "nn-decompose", "nn-equalize", "nn-fold-constants", "nn-raise", "nn-recognize",
    "nn-recognize-masks", "nn-smooth", "nn-split-outlier-channels", "quant-expand-floats",
}  # fmt: skip
_DECIDING = {
    "calib-attach-records", "fix-shapes", "nn-compute-in-f32", "nn-gradient", "nn-quantize-dynamically", "pad-shapes",
    "quant-assign-types",
    "quant-correct-bias", "quant-fuse-casts", "quant-gptq", "quant-insert-casts", "quant-dequantize-composites",
    "quant-propagate-types", "quant-restore-weights", "quant-adaround", "quant-search-scales", "quant-set-requantize",
    "quant-fit-accumulators", "quant-fit-i16-accumulators", "quant-simulate", "quant-store-ports", "quant-store-states",
    "strip-training",
}  # fmt: skip


@pytest.mark.parametrize("name", [each for each in registry.PASSES if each != "apply-pdl"])  # whose option says it
def test_passes_of_the_tree_keep_every_bit_but_for_these(name: str) -> None:
    wanted = ROUNDED if name in _ROUNDED else MEANING if name in _DECIDING else EVERY_BIT
    assert getattr(registry.load(registry.PASSES[name]), PRESERVES, EVERY_BIT) is wanted


def test_messages_say_it_in_words() -> None:
    assert [str(each) for each in (EVERY_BIT, ROUNDED, MEANING)] == [
        "every bit",
        "integers, and floats to 1e-05",
        "the semantics only",
    ]
