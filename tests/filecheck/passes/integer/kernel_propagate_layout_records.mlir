// RUN: qmlir-opt %s -p kernel-propagate-layout | filecheck %s

// A record knows no order of elements, unless it keeps ranges along an axis.
// CHECK-LABEL: @recorded(
// CHECK-SAME: [[RX:%.+]]: tensor<2x3xf32>, [[RP:%.+]]: tensor<1xi64>, [[RR:%.+]]: tensor<70xi64>
// CHECK: [[RT:%.+]] = linalg.generic
// CHECK: [[RA:%.+]] = kernel.record [[RX]] at [[RP]] in [[RR]] bins 4 : i64 : tensor<2x3xf32>
// CHECK-NEXT: kernel.record [[RT]] at [[RP]] in [[RA]] bins 4 : i64 axis 0 : i64 : tensor<3x2xf32>
func.func @recorded(%x: tensor<2x3xf32>, %p: tensor<1xi64>, %r: tensor<70xi64>) -> tensor<70xi64> {
  %0 = tensor.empty() : tensor<3x2xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xf32>) outs(%0 : tensor<3x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<3x2xf32>
  %2 = kernel.record %1 at %p in %r bins 4 : i64 : tensor<3x2xf32>, tensor<1xi64>, tensor<70xi64> -> tensor<70xi64>
  %3 = kernel.record %1 at %p in %2 bins 4 : i64 axis 0 : i64 : tensor<3x2xf32>, tensor<1xi64>, tensor<70xi64> -> tensor<70xi64>
  func.return %3 : tensor<70xi64>
}
