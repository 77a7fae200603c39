// RUN: qmlir-opt %s -p kernel-requantize-by-integers --verify-diagnostics

#id = affine_map<(d0) -> (d0)>

// The function is no step of integers, and its result is rounded by f32: both are told.
func.func @function(%x: tensor<2xi16>) -> tensor<2xi8> {
  %0 = tensor.empty() : tensor<2xi8>
  // expected-warning@+1 {{computes on floats: arith.fptosi, arith.minimumf, arith.sitofp, math.cosh}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xi16>) outs(%0 : tensor<2xi8>) {
  ^bb0(%a: i16, %o: i8):
    %one = arith.constant 100.0 : f32
    %f = arith.sitofp %a : i16 to f32
    %g = math.cosh %f : f32
    %m = arith.minimumf %g, %one : f32
    %i = arith.fptosi %m : f32 to i8
    linalg.yield %i : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}

// A multiplier that comes as an operand has no proven steps.
func.func @operand(%x: tensor<2xi32>, %m: tensor<2xf32>) -> tensor<2xi8> {
  %0 = tensor.empty() : tensor<2xi8>
  // expected-warning@+1 {{computes on floats: kernel.requantize}}
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %m : tensor<2xi32>, tensor<2xf32>) outs(%0 : tensor<2xi8>) {
  ^bb0(%a: i32, %f: f32, %o: i8):
    %i = kernel.requantize %a, %f {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    linalg.yield %i : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}

// 64 bits and a multiplier of 24 are more than 64.
func.func @wide(%x: tensor<2xi64>) -> tensor<2xi8> {
  %0 = tensor.empty() : tensor<2xi8>
  // expected-remark@+2 {{requantizes not in integer arithmetic: an intermediate value needs 65 bits}}
  // expected-warning@+1 {{computes on floats: kernel.requantize}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xi64>) outs(%0 : tensor<2xi8>) {
  ^bb0(%a: i64, %o: i8):
    %f = arith.constant 0.31 : f32
    %i = kernel.requantize %a, %f {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i64, f32 -> i8
    linalg.yield %i : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}

func.func @told(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = tensor.empty() : tensor<2xi8>
  // expected-remark@+1 {{requantizes by a product and a shift of 32 bits, proven at each of 35 steps}}
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xi8>) outs(%0 : tensor<2xi8>) {
  ^bb0(%a: i8, %o: i8):
    %f = arith.constant 0.1372 : f32
    %wide = arith.extsi %a : i8 to i32
    %i = kernel.requantize %wide, %f {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    linalg.yield %i : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}
