// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Steps of two terms for each of the 16 elements of a tile; the zero point of the input times the plain sum of the taps,
// which is the second element of the second row (1 + 2, then 3), joins the bias. No input is copied: nothing is read past it.
func.func @zero_point(%x: tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi32> {
  %w = arith.constant dense<[
    [[[4, 8], [2, 4], [2, 4], [0, 0]], [[2, 4], [1, 2], [1, 2], [0, 0]], [[2, 4], [1, 2], [1, 2], [0, 0]], [[0, 0], [0, 0], [0, 0], [0, 0]]],
    [[[0, 12], [0, 6], [0, 6], [0, 0]], [[0, 6], [0, 3], [0, 3], [0, 0]], [[0, 6], [0, 3], [0, 3], [0, 0]], [[0, 0], [0, 0], [0, 0], [0, 0]]]
  ]> : tensor<2x4x4x2xi16>
  %b = arith.constant dense<[1000, 2000]> : tensor<2xi32>
  %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x2xi8>, tensor<2x4x4x2xi16>) epilogue(%b : tensor<2xi32>) -> tensor<1x2x2x2xi32> attributes {
    input_zero_point = 10 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>],
    schedule = #kernel.schedule<variant = "winograd", lanes = 2, k_unroll = 2, prefetch = 2>} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x2x2x2xi32>
}

// CHECK: #w0 = dense<"0x0400080000000C00020004000000060002000400000006000000000000000000020004000000060001000200000003000100020000000300000000000000000002000400000006000100020000000300010002000000030000000000000000000000000000000000000000000000000000000000000000000000000000000000"> : tensor<1x1x4x4x1x4xi16>
// CHECK-NEXT: #k0 = #kernel.schedule<prefetch = 2>
// CHECK-NEXT: #k1 = #kernel.layout<variant = "winograd", vectors = 1, lanes = 2>
// CHECK-LABEL: @zero_point(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x2xi8>) -> tensor<1x2x2x2xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[970, 1970]> : tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = kernel.packed_winograd ins([[V0]], [[V2]] : tensor<1x4x4x2xi8>, tensor<1x1x4x4x1x4xi16>) epilogue([[V1]] : tensor<2xi32>) -> tensor<1x2x2x2xi32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>], schedule = #k0, layout = #k1} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<1x2x2x2xi32>
