// RUN: qmlir-opt %s | qmlir-opt | filecheck %s

// The description of a target, field by field, in the order in which it prints; what is empty is left out.
// CHECK: #t0 = #target.spec<"npu-2.1", keep = ["softmax", "nn.gelu", "head/*"], supports = [
// CHECK: {op = "nn.conv", role = "gate/*", input = {storages = [i8, u4<0:14>, f32], schemes = [symmetric_pow2, asymmetric]},
// CHECK: weight = {storages = [i4], granularities = [channel, tensor, block:32]}, bias = {storages = [i16]},
// CHECK: accumulator = {}, output = {schemes = [symmetric]},
// CHECK: properties = {group = [1, 2], pads = {{\[}}[0, 0], [1, 1]], auto = ["same\"s", none], flag = [true, 1.5]}, requantize = [shift:even, f32]},
// CHECK: {op = "nn.*"}], requantize = [shift:away], raises = ["*"], patterns = ["npu.raise"],
// CHECK: parameters = {lanes = 16, name = "x", ratio = -0.5, sizes = [1, 2]}>
func.func private @fields() attributes {everything = #target.spec<"npu-2.1",
    parameters = {lanes = 16, name = "x", ratio = -0.5, sizes = [1, 2]}, patterns = ["npu.raise"], raises = ["*"],
    requantize = [shift:away], keep = ["softmax", "nn.gelu", "head/*"], supports = [
      {role = "gate/*", op = "nn.conv", requantize = [shift:even, f32],
       input = {schemes = [symmetric_pow2, asymmetric], storages = [si8, ui4<0:14>, f32]},
       weight = {storages = [i4], granularities = [channel, tensor, block:32]}, bias = {storages = [i16]},
       accumulator = {}, output = {schemes = [symmetric]},
       properties = {group = [1, 2], pads = [[0, 0], [1, 1]], auto = ["same\"s", none], flag = [true, 1.5]}},
      {op = "nn.*"}]>}

// CHECK: {nothing = #target.spec<"dsp">}
func.func private @nothing() attributes {nothing = #target.spec<"dsp">}
