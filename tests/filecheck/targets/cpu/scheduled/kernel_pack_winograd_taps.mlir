// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// A step has all nine taps of its two channels beside each other; the last one is filled up. Five times the sum of all is
// taken off the bias.
func.func @taps_together(%x: tensor<1x6x6x3xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<[[[[1, -2, 3], [4, 5, 6], [7, 8, 9]], [[11, 12, 13], [14, 15, 16], [17, 18, 19]], [[21, 22, 23], [24, 25, 26], [27, 28, 29]]]]> : tensor<1x3x3x3xi8>
  %b = arith.constant dense<1000> : tensor<1xi32>
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x3xi8>, tensor<1x3x3x3xi8>) epilogue(%b : tensor<1xi32>) -> tensor<1x4x4x1xi32> attributes {
    algorithm = "f4_bytes", input_zero_point = 5 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>],
    schedule = #kernel.schedule<variant = "winograd_f4_bytes", k_unroll = 2>} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "winograd_f4_bytes", vectors = 1, lanes = 1>
// CHECK-LABEL: @taps_together(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x6x3xi8>) -> tensor<1x4x4x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-1005]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<"0x01FE040507080B0C0E0F1112151618191B1C0300060009000D001000130017001A001D00"> : tensor<1x1x2x3x3x2xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<1x6x6x3xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]] : tensor<1x6x6x3xi8>) outs([[V3]] : tensor<1x6x6x3xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK-NEXT: } -> tensor<1x6x6x3xi8>
// CHECK-NEXT: [[V7:%.+]] = kernel.packed_winograd ins([[V4]], [[V2]] : tensor<1x6x6x3xi8>, tensor<1x1x2x3x3x2xi8>) epilogue([[V1]] : tensor<1xi32>) -> tensor<1x4x4x1xi32> attributes {algorithm = "f4_bytes", input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32, [[V9:%.+]]: i32):
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V9]] : i32
// CHECK-NEXT: kernel.yield [[V10]] : i32
// CHECK: func.return [[V7]] : tensor<1x4x4x1xi32>
