"""Functions of scalars, in `arith` and `math`, compiled by LLVM into a loop over arrays.

Independent of the project's own emission: whoever asks whether a definition gives the same bits when it is compiled
asks LLVM, with its optimizations and its vectors, and nothing in between.
"""

from collections.abc import Callable
from ctypes import CFUNCTYPE, c_int64, c_void_p
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

_TYPES: dict[Attribute, ir.Type] = {
    f32: ir.FloatType(),
    f64: ir.DoubleType(),
    i1: ir.IntType(1),
    i32: ir.IntType(32),
    i64: ir.IntType(64),
}
_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "fadd",
    arith.SubfOp: "fsub",
    arith.MulfOp: "fmul",
    arith.DivfOp: "fdiv",
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.AndIOp: "and_",
    arith.OrIOp: "or_",
    arith.ShLIOp: "shl",
    arith.ShRSIOp: "ashr",
    arith.ShRUIOp: "lshr",
}
_CASTS: dict[type[Operation], str] = {
    arith.BitcastOp: "bitcast",
    arith.ExtFOp: "fpext",
    arith.TruncFOp: "fptrunc",
    arith.ExtSIOp: "sext",
}
_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "llvm.fabs",
    math.CopySignOp: "llvm.copysign",
    math.RoundEvenOp: "llvm.roundeven",
    math.SqrtOp: "llvm.sqrt",
}
_FLOAT_PREDICATES = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<="}
_INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=")


def _constant(op: arith.ConstantOp) -> ir.Constant:
    attribute = op.value
    assert isinstance(attribute, FloatAttr | IntegerAttr)
    return ir.Constant(_TYPES[op.result.type], attribute.value.data)


def _compared(builder: ir.IRBuilder, op: arith.CmpfOp | arith.CmpiOp, a: ir.Value, b: ir.Value) -> ir.Value:
    predicate = op.predicate.value.data
    if isinstance(op, arith.CmpiOp):
        return builder.icmp_signed(_INTEGER_PREDICATES[predicate], a, b)
    if predicate in _FLOAT_PREDICATES:
        return builder.fcmp_ordered(_FLOAT_PREDICATES[predicate], a, b)
    assert predicate == 13
    return builder.fcmp_unordered("!=", a, b)


def _translated(builder: ir.IRBuilder, op: Operation, values: dict[SSAValue, ir.Value]) -> ir.Value:
    operands = [values[operand] for operand in op.operands]
    if isinstance(op, arith.ConstantOp):
        return _constant(op)
    if isinstance(op, arith.CmpfOp | arith.CmpiOp):
        return _compared(builder, op, *operands)
    if isinstance(op, arith.SelectOp):
        return builder.select(*operands)
    if type(op) in _BINARY:
        return getattr(builder, _BINARY[type(op)])(*operands)
    type_ = _TYPES[op.results[0].type]
    if type(op) in _CASTS:
        return getattr(builder, _CASTS[type(op)])(*operands, type_)
    signature = ir.FunctionType(type_, [type_] * len(operands))
    intrinsic = builder.module.declare_intrinsic(_INTRINSICS[type(op)], [type_], signature)
    return builder.call(intrinsic, operands)


def translated(function: func.FuncOp) -> ir.Module:
    """`run(count, inputs…, output)`: the function for each element."""
    module = ir.Module()
    arguments = [_TYPES[argument.type].as_pointer() for argument in function.args]
    signature = ir.FunctionType(ir.VoidType(), [ir.IntType(64), *arguments, ir.FloatType().as_pointer()])
    run = ir.Function(module, signature, "run")
    run.args[-1].add_attribute("noalias")
    entry, body, end = (run.append_basic_block(name) for name in ("entry", "body", "end"))
    ir.IRBuilder(entry).branch(body)
    builder = ir.IRBuilder(body)
    position = builder.phi(ir.IntType(64))
    positions = [builder.gep(pointer, [position]) for pointer in run.args[1:]]
    values: dict[SSAValue, ir.Value] = {
        argument: builder.load(pointer) for argument, pointer in zip(function.args, positions, strict=False)
    }
    for op in function.body.block.ops:
        if isinstance(op, func.ReturnOp):
            builder.store(values[op.arguments[0]], positions[-1])
        else:
            values[op.results[0]] = _translated(builder, op, values)
    following = builder.add(position, ir.Constant(ir.IntType(64), 1))
    position.add_incoming(ir.Constant(ir.IntType(64), 0), entry)
    position.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, run.args[0]), body, end)
    ir.IRBuilder(end).ret_void()
    return module


_ENGINES: list[llvm.ExecutionEngine] = []
"""They own the code of functions that were given away."""


def _this_machine(speed: int) -> llvm.TargetMachine:
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=speed
    )


def compiled(function: func.FuncOp, speed: int = 3) -> Callable[..., npt.NDArray[np.float32]]:
    """A function of f32 arrays of one length, at least 1, that computes `function` for each element on this CPU."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(str(translated(function)))
    target = _this_machine(speed)
    parsed.triple, parsed.data_layout = target.triple, str(target.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.loop_vectorization = speed > 0
    passes = llvm.create_pass_builder(target, options)
    passes.getModulePassManager().run(parsed, passes)
    engine = llvm.create_mcjit_compiler(parsed, _this_machine(speed))  # which takes the machine away
    engine.finalize_object()
    _ENGINES.append(engine)
    run: Any = CFUNCTYPE(None, c_int64, *[c_void_p] * (len(function.args) + 1))(engine.get_function_address("run"))

    def call(*arrays: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        inputs = [np.ascontiguousarray(array) for array in arrays]
        result = np.empty_like(inputs[0])
        run(len(result), *(array.ctypes.data for array in (*inputs, result)))
        return result

    return call
