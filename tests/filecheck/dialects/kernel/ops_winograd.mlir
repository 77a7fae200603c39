// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// On tensors, with an epilogue; on memory; and packed, where the operand of the weights has the layout of the schedule.
func.func @tensors(%x: tensor<2x5x4x3xi8>, %w: tensor<6x4x4x3xi16>, %b: tensor<6xi32>) -> tensor<2x3x2x6xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<2x5x4x3xi8>, tensor<6x4x4x3xi16>) epilogue(%b : tensor<6xi32>) -> tensor<2x3x2x6xi32>
      attributes {input_zero_point = 128 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
  ^bb0(%sum: i32, %bias: i32):
    %1 = arith.addi %sum, %bias : i32
    kernel.yield %1 : i32
  }
  func.return %0 : tensor<2x3x2x6xi32>
}

func.func @memory(%x: memref<1x4x4x1xi16>, %w: memref<1x1x4x4x1x16xi16>, %y: memref<1x2x2x3xi32>) {
  kernel.packed_winograd ins(%x, %w : memref<1x4x4x1xi16>, memref<1x1x4x4x1x16xi16>) outs(%y : memref<1x2x2x3xi32>) attributes {
    layout = #kernel.layout<variant = "winograd", vectors = 1, lanes = 8>, schedule = #kernel.schedule<rows = 5, block = 60>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// The other algorithm, whose tiles are larger; that of the two above is not written.
func.func @f4(%x: tensor<1x6x7x3xi8>, %w: tensor<6x6x6x3xi16>) -> tensor<1x4x5x6xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x7x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x5x6xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x5x6xi32>
}

// Weights as they are, and the channels in two parts: the loops transform the weights, and add the sums.
func.func @f4_bytes(%x: tensor<1x6x7x4xi8>, %w: tensor<6x3x3x4xi8>) -> tensor<1x4x5x6xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x6x7x4xi8>, tensor<6x3x3x4xi8>) -> tensor<1x4x5x6xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x5x6xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "winograd", vectors = 1, lanes = 8>
// CHECK-NEXT: #k1 = #kernel.schedule<rows = 5, block = 60>
// CHECK-LABEL: @tensors(
// CHECK-SAME: [[V0:%.+]]: tensor<2x5x4x3xi8>, [[V1:%.+]]: tensor<6x4x4x3xi16>, [[V2:%.+]]: tensor<6xi32>) -> tensor<2x3x2x6xi32>
// CHECK-NEXT: [[V3:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<2x5x4x3xi8>, tensor<6x4x4x3xi16>) epilogue([[V2]] : tensor<6xi32>) -> tensor<2x3x2x6xi32> attributes {input_zero_point = 128 : i32, input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return [[V3]] : tensor<2x3x2x6xi32>
// CHECK-LABEL: @memory(
// CHECK-SAME: [[V0:%.+]]: memref<1x4x4x1xi16>, [[V1:%.+]]: memref<1x1x4x4x1x16xi16>, [[V2:%.+]]: memref<1x2x2x3xi32>)
// CHECK-NEXT: kernel.packed_winograd ins([[V0]], [[V1]] : memref<1x4x4x1xi16>, memref<1x1x4x4x1x16xi16>) outs([[V2]] : memref<1x2x2x3xi32>) attributes {layout = #k0, schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return
// CHECK-LABEL: @f4(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x7x3xi8>, [[V1:%.+]]: tensor<6x6x6x3xi16>) -> tensor<1x4x5x6xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x6x7x3xi8>, tensor<6x6x6x3xi16>) -> tensor<1x4x5x6xi32> attributes {algorithm = "f4"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x4x5x6xi32>
// CHECK-LABEL: @f4_bytes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x7x4xi8>, [[V1:%.+]]: tensor<6x3x3x4xi8>) -> tensor<1x4x5x6xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x6x7x4xi8>, tensor<6x3x3x4xi8>) -> tensor<1x4x5x6xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x4x5x6xi32>
