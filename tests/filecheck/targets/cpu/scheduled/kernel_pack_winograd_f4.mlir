// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Windows of 1 and of 2: their plain sums, 9 and 18, are a sixteenth of the second element of the second row. Ten times
// that leaves the bias.
func.func @zero_point(%x: tensor<1x6x6x2xi8>) -> tensor<1x4x4x1xi32> {
  %w = arith.constant dense<[[[[36, 72], [-72, -144], [-24, -48], [42, 84], [18, 36], [72, 144]], [[-72, -144], [144, 288], [48, 96], [-84, -168], [-36, -72], [-144, -288]], [[-24, -48], [48, 96], [16, 32], [-28, -56], [-12, -24], [-48, -96]], [[42, 84], [-84, -168], [-28, -56], [49, 98], [21, 42], [84, 168]], [[18, 36], [-36, -72], [-12, -24], [21, 42], [9, 18], [36, 72]], [[72, 144], [-144, -288], [-48, -96], [84, 168], [36, 72], [144, 288]]]]> : tensor<1x6x6x2xi16>
  %b = arith.constant dense<1000> : tensor<1xi32>
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x6x2xi8>, tensor<1x6x6x2xi16>) epilogue(%b : tensor<1xi32>) -> tensor<1x4x4x1xi32> attributes {
    algorithm = "f4", input_zero_point = 10 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>],
    schedule = #kernel.schedule<variant = "winograd_f4", k_unroll = 2>} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<1x4x4x1xi32>
}

// CHECK: #w0 = dense<"0x24004800B8FF70FFE8FFD0FF2A0054001200240048009000B8FF70FF9000200130006000ACFF58FFDCFFB8FF70FFE0FEE8FFD0FF3000600010002000E4FFC8FFF4FFE8FFD0FFA0FF2A005400ACFF58FFE4FFC8FF3100620015002A005400A80012002400DCFFB8FFF4FFE8FF15002A0009001200240048004800900070FFE0FED0FFA0FF5400A8002400480090002001"> : tensor<1x1x6x6x1x2xi16>
// CHECK-NEXT: #k0 = #kernel.layout<variant = "winograd_f4", vectors = 1, lanes = 1>
// CHECK-LABEL: @zero_point(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x6x2xi8>) -> tensor<1x4x4x1xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[730]> : tensor<1xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = kernel.packed_winograd ins([[V0]], [[V2]] : tensor<1x6x6x2xi8>, tensor<1x1x6x6x1x2xi16>) epilogue([[V1]] : tensor<1xi32>) -> tensor<1x4x4x1xi32> attributes {algorithm = "f4", input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>], layout = #k0} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<1x4x4x1xi32>
