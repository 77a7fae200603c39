// RUN: qmlir-opt %s -p kernel-simplify-rounding | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-simplify-rounding,kernel-simplify-rounding' -o %t.twice && qmlir-opt %s -p kernel-simplify-rounding | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-simplify-rounding --verify-each=exec -o %t.checked

#id = affine_map<(d0) -> (d0)>
#channel = affine_map<(d0, d1) -> (d1)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// A quotient by a constant: a product and a fused multiply-add round to the same integers.
// CHECK-LABEL: @quantize(
// CHECK-SAME: [[V0:%.+]]: tensor<64xf32>) -> tensor<64xi32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<64xi32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<64xi32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 27.639055 : f32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4.119524e-07 : f32
// CHECK-NEXT: [[V7:%.+]] = arith.mulf [[V3]], [[V6]] : f32
// CHECK-NEXT: [[V8:%.+]] = math.fma [[V3]], [[V5]], [[V7]] : f32
// CHECK-NEXT: [[V9:%.+]] = math.roundeven [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.constant -1.240000e+02 : f32
// CHECK-NEXT: [[V11:%.+]] = arith.maximumf [[V9]], [[V10]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1.310000e+02 : f32
// CHECK-NEXT: [[V13:%.+]] = arith.minimumf [[V11]], [[V12]] : f32
// CHECK-NEXT: [[V14:%.+]] = arith.fptosi [[V13]] : f32 to i32
// CHECK-NEXT: linalg.yield [[V14]] : i32
// CHECK-NEXT: } -> tensor<64xi32>
// CHECK-NEXT: func.return [[V2]] : tensor<64xi32>
func.func @quantize(%x: tensor<64xf32>) -> tensor<64xi32> {
  %e = tensor.empty() : tensor<64xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xi32>) {
  ^bb0(%a: f32, %o: i32):
    %s = arith.constant 0.0361806862 : f32
    %1 = arith.divf %a, %s : f32
    %2 = math.roundeven %1 : f32
    %low = arith.constant -124.0 : f32
    %3 = arith.maximumf %2, %low : f32
    %high = arith.constant 131.0 : f32
    %4 = arith.minimumf %3, %high : f32
    %5 = arith.fptosi %4 : f32 to i32
    linalg.yield %5 : i32
  } -> tensor<64xi32>
  func.return %0 : tensor<64xi32>
}

// The reciprocal of a power of two is exact: a product is enough. The limits may come in any order.
// CHECK-LABEL: @power(
// CHECK-SAME: [[V0:%.+]]: tensor<64xf32>) -> tensor<64xi32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<64xi32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<64xi32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8.000000e+00 : f32
// CHECK-NEXT: [[V6:%.+]] = arith.mulf [[V3]], [[V5]] : f32
// CHECK-NEXT: [[V7:%.+]] = math.roundeven [[V6]] : f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 1.270000e+02 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.minimumf [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: [[V11:%.+]] = arith.maximumf [[V9]], [[V10]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.fptosi [[V11]] : f32 to i32
// CHECK-NEXT: linalg.yield [[V12]] : i32
// CHECK-NEXT: } -> tensor<64xi32>
// CHECK-NEXT: func.return [[V2]] : tensor<64xi32>
func.func @power(%x: tensor<64xf32>) -> tensor<64xi32> {
  %e = tensor.empty() : tensor<64xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xi32>) {
  ^bb0(%a: f32, %o: i32):
    %s = arith.constant 0.125 : f32
    %1 = arith.divf %a, %s : f32
    %2 = math.roundeven %1 : f32
    %high = arith.constant 127.0 : f32
    %3 = arith.minimumf %2, %high : f32
    %low = arith.constant -128.0 : f32
    %4 = arith.maximumf %3, %low : f32
    %5 = arith.fptosi %4 : f32 to i32
    linalg.yield %5 : i32
  } -> tensor<64xi32>
  func.return %0 : tensor<64xi32>
}

