// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Groups of four terms, one channel behind the other; the bias takes up -(3 + 128) * sum(w). The input is the caller's
// and is read past its end: it is copied.
func.func @bytes(%x: tensor<1x3xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %b = arith.constant dense<[1000, 2000]> : tensor<2xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x3xi8>, tensor<2x3xi8>) epilogue(%b : tensor<2xi32>) -> tensor<1x2xi32>
      attributes {
    input_zero_point = 3 : i32, epilogue_maps = [affine_map<(d0, d1) -> (d1)>],
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32, %bias: i32):
    %s = arith.addi %acc, %bias : i32
    kernel.yield %s : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// Unsigned input is read as it is, weights lose their zero points by channel; channels are padded to three lanes.
func.func @zero_points(%x: tensor<1x4xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8]]> : tensor<2x4xi8>
  %z = arith.constant dense<[1, 5]> : tensor<2xi32>
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) weight_zero_points(%z : tensor<2xi32>)
      -> tensor<1x2xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 3, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// Pairs: the input is widened without its zero point. Taps beside each other are one run of 2 * 3 terms.
func.func @pairs(%x: tensor<1x4x3xi8>) -> tensor<1x3x1xi32> {
  %w = arith.constant dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x4x3xi8>, tensor<1x2x3xi8>) -> tensor<1x3x1xi32> attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, input_zero_point = -7 : i32,
    schedule = #kernel.schedule<variant = "i16_pairs", lanes = 2, k_unroll = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x3x1xi32>
}

// Weights that are computed are packed by operations, in each batch; so is their correction.
func.func @computed(%x: tensor<2x1x4xi8>, %w: tensor<2x3x4xi8>) -> tensor<2x1x3xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x4xi8>, tensor<2x3x4xi8>) -> tensor<2x1x3xi32> attributes {
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 4, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<2x1x3xi32>
}

// Weights that are no bytes without their zero point keep it: it times the sum of a row without the input's zero point,
// which that sum begins with, is taken off as well.
func.func @offset(%x: tensor<2x1x4xi8>, %w: tensor<2x3x4xi8>) -> tensor<2x1x3xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x1x4xi8>, tensor<2x3x4xi8>) -> tensor<2x1x3xi32> attributes {
    input_zero_point = -128 : i32, weight_zero_point = 5 : i32,
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 4, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<2x1x3xi32>
}

// Unsigned ones become signed, which the zero point follows.
func.func @unsigned_offset(%x: tensor<1x4xi8>) -> tensor<1x2xi32> {
  %w = arith.constant dense<[[0, 1, 2, 3], [-1, -2, -3, -4]]> : tensor<2x4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    input_unsigned, input_zero_point = 3 : i32, weight_unsigned, weight_zero_point = 100 : i32,
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}

// Loops over scalars take operands as they are.
func.func @scalar(%x: tensor<1x4xi8>, %w: tensor<2x4xi8>) -> tensor<1x2xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {
    schedule = #kernel.schedule<variant = "scalar">} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x2xi32>
}


