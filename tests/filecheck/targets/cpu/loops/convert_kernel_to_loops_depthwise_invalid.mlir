// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @lanes(%x: memref<1x3x2x8xi8>, %w: memref<1x1x1x1x1x32xi8>, %y: memref<1x1x2x8xi32>) {
  // expected-error@+1 {{'kernel.conv' op is interleaved in blocks of 128 bits by 'depthwise_dot' loops: found 4 vectors of 2 lanes, accepted are 4 vectors of a multiple of 4 lanes}}
  kernel.conv ins(%x, %w : memref<1x3x2x8xi8>, memref<1x1x1x1x1x32xi8>) outs(%y : memref<1x1x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 4, lanes = 2, k_unroll = 4, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

func.func @vectors(%x: memref<1x3x2x8xi8>, %w: memref<1x1x1x1x1x32xi8>, %y: memref<1x1x2x8xi32>) {
  // expected-error@+1 {{found 2 vectors of 4 lanes, accepted are 4 vectors of a multiple of 4 lanes}}
  kernel.conv ins(%x, %w : memref<1x3x2x8xi8>, memref<1x1x1x1x1x32xi8>) outs(%y : memref<1x1x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 2, lanes = 4, k_unroll = 4, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

func.func @position(%x: memref<1x3x2x8xi8>, %w: memref<1x1x1x1x1x64xi8>, %y: memref<1x3x2x8xi32>) {
  // expected-error@+1 {{has no window of rows and columns, which 'depthwise_dot' loops go through}}
  kernel.conv ins(%x, %w : memref<1x3x2x8xi8>, memref<1x1x1x1x1x64xi8>) outs(%y : memref<1x3x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 4, lanes = 4, k_unroll = 4, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

func.func @pairs(%x: memref<1x3x2x8xi8>, %w: memref<1x1x2x1x1x32xi16>, %y: memref<1x1x2x8xi32>) {
  // expected-error@+1 {{found 4 vectors of 4 lanes, accepted are 2 vectors of a multiple of 4 lanes}}
  kernel.conv ins(%x, %w : memref<1x3x2x8xi8>, memref<1x1x2x1x1x32xi16>) outs(%y : memref<1x1x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_pairs", vectors = 4, lanes = 4, k_unroll = 2, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

// A vector of channels is read at once: they lie beside each other.
func.func @channels_apart(%x: memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>, %w: memref<1x1x3x1x1x8xi32>, %y: memref<1x1x2x8xi32>) {
  // expected-error@+1 {{reads runs of memory, found gaps in memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>}}
  kernel.conv ins(%x, %w : memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>, memref<1x1x3x1x1x8xi32>) outs(%y : memref<1x1x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise", lanes = 8, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
