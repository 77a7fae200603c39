// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2 threads=2}' | filecheck %s --check-prefix=NARROW

// Registers have six products of four tiles, of two where there are 16; weights of more than the second cache has room
// for are asked for into the nearest. Threads divide the channels of one block.
func.func @fours(%x: tensor<1x9x9x256xi8>, %w: tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x7x7x256xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "winograd_f4_bytes", rows = 4, lanes = 16, k_unroll = 2, block = 4, prefetch = 1>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @fours(
// CHECK-SAME: [[V0:%.+]]: tensor<1x9x9x256xi8>, [[V1:%.+]]: tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64, schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x7x7x256xi32>

// NARROW: #k0 = #kernel.target<isa = "avx2", threads = 2>
// NARROW-NEXT: #k1 = #kernel.schedule<variant = "winograd_f4_bytes", rows = 2, lanes = 8, k_unroll = 2, block = 2, prefetch = 1, threads = true>
// NARROW-NEXT: builtin.module attributes {kernel.target = #k0} {
// NARROW-LABEL: @fours(
// NARROW-SAME: [[V0:%.+]]: tensor<1x9x9x256xi8>, [[V1:%.+]]: tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32>
// NARROW-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x256xi8>, tensor<256x3x3x256xi8>) -> tensor<1x7x7x256xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64, schedule = #k1} {
// NARROW-NEXT: ^bb0([[V3:%.+]]: i32):
// NARROW-NEXT: kernel.yield [[V3]] : i32
// NARROW: func.return [[V2]] : tensor<1x7x7x256xi32>
