// RUN: not qmlir-opt %s -p 'kernel-requantize-by-integers{isa=sse}'
// RUN: qmlir-opt %s -p 'kernel-requantize-by-integers{isa=generic}' -o %t.same && qmlir-opt %s | diff %t.same -

func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = tensor.empty() : tensor<2xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<2xi8>) outs(%0 : tensor<2xi8>) {
  ^bb0(%a: i8, %o: i8):
    %f = arith.constant 0.1372 : f32
    %wide = arith.extsi %a : i8 to i32
    %i = kernel.requantize %wide, %f {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    linalg.yield %i : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}
