// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2}' | filecheck %s --check-prefix=AVX2

// 256 KB of weights are prefetched while 49 positions use others; tiles of 5 rows leave one of 4, those of 6 one of 1.
func.func @large(%x: tensor<49x512xi8>, %w: tensor<512x512xi8>) -> tensor<49x512xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<49x512xi8>, tensor<512x512xi8>) -> tensor<49x512xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<49x512xi32>
}

// Fewer positions, or smaller weights.
func.func @others(
    %x: tensor<15x512xi8>, %w: tensor<512x512xi8>, %a: tensor<16x512xi8>, %b: tensor<511x512xi8>
  ) -> (tensor<15x512xi32>, tensor<16x511xi32>) {
  %0 = kernel.matmul ins(%x, %w : tensor<15x512xi8>, tensor<512x512xi8>) -> tensor<15x512xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.matmul ins(%a, %b : tensor<16x512xi8>, tensor<511x512xi8>) -> tensor<16x511xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1 : tensor<15x512xi32>, tensor<16x511xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "u8s8_dot", rows = 5, vectors = 4, lanes = 16, k_unroll = 4, prefetch = 1>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "u8s8_dot", rows = 5, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "u8s8_dot", rows = 4, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @large(
// CHECK-SAME: [[V0:%.+]]: tensor<49x512xi8>, [[V1:%.+]]: tensor<512x512xi8>) -> tensor<49x512xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<49x512xi8>, tensor<512x512xi8>) -> tensor<49x512xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<49x512xi32>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<15x512xi8>, [[V1:%.+]]: tensor<512x512xi8>, [[V2:%.+]]: tensor<16x512xi8>, [[V3:%.+]]: tensor<511x512xi8>) -> (tensor<15x512xi32>, tensor<16x511xi32>)
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<15x512xi8>, tensor<512x512xi8>) -> tensor<15x512xi32> attributes {schedule = #k2} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V5]] : i32
// CHECK: [[V6:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<16x512xi8>, tensor<511x512xi8>) -> tensor<16x511xi32> attributes {schedule = #k3} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V7]] : i32
// CHECK: func.return [[V4]], [[V6]] : tensor<15x512xi32>, tensor<16x511xi32>

// AVX2: #k0 = #kernel.target<isa = "avx2">
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "i16_pairs", rows = 5, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "i16_pairs", rows = 4, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @large(
// AVX2-SAME: [[V0:%.+]]: tensor<49x512xi8>, [[V1:%.+]]: tensor<512x512xi8>) -> tensor<49x512xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<49x512xi8>, tensor<512x512xi8>) -> tensor<49x512xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<49x512xi32>
// AVX2-LABEL: @others(
// AVX2-SAME: [[V0:%.+]]: tensor<15x512xi8>, [[V1:%.+]]: tensor<512x512xi8>, [[V2:%.+]]: tensor<16x512xi8>, [[V3:%.+]]: tensor<511x512xi8>) -> (tensor<15x512xi32>, tensor<16x511xi32>)
// AVX2-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<15x512xi8>, tensor<512x512xi8>) -> tensor<15x512xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V5:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V5]] : i32
// AVX2: [[V6:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<16x512xi8>, tensor<511x512xi8>) -> tensor<16x511xi32> attributes {schedule = #k2} {
// AVX2-NEXT: ^bb0([[V7:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V7]] : i32
// AVX2: func.return [[V4]], [[V6]] : tensor<15x512xi32>, tensor<16x511xi32>
