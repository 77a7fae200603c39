"""Lowers a module with static shapes to loops, and writes the package of its program.

`compiler` imports this module only if a program is not in the cache, so cached programs start without it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from qmlir.dialects.kernel.lengths import FOLLOWED, FOLLOWS
from qmlir.ir.equivalence import fingerprint
from qmlir.ir.signature import MAIN
from qmlir.targets.cpu.batch_tiling import batch_plan
from qmlir.targets.cpu.cache import UNTUNED, Tuned
from qmlir.targets.cpu.emitters.card import PROGRAM_FORM, card_of
from qmlir.targets.cpu.emitters.emitter import emitter_named
from qmlir.targets.cpu.emitters.program import program_of
from qmlir.targets.cpu.host import host_text
from qmlir.targets.cpu.target import TARGET
from qmlir.targets.lowering import lower_for


def lowered(module: ModuleOp, isa: str, threads: int = 1, tuned: Tuned = UNTUNED) -> ModuleOp:
    """Returns a clone of a static module, at the quantized level or in float, lowered to loops for `isa`."""
    return lower_for(TARGET, module, isa=isa, threads=str(threads), tuned=tuned.path)


def write_program(
    module: ModuleOp, isa: str, threads: int, folder: Path, tuned: Tuned = UNTUNED, emitter: str = "numba",
    others: Sequence[ModuleOp] = (),
) -> None:  # fmt: skip
    """Lowers a static module, and writes its package with `emitter` into the existing `folder`.

    Loops follow runtime sizes only if they do so in the same way in one of `others`, for which other primes stand for
    the capacities: then no bound is a multiple of a prime by chance.
    """
    loops = lowered(module, isa, threads, tuned)
    if FOLLOWS in loops.attributes:
        made = (lowered(each, isa, threads, tuned).attributes.get(FOLLOWS) for each in others)
        if loops.attributes[FOLLOWS] not in made:
            del module.attributes[FOLLOWED]
            loops = lowered(module, isa, threads, tuned)
    card = card_of(program_of(loops), MAIN, PROGRAM_FORM, emitter, host_text(), fingerprint(module), threads)
    plan = replace(batch_plan(module, threads), follows=FOLLOWS in loops.attributes)
    emitter_named(emitter).write(loops, folder, vars(plan), card)
