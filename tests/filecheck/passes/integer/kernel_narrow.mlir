// RUN: qmlir-opt %s -p kernel-narrow | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-narrow,kernel-narrow' -o %t.twice && qmlir-opt %s -p kernel-narrow | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-narrow --verify-each=exec -o %t.checked

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Scores of a product, read for their largest and then less that: bytes in memory, floats where they are read.
// CHECK-LABEL: @scores(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<4x8xi8>, [[V2:%.+]]: tensor<2xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xi8> attributes {origin = ["scores", "scale"]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0.01 : f32
// CHECK-NEXT: [[V6:%.+]] = kernel.requantize [[V4]], [[V5]] {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: kernel.yield [[V6]] : i8
// CHECK: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V3]] : tensor<2x4xi8>) outs([[V2]] : tensor<2xf32>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.extsi [[V8]] : i8 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V10]], [[V11]] : i32
// CHECK-NEXT: [[V13:%.+]] = arith.sitofp [[V12]] : i32 to f32
// CHECK-NEXT: [[V14:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V15:%.+]] = arith.mulf [[V14]], [[V13]] : f32
// CHECK-NEXT: [[V16:%.+]] = arith.maximumf [[V15]], [[V9]] : f32
// CHECK-NEXT: linalg.yield [[V16]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V17:%.+]] = tensor.empty() : tensor<2x4xf32>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V3]], [[V7]] : tensor<2x4xi8>, tensor<2xf32>) outs([[V17]] : tensor<2x4xf32>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: f32, [[V21:%.+]]: f32):
// CHECK-NEXT: [[V22:%.+]] = arith.extsi [[V19]] : i8 to i32
// CHECK-NEXT: [[V23:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V24:%.+]] = arith.subi [[V22]], [[V23]] : i32
// CHECK-NEXT: [[V25:%.+]] = arith.sitofp [[V24]] : i32 to f32
// CHECK-NEXT: [[V26:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V27:%.+]] = arith.mulf [[V26]], [[V25]] : f32
// CHECK-NEXT: [[V28:%.+]] = arith.subf [[V27]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V28]] : f32
// CHECK-NEXT: } -> tensor<2x4xf32>
// CHECK-NEXT: func.return [[V18]] : tensor<2x4xf32>
func.func @scores(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %y: tensor<2xf32>) -> tensor<2x4xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> attributes {origin = ["scores", "scale"], tensor = "scale"} {
  ^bb0(%sum: i32):
    %m = arith.constant 1.000000e-02 : f32
    %1 = kernel.requantize %sum, %m {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    %2 = arith.extsi %1 : i8 to i32
    %z = arith.constant 3 : i32
    %3 = arith.subi %2, %z : i32
    %4 = arith.sitofp %3 : i32 to f32
    %s = arith.constant 5.000000e-01 : f32
    %5 = arith.mulf %s, %4 : f32
    kernel.yield %5 : f32
  }
  %6 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<2x4xf32>) outs(%y : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %7 = arith.maximumf %a, %o : f32
    linalg.yield %7 : f32
  } -> tensor<2xf32>
  %8 = tensor.empty() : tensor<2x4xf32>
  %9 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%0, %6 : tensor<2x4xf32>, tensor<2xf32>) outs(%8 : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %10 = arith.subf %a, %b : f32
    linalg.yield %10 : f32
  } -> tensor<2x4xf32>
  func.return %9 : tensor<2x4xf32>
}

