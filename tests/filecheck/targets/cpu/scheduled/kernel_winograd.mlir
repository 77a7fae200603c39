// RUN: qmlir-opt %s -p 'kernel-winograd{isa=avx2}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=neon}' | filecheck %s --check-prefix=NEON
// RUN: qmlir-opt %s -p 'kernel-winograd{isa=neon always=true}' | filecheck %s --check-prefix=ALWAYS

// On avx2 it is faster from 8 channels on. 2 G g (2 G)^T of a window of ones is 4 3 3 2 ... in each channel; the epilogue,
// the zero point, the signedness and the node stay.
func.func @chosen(%x: tensor<1x6x5x8xi8>, %b: tensor<8xi32>) -> tensor<1x4x3x8xi32> {
  %w = arith.constant dense<1> : tensor<8x3x3x8xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x6x5x8xi8>, tensor<8x3x3x8xi8>) epilogue(%b : tensor<8xi32>) -> tensor<1x4x3x8xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = 7 : i32, input_unsigned, origin = "conv1",
    epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x4x3x8xi32>
}

// Weights with a zero point for each channel: 3 and 5 less 2 and 4 are windows of 1.
func.func @zero_points(%x: tensor<1x4x4x1xi8>) -> tensor<1x2x2x2xi32> {
  %w = arith.constant dense<[[[[3], [3], [3]], [[3], [3], [3]], [[3], [3], [3]]], [[[5], [5], [5]], [[5], [5], [5]], [[5], [5], [5]]]]> : tensor<2x3x3x1xi8>
  %z = arith.constant dense<[2, 4]> : tensor<2xi32>
  %0 = kernel.conv ins(%x, %w : tensor<1x4x4x1xi8>, tensor<2x3x3x1xi8>) weight_zero_points(%z : tensor<2xi32>) -> tensor<1x2x2x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x2xi32>
}

