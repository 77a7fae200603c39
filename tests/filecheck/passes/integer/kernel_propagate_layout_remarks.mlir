// RUN: qmlir-opt %s --verify-diagnostics -p kernel-propagate-layout

// expected-remark @+1 {{'func.func' op keeps 1 of 2 transposes: 1 of results}}
func.func @main(%x: tensor<2x3xi8>) -> (tensor<3x2xi8>, tensor<2x3xi8>) {
  %e = tensor.empty() : tensor<3x2xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi8>) outs(%e : tensor<3x2xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<3x2xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x2xi8>) outs(%e : tensor<3x2xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.addi %a, %a : i8
    linalg.yield %2 : i8
  } -> tensor<3x2xi8>
  %f = tensor.empty() : tensor<2x3xi8>
  %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<3x2xi8>) outs(%f : tensor<2x3xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<2x3xi8>
  func.return %1, %3 : tensor<3x2xi8>, tensor<2x3xi8>
}