// An elementwise operation that computes a byte keeps it, too.
// CHECK-LABEL: @elements(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xi8>, [[V1:%.+]]: tensor<2xi32>) -> tensor<2xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x4xi8>) outs([[V2]] : tensor<2x4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V4]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK-NEXT: } -> tensor<2x4xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V3]] : tensor<2x4xi8>) outs([[V1]] : tensor<2xi32>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: i32):
// CHECK-NEXT: [[V10:%.+]] = arith.extsi [[V8]] : i8 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V10]], [[V9]] : i32
// CHECK-NEXT: linalg.yield [[V11]] : i32
// CHECK-NEXT: } -> tensor<2xi32>
// CHECK-NEXT: func.return [[V7]] : tensor<2xi32>
func.func @elements(%x: tensor<2x4xi8>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %0 = tensor.empty() : tensor<2x4xi32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x4xi8>) outs(%0 : tensor<2x4xi32>) {
  ^bb0(%a: i8, %o: i32):
    %2 = arith.maxsi %a, %a : i8
    %3 = arith.extsi %2 : i8 to i32
    linalg.yield %3 : i32
  } -> tensor<2x4xi32>
  %4 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%1 : tensor<2x4xi32>) outs(%y : tensor<2xi32>) {
  ^bb0(%a: i32, %o: i32):
    %5 = arith.addi %a, %o : i32
    linalg.yield %5 : i32
  } -> tensor<2xi32>
  func.return %4 : tensor<2xi32>
}

// What is returned stays as it is, and so does what a product takes.
// CHECK-LABEL: @returned(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<8x8xi8>) -> tensor<2x8xf32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<8x8xi8>) -> tensor<2x8xf32> {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.trunci [[V3]] : i32 to i8
// CHECK-NEXT: [[V5:%.+]] = arith.sitofp [[V4]] : i8 to f32
// CHECK-NEXT: kernel.yield [[V5]] : f32
// CHECK: func.return [[V2]] : tensor<2x8xf32>
func.func @returned(%x: tensor<2x8xi8>, %w: tensor<8x8xi8>) -> tensor<2x8xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<8x8xi8>) -> tensor<2x8xf32> {
  ^bb0(%sum: i32):
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.sitofp %1 : i8 to f32
    kernel.yield %2 : f32
  }
  func.return %0 : tensor<2x8xf32>
}
// CHECK-LABEL: @multiplied(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<8x8xi8>, [[V2:%.+]]: tensor<8x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<8x8xi8>) -> tensor<2x8xf32> {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.trunci [[V4]] : i32 to i8
// CHECK-NEXT: [[V6:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: kernel.yield [[V6]] : f32
// CHECK: [[V7:%.+]] = kernel.matmul ins([[V3]], [[V2]] : tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT: ^bb0([[V8:%.+]]: f32):
// CHECK-NEXT: kernel.yield [[V8]] : f32
// CHECK: func.return [[V7]] : tensor<2x8xf32>
func.func @multiplied(%x: tensor<2x8xi8>, %w: tensor<8x8xi8>, %v: tensor<8x8xf32>) -> tensor<2x8xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<8x8xi8>) -> tensor<2x8xf32> {
  ^bb0(%sum: i32):
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.sitofp %1 : i8 to f32
    kernel.yield %2 : f32
  }
  %3 = kernel.matmul ins(%0, %v : tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  }
  func.return %3 : tensor<2x8xf32>
}

// Elements that are read once for each row of a larger result would be widened as often.
// CHECK-LABEL: @repeated(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<4x8xi8>) -> tensor<3x2x4xf32>
// CHECK-NEXT: [[V2:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i32):
// CHECK-NEXT: [[V4:%.+]] = arith.trunci [[V3]] : i32 to i8
// CHECK-NEXT: [[V5:%.+]] = arith.sitofp [[V4]] : i8 to f32
// CHECK-NEXT: kernel.yield [[V5]] : f32
// CHECK: [[V6:%.+]] = tensor.empty() : tensor<3x2x4xf32>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V2]] : tensor<2x4xf32>) outs([[V6]] : tensor<3x2x4xf32>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: f32, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.negf [[V8]] : f32
// CHECK-NEXT: linalg.yield [[V10]] : f32
// CHECK-NEXT: } -> tensor<3x2x4xf32>
// CHECK-NEXT: func.return [[V7]] : tensor<3x2x4xf32>
func.func @repeated(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>) -> tensor<3x2x4xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> {
  ^bb0(%sum: i32):
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.sitofp %1 : i8 to f32
    kernel.yield %2 : f32
  }
  %3 = tensor.empty() : tensor<3x2x4xf32>
  %4 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%0 : tensor<2x4xf32>) outs(%3 : tensor<3x2x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %5 = arith.negf %a : f32
    linalg.yield %5 : f32
  } -> tensor<3x2x4xf32>
  func.return %4 : tensor<3x2x4xf32>
}

