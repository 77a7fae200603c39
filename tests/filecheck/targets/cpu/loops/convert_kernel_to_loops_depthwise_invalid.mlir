// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @position(%x: memref<1x3x2x8xi8>, %w: memref<1x1x1x1x1x64xi8>, %y: memref<1x3x2x8xi32>) {
  // expected-error@+1 {{variant 'depthwise_dot' requires a 2-D window}}
  kernel.packed_conv ins(%x, %w : memref<1x3x2x8xi8>, memref<1x1x1x1x1x64xi8>) outs(%y : memref<1x3x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    kernel_shape = array<i64: 1, 1>, layout = #kernel.layout<variant = "depthwise_dot", vectors = 4, lanes = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

// A vector of channels is read at once: they lie beside each other.
func.func @channels_apart(%x: memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>, %w: memref<1x1x3x1x1x8xi32>, %y: memref<1x1x2x8xi32>) {
  // expected-error@+1 {{requires contiguous memory along the last two axes, but got memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>}}
  kernel.packed_conv ins(%x, %w : memref<1x3x2x8xi8, strided<[96, 32, 16, 2]>>, memref<1x1x3x1x1x8xi32>) outs(%y : memref<1x1x2x8xi32>) attributes {
    strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64,
    kernel_shape = array<i64: 3, 1>, layout = #kernel.layout<variant = "depthwise", vectors = 1, lanes = 8>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
