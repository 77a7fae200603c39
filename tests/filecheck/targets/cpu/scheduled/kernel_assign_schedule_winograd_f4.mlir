// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2 threads=2}' | filecheck %s --check-prefix=NARROW

// 49 tiles are seven sevens; weights that lie beyond the second cache are asked for.
func.func @sevens(%x: tensor<1x30x30x128xi8>, %w: tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x30x30x128xi8>, tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x28x28x128xi32>
}

// 18 tiles are sixes in registers of 256 bits.
func.func @sixes(%x: tensor<1x14x26x32xi8>, %w: tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x14x26x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x12x24x32xi32>
}

// 16 tiles are two eights, or fours.
func.func @eights(%x: tensor<1x16x16x64xi8>, %w: tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32> {
  %0 = kernel.winograd ins(%x, %w : tensor<1x16x16x64xi8>, tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32> attributes {algorithm = "f4"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x14x14x64xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "winograd_f4", rows = 7, vectors = 2, lanes = 16, k_unroll = 2, block = 28, prefetch = 1>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "winograd_f4", rows = 7, vectors = 2, lanes = 16, k_unroll = 2, block = 18>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "winograd_f4", rows = 8, vectors = 2, lanes = 16, k_unroll = 2, block = 16>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @sevens(
// CHECK-SAME: [[V0:%.+]]: tensor<1x30x30x128xi8>, [[V1:%.+]]: tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x30x30x128xi8>, tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32> attributes {algorithm = "f4", schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x28x28x128xi32>
// CHECK-LABEL: @sixes(
// CHECK-SAME: [[V0:%.+]]: tensor<1x14x26x32xi8>, [[V1:%.+]]: tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x14x26x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32> attributes {algorithm = "f4", schedule = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x12x24x32xi32>
// CHECK-LABEL: @eights(
// CHECK-SAME: [[V0:%.+]]: tensor<1x16x16x64xi8>, [[V1:%.+]]: tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x16x16x64xi8>, tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32> attributes {algorithm = "f4", schedule = #k3} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x14x14x64xi32>

// NARROW: #k0 = #kernel.target<isa = "avx2", threads = 2>
// NARROW-NEXT: #k1 = #kernel.schedule<variant = "winograd_f4", rows = 5, vectors = 2, lanes = 8, k_unroll = 2, block = 25, prefetch = 1, threads = true>
// NARROW-NEXT: #k2 = #kernel.schedule<variant = "winograd_f4", rows = 6, vectors = 2, lanes = 8, k_unroll = 2, block = 12, threads = true>
// NARROW-NEXT: #k3 = #kernel.schedule<variant = "winograd_f4", rows = 4, vectors = 2, lanes = 8, k_unroll = 2, block = 8, threads = true>
// NARROW-NEXT: builtin.module attributes {kernel.target = #k0} {
// NARROW-LABEL: @sevens(
// NARROW-SAME: [[V0:%.+]]: tensor<1x30x30x128xi8>, [[V1:%.+]]: tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32>
// NARROW-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x30x30x128xi8>, tensor<128x6x6x128xi16>) -> tensor<1x28x28x128xi32> attributes {algorithm = "f4", schedule = #k1} {
// NARROW-NEXT: ^bb0([[V3:%.+]]: i32):
// NARROW-NEXT: kernel.yield [[V3]] : i32
// NARROW: func.return [[V2]] : tensor<1x28x28x128xi32>
// NARROW-LABEL: @sixes(
// NARROW-SAME: [[V0:%.+]]: tensor<1x14x26x32xi8>, [[V1:%.+]]: tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32>
// NARROW-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x14x26x32xi8>, tensor<32x6x6x32xi16>) -> tensor<1x12x24x32xi32> attributes {algorithm = "f4", schedule = #k2} {
// NARROW-NEXT: ^bb0([[V3:%.+]]: i32):
// NARROW-NEXT: kernel.yield [[V3]] : i32
// NARROW: func.return [[V2]] : tensor<1x12x24x32xi32>
// NARROW-LABEL: @eights(
// NARROW-SAME: [[V0:%.+]]: tensor<1x16x16x64xi8>, [[V1:%.+]]: tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32>
// NARROW-NEXT: [[V2:%.+]] = kernel.winograd ins([[V0]], [[V1]] : tensor<1x16x16x64xi8>, tensor<64x6x6x64xi16>) -> tensor<1x14x14x64xi32> attributes {algorithm = "f4", schedule = #k3} {
// NARROW-NEXT: ^bb0([[V3:%.+]]: i32):
// NARROW-NEXT: kernel.yield [[V3]] : i32
// NARROW: func.return [[V2]] : tensor<1x14x14x64xi32>