// A sum of two numbers is not a widening.
// CHECK-LABEL: @two(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<4x8xi8>, [[V2:%.+]]: tensor<2x4xi8>, [[V3:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<4x8xi8>) epilogue([[V2]] : tensor<2x4xi8>) -> tensor<2x4xi32> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d0, d1)>]} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V5]] : i32 to i8
// CHECK-NEXT: [[V8:%.+]] = arith.extsi [[V7]] : i8 to i32
// CHECK-NEXT: [[V9:%.+]] = arith.extsi [[V6]] : i8 to i32
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V9]] : i32
// CHECK-NEXT: kernel.yield [[V10]] : i32
// CHECK: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x4xi32>) outs([[V3]] : tensor<2xf32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i32, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V12]] : i32 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.maximumf [[V14]], [[V13]] : f32
// CHECK-NEXT: linalg.yield [[V15]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<2xf32>
func.func @two(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %r: tensor<2x4xi8>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) epilogue(%r : tensor<2x4xi8>) -> tensor<2x4xi32> attributes {epilogue_maps = [#id]} {
  ^bb0(%sum: i32, %b: i8):
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.extsi %1 : i8 to i32
    %3 = arith.extsi %b : i8 to i32
    %4 = arith.addi %2, %3 : i32
    kernel.yield %4 : i32
  }
  %5 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<2x4xi32>) outs(%y : tensor<2xf32>) {
  ^bb0(%a: i32, %o: f32):
    %6 = arith.sitofp %a : i32 to f32
    %7 = arith.maximumf %6, %o : f32
    linalg.yield %7 : f32
  } -> tensor<2xf32>
  func.return %5 : tensor<2xf32>
}

// A sum of floats takes its terms one by one: each would be widened by itself.
func.func @ordered(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %y: tensor<2xf64>) -> tensor<2xf64> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> {
  ^bb0(%sum: i32):
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.sitofp %1 : i8 to f32
    kernel.yield %2 : f32
  }
  %3 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<2x4xf32>) outs(%y : tensor<2xf64>) {
  ^bb0(%a: f32, %o: f64):
    %4 = arith.extf %a : f32 to f64
    %5 = arith.addf %o, %4 : f64
    linalg.yield %5 : f64
  } -> tensor<2xf64>
  func.return %3 : tensor<2xf64>
}

// Five operations are more than a reader repeats: the floats are stored.
// CHECK-LABEL: @five_steps(
// CHECK: kernel.matmul {{.*}} -> tensor<2x4xf32>
// CHECK: linalg.generic {{.*}} ins({{.+}} : tensor<2x4xf32>)
func.func @five_steps(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> {
  ^bb0(%sum: i32):
    %z = arith.constant 3 : i32
    %s = arith.constant 5.000000e-01 : f32
    %t = arith.constant 1.250000e-01 : f32
    %1 = arith.trunci %sum : i32 to i8
    %2 = arith.extsi %1 : i8 to i32
    %3 = arith.subi %2, %z : i32
    %4 = arith.sitofp %3 : i32 to f32
    %5 = arith.mulf %4, %s : f32
    %6 = arith.mulf %5, %t : f32
    kernel.yield %6 : f32
  }
  %7 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%0 : tensor<2x4xf32>) outs(%y : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %8 = arith.maximumf %a, %o : f32
    linalg.yield %8 : f32
  } -> tensor<2xf32>
  func.return %7 : tensor<2xf32>
}