// Without a limit on each side any integer may come, and a quotient that is read elsewhere, too, is wanted itself: both stay.
// CHECK-LABEL: @open(
// CHECK-SAME: [[V0:%.+]]: tensor<64xf32>) -> (tensor<64xi32>, tensor<64xf32>)
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<64xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xf32>
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<64xf32>) outs([[V1]], [[V2]] : tensor<64xi32>, tensor<64xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: f32, [[V6:%.+]]: i32, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0.3 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.divf [[V5]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = math.roundeven [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1.270000e+02 : f32
// CHECK-NEXT: [[V12:%.+]] = arith.minimumf [[V10]], [[V11]] : f32
// CHECK-NEXT: [[V13:%.+]] = arith.divf [[V5]], [[V8]] : f32
// CHECK-NEXT: [[V14:%.+]] = math.roundeven [[V13]] : f32
// CHECK-NEXT: [[V15:%.+]] = arith.constant -1.280000e+02 : f32
// CHECK-NEXT: [[V16:%.+]] = arith.maximumf [[V14]], [[V15]] : f32
// CHECK-NEXT: [[V17:%.+]] = arith.minimumf [[V16]], [[V11]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.fptosi [[V17]] : f32 to i32
// CHECK-NEXT: [[V19:%.+]] = arith.addf [[V12]], [[V13]] : f32
// CHECK-NEXT: linalg.yield [[V18]], [[V19]] : i32, f32
// CHECK-NEXT: } -> (tensor<64xi32>, tensor<64xf32>)
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<64xi32>, tensor<64xf32>
func.func @open(%x: tensor<64xf32>) -> (tensor<64xi32>, tensor<64xf32>) {
  %e = tensor.empty() : tensor<64xi32>
  %f = tensor.empty() : tensor<64xf32>
  %0:2 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e, %f : tensor<64xi32>, tensor<64xf32>) {
  ^bb0(%a: f32, %o: i32, %p: f32):
    %s = arith.constant 0.3 : f32
    %1 = arith.divf %a, %s : f32
    %2 = math.roundeven %1 : f32
    %high = arith.constant 127.0 : f32
    %3 = arith.minimumf %2, %high : f32
    %4 = arith.divf %a, %s : f32
    %5 = math.roundeven %4 : f32
    %low = arith.constant -128.0 : f32
    %6 = arith.maximumf %5, %low : f32
    %7 = arith.minimumf %6, %high : f32
    %8 = arith.fptosi %7 : f32 to i32
    %9 = arith.addf %3, %4 : f32
    linalg.yield %8, %9 : i32, f32
  } -> tensor<64xi32>, tensor<64xf32>
  func.return %0#0, %0#1 : tensor<64xi32>, tensor<64xf32>
}

// A requantization whose products are proven to fit: limits of the integer, those inside its type first.
// CHECK-LABEL: @requantize(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xi8>) -> tensor<2x2xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<{{\[\[}}1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<[2.500000e-01, 0.3]> : tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x4xi8>, tensor<2x4xi8>) epilogue([[V2]] : tensor<2xf32>) -> tensor<2x2xi8> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: f32):
// CHECK-NEXT: [[V6:%.+]] = arith.sitofp [[V4]] : i32 to f32
// CHECK-NEXT: [[V7:%.+]] = arith.mulf [[V6]], [[V5]] : f32
// CHECK-NEXT: [[V8:%.+]] = math.roundeven [[V7]] : f32
// CHECK-NEXT: [[V9:%.+]] = arith.fptosi [[V8]] : f32 to i32
// CHECK-NEXT: [[V10:%.+]] = arith.constant -100 : i32
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V9]], [[V10]] : i32
// CHECK-NEXT: [[V12:%.+]] = arith.constant -100 : i32
// CHECK-NEXT: [[V13:%.+]] = arith.maxsi [[V11]], [[V12]] : i32
// CHECK-NEXT: [[V14:%.+]] = arith.constant 120 : i32
// CHECK-NEXT: [[V15:%.+]] = arith.minsi [[V13]], [[V14]] : i32
// CHECK-NEXT: [[V16:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[V17:%.+]] = arith.maxsi [[V15]], [[V16]] : i32
// CHECK-NEXT: [[V18:%.+]] = arith.constant 127 : i32
// CHECK-NEXT: [[V19:%.+]] = arith.minsi [[V17]], [[V18]] : i32
// CHECK-NEXT: [[V20:%.+]] = arith.trunci [[V19]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V20]] : i8
// CHECK: func.return [[V3]] : tensor<2x2xi8>
func.func @requantize(%x: tensor<2x4xi8>) -> tensor<2x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %m = arith.constant dense<[0.25, 0.3]> : tensor<2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m : tensor<2xf32>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel]} {
  ^bb0(%sum: i32, %f: f32):
    %1 = kernel.requantize %sum, %f {mode = #kernel.requantize<f32>, zero_point = -100, minimum = -100, maximum = 120} : i32, f32 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<2x2xi8>
}

// Multipliers that nobody knows, or that take sums beyond 32 bits: the floats stay inside their limits.
// CHECK-LABEL: @unknown(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xi8>, [[V1:%.+]]: tensor<2xf32>) -> tensor<2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<{{\[\[}}1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<[2.500000e-01, 3.000000e+08]> : tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V2]] : tensor<2x4xi8>, tensor<2x4xi8>) epilogue([[V1]], [[V3]] : tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xi8> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>]} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32, [[V6:%.+]]: f32, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = kernel.requantize [[V5]], [[V6]] {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: [[V9:%.+]] = kernel.requantize [[V5]], [[V7]] {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V8]], [[V9]] : i8
// CHECK-NEXT: kernel.yield [[V10]] : i8
// CHECK: func.return [[V4]] : tensor<2x2xi8>
func.func @unknown(%x: tensor<2x4xi8>, %m: tensor<2xf32>) -> tensor<2x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %large = arith.constant dense<[0.25, 3.0e+8]> : tensor<2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m, %large : tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel, #channel]} {
  ^bb0(%sum: i32, %f: f32, %g: f32):
    %1 = kernel.requantize %sum, %f {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    %2 = kernel.requantize %sum, %g {mode = #kernel.requantize<f32>, zero_point = 0, minimum = -128, maximum = 127} : i32, f32 -> i8
    %3 = arith.addi %1, %2 : i8
    kernel.yield %3 : i8
  }
  func.return %0 : tensor<2x2xi8>
}

// A residual sum in floats.
// CHECK-LABEL: @residual(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xi8>, [[V1:%.+]]: tensor<2x2xi8>) -> tensor<2x2xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<{{\[\[}}1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<[2.500000e-01, 0.3]> : tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.matmul ins([[V0]], [[V2]] : tensor<2x4xi8>, tensor<2x4xi8>) epilogue([[V3]], [[V1]] : tensor<2xf32>, tensor<2x2xi8>) -> tensor<2x2xi8> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>]} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i32, [[V6:%.+]]: f32, [[V7:%.+]]: i8):
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V5]] : i32 to f32
// CHECK-NEXT: [[V9:%.+]] = arith.mulf [[V8]], [[V6]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.extsi [[V7]] : i8 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.sitofp [[V10]] : i32 to f32
// CHECK-NEXT: [[V12:%.+]] = arith.addf [[V9]], [[V11]] : f32
// CHECK-NEXT: [[V13:%.+]] = arith.constant 1.4285713 : f32
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1.0947792e-07 : f32
// CHECK-NEXT: [[V15:%.+]] = arith.mulf [[V12]], [[V14]] : f32
// CHECK-NEXT: [[V16:%.+]] = math.fma [[V12]], [[V13]], [[V15]] : f32
// CHECK-NEXT: [[V17:%.+]] = math.roundeven [[V16]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.fptosi [[V17]] : f32 to i32
// CHECK-NEXT: [[V19:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V19]] : i32
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[V22:%.+]] = arith.maxsi [[V20]], [[V21]] : i32
// CHECK-NEXT: [[V23:%.+]] = arith.constant 127 : i32
// CHECK-NEXT: [[V24:%.+]] = arith.minsi [[V22]], [[V23]] : i32
// CHECK-NEXT: [[V25:%.+]] = arith.trunci [[V24]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V25]] : i8
// CHECK: func.return [[V4]] : tensor<2x2xi8>
func.func @residual(%x: tensor<2x4xi8>, %r: tensor<2x2xi8>) -> tensor<2x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %m = arith.constant dense<[0.25, 0.3]> : tensor<2xf32>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m, %r : tensor<2xf32>, tensor<2x2xi8>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel, #all]} {
  ^bb0(%sum: i32, %f: f32, %b: i8):
    %1 = arith.sitofp %sum : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = arith.extsi %b : i8 to i32
    %4 = arith.sitofp %3 : i32 to f32
    %5 = arith.addf %2, %4 : f32
    %s = arith.constant 0.7 : f32
    %6 = arith.divf %5, %s : f32
    %7 = math.roundeven %6 : f32
    %low = arith.constant 0.0 : f32
    %8 = arith.maximumf %7, %low : f32
    %high = arith.constant 255.0 : f32
    %9 = arith.minimumf %8, %high : f32
    %10 = arith.fptosi %9 : f32 to i32
    %zero = arith.constant -128 : i32
    %11 = arith.addi %10, %zero : i32
    %12 = arith.trunci %11 : i32 to i8
    kernel.yield %12 : i8
  }
  func.return %0 : tensor<2x2xi8>
}

