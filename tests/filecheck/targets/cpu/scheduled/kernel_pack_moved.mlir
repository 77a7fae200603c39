// RUN: qmlir-opt %s -p kernel-pack | filecheck %s

// Weights that were only moved are read from where they lay, and the movement goes: channels and terms are numbered
// through in blocks and steps. What packs them gets a schedule of its own from the target of the module.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni">} {
  func.func @heads(%x: tensor<1x2x1x8xi8>, %v: tensor<1x8x2x16xi8>) -> tensor<1x2x1x16xi32> {
    %0 = tensor.empty() : tensor<1x2x16x8xi8>
    %w = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v : tensor<1x8x2x16xi8>) outs(%0 : tensor<1x2x16x8xi8>) {
    ^bb0(%a: i8, %o: i8):
      linalg.yield %a : i8
    } -> tensor<1x2x16x8xi8>
    %1 = kernel.matmul ins(%x, %w : tensor<1x2x1x8xi8>, tensor<1x2x16x8xi8>) -> tensor<1x2x1x16xi32> attributes {input_zero_point = -128 : i32, schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 8, k_unroll = 4>} {
    ^bb0(%sum: i32):
      kernel.yield %sum : i32
    }
    func.return %1 : tensor<1x2x1x16xi32>
  }

  // Two axes of batches are numbered through as one.
  func.func @batches(%x: tensor<2x3x1x4xi8>, %w: tensor<2x3x8x4xi8>) -> tensor<2x3x1x8xi32> {
    %0 = kernel.matmul ins(%x, %w : tensor<2x3x1x4xi8>, tensor<2x3x8x4xi8>) -> tensor<2x3x1x8xi32> attributes {input_zero_point = -128 : i32, schedule = #kernel.schedule<variant = "u8s8_dot", lanes = 8, k_unroll = 4>} {
    ^bb0(%sum: i32):
      kernel.yield %sum : i32
    }
    func.return %0 : tensor<2x3x1x8xi32>
  }
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "lanes", lanes = 64>
// CHECK-NEXT: #k2 = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 8>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @heads(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x1x8xi8>, [[V1:%.+]]: tensor<1x8x2x16xi8>) -> tensor<1x2x1x16xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x2x2x8x4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (0, ((d2 * 4) + d4), d0, ((d1 * 8) + d3))>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins([[V1]] : tensor<1x8x2x16xi8>) outs([[V2]] : tensor<2x2x2x8x4xi8>) attrs =  {kernel.schedule = #k1} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<2x2x2x8x4xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<2x2x2x8x4xi8> to tensor<2x2x2x32xi8>
// CHECK-NEXT: [[V7:%.+]] = kernel.packed_matmul ins([[V0]], [[V6]] : tensor<1x2x1x8xi8>, tensor<2x2x2x32xi8>) -> tensor<1x2x1x16xi32> attributes {layout = #k2} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V8]] : i32
// CHECK: func.return [[V7]] : tensor<1x2x1x16xi32>
// CHECK-LABEL: @batches(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x1x4xi8>, [[V1:%.+]]: tensor<2x3x8x4xi8>) -> tensor<2x3x1x8xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x3x8x4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V1]] : tensor<2x3x8x4xi8>) outs([[V2]] : tensor<2x3x8x4xi8>) attrs =  {kernel.schedule = #k1} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V4]] : i8
// CHECK-NEXT: } -> tensor<2x3x8x4xi8>
// CHECK-NEXT: [[V6:%.+]] = kernel.reshape [[V3]] : tensor<2x3x8x4xi8> to tensor<6x1x1x32xi8>
// CHECK-NEXT: [[V7:%.+]] = kernel.packed_matmul ins([[V0]], [[V6]] : tensor<2x3x1x4xi8>, tensor<6x1x1x32xi8>) -> tensor<2x3x1x8xi32> attributes {layout = #k2} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V8]] : i32
// CHECK: func.return [[V7]] : tensor<2x3x1x8xi32>
