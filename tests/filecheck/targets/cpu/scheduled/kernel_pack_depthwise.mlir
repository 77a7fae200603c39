// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Three rows of a window and a zero for each channel, four channels a register. Channels 4 to 7 are the first four
// lanes of the second register. The sum takes up -(3 + 128) * sum(w).
func.func @constant(%x: tensor<1x3x1x5xi8>) -> tensor<1x1x1x5xi32> {
  %w = arith.constant dense<[
    [[[1]], [[2]], [[3]]], [[[4]], [[5]], [[6]]], [[[7]], [[8]], [[9]]], [[[10]], [[11]], [[12]]], [[[13]], [[14]], [[15]]]
  ]> : tensor<5x3x1x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x3x1x5xi8>, tensor<5x3x1x1xi8>) -> tensor<1x1x1x5xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64, input_zero_point = 3 : i32,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 4, lanes = 4, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1x1x5xi32>
}

// The same by operations, where weights are computed: two groups of rows.
func.func @computed(%x: tensor<1x5x1x2xi8>, %w: tensor<2x5x1x1xi8>) -> tensor<1x1x1x2xi32> {
  %0 = kernel.conv ins(%x, %w : tensor<1x5x1x2xi8>, tensor<2x5x1x1xi8>) -> tensor<1x1x1x2xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, input_unsigned,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 4, lanes = 4, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1x1x2xi32>
}


// Pairs: two rows of a window, then the third one and a zero. Weights keep 16 bits without their zero point, the input is
// read as it is: the sum takes up -3 * sum(w).
func.func @pairs(%x: tensor<1x3x1x5xi8>) -> tensor<1x1x1x5xi32> {
  %w = arith.constant dense<[
    [[[1]], [[2]], [[3]]], [[[4]], [[5]], [[6]]], [[[7]], [[8]], [[9]]], [[[10]], [[11]], [[12]]], [[[13]], [[14]], [[-128]]]
  ]> : tensor<5x3x1x1xi8>
  %0 = kernel.conv ins(%x, %w : tensor<1x3x1x5xi8>, tensor<5x3x1x1xi8>) -> tensor<1x1x1x5xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64, input_zero_point = 3 : i32,
    weight_zero_point = 1 : i32,
    schedule = #kernel.schedule<variant = "depthwise_pairs", vectors = 2, lanes = 4, k_unroll = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x1x1x5xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>
// CHECK-NEXT: #k1 = #kernel.layout<variant = "depthwise_pairs", vectors = 2, lanes = 4>
// CHECK-LABEL: @constant(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3x1x5xi8>) -> tensor<1x1x1x5xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-786, -1965, -3144, -4323, -5502]> : tensor<5xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<"0x0102030004050600070809000A0B0C000D0E0F000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<1x1x1x1x1x64xi8>
// CHECK-NEXT: [[V3:%.+]] = kernel.packed_conv ins([[V0]], [[V2]] : tensor<1x3x1x5xi8>, tensor<1x1x1x1x1x64xi8>) epilogue([[V1]] : tensor<5xi32>) -> tensor<1x1x1x5xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>], kernel_shape = array<i64: 3, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<1x1x1x5xi32>
// CHECK-LABEL: @computed(
// CHECK-SAME: [[V0:%.+]]: tensor<1x5x1x2xi8>, [[V1:%.+]]: tensor<2x5x1x1xi8>) -> tensor<1x1x1x2xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.reshape [[V1]] : tensor<2x5x1x1xi8> to tensor<2x5x1xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<16x8x1xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V5:%.+]] = linalg.fill ins([[V4]] : i8) outs([[V3]] : tensor<16x8x1xi8>) -> tensor<16x8x1xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.insert_slice [[V2]] into [[V5]][0, 0, 0] [2, 5, 1] [1, 1, 1] : tensor<2x5x1xi8> into tensor<16x8x1xi8>
// CHECK-NEXT: [[V7:%.+]] = kernel.reshape [[V6]] : tensor<16x8x1xi8> to tensor<1x1x4x4x2x4x1xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<1x2x1x4x1x4x4xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d3, d5, d1, d6, d2)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3, d4, d5, d6)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]} ins([[V7]] : tensor<1x1x4x4x2x4x1xi8>) outs([[V8]] : tensor<1x2x1x4x1x4x4xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<1x2x1x4x1x4x4xi8>
// CHECK-NEXT: [[V12:%.+]] = kernel.reshape [[V9]] : tensor<1x2x1x4x1x4x4xi8> to tensor<1x1x2x1x1x64xi8>
// CHECK-NEXT: [[V13:%.+]] = kernel.packed_conv ins([[V0]], [[V12]] : tensor<1x5x1x2xi8>, tensor<1x1x2x1x1x64xi8>) -> tensor<1x1x1x2xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 2 : i64, input_unsigned, kernel_shape = array<i64: 5, 1>, layout = #k0} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V14]] : i32
// CHECK: func.return [[V13]] : tensor<1x1x1x2xi32>
// CHECK-LABEL: @pairs(
// CHECK-SAME: [[V0:%.+]]: tensor<1x3x1x5xi8>) -> tensor<1x1x1x5xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-9, -36, -63, -90, 312]> : tensor<5xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<"0x00000100030004000600070009000A000C000D000000000000000000000000000200000005000000080000000B0000007FFF0000000000000000000000000000"> : tensor<1x1x2x1x1x16xi16>
// CHECK-NEXT: [[V3:%.+]] = kernel.packed_conv ins([[V0]], [[V2]] : tensor<1x3x1x5xi8>, tensor<1x1x2x1x1x16xi16>) epilogue([[V1]] : tensor<5xi32>) -> tensor<1x1x1x5xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 5 : i64, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>], kernel_shape = array<i64: 3, 1>, layout = #k1} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<1x1x1x5xi32>