// Limits that are those of the type become limits of the integer. One beyond them, on either side, the integer wraps: the
// floats stay inside their limits.
// CHECK-LABEL: @ends_of_the_type(
// CHECK-NOT: maximumf
// CHECK: arith.trunci
// CHECK: kernel.matmul
// CHECK: arith.maximumf
// CHECK-NEXT: arith.constant 2.280000e+02 : f32
// CHECK-NEXT: arith.minimumf
// CHECK: kernel.matmul
// CHECK: arith.constant -2.900000e+01 : f32
// CHECK-NEXT: arith.maximumf
// CHECK: kernel.yield
func.func @ends_of_the_type(%x: tensor<2x4xi8>) -> (tensor<2x2xi8>, tensor<2x2xi8>, tensor<2x2xi8>) {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %m = arith.constant dense<[0.25, 0.3]> : tensor<2xf32>
  %in = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m : tensor<2xf32>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel]} {
  ^bb0(%sum: i32, %f: f32):
    %1 = arith.sitofp %sum : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = math.roundeven %2 : f32
    %low = arith.constant -28.0 : f32
    %4 = arith.maximumf %3, %low : f32
    %high = arith.constant 227.0 : f32
    %5 = arith.minimumf %4, %high : f32
    %6 = arith.fptosi %5 : f32 to i32
    %zero = arith.constant -100 : i32
    %7 = arith.addi %6, %zero : i32
    %8 = arith.trunci %7 : i32 to i8
    kernel.yield %8 : i8
  }
  %above = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m : tensor<2xf32>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel]} {
  ^bb0(%sum: i32, %f: f32):
    %1 = arith.sitofp %sum : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = math.roundeven %2 : f32
    %low = arith.constant -28.0 : f32
    %4 = arith.maximumf %3, %low : f32
    %high = arith.constant 228.0 : f32
    %5 = arith.minimumf %4, %high : f32
    %6 = arith.fptosi %5 : f32 to i32
    %zero = arith.constant -100 : i32
    %7 = arith.addi %6, %zero : i32
    %8 = arith.trunci %7 : i32 to i8
    kernel.yield %8 : i8
  }
  %below = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%m : tensor<2xf32>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel]} {
  ^bb0(%sum: i32, %f: f32):
    %1 = arith.sitofp %sum : i32 to f32
    %2 = arith.mulf %1, %f : f32
    %3 = math.roundeven %2 : f32
    %low = arith.constant -29.0 : f32
    %4 = arith.maximumf %3, %low : f32
    %high = arith.constant 227.0 : f32
    %5 = arith.minimumf %4, %high : f32
    %6 = arith.fptosi %5 : f32 to i32
    %zero = arith.constant -100 : i32
    %7 = arith.addi %6, %zero : i32
    %8 = arith.trunci %7 : i32 to i8
    kernel.yield %8 : i8
  }
  func.return %in, %above, %below : tensor<2x2xi8>, tensor<2x2xi8>, tensor<2x2xi8>
}

