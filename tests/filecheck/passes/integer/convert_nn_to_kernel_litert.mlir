// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize --verify-each=exec -o %t

// LiteRT's reference kernels round twice by a multiplier in f64; those of fully connected layers multiply in f64. XNNPACK
// multiplies in f32. 0.75 * 0.5 / 0.375 = 1 and 0.75 * 0.25 / 0.375 = 0.5 are 2^30 * 2^-30 and 2^30 * 2^-31.
!x = !quant.uniform<i8:f32, 0.75:-3>
!y = !quant.uniform<i8:f32, 0.375:7>
!w = !quant.uniform<i8:f32:0, {0.5, 0.25}>

// CHECK: [[DOUBLE:#.+]] = #kernel.requantize<double_round>
func.func @main(%x: tensor<1x2x!x>, %image: tensor<1x1x3x!x>, %real: tensor<4xf32>) -> (tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x2x!y>, tensor<4x!y>) {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8> -> tensor<2x2x!w>
  %k = nn.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi8> -> tensor<2x1x2x!w>
  // CHECK: arith.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf64>
  // CHECK: kernel.requantize {{%.+}}, {{%.+}} {mode = #kernel.requantize<f64>, zero_point = 7 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f64 -> i8
  %0 = nn.fully_connected %x, %w {requantize = #kernel.requantize<litert_reference>} : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y>
  // CHECK: kernel.requantize {{%.+}}, {{%.+}} {mode = #kernel.requantize<f32>, zero_point = 7 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
  %1 = nn.fully_connected %x, %w {requantize = #kernel.requantize<litert_xnnpack>} : (tensor<1x2x!x>, tensor<2x2x!w>) -> tensor<1x2x!y>
  // CHECK: arith.constant dense<[30, 31]> : tensor<2xi8>
  // CHECK: arith.constant 1073741824 : i32
  // CHECK: kernel.requantize {{%.+}}, {{%.+}}, {{%.+}} {mode = [[DOUBLE]], zero_point = 7 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, i32, i8 -> i8
  %2 = nn.conv %image, %k {requantize = #kernel.requantize<litert_reference>} : (tensor<1x1x3x!x>, tensor<2x1x2x!w>) -> tensor<1x2x2x!y>
  // CHECK: arith.divf
  // CHECK: math.roundeven
  // CHECK: arith.fptosi
  %3 = nn.clip %real {requantize = #kernel.requantize<litert_reference>} : (tensor<4xf32>) -> tensor<4x!y>
  func.return %0, %1, %2, %3 : tensor<1x2x!y>, tensor<1x2x!y>, tensor<1x2x2x!y>, tensor<4x!y>
}
