"""Emits a program that runs without Python, as files in one of the ahead-of-time formats (`qmlir.emit`)."""

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from qmlir.extensions.aot.ahead import Emitted, emit_ahead, form_named, machine_forms
from qmlir.ir.builtin_types import ranked_tensor
from qmlir.ir.diagnostics import nearest_name, op_error, text_error
from qmlir.ir.equivalence import fingerprint
from qmlir.ir.signature import inputs_of
from qmlir.specialization.inputs import function_of
from qmlir.specialization.specialize import parameter_inputs, specialize
from qmlir.targets import cpu as cpu_target
from qmlir.targets.cpu.compiler import as_main
from qmlir.targets.cpu.emitters.llvm.target import code_target
from qmlir.targets.cpu.emitters.ports import checked_name
from qmlir.targets.cpu.host import AheadMachine, best_isa, resolved_isa
from qmlir.targets.cpu.isa import instruction_set, isas_of_processors
from qmlir.workflows.loading import takes_model


def _check_closed(module: ModuleOp, function: FuncOp) -> None:
    """Raises `DiagnosticError` if a dimension is dynamic, or a shape depends on the values of an input."""
    parameters = parameter_inputs(module, function.sym_name.data)
    for port in inputs_of(function):
        type_ = ranked_tensor(port.type)
        if type_ is None or not type_.has_static_shape():
            raise op_error(
                function,
                f"input '{port.name}' must have a static shape, but got {port.type}; fix it with --shape "
                f"{port.name}=… (shapes=)",
            )
        if port.name in parameters:
            raise op_error(function, f"input '{port.name}' determines shapes, so its value must be a constant")


def isa_of_text(form: str, cpu: str, isa: str = "") -> str:
    """Returns the instruction set for a portable source format: that of `cpu`, or else `isa` or the format's default.

    Raises `DiagnosticError` if `cpu` has no instruction set with specific loops, or one that differs from `isa`.
    """
    if not cpu:
        return isa or form_named(form).isa
    known = isas_of_processors()
    if cpu not in known:
        near = nearest_name(cpu, known)
        raise text_error(f"unknown cpu '{cpu}' for --emit {form}{near} (available: {', '.join(known)})")
    if isa and isa != known[cpu]:
        raise text_error(
            f"--emit {form} with cpu {cpu} uses isa {known[cpu]}, but got isa {isa}; pass only one of them"
        )
    return known[cpu]


def isa_of_machine(machine: AheadMachine) -> str:
    """Returns the instruction set for machine code: that of the CPU if the machine has the features that it needs.

    Otherwise it is the best instruction set for the machine's features, so that a CPU without floating-point
    instructions never gets code that uses them.
    """
    features = code_target(machine).processor.features
    own = isas_of_processors().get(machine.cpu)
    return own if own is not None and instruction_set(own).needs <= features else best_isa(features)


@takes_model
def emit(
    module: ModuleOp,
    *,
    format: str = "c",
    name: str = "model",
    isa: str = "",
    function: str = "main",
    triple: str = "",
    cpu: str = "",
    features: str = "",
    about: Mapping[str, Any] | None = None,
) -> Emitted:
    """Emit a model as files that run without Python.

    The files compute what `interpret` computes, bit for bit, except for contractions of floats, whose order of
    additions differs.

    Args:
        module: The model: a module, a result that holds one (such as `Quantized`), or a path or ONNX model that `load`
            accepts.
        format: Output format: `"c"` for C99 in one file, `"object"`, `"static"`, `"shared"`, or `"wasm"` for an npm
            package of WebAssembly.
        name: Prefix of the files and of the functions in them; a C identifier.
        isa: Instruction set that the loops are written for. Empty uses that of the format or of the machine.
        function: Name of the function to emit.
        triple: LLVM target triple, for the formats in machine code. Empty is that of this computer, or of WebAssembly.
        cpu: CPU to generate code for: a name of LLVM, or `host`. Empty is any CPU of the triple. For `"c"` it is the
            CPU whose instructions the loops suit, such as `cortex-m3`.
        features: LLVM features to enable in addition to those of the CPU.
        about: JSON values to store in the manifest, such as the origin of the model.

    Returns:
        The files, with a header (except for `"wasm"`) and a manifest.

    Raises:
        DiagnosticError: A format, instruction set, triple, CPU or feature is unknown or does not fit the format, `name`
            is not a C identifier, the model has dynamic dimensions, or an operation cannot be emitted in this format.

    Example:
        >>> emitted = qmlir.emit("docs/examples/fully_connected.mlir", name="layer")
        >>> sorted(emitted.files)
        ['layer.c', 'layer.h', 'layer.json']
        >>> emitted.save("layer")
    """
    row = form_named(format)
    checked_name(name)
    if not row.is_for_machine:
        if given := [f"{key} {value}" for key, value in (("triple", triple), ("features", features)) if value]:
            raise text_error(f"{given[0]} requires one of the formats {machine_forms()}, but got '{format}'")
        isa = isa_of_text(format, cpu, isa)
    _check_closed(module, function_of(module, function))
    main = as_main(specialize(module, {}, {}, function=function), function)
    machine = row.machine_for(triple, cpu, features)
    return emit_ahead(
        cpu_target.lowered(main, resolved_isa(isa or isa_of_machine(machine))),
        format,
        name,
        machine,
        fingerprint(main),
        about,
    )
