// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'kernel-assign-schedule'

func.func @unknown(%x: tensor<1x16xi8>, %w: tensor<8x16xi8>) -> tensor<1x8xi32> {
  // expected-error@+1 {{'kernel.matmul' op has a schedule for unknown variant 'magic' (available: u8s8_dot, u8s4_dot, u8s2_dot, s8u4_dot, s8u2_dot, s8u1_dot, s8u4_short, s8u2_short, u8s4_short, u8s5_short, u8s6_short, u8s7_short, u8s8_short, u8s8_short2, u8s8_short4, s8s8_dot, s8s8_lanes, i16_pairs, i16_bytes, depthwise, splat_bytes, depthwise_bytes, depthwise_bytes_taps, i16_dots, i16_rows, i16_shifted_rows, u16_rows, depthwise_dot, depthwise_pairs, splat, splat_fma, f32s8, f32s4, f32s2, f32e2m1, f32e3m4, f32e4m3, f32e5m2, winograd, winograd_f4, winograd_f4_bytes, scalar)}}
  %0 = kernel.matmul ins(%x, %w : tensor<1x16xi8>, tensor<8x16xi8>) -> tensor<1x8xi32> attributes {
    schedule = #kernel.schedule<variant = "magic">} {
  ^bb0(%acc: i32):
    kernel.yield %acc : i32
  }
  func.return %0 : tensor<1x8xi32>
}
