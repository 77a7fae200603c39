// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// One matrix of weights for both batches: two blocks of two registers of two channels, two steps of four terms.
func.func @products(%x: tensor<2x3x8xi8>, %w: tensor<1x2x2x16xi8>, %b: tensor<7xi32>) -> tensor<2x3x7xi32> {
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x3x8xi8>, tensor<1x2x2x16xi8>) epilogue(%b : tensor<7xi32>) -> tensor<2x3x7xi32> attributes {
    input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>], layout = #kernel.layout<variant = "u8s8_dot", vectors = 2, lanes = 2>,
    schedule = #kernel.schedule<rows = 3, prefetch = 1, threads = true>} {
  ^bb0(%sum: i32, %bias: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<2x3x7xi32>
}

// A matrix for each batch, in two parts of a byte: eight terms a step.
func.func @batches(%x: tensor<2x3x9xi8>, %w: tensor<2x1x2x16xi8>) -> tensor<2x3x4xi32> {
  %0 = kernel.packed_matmul ins(%x, %w : tensor<2x3x9xi8>, tensor<2x1x2x16xi8>) -> tensor<2x3x4xi32> attributes {
    layout = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<2x3x4xi32>
}

// Two blocks of four terms, each followed by its scales; x is read 128 more than it counts, and sums begin with numbers.
func.func @blocks(%x: tensor<2x3x4xi8>, %w: tensor<1x2x2x32xi8>, %s: tensor<2x3xi32>, %b: tensor<7xf32>) -> tensor<3x7xf32> {
  %0 = kernel.packed_blocks ins(%x, %w : tensor<2x3x4xi8>, tensor<1x2x2x32xi8>) starts(%s : tensor<2x3xi32>) epilogue(%b : tensor<7xf32>) -> tensor<3x7xf32> attributes {
    epilogue_maps = [affine_map<(d0, d1) -> (d1)>], layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>,
    schedule = #kernel.schedule<rows = 3>, offset = 128 : i32} {
  ^bb0(%sum: f32, %bias: f32):
    %1 = arith.addf %sum, %bias : f32
    kernel.yield %1 : f32
  }
  func.return %0 : tensor<3x7xf32>
}

// Two super-blocks of two blocks: four f16 numbers, then four terms of four channels and four bytes, twice.
func.func @super_blocks(%x: tensor<4x1x4xi8>, %w: tensor<1x1x2x48xi8>) -> tensor<1x4xf32> {
  %0 = kernel.packed_blocks ins(%x, %w : tensor<4x1x4xi8>, tensor<1x1x2x48xi8>) -> tensor<1x4xf32> attributes {
    layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>, scale_type = f16, super_block = 2 : i32} {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return %0 : tensor<1x4xf32>
}

// The three taps of a row are beside each other in memory, those of a dilated one are not.
func.func @windows(%x: memref<1x5x5x2xi8>, %w: memref<1x1x3x1x2x16xi8>, %v: memref<1x1x3x3x1x16xi8>, %y: memref<1x3x3x4xi32>, %z: memref<1x3x1x4xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x5x5x2xi8>, memref<1x1x3x1x2x16xi8>) outs(%y : memref<1x3x3x4xi32>) attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>,
    layout = #kernel.layout<variant = "s8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  kernel.packed_conv ins(%x, %v : memref<1x5x5x2xi8>, memref<1x1x3x3x1x16xi8>) outs(%z : memref<1x3x1x4xi32>) attributes {
    kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>,
    layout = #kernel.layout<variant = "s8s8_dot", vectors = 1, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

// Three rows of a window are one group of four; the weights of depthwise variants have one group.
func.func @depthwise(%x: memref<1x3x2x20xi8>, %w: memref<1x2x1x2x1x64xi8>, %y: memref<1x1x1x20xi32>) {
  kernel.packed_conv ins(%x, %w : memref<1x3x2x20xi8>, memref<1x2x1x2x1x64xi8>) outs(%y : memref<1x1x1x20xi32>) attributes {
    kernel_shape = array<i64: 3, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 20 : i64,
    layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return
}

func.func @winograd(%x: tensor<1x6x6x4xi8>, %w: tensor<1x1x2x3x3x8xi8>) -> tensor<1x4x4x3xi32> {
  %0 = kernel.packed_winograd ins(%x, %w : tensor<1x6x6x4xi8>, tensor<1x1x2x3x3x8xi8>) -> tensor<1x4x4x3xi32> attributes {
    algorithm = "f4_bytes", parts = 2 : i64, layout = #kernel.layout<variant = "winograd_f4_bytes", vectors = 1, lanes = 4>,
    schedule = #kernel.schedule<block = 28>} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  func.return %0 : tensor<1x4x4x3xi32>
}

// CHECK: #k0 = #kernel.layout<variant = "u8s8_dot", vectors = 2, lanes = 2>
// CHECK-NEXT: #k1 = #kernel.schedule<rows = 3, prefetch = 1, threads = true>
// CHECK-NEXT: #k2 = #kernel.layout<variant = "u8s4_dot", vectors = 1, lanes = 4>
// CHECK-NEXT: #k3 = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 4>
// CHECK-NEXT: #k4 = #kernel.schedule<rows = 3>
// CHECK-NEXT: #k5 = #kernel.layout<variant = "s8s8_dot", vectors = 1, lanes = 4>
// CHECK-NEXT: #k6 = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>
// CHECK-NEXT: #k7 = #kernel.layout<variant = "winograd_f4_bytes", vectors = 1, lanes = 4>
// CHECK-NEXT: #k8 = #kernel.schedule<block = 28>
// CHECK-LABEL: @products(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x8xi8>, [[V1:%.+]]: tensor<1x2x2x16xi8>, [[V2:%.+]]: tensor<7xi32>) -> tensor<2x3x7xi32>
// CHECK-NEXT: [[V3:%.+]] = kernel.packed_matmul ins([[V0]], [[V1]] : tensor<2x3x8xi8>, tensor<1x2x2x16xi8>) epilogue([[V2]] : tensor<7xi32>) -> tensor<2x3x7xi32> attributes {input_unsigned, epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>], layout = #k0, schedule = #k1} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V4]] : i32
// CHECK: func.return [[V3]] : tensor<2x3x7xi32>
// CHECK-LABEL: @batches(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x9xi8>, [[V1:%.+]]: tensor<2x1x2x16xi8>) -> tensor<2x3x4xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.packed_matmul ins([[V0]], [[V1]] : tensor<2x3x9xi8>, tensor<2x1x2x16xi8>) -> tensor<2x3x4xi32> attributes {layout = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<2x3x4xi32>
// CHECK-LABEL: @blocks(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4xi8>, [[V1:%.+]]: tensor<1x2x2x32xi8>, [[V2:%.+]]: tensor<2x3xi32>, [[V3:%.+]]: tensor<7xf32>) -> tensor<3x7xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.packed_blocks ins([[V0]], [[V1]] : tensor<2x3x4xi8>, tensor<1x2x2x32xi8>) starts([[V2]] : tensor<2x3xi32>) epilogue([[V3]] : tensor<7xf32>) -> tensor<3x7xf32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>], layout = #k3, schedule = #k4, offset = 128 : i32} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.addf [[V5]], [[V6]] : f32
// CHECK-NEXT: kernel.yield [[V7]] : f32
// CHECK: func.return [[V4]] : tensor<3x7xf32>
// CHECK-LABEL: @super_blocks(
// CHECK-SAME: [[V0:%.+]]: tensor<4x1x4xi8>, [[V1:%.+]]: tensor<1x1x2x48xi8>) -> tensor<1x4xf32>
// CHECK-NEXT: [[V2:%.+]] = kernel.packed_blocks ins([[V0]], [[V1]] : tensor<4x1x4xi8>, tensor<1x1x2x48xi8>) -> tensor<1x4xf32> attributes {layout = #k3, scale_type = f16, super_block = 2 : i32} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V3]] : f32
// CHECK: func.return [[V2]] : tensor<1x4xf32>
// CHECK-LABEL: @windows(
// CHECK-SAME: [[V0:%.+]]: memref<1x5x5x2xi8>, [[V1:%.+]]: memref<1x1x3x1x2x16xi8>, [[V2:%.+]]: memref<1x1x3x3x1x16xi8>, [[V3:%.+]]: memref<1x3x3x4xi32>, [[V4:%.+]]: memref<1x3x1x4xi32>)
// CHECK-NEXT: kernel.packed_conv ins([[V0]], [[V1]] : memref<1x5x5x2xi8>, memref<1x1x3x1x2x16xi8>) outs([[V3]] : memref<1x3x3x4xi32>) attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, layout = #k5} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V5]] : i32
// CHECK: kernel.packed_conv ins([[V0]], [[V2]] : memref<1x5x5x2xi8>, memref<1x1x3x3x1x16xi8>) outs([[V4]] : memref<1x3x1x4xi32>) attributes {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 2>, layout = #k5} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: func.return
// CHECK-LABEL: @depthwise(
// CHECK-SAME: [[V0:%.+]]: memref<1x3x2x20xi8>, [[V1:%.+]]: memref<1x2x1x2x1x64xi8>, [[V2:%.+]]: memref<1x1x1x20xi32>)
// CHECK-NEXT: kernel.packed_conv ins([[V0]], [[V1]] : memref<1x3x2x20xi8>, memref<1x2x1x2x1x64xi8>) outs([[V2]] : memref<1x1x1x20xi32>) attributes {kernel_shape = array<i64: 3, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 20 : i64, layout = #k6} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return
// CHECK-LABEL: @winograd(
// CHECK-SAME: [[V0:%.+]]: tensor<1x6x6x4xi8>, [[V1:%.+]]: tensor<1x1x2x3x3x8xi8>) -> tensor<1x4x4x3xi32>
// CHECK-NEXT: [[V2:%.+]] = kernel.packed_winograd ins([[V0]], [[V1]] : tensor<1x6x6x4xi8>, tensor<1x1x2x3x3x8xi8>) -> tensor<1x4x4x3xi32> attributes {algorithm = "f4_bytes", parts = 2 : i64, layout = #k7, schedule = #k8} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: kernel.yield [[V3]] : i32
// CHECK: func.return [[V2]] : tensor<1x4x4x3xi32>
