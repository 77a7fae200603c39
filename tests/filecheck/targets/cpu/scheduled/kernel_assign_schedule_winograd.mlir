// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2 threads=2}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s --check-prefix=WIDE

// 196 tiles in blocks of whole register tiles; enough for threads. The weights, 16 * 96 * 128 of 16 bits, lie
// beyond the second cache.
func.func @large(%x: tensor<1x30x30x96xi8>, %w: tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x30x30x96xi8>, tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x28x28x128xi32>
}

// 16 tiles leave no rest in fours, which have room for three vectors of channels.
func.func @small(%x: tensor<1x9x9x16xi8>, %w: tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x9x9x16xi8>, tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x7x7x64xi32>
}

// One tile, and less than a vector of channels.
func.func @one(%x: tensor<1x4x4x1xi8>, %w: tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x4x4x1xi8>, tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x2x2x3xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx2", threads = 2>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "winograd", rows = 6, vectors = 2, lanes = 8, k_unroll = 2, block = 66, prefetch = 1, threads = true>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "winograd", rows = 4, vectors = 3, lanes = 8, k_unroll = 2, block = 16>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "winograd", lanes = 8, k_unroll = 2>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @large(
// CHECK-SAME: [[V0:%.+]]: tensor<1x30x30x96xi8>, [[V1:%.+]]: tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x30x30x96xi8>, tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x28x28x128xi32>
// CHECK-LABEL: @small(
// CHECK-SAME: [[V0:%.+]]: tensor<1x9x9x16xi8>, [[V1:%.+]]: tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x16xi8>, tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32> attributes {schedule = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x7x7x64xi32>
// CHECK-LABEL: @one(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>, [[V1:%.+]]: tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> attributes {schedule = #k3} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x2x2x3xi32>

// WIDE: #k0 = #kernel.target<isa = "avx512-vnni">
// WIDE-NEXT: #k1 = #kernel.schedule<variant = "winograd", rows = 7, vectors = 2, lanes = 16, k_unroll = 2, block = 70, prefetch = 1>
// WIDE-NEXT: #k2 = #kernel.schedule<variant = "winograd", rows = 8, vectors = 2, lanes = 16, k_unroll = 2, block = 16>
// WIDE-NEXT: #k3 = #kernel.schedule<variant = "winograd", lanes = 16, k_unroll = 2>
// WIDE-NEXT: builtin.module attributes {kernel.target = #k0} {
// WIDE-LABEL: @large(
// WIDE-SAME: [[V0:%.+]]: tensor<1x30x30x96xi8>, [[V1:%.+]]: tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32>
// WIDE-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x30x30x96xi8>, tensor<128x4x4x96xi16>) -> tensor<1x28x28x128xi32> attributes {schedule = #k1} {
// WIDE-NEXT: ^bb0([[V3:%.+]]: i32):
// WIDE-NEXT: kernel.yield [[V3]] : i32
// WIDE: func.return [[V2]] : tensor<1x28x28x128xi32>
// WIDE-LABEL: @small(
// WIDE-SAME: [[V0:%.+]]: tensor<1x9x9x16xi8>, [[V1:%.+]]: tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32>
// WIDE-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x9x9x16xi8>, tensor<64x4x4x16xi16>) -> tensor<1x7x7x64xi32> attributes {schedule = #k2} {
// WIDE-NEXT: ^bb0([[V3:%.+]]: i32):
// WIDE-NEXT: kernel.yield [[V3]] : i32
// WIDE: func.return [[V2]] : tensor<1x7x7x64xi32>
// WIDE-LABEL: @one(
// WIDE-SAME: [[V0:%.+]]: tensor<1x4x4x1xi8>, [[V1:%.+]]: tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32>
// WIDE-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x4x4x1xi8>, tensor<3x4x4x1xi16>) -> tensor<1x2x2x3xi32> attributes {schedule = #k3} {
// WIDE-NEXT: ^bb0([[V3:%.+]]: i32):
// WIDE-NEXT: kernel.yield [[V3]] : i32
// WIDE: func.return [[V2]] : tensor<1x2x2x3xi32>