// No such form: a stride, a dilation, groups, other taps, weights that are computed, a result of one row, a schedule.
func.func @direct(%x: tensor<1x7x7x2xi8>, %w1: tensor<2x3x3x2xi8>, %r: tensor<1x3x7x2xi8>)
    -> (tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>) {
  %w = arith.constant dense<1> : tensor<2x3x3x2xi8>
  %g = arith.constant dense<1> : tensor<2x3x3x1xi8>
  %t = arith.constant dense<1> : tensor<2x2x2x2xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {
    strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = kernel.conv ins(%x, %w : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %2 = kernel.conv ins(%x, %g : tensor<1x7x7x2xi8>, tensor<2x3x3x1xi8>) -> tensor<1x5x5x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %3 = kernel.conv ins(%x, %t : tensor<1x7x7x2xi8>, tensor<2x2x2x2xi8>) -> tensor<1x6x6x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %4 = kernel.conv ins(%x, %w1 : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %5 = kernel.conv ins(%r, %w : tensor<1x3x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x1x5x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %6 = kernel.conv ins(%x, %w : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #kernel.schedule<variant = "scalar">} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<8x4x4x8xi16>
// CHECK-NEXT: #k0 = #kernel.schedule<variant = "scalar">
// CHECK-LABEL: @chosen(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x5x8xi8>, [[V1:%.+]]: tensor<8xi32>) -> tensor<1x4x3x8xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = kernel.winograd ins([[V0]], [[V2]] : tensor<1x6x5x8xi8>, tensor<8x4x4x8xi16>) epilogue([[V1]] : tensor<8xi32>) -> tensor<1x4x3x8xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<1x4x3x8xi32>
// CHECK-LABEL: @zero_points(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>) -> tensor<1x2x2x2xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<"0x030303030303030303050505050505050505"> : tensor<2x3x3x1xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[2, 4]> : tensor<2xi32>
// CHECK-NEXT: [[V3:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<2x3x3x1xi8>) weight_zero_points([[V2]] : tensor<2xi32>) -> tensor<1x2x2x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V4]] : i32
// CHECK: func.return [[V3]] : tensor<1x2x2x2xi32>
// CHECK-LABEL: @direct(
// CHECK-SAME: [[V0:%.+]]: tensor<1x7x7x2xi8>, [[V1:%.+]]: tensor<2x3x3x2xi8>, [[V2:%.+]]: tensor<1x3x7x2xi8>) -> (tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<1> : tensor<2x3x3x2xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.constant dense<1> : tensor<2x3x3x1xi8>
// CHECK-NEXT: [[V5:%.+]] = arith.constant dense<1> : tensor<2x2x2x2xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V7]] : i32
// CHECK: [[V8:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V9]] : i32
// CHECK: [[V10:%.+]] = kernel.conv ins([[V0]], [[V4]] : tensor<1x7x7x2xi8>, tensor<2x3x3x1xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V11]] : i32
// CHECK: [[V12:%.+]] = kernel.conv ins([[V0]], [[V5]] : tensor<1x7x7x2xi8>, tensor<2x2x2x2xi8>) -> tensor<1x6x6x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V13]] : i32
// CHECK: [[V14:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V15]] : i32
// CHECK: [[V16:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x3x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x1x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V17]] : i32
// CHECK: [[V18:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k0} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V19]] : i32
// CHECK: func.return [[V6]], [[V8]], [[V10]], [[V12]], [[V14]], [[V16]], [[V18]] : tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>

// NEON: #w0 = dense<1> : tensor<8x3x3x8xi8>
// NEON-NEXT: #k0 = #kernel.schedule<variant = "scalar">
// NEON-LABEL: @chosen(
// NEON-SAME: [[V0:%.+]]: tensor<1x6x5x8xi8>, [[V1:%.+]]: tensor<8xi32>) -> tensor<1x4x3x8xi32>
// NEON-NEXT: [[V2:%.+]] = arith.constant #w0
// NEON-NEXT: [[V3:%.+]] = kernel.conv ins([[V0]], [[V2]] : tensor<1x6x5x8xi8>, tensor<8x3x3x8xi8>) epilogue([[V1]] : tensor<8xi32>) -> tensor<1x4x3x8xi32> attributes {origin = "conv1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_zero_point = 7 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// NEON-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// NEON-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// NEON-NEXT: kernel.yield [[V6]] : i32
// NEON: func.return [[V3]] : tensor<1x4x3x8xi32>
// NEON-LABEL: @zero_points(
// NEON-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>) -> tensor<1x2x2x2xi32>
// NEON-NEXT: [[V1:%.+]] = arith.constant dense<"0x030303030303030303050505050505050505"> : tensor<2x3x3x1xi8>
// NEON-NEXT: [[V2:%.+]] = arith.constant dense<[2, 4]> : tensor<2xi32>
// NEON-NEXT: [[V3:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<2x3x3x1xi8>) weight_zero_points([[V2]] : tensor<2xi32>) -> tensor<1x2x2x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// NEON-NEXT: ^bb0([[V4:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V4]] : i32
// NEON: func.return [[V3]] : tensor<1x2x2x2xi32>
// NEON-LABEL: @direct(
// NEON-SAME: [[V0:%.+]]: tensor<1x7x7x2xi8>, [[V1:%.+]]: tensor<2x3x3x2xi8>, [[V2:%.+]]: tensor<1x3x7x2xi8>) -> (tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>)
// NEON-NEXT: [[V3:%.+]] = arith.constant dense<1> : tensor<2x3x3x2xi8>
// NEON-NEXT: [[V4:%.+]] = arith.constant dense<1> : tensor<2x3x3x1xi8>
// NEON-NEXT: [[V5:%.+]] = arith.constant dense<1> : tensor<2x2x2x2xi8>
// NEON-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} {
// NEON-NEXT: ^bb0([[V7:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V7]] : i32
// NEON: [[V8:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>} {
// NEON-NEXT: ^bb0([[V9:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V9]] : i32
// NEON: [[V10:%.+]] = kernel.conv ins([[V0]], [[V4]] : tensor<1x7x7x2xi8>, tensor<2x3x3x1xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} {
// NEON-NEXT: ^bb0([[V11:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V11]] : i32
// NEON: [[V12:%.+]] = kernel.conv ins([[V0]], [[V5]] : tensor<1x7x7x2xi8>, tensor<2x2x2x2xi8>) -> tensor<1x6x6x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// NEON-NEXT: ^bb0([[V13:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V13]] : i32
// NEON: [[V14:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// NEON-NEXT: ^bb0([[V15:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V15]] : i32
// NEON: [[V16:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x3x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x1x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// NEON-NEXT: ^bb0([[V17:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V17]] : i32
// NEON: [[V18:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k0} {
// NEON-NEXT: ^bb0([[V19:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V19]] : i32
// NEON: func.return [[V6]], [[V8]], [[V10]], [[V12]], [[V14]], [[V16]], [[V18]] : tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>

// ALWAYS: #w0 = #nn.weights<elided> : tensor<8x4x4x8xi16>
// ALWAYS-NEXT: #k0 = #kernel.schedule<variant = "scalar">
// ALWAYS-LABEL: @chosen(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x6x5x8xi8>, [[V1:%.+]]: tensor<8xi32>) -> tensor<1x4x3x8xi32>
// ALWAYS-NEXT: [[V2:%.+]] = arith.constant #w0
// ALWAYS-NEXT: [[V3:%.+]] = kernel.winograd ins([[V0]], [[V2]] : tensor<1x6x5x8xi8>, tensor<8x4x4x8xi16>) epilogue([[V1]] : tensor<8xi32>) -> tensor<1x4x3x8xi32> attributes {origin = "conv1", input_zero_point = 7 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// ALWAYS-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// ALWAYS-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// ALWAYS-NEXT: kernel.yield [[V6]] : i32
// ALWAYS: func.return [[V3]] : tensor<1x4x3x8xi32>
// ALWAYS-LABEL: @zero_points(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>) -> tensor<1x2x2x2xi32>
// ALWAYS-NEXT: [[V1:%.+]] = arith.constant dense<"0x04000600020004000600090003000600020003000100020004000600020004000400060002000400060009000300060002000300010002000400060002000400"> : tensor<2x4x4x1xi16>
// ALWAYS-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<2x4x4x1xi16>) -> tensor<1x2x2x2xi32> {
// ALWAYS-NEXT: ^bb0([[V3:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V3]] : i32
// ALWAYS: func.return [[V2]] : tensor<1x2x2x2xi32>
// ALWAYS-LABEL: @direct(
// ALWAYS-SAME: [[V0:%.+]]: tensor<1x7x7x2xi8>, [[V1:%.+]]: tensor<2x3x3x2xi8>, [[V2:%.+]]: tensor<1x3x7x2xi8>) -> (tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>)
// ALWAYS-NEXT: [[V3:%.+]] = arith.constant dense<1> : tensor<2x3x3x2xi8>
// ALWAYS-NEXT: [[V4:%.+]] = arith.constant dense<1> : tensor<2x3x3x1xi8>
// ALWAYS-NEXT: [[V5:%.+]] = arith.constant dense<1> : tensor<2x2x2x2xi8>
// ALWAYS-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>} {
// ALWAYS-NEXT: ^bb0([[V7:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V7]] : i32
// ALWAYS: [[V8:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x3x3x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>} {
// ALWAYS-NEXT: ^bb0([[V9:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V9]] : i32
// ALWAYS: [[V10:%.+]] = kernel.conv ins([[V0]], [[V4]] : tensor<1x7x7x2xi8>, tensor<2x3x3x1xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64} {
// ALWAYS-NEXT: ^bb0([[V11:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V11]] : i32
// ALWAYS: [[V12:%.+]] = kernel.conv ins([[V0]], [[V5]] : tensor<1x7x7x2xi8>, tensor<2x2x2x2xi8>) -> tensor<1x6x6x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// ALWAYS-NEXT: ^bb0([[V13:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V13]] : i32
// ALWAYS: [[V14:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// ALWAYS-NEXT: ^bb0([[V15:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V15]] : i32
// ALWAYS: [[V16:%.+]] = kernel.conv ins([[V2]], [[V3]] : tensor<1x3x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x1x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>} {
// ALWAYS-NEXT: ^bb0([[V17:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V17]] : i32
// ALWAYS: [[V18:%.+]] = kernel.conv ins([[V0]], [[V3]] : tensor<1x7x7x2xi8>, tensor<2x3x3x2xi8>) -> tensor<1x5x5x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, schedule = #k0} {
// ALWAYS-NEXT: ^bb0([[V19:%.+]]: i32):
// ALWAYS-NEXT: kernel.yield [[V19]] : i32
// ALWAYS: func.return [[V6]], [[V8]], [[V10]], [[V12]], [[V14]], [[V16]], [[V18]] : tensor<1x3x3x2xi32>, tensor<1x3x3x2xi32>, tensor<1x5x5x2xi32>, tensor<1x6x6x2xi32>, tensor<1x5x5x2xi32>, tensor<1x1x5x2xi32>, tensor<1x5x5x2xi32>
