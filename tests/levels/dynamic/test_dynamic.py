"""What is proven of batches, and what is compiled of models whose dynamic dimensions mean anything.

A proof is checked by the interpreter: sample by sample, the outputs must be those of the whole batch. Compiled programs
of all models are `make sweep`, and `python -m tests.levels.dynamic`.
"""

import pytest

import qmlir
from qmlir.ir.diagnostics import DiagnosticError
from qmlir.specialization.batch import BatchAxes, batch_of
from tests.levels.dynamic.building import SIZES
from tests.levels.dynamic.checking import (
    batch_found,
    fault_of_following,
    fault_of_padding,
    fault_of_proof,
    faults_of_program,
    following,
)
from tests.levels.dynamic.generator import drawn
from tests.levels.dynamic.models import BATCHES, EVERY, MIXED, written

SEEDS = (range(24), pytest.param(range(24, 400), marks=pytest.mark.sweep))

SOME = [*EVERY][::9]
"""The written models that are padded in an ordinary run."""

OTHERS = [name for name in EVERY if name not in SOME]


@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_proven(name: str) -> None:
    model = written(name)
    module = model.module()
    found = batch_found(module, model.inputs(3))
    assert isinstance(found, BatchAxes), found
    assert not fault_of_proof(model, module)


@pytest.mark.parametrize("name", MIXED)
def test_what_mixes_is_named(name: str) -> None:
    model = written(name)
    found = batch_found(model.module(), model.inputs(3))
    assert isinstance(found, str)
    assert any(
        word in found for word in ("mixes", "may mix", "in the middle of an axis", "which is not a batch axis")
    ), found


@pytest.mark.parametrize("name", MIXED)
def test_a_model_of_fixed_sizes_has_no_batch_where_it_was_dynamic(name: str) -> None:
    """At one sample, operations that mix samples look like others, or are gone."""
    model = written(name)
    shapes = {port: array.shape for port, array in model.inputs(1).items()}
    module = qmlir.load(model.proto, shapes=shapes)
    dynamic = {port.name: [not size.isdigit() for size in port.sizes] for port in model.ports}
    try:
        found = batch_of(module)
    except DiagnosticError:
        return
    if any(dynamic[port][axis] for port, axis in found.inputs.items()):
        inputs = model.inputs(1)
        assert batch_found(model.module(), inputs) == found


@pytest.mark.parametrize("seeds", SEEDS)
def test_random_proofs(seeds: range) -> None:
    for seed in seeds:
        model = drawn(seed)
        fault = fault_of_proof(model, model.module())
        assert not fault, f"seed {seed}: {fault}: {model.line}"


@pytest.mark.parametrize("name", [*SOME, *(pytest.param(name, marks=pytest.mark.sweep) for name in OTHERS)])
def test_padding(name: str) -> None:
    model = written(name)
    assert not fault_of_padding(model, model.module())


FOLLOWING = ("attention between", "softmax over all", "standardized")
"""Models whose programs follow the size, in an ordinary run."""


@pytest.mark.parametrize("name", FOLLOWING)
def test_following(name: str) -> None:
    model = written(name, is_quantized=True)
    module = model.module()
    program = following(model, module)
    assert program is not None
    assert not fault_of_following(model, module, program)


@pytest.mark.sweep
@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("is_quantized", [False, True])
def test_all_that_follow(name: str, is_quantized: bool) -> None:
    model = written(name, is_quantized=is_quantized)
    module = model.module()
    program = following(model, module)
    assert program is None or not fault_of_following(model, module, program)


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 200), marks=pytest.mark.sweep)])
def test_random_padding(seeds: range) -> None:
    for seed in seeds:
        model = drawn(seed)
        fault = fault_of_padding(model, model.module())
        assert not fault, f"seed {seed}: {fault}: {model.line}"


@pytest.mark.parametrize("name", ["transpose times", "steps of rows", "mean of detections"])
def test_some_programs(name: str) -> None:
    model = written(name)
    assert faults_of_program(model, model.module(), "llvm", SIZES[:3:2]) == []


@pytest.mark.sweep
@pytest.mark.parametrize("emitter", ["llvm", "numba"])
@pytest.mark.parametrize("is_quantized", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_programs(name: str, is_quantized: bool, emitter: str) -> None:
    model = written(name, is_quantized=is_quantized)
    assert faults_of_program(model, model.module(), emitter) == []


@pytest.mark.sweep
@pytest.mark.parametrize("emitter", ["llvm", "numba"])
@pytest.mark.parametrize("seed", range(200))
def test_random_programs(seed: int, emitter: str) -> None:
    model = drawn(seed)
    faults = faults_of_program(model, model.module(), emitter)
    assert not faults, f"{faults}: {model.line}"
