// RUN: qmlir-opt %s -p kernel-requantize-by-integers | filecheck %s
// RUN: qmlir-opt %s -p kernel-requantize-by-integers,kernel-requantize-by-integers -o %t.twice && qmlir-opt %s -p kernel-requantize-by-integers | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-requantize-by-integers --verify-each=exec -o %t.checked
// RUN: qmlir-opt %s -p 'kernel-requantize-by-integers{isa=portable-integer}' -o %t.integer && qmlir-opt %s -p kernel-requantize-by-integers | diff %t.integer -

#id = affine_map<(d0, d1) -> (d0, d1)>
#channel = affine_map<(d0, d1) -> (d1)>

// CHECK: [[SHIFT:#k[0-9]+]] = #kernel.requantize<shift, even>

// A multiplier for each channel, one addend for both: the half of 2^23 and the zero point.
// CHECK-LABEL: func.func @channels
func.func @channels(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
  %m = arith.constant dense<[0.2718, 0.7142]> : tensor<2xf32>
  // CHECK: [[M:%.+]] = arith.constant dense<[{{[0-9]+}}, {{[0-9]+}}]> : tensor<2xi32>
  // CHECK: kernel.matmul {{.*}} epilogue([[M]] : tensor<2xi32>)
  // CHECK-NEXT: ^bb0([[ACC:%.+]]: i32, [[C:%.+]]: i32):
  // CHECK-NEXT: [[P:%.+]] = arith.muli [[ACC]], [[C]] : i32
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: [[S:%.+]] = arith.addi [[P]], {{%.+}} : i32
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: arith.shrsi [[S]], {{%.+}} : i32
  // CHECK-NOT: f32
  // CHECK: func.return
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) epilogue(%m : tensor<2xf32>) -> tensor<1x2xi8> attributes {epilogue_maps = [#channel]} {
  ^bb0(%acc: i32, %f: f32):
    %1 = kernel.requantize %acc, %f {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<1x2xi8>
}

// Powers of two have ties, to even.
// CHECK-LABEL: func.func @powers
func.func @powers(%x: tensor<1x2xi8>) -> tensor<1x2xi8> {
  %w = arith.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
  %m = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  // CHECK: arith.constant dense<[1, 2]> : tensor<2xi8>
  // CHECK: kernel.requantize {{%.+}}, {{%.+}} {mode = [[SHIFT]], zero_point = 3 : i64
  // CHECK-NOT: xf32>)
  // CHECK: func.return
  %0 = kernel.matmul ins(%x, %w : tensor<1x2xi8>, tensor<2x2xi8>) epilogue(%m : tensor<2xf32>) -> tensor<1x2xi8> attributes {epilogue_maps = [#channel]} {
  ^bb0(%acc: i32, %f: f32):
    %1 = kernel.requantize %acc, %f {mode = #kernel.requantize<f32>, zero_point = 3, minimum = -128, maximum = 127} : i32, f32 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<1x2xi8>
}

// 50 * 0.31 is rounded to 15.5 and so to 16, 150 * 0.31 to 46.5 and so to 46: no sum and shift does both, but some
// fraction bits, rounded with ties to even.
// CHECK-LABEL: func.func @ties
func.func @ties(%x: tensor<1x2xi16>) -> tensor<1x2xi8> {
  // CHECK: arith.muli {{.*}} : i64
  // CHECK: arith.shrsi {{.*}} : i64
  // CHECK: arith.andi {{.*}} : i32
  // CHECK-NOT: math.ctlz
  // CHECK-NOT: kernel.requantize
  // CHECK: func.return
  %0 = tensor.empty() : tensor<1x2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x2xi16>) outs(%0 : tensor<1x2xi8>) {
  ^bb0(%a: i16, %o: i8):
    %m = arith.constant 0.31 : f32
    %wide = arith.extsi %a : i16 to i32
    %2 = kernel.requantize %wide, %m {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    linalg.yield %2 : i8
  } -> tensor<1x2xi8>
  func.return %1 : tensor<1x2xi8>
}

// The zero point is added before rounding.
// CHECK-LABEL: func.func @qlinear
func.func @qlinear(%x: tensor<1x2xi16>) -> tensor<1x2xi8> {
  // CHECK: math.ctlz
  // CHECK-NOT: kernel.requantize
  // CHECK: func.return
  %0 = tensor.empty() : tensor<1x2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x2xi16>) outs(%0 : tensor<1x2xi8>) {
  ^bb0(%a: i16, %o: i8):
    %m = arith.constant 0.31 : f32
    %wide = arith.extsi %a : i16 to i32
    %2 = kernel.requantize %wide, %m {mode = #kernel.requantize<qlinear>, zero_point = 7, minimum = 0, maximum = 255} : i32, f32 -> i8
    linalg.yield %2 : i8
  } -> tensor<1x2xi8>
  func.return %1 : tensor<1x2xi8>
}

// Two bytes of different scales are added: every pair is looked at.
// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<1x2xi8>, %y: tensor<1x2xi8>) -> tensor<1x2xi8> {
  // CHECK: arith.muli {{.*}} : i32
  // CHECK: arith.muli {{.*}} : i32
  // CHECK: arith.shrsi {{.*}} : i32
  // CHECK-NOT: f32
  // CHECK: func.return
  %0 = tensor.empty() : tensor<1x2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<1x2xi8>, tensor<1x2xi8>) outs(%0 : tensor<1x2xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %sa = arith.constant 0.0213 : f32
    %sb = arith.constant 0.0371 : f32
    %sy = arith.constant 0.0417 : f32
    %low = arith.constant -1.280000e+02 : f32
    %high = arith.constant 1.270000e+02 : f32
    %fa = arith.sitofp %a : i8 to f32
    %fb = arith.sitofp %b : i8 to f32
    %pa = arith.mulf %fa, %sa : f32
    %pb = arith.mulf %fb, %sb : f32
    %s = arith.addf %pa, %pb : f32
    %q = arith.divf %s, %sy : f32
    %r = math.roundeven %q : f32
    %c = arith.maximumf %r, %low : f32
    %d = arith.minimumf %c, %high : f32
    %i = arith.fptosi %d : f32 to i32
    %t = arith.trunci %i : i32 to i8
    linalg.yield %t : i8
  } -> tensor<1x2xi8>
  func.return %1 : tensor<1x2xi8>
}

// Of integers of 16 bits there are too many pairs: every rounding is written, and the quotient is one of integers.
// CHECK-LABEL: func.func @wide_sum
func.func @wide_sum(%x: tensor<1x2xi16>, %y: tensor<1x2xi16>) -> tensor<1x2xi8> {
  // CHECK: arith.divsi {{.*}} : i64
  // CHECK-NOT: f32
  // CHECK: func.return
  %0 = tensor.empty() : tensor<1x2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<1x2xi16>, tensor<1x2xi16>) outs(%0 : tensor<1x2xi8>) {
  ^bb0(%a: i16, %b: i16, %o: i8):
    %sa = arith.constant 0.000213 : f32
    %sb = arith.constant 0.000371 : f32
    %sy = arith.constant 0.0417 : f32
    %low = arith.constant -1.280000e+02 : f32
    %high = arith.constant 1.270000e+02 : f32
    %fa = arith.sitofp %a : i16 to f32
    %fb = arith.sitofp %b : i16 to f32
    %pa = arith.mulf %fa, %sa : f32
    %pb = arith.mulf %fb, %sb : f32
    %s = arith.addf %pa, %pb : f32
    %q = arith.divf %s, %sy : f32
    %r = math.roundeven %q : f32
    %c = arith.maximumf %r, %low : f32
    %d = arith.minimumf %c, %high : f32
    %i = arith.fptosi %d : f32 to i32
    %t = arith.trunci %i : i32 to i8
    linalg.yield %t : i8
  } -> tensor<1x2xi8>
  func.return %1 : tensor<1x2xi8>
}
