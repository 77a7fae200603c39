// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni threads=2}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2}' | filecheck %s --check-prefix=AVX2
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=neon}' | filecheck %s --check-prefix=NEON

// Bytes by weights that are signed bytes without their zero point: 10 positions are two tiles of 5 rows.
func.func @bytes(%x: tensor<10x16xi8>, %w: tensor<100x16xi8>) -> tensor<10x100xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<10x16xi8>, tensor<100x16xi8>) -> tensor<10x100xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<10x100xi32>
}

// Unsigned weights around 128 are signed bytes without it; around 100 they may be too large: pairs, or bytes where there
// are enough of them to make up for the sums of rows.
func.func @unsigned(%x: tensor<1x16xi8>, %w: tensor<8x16xi8>, %a: tensor<1x64xi8>, %b: tensor<128x64xi8>)
    -> (tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>) {
  %0 = kernel.matmul ins(%x, %w : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {
    weight_zero_point = 128 : i32, weight_unsigned} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.matmul ins(%x, %w : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {
    weight_zero_point = 100 : i32, weight_unsigned} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %2 = kernel.matmul ins(%a, %b : tensor<1x64xi8>, tensor<128x64xi8>) -> tensor<1x128xi32> attributes {
    weight_zero_point = 100 : i32, weight_unsigned} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0, %1, %2 : tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>
}

// A channel a lane; the sums of a wide type; floats.
func.func @others(
    %x: tensor<1x6x6x4xi8>, %w: tensor<4x3x3x1xi8>, %a: tensor<4x8xi16>, %b: tensor<2x8xi16>, %f: tensor<4x8xf32>,
    %g: tensor<2x8xf32>) {
  %0 = kernel.conv ins(%x, %w : tensor<1x6x6x4xi8>, tensor<4x3x3x1xi8>) -> tensor<1x4x4x4xi32> attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 4} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %1 = kernel.matmul ins(%a, %b : tensor<4x8xi16>, tensor<2x8xi16>) -> tensor<4x2xi64> {
  ^bb0(%acc: i64):
    kernel.yield %acc : i64
  }
  %2 = kernel.matmul ins(%f, %g : tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32> {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return
}

// What has a schedule keeps it.
func.func @by_hand(%x: tensor<1x16xi8>, %w: tensor<8x16xi8>) -> tensor<1x8xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {
    schedule = #kernel.schedule<variant = "scalar">} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x8xi32>
}

// Enough work for threads: 8 million multiply-adds, and 200,000 elements read and written.
func.func @large(%x: tensor<200x200xi8>, %w: tensor<200x200xi8>, %y: tensor<100x1000xi8>)
    -> (tensor<200x200xi32>, tensor<100x1000xi8>) {
  %0 = kernel.matmul ins(%x, %w : tensor<200x200xi8>, tensor<200x200xi8>) -> tensor<200x200xi32> {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  %e = tensor.empty() : tensor<100x1000xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%y : tensor<100x1000xi8>) outs(%e : tensor<100x1000xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.addi %a, %a : i8
    linalg.yield %2 : i8
  } -> tensor<100x1000xi8>
  func.return %0, %1 : tensor<200x200xi32>, tensor<100x1000xi8>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni", threads = 2>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "u8s8_dot", rows = 5, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "u8s8_dot", lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "i16_pairs", lanes = 16, k_unroll = 2>
// CHECK-NEXT: #k4 = #kernel.schedule<variant = "u8s8_dot", vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k5 = #kernel.schedule<variant = "depthwise_dot", rows = 4, vectors = 4, lanes = 16, k_unroll = 4>
// CHECK-NEXT: #k6 = #kernel.schedule<variant = "splat", rows = 4, lanes = 8>
// CHECK-NEXT: #k7 = #kernel.schedule<variant = "splat_fma", rows = 4, lanes = 16>
// CHECK-NEXT: #k8 = #kernel.schedule<variant = "scalar">
// CHECK-NEXT: #k9 = #kernel.schedule<variant = "u8s8_dot", rows = 5, vectors = 4, lanes = 16, k_unroll = 4, threads = true>
// CHECK-NEXT: #k10 = #kernel.schedule<variant = "lanes", lanes = 64, threads = true>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: tensor<10x16xi8>, [[V1:%.+]]: tensor<100x16xi8>) -> tensor<10x100xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<10x16xi8>, tensor<100x16xi8>) -> tensor<10x100xi32> attributes {schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<10x100xi32>
// CHECK-LABEL: @unsigned(
// CHECK-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>, [[V2:%.+]]: tensor<1x64xi8>, [[V3:%.+]]: tensor<128x64xi8>) -> (tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>)
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 128 : i32, weight_unsigned, schedule = #k2} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V5]] : i32
// CHECK: [[V6:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k3} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V7]] : i32
// CHECK: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<1x64xi8>, tensor<128x64xi8>) -> tensor<1x128xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k4} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V9]] : i32
// CHECK: func.return [[V4]], [[V6]], [[V8]] : tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>
// CHECK-LABEL: @others(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x6x4xi8>, [[V1:%.+]]: tensor<4x3x3x1xi8>, [[V2:%.+]]: tensor<4x8xi16>, [[V3:%.+]]: tensor<2x8xi16>, [[V4:%.+]]: tensor<4x8xf32>, [[V5:%.+]]: tensor<2x8xf32>)
// CHECK-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x6x6x4xi8>, tensor<4x3x3x1xi8>) -> tensor<1x4x4x4xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 4 : i64, schedule = #k5} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V7]] : i32
// CHECK: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<4x8xi16>, tensor<2x8xi16>) -> tensor<4x2xi64> attributes {schedule = #k6} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i64):
// CHECK-NEXT: kernel.yield [[V9]] : i64
// CHECK: [[V10:%.+]] = kernel.matmul ins([[V4]], [[V5]] : tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32> attributes {schedule = #k7} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V11]] : f32
// CHECK: func.return
// CHECK-LABEL: @by_hand(
// CHECK-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>) -> tensor<1x8xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {schedule = #k8} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x8xi32>
// CHECK-LABEL: @large(
// CHECK-SAME: [[V0:%.+]]: tensor<200x200xi8>, [[V1:%.+]]: tensor<200x200xi8>, [[V2:%.+]]: tensor<100x1000xi8>) -> (tensor<200x200xi32>, tensor<100x1000xi8>)
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<200x200xi8>, tensor<200x200xi8>) -> tensor<200x200xi32> attributes {schedule = #k9} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V4]] : i32
// CHECK: [[V5:%.+]] = tensor.empty() : tensor<100x1000xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V2]] : tensor<100x1000xi8>) outs([[V5]] : tensor<100x1000xi8>) attrs =  {kernel.schedule = #k10} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<100x1000xi8>
// CHECK-NEXT: func.return [[V3]], [[V6]] : tensor<200x200xi32>, tensor<100x1000xi8>

// AVX2: #k0 = #kernel.target<isa = "avx2">
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "i16_pairs", rows = 5, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "i16_pairs", lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k3 = #kernel.schedule<variant = "i16_pairs", vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k4 = #kernel.schedule<variant = "depthwise_pairs", rows = 4, vectors = 2, lanes = 8, k_unroll = 2>
// AVX2-NEXT: #k5 = #kernel.schedule<variant = "splat", rows = 4, lanes = 4>
// AVX2-NEXT: #k6 = #kernel.schedule<variant = "splat_fma", rows = 4, lanes = 8>
// AVX2-NEXT: #k7 = #kernel.schedule<variant = "scalar">
// AVX2-NEXT: #k8 = #kernel.schedule<variant = "lanes", lanes = 32>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @bytes(
// AVX2-SAME: [[V0:%.+]]: tensor<10x16xi8>, [[V1:%.+]]: tensor<100x16xi8>) -> tensor<10x100xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<10x16xi8>, tensor<100x16xi8>) -> tensor<10x100xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<10x100xi32>
// AVX2-LABEL: @unsigned(
// AVX2-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>, [[V2:%.+]]: tensor<1x64xi8>, [[V3:%.+]]: tensor<128x64xi8>) -> (tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>)
// AVX2-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 128 : i32, weight_unsigned, schedule = #k2} {
// AVX2-NEXT: ^bb0([[V5:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V5]] : i32
// AVX2: [[V6:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k2} {
// AVX2-NEXT: ^bb0([[V7:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V7]] : i32
// AVX2: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<1x64xi8>, tensor<128x64xi8>) -> tensor<1x128xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k3} {
// AVX2-NEXT: ^bb0([[V9:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V9]] : i32
// AVX2: func.return [[V4]], [[V6]], [[V8]] : tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>
// AVX2-LABEL: @others(
// AVX2-SAME: [[V0:%.+]]: tensor<1x6x6x4xi8>, [[V1:%.+]]: tensor<4x3x3x1xi8>, [[V2:%.+]]: tensor<4x8xi16>, [[V3:%.+]]: tensor<2x8xi16>, [[V4:%.+]]: tensor<4x8xf32>, [[V5:%.+]]: tensor<2x8xf32>)
// AVX2-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x6x6x4xi8>, tensor<4x3x3x1xi8>) -> tensor<1x4x4x4xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 4 : i64, schedule = #k4} {
// AVX2-NEXT: ^bb0([[V7:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V7]] : i32
// AVX2: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<4x8xi16>, tensor<2x8xi16>) -> tensor<4x2xi64> attributes {schedule = #k5} {
// AVX2-NEXT: ^bb0([[V9:%.+]]: i64):
// AVX2-NEXT: kernel.yield [[V9]] : i64
// AVX2: [[V10:%.+]] = kernel.matmul ins([[V4]], [[V5]] : tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32> attributes {schedule = #k6} {
// AVX2-NEXT: ^bb0([[V11:%.+]]: f32):
// AVX2-NEXT: kernel.yield [[V11]] : f32
// AVX2: func.return
// AVX2-LABEL: @by_hand(
// AVX2-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>) -> tensor<1x8xi32>
// AVX2-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {schedule = #k7} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V3]] : i32
// AVX2: func.return [[V2]] : tensor<1x8xi32>
// AVX2-LABEL: @large(
// AVX2-SAME: [[V0:%.+]]: tensor<200x200xi8>, [[V1:%.+]]: tensor<200x200xi8>, [[V2:%.+]]: tensor<100x1000xi8>) -> (tensor<200x200xi32>, tensor<100x1000xi8>)
// AVX2-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<200x200xi8>, tensor<200x200xi8>) -> tensor<200x200xi32> attributes {schedule = #k1} {
// AVX2-NEXT: ^bb0([[V4:%.+]]: i32):
// AVX2-NEXT: kernel.yield [[V4]] : i32
// AVX2: [[V5:%.+]] = tensor.empty() : tensor<100x1000xi8>
// AVX2-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V2]] : tensor<100x1000xi8>) outs([[V5]] : tensor<100x1000xi8>) attrs =  {kernel.schedule = #k8} {
// AVX2-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// AVX2-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V7]] : i8
// AVX2-NEXT: linalg.yield [[V9]] : i8
// AVX2-NEXT: } -> tensor<100x1000xi8>
// AVX2-NEXT: func.return [[V3]], [[V6]] : tensor<200x200xi32>, tensor<100x1000xi8>

// NEON: #k0 = #kernel.target<isa = "neon">
// NEON-NEXT: #k1 = #kernel.schedule<variant = "s8s8_dot", rows = 5, vectors = 4, lanes = 4, k_unroll = 4>
// NEON-NEXT: #k2 = #kernel.schedule<variant = "s8s8_dot", vectors = 2, lanes = 4, k_unroll = 4>
// NEON-NEXT: #k3 = #kernel.schedule<variant = "i16_pairs", vectors = 2, lanes = 4, k_unroll = 2>
// NEON-NEXT: #k4 = #kernel.schedule<variant = "s8s8_dot", vectors = 4, lanes = 4, k_unroll = 4>
// NEON-NEXT: #k5 = #kernel.schedule<variant = "depthwise", rows = 4, lanes = 4>
// NEON-NEXT: #k6 = #kernel.schedule<variant = "splat", rows = 4, lanes = 2>
// NEON-NEXT: #k7 = #kernel.schedule<variant = "splat_fma", rows = 4, lanes = 4>
// NEON-NEXT: #k8 = #kernel.schedule<variant = "scalar">
// NEON-NEXT: #k9 = #kernel.schedule<variant = "lanes", lanes = 16>
// NEON-NEXT: builtin.module attributes {kernel.target = #k0} {
// NEON-LABEL: @bytes(
// NEON-SAME: [[V0:%.+]]: tensor<10x16xi8>, [[V1:%.+]]: tensor<100x16xi8>) -> tensor<10x100xi32>
// NEON-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<10x16xi8>, tensor<100x16xi8>) -> tensor<10x100xi32> attributes {schedule = #k1} {
// NEON-NEXT: ^bb0([[V3:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V3]] : i32
// NEON: func.return [[V2]] : tensor<10x100xi32>
// NEON-LABEL: @unsigned(
// NEON-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>, [[V2:%.+]]: tensor<1x64xi8>, [[V3:%.+]]: tensor<128x64xi8>) -> (tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>)
// NEON-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 128 : i32, weight_unsigned, schedule = #k2} {
// NEON-NEXT: ^bb0([[V5:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V5]] : i32
// NEON: [[V6:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k3} {
// NEON-NEXT: ^bb0([[V7:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V7]] : i32
// NEON: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<1x64xi8>, tensor<128x64xi8>) -> tensor<1x128xi32> attributes {weight_zero_point = 100 : i32, weight_unsigned, schedule = #k4} {
// NEON-NEXT: ^bb0([[V9:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V9]] : i32
// NEON: func.return [[V4]], [[V6]], [[V8]] : tensor<1x8xi32>, tensor<1x8xi32>, tensor<1x128xi32>
// NEON-LABEL: @others(
// NEON-SAME: [[V0:%.+]]: tensor<1x6x6x4xi8>, [[V1:%.+]]: tensor<4x3x3x1xi8>, [[V2:%.+]]: tensor<4x8xi16>, [[V3:%.+]]: tensor<2x8xi16>, [[V4:%.+]]: tensor<4x8xf32>, [[V5:%.+]]: tensor<2x8xf32>)
// NEON-NEXT: [[V6:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x6x6x4xi8>, tensor<4x3x3x1xi8>) -> tensor<1x4x4x4xi32> attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 4 : i64, schedule = #k5} {
// NEON-NEXT: ^bb0([[V7:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V7]] : i32
// NEON: [[V8:%.+]] = kernel.matmul ins([[V2]], [[V3]] : tensor<4x8xi16>, tensor<2x8xi16>) -> tensor<4x2xi64> attributes {schedule = #k6} {
// NEON-NEXT: ^bb0([[V9:%.+]]: i64):
// NEON-NEXT: kernel.yield [[V9]] : i64
// NEON: [[V10:%.+]] = kernel.matmul ins([[V4]], [[V5]] : tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x2xf32> attributes {schedule = #k7} {
// NEON-NEXT: ^bb0([[V11:%.+]]: f32):
// NEON-NEXT: kernel.yield [[V11]] : f32
// NEON: func.return
// NEON-LABEL: @by_hand(
// NEON-SAME: [[V0:%.+]]: tensor<1x16xi8>, [[V1:%.+]]: tensor<8x16xi8>) -> tensor<1x8xi32>
// NEON-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {schedule = #k8} {
// NEON-NEXT: ^bb0([[V3:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V3]] : i32
// NEON: func.return [[V2]] : tensor<1x8xi32>
// NEON-LABEL: @large(
// NEON-SAME: [[V0:%.+]]: tensor<200x200xi8>, [[V1:%.+]]: tensor<200x200xi8>, [[V2:%.+]]: tensor<100x1000xi8>) -> (tensor<200x200xi32>, tensor<100x1000xi8>)
// NEON-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<200x200xi8>, tensor<200x200xi8>) -> tensor<200x200xi32> attributes {schedule = #k1} {
// NEON-NEXT: ^bb0([[V4:%.+]]: i32):
// NEON-NEXT: kernel.yield [[V4]] : i32
// NEON: [[V5:%.+]] = tensor.empty() : tensor<100x1000xi8>
// NEON-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V2]] : tensor<100x1000xi8>) outs([[V5]] : tensor<100x1000xi8>) attrs =  {kernel.schedule = #k9} {
// NEON-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// NEON-NEXT: [[V9:%.+]] = arith.addi [[V7]], [[V7]] : i8
// NEON-NEXT: linalg.yield [[V9]] : i8
// NEON-NEXT: } -> tensor<100x1000xi8>
// NEON-NEXT: func.return [[V3]], [[V6]] : tensor<200x200xi32>, tensor<100x1000xi8>