// Shifts with ties up: the half and the zero point become part of the bias, and one shift is left.
// CHECK-LABEL: @shift(
// CHECK: arith.constant dense<[136, 137]> : tensor<2xi32>
// CHECK: ^bb0([[SUM:%.+]]: i32, [[ADD:%.+]]: i32, [[P:%.+]]: i8):
// CHECK-NEXT: [[T:%.+]] = arith.addi [[SUM]], [[ADD]] : i32
// CHECK-NEXT: [[PLACES:%.+]] = arith.extsi [[P]] : i8 to i32
// CHECK-NEXT: [[V:%.+]] = arith.shrsi [[T]], [[PLACES]] : i32
// CHECK-NEXT: [[L:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[A:%.+]] = arith.maxsi [[V]], [[L]] : i32
// CHECK-NEXT: [[H:%.+]] = arith.constant 127 : i32
// CHECK-NEXT: [[B:%.+]] = arith.minsi [[A]], [[H]] : i32
// CHECK-NEXT: [[Q:%.+]] = arith.trunci [[B]] : i32 to i8
// CHECK-NEXT: kernel.yield [[Q]] : i8
func.func @shift(%x: tensor<2x4xi8>) -> tensor<2x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %b = arith.constant dense<[100, -7]> : tensor<2xi32>
  %s = arith.constant dense<[3, 5]> : tensor<2xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) epilogue(%b, %s : tensor<2xi32>, tensor<2xi8>) -> tensor<2x2xi8>
      attributes {epilogue_maps = [#channel, #channel]} {
  ^bb0(%sum: i32, %add: i32, %p: i8):
    %t = arith.addi %sum, %add : i32
    %1 = kernel.requantize %t, %p {mode = #kernel.requantize<shift, up>, zero_point = 4, minimum = -128, maximum = 127} : i32, i8 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<2x2xi8>
}

// Ties to even need the last bit that stays: it is not constant.
// CHECK-LABEL: @shift_to_even(
// CHECK: ^bb0([[SUM:%.+]]: i32):
// CHECK: [[BELOW:%.+]] = arith.constant 7 : i32
// CHECK: [[V:%.+]] = arith.shrsi [[SUM]]
// CHECK: [[ODD:%.+]] = arith.andi [[V]]
// CHECK: [[BIAS:%.+]] = arith.addi [[ODD]], [[BELOW]] : i32
// CHECK: [[T:%.+]] = arith.addi [[SUM]], [[BIAS]] : i32
// CHECK: arith.shrsi [[T]]
// CHECK-NOT: kernel.requantize
// CHECK: func.return
func.func @shift_to_even(%x: tensor<2x4xi8>) -> tensor<2x2xi8> {
  %w = arith.constant dense<[[1, 2, 3, 4], [-5, 6, 7, 8]]> : tensor<2x4xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<2x4xi8>) -> tensor<2x2xi8> {
  ^bb0(%sum: i32):
    %p = arith.constant 4 : i8
    %1 = kernel.requantize %sum, %p {mode = #kernel.requantize<shift, even>, zero_point = 4, minimum = -128, maximum = 127} : i32, i8 -> i8
    kernel.yield %1 : i8
  }
  func.return %0 : tensor<2x2xi8>
}

// The limits of an unsigned result of 32 bits are beyond those of the signed sum.
// CHECK-LABEL: @unsigned_32
// CHECK: arith.shli
// CHECK: arith.constant 0 : i32
// CHECK-NEXT: arith.maxsi
// CHECK-NEXT: arith.constant 2147483647 : i32
// CHECK-NEXT: arith.minsi
func.func @unsigned_32(%x: tensor<4xi8>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]
  } ins(%x : tensor<4xi8>) outs(%e : tensor<4xi32>) {
  ^bb0(%q: i8, %old: i32):
    %1 = arith.extsi %q : i8 to i32
    %s = arith.constant -13 : i8
    %2 = kernel.requantize %1, %s {
      mode = #kernel.requantize<shift, away>, zero_point = 0 : i64, minimum = 0 : i64, maximum = 4294967294 : i64
    } : i32, i8 -> i32
    linalg.yield %2 : i32
  } -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