// Two weights of 4 bits in a byte, each raised by 8: terms 0 to 3 in the low halves, 4 and 5 in the high ones.
func.func @halves(%x: tensor<1x6xi8>) -> tensor<1x1xi32> {
  %w = arith.constant dense<[[0, 1, 2, 3, -8, 7]]> : tensor<1x6xi4>
  %0 = kernel.matmul ins(%x, %w : tensor<1x6xi8>, tensor<1x6xi4>) -> tensor<1x1xi32> attributes {
    input_unsigned, schedule = #kernel.schedule<variant = "u8s4_dot", k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 2>
// CHECK-NEXT: #k1 = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 3>
// CHECK-NEXT: #k2 = #kernel.layout<variant = "i16_pairs", vectors = 1, lanes = 2>
// CHECK-NEXT: #k3 = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>
// CHECK-NEXT: #k4 = #kernel.schedule<variant = "scalar">
// CHECK-NEXT: #k5 = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 1>
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[214, 35]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}1, 2, 3, 0, 4, 5, 6, 0]]]]> : tensor<1x1x1x8xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<1x3xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x3xi8>) outs([[V3]] : tensor<1x3xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK-NEXT: } -> tensor<1x3xi8>
// CHECK-NEXT: [[V7:%.+]] = kernel.packed_matmul ins([[V4]], [[V2]] : tensor<1x3xi8>, tensor<1x1x1x8xi8>) epilogue([[V1]] : tensor<2xi32>) -> tensor<1x2xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32, [[V9:%.+]]: i32):
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V9]] : i32
// CHECK-NEXT: kernel.yield [[V10]] : i32
// CHECK: func.return [[V7]] : tensor<1x2xi32>
// CHECK-LABEL: @zero_points(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 0, 0]]]]> : tensor<1x1x1x12xi8>
// CHECK-NEXT: [[V2:%.+]] = kernel.packed_matmul ins([[V0]], [[V1]] : tensor<1x4xi8>, tensor<1x1x1x12xi8>) -> tensor<1x2xi32> attributes {input_unsigned, layout = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x2xi32>
// CHECK-LABEL: @pairs(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x3xi8>) -> tensor<1x3x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}[1, 2, 0, 0], [3, 4, 0, 0], [5, 6, 0, 0]]]]]> : tensor<1x1x1x3x4xi16>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x4x3xi16>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x4x3xi8>) outs([[V2]] : tensor<1x4x3xi16>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i16):
// CHECK-NEXT: [[V6:%.+]] = arith.extsi [[V4]] : i8 to i32
// CHECK-NEXT: [[V7:%.+]] = arith.constant -7 : i32
// CHECK-NEXT: [[V8:%.+]] = arith.subi [[V6]], [[V7]] : i32
// CHECK-NEXT: [[V9:%.+]] = arith.trunci [[V8]] : i32 to i16
// CHECK-NEXT: linalg.yield [[V9]] : i16
// CHECK-NEXT: } -> tensor<1x4x3xi16>
// CHECK-NEXT: [[V10:%.+]] = kernel.packed_conv ins([[V3]], [[V1]] : tensor<1x4x3xi16>, tensor<1x1x1x3x4xi16>) -> tensor<1x3x1xi32> attributes {strides = array<i64: 1>, dilations = array<i64: 1>, kernel_shape = array<i64: 2>, layout = #k2} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V11]] : i32
// CHECK: func.return [[V10]] : tensor<1x3x1xi32>
// CHECK-LABEL: @computed(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1x4xi8>, [[V1:%.+]]: tensor<2x3x4xi8>) -> tensor<2x1x3xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x3xi32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V3]] : i32) outs([[V2]] : tensor<2x3xi32>) -> tensor<2x3xi32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V1]] : tensor<2x3x4xi8>) outs([[V4]] : tensor<2x3xi32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i32):
// CHECK-NEXT: [[V8:%.+]] = arith.extsi [[V6]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V8]] : i32
// CHECK-NEXT: linalg.yield [[V9]] : i32
// CHECK-NEXT: } -> tensor<2x3xi32>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<2x3xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V5]] : tensor<2x3xi32>) outs([[V10]] : tensor<2x3xi32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V14]] : i32
// CHECK-NEXT: linalg.yield [[V15]] : i32
// CHECK-NEXT: } -> tensor<2x3xi32>
// CHECK-NEXT: [[V16:%.+]] = tensor.empty() : tensor<2x4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V18:%.+]] = linalg.fill ins([[V17]] : i8) outs([[V16]] : tensor<2x4x4xi8>) -> tensor<2x4x4xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.insert_slice [[V1]] into [[V18]][0, 0, 0] [2, 3, 4] [1, 1, 1] : tensor<2x3x4xi8> into tensor<2x4x4xi8>
// CHECK-NEXT: [[V20:%.+]] = kernel.reshape [[V19]] : tensor<2x4x4xi8> to tensor<2x1x4x1x4xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<2x1x1x4x4xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins([[V20]] : tensor<2x1x4x1x4xi8>) outs([[V21]] : tensor<2x1x1x4x4xi8>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V23]] : i8
// CHECK-NEXT: } -> tensor<2x1x1x4x4xi8>
// CHECK-NEXT: [[V25:%.+]] = kernel.reshape [[V22]] : tensor<2x1x1x4x4xi8> to tensor<2x1x1x16xi8>
// CHECK-NEXT: [[V26:%.+]] = kernel.packed_matmul ins([[V0]], [[V25]] : tensor<2x1x4xi8>, tensor<2x1x1x16xi8>) epilogue([[V11]] : tensor<2x3xi32>) -> tensor<2x1x3xi32> attributes {epilogue_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>], layout = #k3} {
// CHECK-NEXT: ^bb0([[V27:%.+]]: i32, [[V28:%.+]]: i32):
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V27]], [[V28]] : i32
// CHECK-NEXT: kernel.yield [[V29]] : i32
// CHECK: func.return [[V26]] : tensor<2x1x3xi32>
// CHECK-LABEL: @offset(
// CHECK-SAME: [[V0:%.+]]: tensor<2x1x4xi8>, [[V1:%.+]]: tensor<2x3x4xi8>) -> tensor<2x1x3xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x1xi32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant 512 : i32
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V3]] : i32) outs([[V2]] : tensor<2x1xi32>) -> tensor<2x1xi32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<2x1x4xi8>) outs([[V4]] : tensor<2x1xi32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i32):
// CHECK-NEXT: [[V8:%.+]] = arith.extsi [[V6]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V8]] : i32
// CHECK-NEXT: linalg.yield [[V9]] : i32
// CHECK-NEXT: } -> tensor<2x1xi32>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<2x1xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V5]] : tensor<2x1xi32>) outs([[V10]] : tensor<2x1xi32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = arith.constant -5 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V14]] : i32
// CHECK-NEXT: linalg.yield [[V15]] : i32
// CHECK-NEXT: } -> tensor<2x1xi32>
// CHECK-NEXT: [[V16:%.+]] = tensor.empty() : tensor<2x4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V18:%.+]] = linalg.fill ins([[V17]] : i8) outs([[V16]] : tensor<2x4x4xi8>) -> tensor<2x4x4xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.insert_slice [[V1]] into [[V18]][0, 0, 0] [2, 3, 4] [1, 1, 1] : tensor<2x3x4xi8> into tensor<2x4x4xi8>
// CHECK-NEXT: [[V20:%.+]] = kernel.reshape [[V19]] : tensor<2x4x4xi8> to tensor<2x1x4x1x4xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<2x1x1x4x4xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins([[V20]] : tensor<2x1x4x1x4xi8>) outs([[V21]] : tensor<2x1x1x4x4xi8>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V23]] : i8
// CHECK-NEXT: } -> tensor<2x1x1x4x4xi8>
// CHECK-NEXT: [[V25:%.+]] = kernel.reshape [[V22]] : tensor<2x1x1x4x4xi8> to tensor<2x1x1x16xi8>
// CHECK-NEXT: [[V26:%.+]] = kernel.packed_matmul ins([[V0]], [[V25]] : tensor<2x1x4xi8>, tensor<2x1x1x16xi8>) epilogue([[V11]] : tensor<2x1xi32>) -> tensor<2x1x3xi32> attributes {epilogue_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>], layout = #k3} {
// CHECK-NEXT: ^bb0([[V27:%.+]]: i32, [[V28:%.+]]: i32):
// CHECK-NEXT: [[V29:%.+]] = arith.addi [[V27]], [[V28]] : i32
// CHECK-NEXT: kernel.yield [[V29]] : i32
// CHECK: func.return [[V26]] : tensor<2x1x3xi32>
// CHECK-LABEL: @unsigned_offset(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[1518, -1506]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1xi32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant -12 : i32
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V3]] : i32) outs([[V2]] : tensor<1xi32>) -> tensor<1xi32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<1x4xi8>) outs([[V4]] : tensor<1xi32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i32):
// CHECK-NEXT: [[V8:%.+]] = arith.extui [[V6]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V8]] : i32
// CHECK-NEXT: linalg.yield [[V9]] : i32
// CHECK-NEXT: } -> tensor<1xi32>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<1xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V5]] : tensor<1xi32>) outs([[V10]] : tensor<1xi32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = arith.constant 28 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V14]] : i32
// CHECK-NEXT: linalg.yield [[V15]] : i32
// CHECK-NEXT: } -> tensor<1xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}-128, -127, -126, -125, 127, 126, 125, 124]]]]> : tensor<1x1x1x8xi8>
// CHECK-NEXT: [[V17:%.+]] = kernel.packed_matmul ins([[V0]], [[V16]] : tensor<1x4xi8>, tensor<1x1x1x8xi8>) epilogue([[V1]], [[V11]] : tensor<2xi32>, tensor<1xi32>) -> tensor<1x2xi32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i32, [[V19:%.+]]: i32, [[V20:%.+]]: i32):
// CHECK-NEXT: [[V21:%.+]] = arith.addi [[V18]], [[V20]] : i32
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V21]], [[V19]] : i32
// CHECK-NEXT: kernel.yield [[V22]] : i32
// CHECK: func.return [[V17]] : tensor<1x2xi32>
// CHECK-LABEL: @scalar(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xi8>, [[V1:%.+]]: tensor<2x4xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x4xi8>, tensor<2x4xi8>) -> tensor<1x2xi32> attributes {schedule = #k4} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x2xi32>
// CHECK-LABEL: @halves(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6xi8>) -> tensor<1x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}{{\[\[}}-128, 113, 2, 3]]]]> : tensor<1x1x1x4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<1x6xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<1x6xi8>) outs([[V2]] : tensor<1x6xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<1x6xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.packed_matmul ins([[V3]], [[V1]] : tensor<1x6xi8>, tensor<1x1x1x4xi8>) -> tensor<1x1xi32> attributes {input_unsigned, layout = #k5} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V7]] : i32
// CHECK: func.return [[V6]] : tensor<1x1xi32>

// An input that is a result of the function under another shape may lie in the caller's memory, and is copied too.
func.func @returned_under_another_shape(%y: tensor<1x3xi8>) -> (tensor<1x2xi32>, tensor<3xi8>) {
  %e = tensor.empty() : tensor<1x3xi8>
  %x = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<1x3xi8>) outs(%e : tensor<1x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    %s = arith.addi %a, %a : i8
    linalg.yield %s : i8
  } -> tensor<1x3xi8>
  %r = kernel.reshape %x : tensor<1x3xi8> to tensor<3xi8>
  %w = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<1x3xi8>, tensor<2x3xi8>) -> tensor<1x2xi32> attributes {
    schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 2, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %r : tensor<1x2xi32>, tensor<3xi8>
}
// CHECK-LABEL: @returned_under_another_shape(
// CHECK: arith.addi
// CHECK: [[COPY:%.+]] = linalg.generic {{.+}} : tensor<1x3xi8>) outs({{.+}} : tensor<1x3xi8>) {
// CHECK-NEXT: ^bb0([[A:%.+]]: i8, {{%.+}}: i8):
// CHECK-NEXT: linalg.yield [[A]] : i8
// CHECK: kernel.packed_matmul ins([[COPY]],
