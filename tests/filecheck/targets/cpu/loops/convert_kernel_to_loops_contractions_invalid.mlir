// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

// Two taps of three channels are a run of six terms, which the gap behind each position interrupts.
func.func @gaps(%x: memref<1x4x3xi8, strided<[32, 8, 1]>>, %w: memref<1x1x1x2x4xi8>, %y: memref<1x3x1xi32>) {
  // expected-error@+1 {{requires contiguous memory along the last two axes, but got memref<1x4x3xi8, strided<[32, 8, 1]>>}}
  kernel.packed_conv ins(%x, %w : memref<1x4x3xi8, strided<[32, 8, 1]>>, memref<1x1x1x2x4xi8>) outs(%y : memref<1x3x1xi32>)
      attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>,
    kernel_shape = array<i64: 2>, layout = #kernel.layout<variant = "u8s8_dot", vectors = 1, lanes = 1>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
