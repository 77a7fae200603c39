// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-pack

func.func @line(%x: tensor<1x9x8xi8>, %w: tensor<8x3x1xi8>) -> tensor<1x7x8xi32> {
  // expected-error@+1 {{'kernel.conv' op variant 'depthwise_dot' requires 2 spatial axes, but got 1}}
  %0 = kernel.conv ins(%x, %w : tensor<1x9x8xi8>, tensor<8x3x1xi8>) -> tensor<1x7x8xi32> attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_dot", vectors = 4, lanes = 4, k_unroll = 4>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x8xi32>
}

// -----

func.func @pairs(%x: tensor<1x9x8xi8>, %w: tensor<8x3x1xi8>) -> tensor<1x7x8xi32> {
  // expected-error@+1 {{'kernel.conv' op variant 'depthwise_pairs' requires 2 spatial axes, but got 1}}
  %0 = kernel.conv ins(%x, %w : tensor<1x9x8xi8>, tensor<8x3x1xi8>) -> tensor<1x7x8xi32> attributes {
    strides = array<i64: 1>, dilations = array<i64: 1>, groups = 8 : i64,
    schedule = #kernel.schedule<variant = "depthwise_pairs", vectors = 2, lanes = 4, k_unroll = 2>} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x7x8xi32>
}
