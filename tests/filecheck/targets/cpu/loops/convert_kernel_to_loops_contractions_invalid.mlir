// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p convert-kernel-to-loops

func.func @unknown(%x: memref<1x4xi8>, %w: memref<1x1x1x4xi8>, %y: memref<1x1xi32>) {
  // expected-error@+1 {{'kernel.matmul' op is packed for 'magic' loops, there are u8s8_dot, u8s4_dot, u8s2_dot, u8s4_short, u8s5_short, u8s6_short, u8s7_short, s8s8_dot, i16_pairs, depthwise, depthwise_dot, depthwise_pairs, splat, splat_fma, winograd}}
  kernel.matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x4xi8>) outs(%y : memref<1x1xi32>) attributes {
    schedule = #kernel.schedule<variant = "magic", packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

func.func @group(%x: memref<1x4xi8>, %w: memref<1x1x1x4xi8>, %y: memref<1x1xi32>) {
  // expected-error@+1 {{'kernel.matmul' op is packed in groups of 2, 'u8s8_dot' reads groups of 4}}
  kernel.matmul ins(%x, %w : memref<1x4xi8>, memref<1x1x1x4xi8>) outs(%y : memref<1x1xi32>) attributes {
    schedule = #kernel.schedule<variant = "u8s8_dot", k_unroll = 2, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}

// -----

// Two taps of three channels are a run of six terms, which the gap behind each position interrupts.
func.func @gaps(%x: memref<1x4x3xi8, strided<[32, 8, 1]>>, %w: memref<1x1x1x2x4xi8>, %y: memref<1x3x1xi32>) {
  // expected-error@+1 {{reads runs of memory, found gaps in memref<1x4x3xi8, strided<[32, 8, 1]>>: its last two axes must lie as one}}
  kernel.conv ins(%x, %w : memref<1x4x3xi8, strided<[32, 8, 1]>>, memref<1x1x1x2x4xi8>) outs(%y : memref<1x3x1xi32>)
      attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>,
    schedule = #kernel.schedule<variant = "u8s8_dot", k_unroll = 4, packed = true>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return
}
