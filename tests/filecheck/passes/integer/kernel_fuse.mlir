// RUN: qmlir-opt %s -p kernel-fuse | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-fuse,kernel-fuse' -o %t.twice && qmlir-opt %s -p kernel-fuse | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-fuse --verify-each=exec -o %t.checked

#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d3)>
#scalar = affine_map<(d0, d1, d2, d3) -> ()>
#last = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Bias, requantization, relu, and a residual sum with its rescale: one convolution, which stands for all of them.
// CHECK-LABEL: @residual(
// CHECK-SAME: [[V0:%.+]]: tensor<1x5x5x2xi8>, [[V1:%.+]]: tensor<4x3x3x2xi8>, [[V2:%.+]]: tensor<4xi32>, [[V3:%.+]]: tensor<4xf32>, [[V4:%.+]]: tensor<1x3x3x4xi8>) -> tensor<1x3x3x4xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.conv ins([[V0]], [[V1]] : tensor<1x5x5x2xi8>, tensor<4x3x3x2xi8>) epilogue([[V2]], [[V3]], [[V4]] : tensor<4xi32>, tensor<4xf32>, tensor<1x3x3x4xi8>) -> tensor<1x3x3x4xi8> attributes {origin = ["conv1", "relu1", "add1"], tensor = "add1", strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, epilogue_maps = [affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i32, [[V7:%.+]]: i32, [[V8:%.+]]: f32, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.addi [[V6]], [[V7]] : i32
// CHECK-NEXT: [[V11:%.+]] = kernel.requantize [[V10]], [[V8]] {mode = #kernel.requantize<f32>, zero_point = -100 : i64, minimum = -100 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: [[V12:%.+]] = arith.constant 2.500000e-01 : f32
// CHECK-NEXT: [[V13:%.+]] = arith.extsi [[V9]] : i8 to i32
// CHECK-NEXT: [[V14:%.+]] = kernel.requantize [[V13]], [[V12]] {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -1000 : i64, maximum = 1000 : i64} : i32, f32 -> i32
// CHECK-NEXT: [[V15:%.+]] = arith.extsi [[V11]] : i8 to i32
// CHECK-NEXT: [[V16:%.+]] = arith.addi [[V15]], [[V14]] : i32
// CHECK-NEXT: [[V17:%.+]] = arith.constant -128 : i32
// CHECK-NEXT: [[V18:%.+]] = arith.constant 127 : i32
// CHECK-NEXT: [[V19:%.+]] = arith.maxsi [[V16]], [[V17]] : i32
// CHECK-NEXT: [[V20:%.+]] = arith.minsi [[V19]], [[V18]] : i32
// CHECK-NEXT: [[V21:%.+]] = arith.trunci [[V20]] : i32 to i8
// CHECK-NEXT: kernel.yield [[V21]] : i8
// CHECK: func.return [[V5]] : tensor<1x3x3x4xi8>
func.func @residual(%x: tensor<1x5x5x2xi8>, %w: tensor<4x3x3x2xi8>, %b: tensor<4xi32>, %m: tensor<4xf32>, %s: tensor<1x3x3x4xi8>) -> tensor<1x3x3x4xi8> {
  %0 = kernel.conv ins(%x, %w : tensor<1x5x5x2xi8>, tensor<4x3x3x2xi8>) -> tensor<1x3x3x4xi32>
      attributes {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, origin = "conv1"} {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %e = tensor.empty() : tensor<1x3x3x4xi8>
  %1 = linalg.generic {indexing_maps = [#id, #channel, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %b, %m : tensor<1x3x3x4xi32>, tensor<4xi32>, tensor<4xf32>) outs(%e : tensor<1x3x3x4xi8>) attrs = {origin = "relu1"} {
  ^bb0(%a: i32, %bias: i32, %f: f32, %o: i8):
    %p = arith.addi %a, %bias : i32
    %r = kernel.requantize %p, %f {mode = #kernel.requantize<f32>, zero_point = -100 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    %c = arith.constant -100 : i8
    %q = arith.maxsi %r, %c : i8
    linalg.yield %q : i8
  } -> tensor<1x3x3x4xi8>
  %k = arith.constant dense<0.25> : tensor<f32>
  %e2 = tensor.empty() : tensor<1x3x3x4xi32>
  %2 = linalg.generic {indexing_maps = [#id, #scalar, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %k : tensor<1x3x3x4xi8>, tensor<f32>) outs(%e2 : tensor<1x3x3x4xi32>) attrs = {origin = "add1"} {
  ^bb0(%a: i8, %f: f32, %o: i32):
    %p = arith.extsi %a : i8 to i32
    %r = kernel.requantize %p, %f {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -1000 : i64, maximum = 1000 : i64} : i32, f32 -> i32
    linalg.yield %r : i32
  } -> tensor<1x3x3x4xi32>
  %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%1, %2 : tensor<1x3x3x4xi8>, tensor<1x3x3x4xi32>) outs(%e : tensor<1x3x3x4xi8>) attrs = {origin = "add1"} {
  ^bb0(%a: i8, %f: i32, %o: i8):
    %p = arith.extsi %a : i8 to i32
    %q = arith.addi %p, %f : i32
    %lo = arith.constant -128 : i32
    %hi = arith.constant 127 : i32
    %t = arith.maxsi %q, %lo : i32
    %u = arith.minsi %t, %hi : i32
    %v = arith.trunci %u : i32 to i8
    linalg.yield %v : i8
  } -> tensor<1x3x3x4xi8>
  func.return %3 : tensor<1x3x3x4xi8>
}

// A reshape that drops an axis of one step is no obstacle; the result takes its shape at the end.
// CHECK-LABEL: @through_reshape(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x3xi8>, [[V1:%.+]]: tensor<2x3xi8>, [[V2:%.+]]: tensor<2xi32>) -> tensor<4x2xi32>
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x4x3xi8>, tensor<2x3xi8>) epilogue([[V2]] : tensor<2xi32>) -> tensor<1x4x2xi32> attributes {epilogue_maps = [affine_map<(d0, d1, d2) -> (d2)>]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: kernel.yield [[V6]] : i32
// CHECK: [[V7:%.+]] = kernel.reshape [[V3]] : tensor<1x4x2xi32> to tensor<4x2xi32>
// CHECK-NEXT: func.return [[V7]] : tensor<4x2xi32>
func.func @through_reshape(%x: tensor<1x4x3xi8>, %w: tensor<2x3xi8>, %b: tensor<2xi32>) -> tensor<4x2xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x4x3xi8>, tensor<2x3xi8>) -> tensor<1x4x2xi32> {
  ^bb0(%sum: i32):
    kernel.yield %sum : i32
  }
  %1 = kernel.reshape %0 : tensor<1x4x2xi32> to tensor<4x2xi32>
  %e = tensor.empty() : tensor<4x2xi32>
  %2 = linalg.generic {indexing_maps = [#last, affine_map<(d0, d1) -> (d1)>, #last], iterator_types = ["parallel", "parallel"]}
      ins(%1, %b : tensor<4x2xi32>, tensor<2xi32>) outs(%e : tensor<4x2xi32>) {
  ^bb0(%a: i32, %c: i32, %o: i32):
    %3 = arith.addi %a, %c : i32
    linalg.yield %3 : i32
  } -> tensor<4x2xi32>
  func.return %2 : tensor<4x2xi32>
}

// What a sum reads is computed inside it, once for each element.
// CHECK-LABEL: @into_sum(
// CHECK-SAME: [[V0:%.+]]: tensor<4x8xi8>) -> tensor<4xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : i32) outs([[V2]] : tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<4x8xi8>) outs([[V3]] : tensor<4xi32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.extsi [[V5]] : i8 to i32
// CHECK-NEXT: [[V8:%.+]] = arith.addi [[V7]], [[V6]] : i32
// CHECK-NEXT: linalg.yield [[V8]] : i32
// CHECK-NEXT: } -> tensor<4xi32>
// CHECK-NEXT: func.return [[V4]] : tensor<4xi32>
func.func @into_sum(%x: tensor<4x8xi8>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4x8xi32>
  %0 = linalg.generic {indexing_maps = [#last, #last], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xi8>) outs(%e : tensor<4x8xi32>) {
  ^bb0(%a: i8, %o: i32):
    %1 = arith.extsi %a : i8 to i32
    linalg.yield %1 : i32
  } -> tensor<4x8xi32>
  %zero = arith.constant 0 : i32
  %s = tensor.empty() : tensor<4xi32>
  %f = linalg.fill ins(%zero : i32) outs(%s : tensor<4xi32>) -> tensor<4xi32>
  %2 = linalg.generic {indexing_maps = [#last, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x8xi32>) outs(%f : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %3 = arith.addi %a, %o : i32
    linalg.yield %3 : i32
  } -> tensor<4xi32>
  func.return %2 : tensor<4xi32>
}

// Work on a row is not done again for each element of it, nor twice for two readers; what only moves is.
// CHECK-LABEL: @stays(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>, [[V1:%.+]]: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<4xf32>) outs([[V2]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32):
// CHECK-NEXT: [[V6:%.+]] = math.exp [[V4]] : f32
// CHECK-NEXT: linalg.yield [[V6]] : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x8xf32>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]], [[V3]] : tensor<4x8xf32>, tensor<4xf32>) outs([[V7]] : tensor<4x8xf32>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: f32, [[V10:%.+]]: f32, [[V11:%.+]]: f32):
// CHECK-NEXT: [[V12:%.+]] = arith.mulf [[V10]], [[V9]] : f32
// CHECK-NEXT: linalg.yield [[V12]] : f32
// CHECK-NEXT: } -> tensor<4x8xf32>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]] : tensor<4x8xf32>) outs([[V7]] : tensor<4x8xf32>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: f32, [[V15:%.+]]: f32):
// CHECK-NEXT: [[V16:%.+]] = arith.negf [[V14]] : f32
// CHECK-NEXT: linalg.yield [[V16]] : f32
// CHECK-NEXT: } -> tensor<4x8xf32>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]], [[V3]] : tensor<4x8xf32>, tensor<4xf32>) outs([[V7]] : tensor<4x8xf32>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: f32, [[V19:%.+]]: f32, [[V20:%.+]]: f32):
// CHECK-NEXT: [[V21:%.+]] = arith.addf [[V18]], [[V19]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<4x8xf32>
// CHECK-NEXT: func.return [[V8]], [[V13]], [[V17]] : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
func.func @stays(%x: tensor<4xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %e2 = tensor.empty() : tensor<4x8xf32>
  %2 = linalg.generic {indexing_maps = [#row, #last], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  %3 = linalg.generic {indexing_maps = [#last, #last, #last], iterator_types = ["parallel", "parallel"]} ins(%2, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %4 = arith.mulf %a, %b : f32
    linalg.yield %4 : f32
  } -> tensor<4x8xf32>
  %5 = linalg.generic {indexing_maps = [#last, #last], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<4x8xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %6 = arith.negf %a : f32
    linalg.yield %6 : f32
  } -> tensor<4x8xf32>
  %7 = linalg.generic {indexing_maps = [#last, #last, #last], iterator_types = ["parallel", "parallel"]} ins(%3, %2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e2 : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %8 = arith.addf %a, %b : f32
    linalg.yield %8 : f32
  } -> tensor<4x8xf32>
  func.return %3, %5, %7 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// The window of a global pool is the image, and a tensor of one number is a number.
// CHECK-LABEL: @global_pool(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x4xi8>) -> tensor<1x1x1x4xi32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<0> : tensor<1x1x1x4xi32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d5, d3)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins([[V0]] : tensor<1x2x3x4xi8>) outs([[V1]] : tensor<1x1x1x4xi32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V6:%.+]] = arith.extsi [[V3]] : i8 to i32
// CHECK-NEXT: [[V7:%.+]] = arith.muli [[V6]], [[V5]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.addi [[V4]], [[V7]] : i32
// CHECK-NEXT: linalg.yield [[V8]] : i32
// CHECK-NEXT: } -> tensor<1x1x1x4xi32>
// CHECK-NEXT: func.return [[V2]] : tensor<1x1x1x4xi32>
func.func @global_pool(%x: tensor<1x2x3x4xi8>) -> tensor<1x1x1x4xi32> {
  %k = arith.constant dense<3> : tensor<1x2x3x4xi32>
  %init = arith.constant dense<0> : tensor<1x1x1x4xi32>
  %window = tensor.empty() : tensor<2x3xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>,
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>,
      affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %k, %window : tensor<1x2x3x4xi8>, tensor<1x2x3x4xi32>, tensor<2x3xi8>) outs(%init : tensor<1x1x1x4xi32>) {
  ^bb0(%a: i8, %b: i32, %c: i8, %o: i32):
    %1 = arith.extsi %a : i8 to i32
    %2 = arith.muli %1, %b : i32
    %3 = arith.addi %o, %2 : i32
    linalg.yield %3 : i32
  } -> tensor<1x1x1x4xi32>
  func.return %0 : tensor<1x1x1x4xi32>
}

// The only window of an image that is longer than it: what says how many taps there are stays, for the image doesn't.
// CHECK-LABEL: @one_window(
// CHECK-SAME: [[X:%.+]]: tensor<4xi8>) -> tensor<1xi8>
// CHECK: [[KERNEL_SIZE:%.+]] = tensor.empty() : tensor<2xi8>
// CHECK-NEXT: linalg.generic {{.*}} ins([[X]], [[KERNEL_SIZE]] : tensor<4xi8>, tensor<2xi8>)
func.func @one_window(%x: tensor<4xi8>) -> tensor<1xi8> {
  %low = arith.constant -128 : i8
  %e = tensor.empty() : tensor<1xi8>
  %0 = linalg.fill ins(%low : i8) outs(%e : tensor<1xi8>) -> tensor<1xi8>
  %taps = tensor.empty() : tensor<2xi8>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0 * 3 + d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x, %taps : tensor<4xi8>, tensor<2xi8>) outs(%0 : tensor<1xi8>) {
  ^bb0(%a: i8, %t: i8, %so_far: i8):
    %2 = arith.maxsi %a, %so_far : i8
    linalg.yield %2 : i8
  } -> tensor<1xi8>
  func.return %1 : tensor<1xi8>
}

// The number of an iterator is asked for where the element is computed: also in what it is fused into.
// CHECK-LABEL: @places(
// CHECK-SAME: [[X:%.+]]: tensor<2x3xi32>) -> tensor<2x3xi32>
// CHECK: [[R:%.+]] = linalg.generic {{.*}} ins([[X]] : tensor<2x3xi32>)
// CHECK-NEXT: ^bb0([[A:%.+]]: i32, {{%.+}}: i32):
// CHECK-NEXT: [[I:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[J:%.+]] = arith.index_cast [[I]] : index to i32
// CHECK-NEXT: [[S:%.+]] = arith.addi [[A]], [[J]] : i32
// CHECK-NEXT: [[P:%.+]] = arith.muli [[S]], [[S]] : i32
// CHECK-NEXT: linalg.yield [[P]] : i32
// CHECK-NEXT: } -> tensor<2x3xi32>
// CHECK-NEXT: func.return [[R]] : tensor<2x3xi32>
func.func @places(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %e = tensor.empty() : tensor<2x3xi32>
  %0 = linalg.generic {indexing_maps = [#last, #last], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%e : tensor<2x3xi32>) {
  ^bb0(%a: i32, %o: i32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i32
    %s = arith.addi %a, %j : i32
    linalg.yield %s : i32
  } -> tensor<2x3xi32>
  %1 = linalg.generic {indexing_maps = [#last, #last], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x3xi32>) outs(%e : tensor<2x3xi32>) {
  ^bb0(%a: i32, %o: i32):
    %s = arith.muli %a, %a : i32
    linalg.yield %s : i32
  } -> tensor<2x3xi32>
  func.return %1 : tensor<2x3xi32>
}
