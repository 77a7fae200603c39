// RUN: qmlir-opt %s -p kernel-fuse | filecheck %s
// RUN: qmlir-opt %s -p kernel-fuse --verify-each=exec --exec-function="*" -o %t.checked

#id = affine_map<(d0) -> (d0)>

// The numbers of bytes without sign are limits of the requantization: 200 and 220 are -56 and -36 as i8.
// CHECK-LABEL: @unsigned_limits(
// CHECK: kernel.requantize {{.*}} zero_point = 210 : i64, minimum = 200 : i64, maximum = 220 : i64
// CHECK-NEXT: linalg.yield
func.func @unsigned_limits(%x: tensor<4xi32>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i32, %o: i8):
    %m = arith.constant 0.5 : f32
    %low = arith.constant -56 : i8
    %high = arith.constant -36 : i8
    %q = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 210 : i64, minimum = 0 : i64, maximum = 255 : i64} : i32, f32 -> i8
    %r = arith.maxui %q, %low : i8
    %s = arith.minui %r, %high : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// All numbers of i8, and no others: nothing is lost on the way through it.
// CHECK-LABEL: @through_i8(
// CHECK: [[MAX:%.+]] = arith.maxsi
// CHECK-NEXT: [[MIN:%.+]] = arith.minsi [[MAX]]
// CHECK-NEXT: linalg.yield [[MIN]] : i32
func.func @through_i8(%x: tensor<4xi32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32):
    %low = arith.constant -128 : i32
    %high = arith.constant 127 : i32
    %b = arith.maxsi %a, %low : i32
    %c = arith.minsi %b, %high : i32
    %d = arith.trunci %c : i32 to i8
    %f = arith.extsi %d : i8 to i32
    linalg.yield %f : i32
  } -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// A float that becomes an integer of 16 bits goes on in these, whatever its limits are: that one is looked up.
// CHECK-LABEL: @float_in_16_bits(
// CHECK: arith.fptosi {{.+}} : f32 to i32
// CHECK-NEXT: arith.trunci {{.+}} : i32 to i16
// CHECK-NEXT: arith.extsi {{.+}} : i16 to i32
func.func @float_in_16_bits(%x: tensor<4xf32>) -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xi32>) {
  ^bb0(%a: f32, %o: i32):
    %low = arith.constant -100.0 : f32
    %high = arith.constant 100.0 : f32
    %b = arith.maximumf %a, %low : f32
    %c = arith.minimumf %b, %high : f32
    %d = arith.fptosi %c : f32 to i32
    %f = arith.trunci %d : i32 to i16
    %g = arith.extsi %f : i16 to i32
    linalg.yield %g : i32
  } -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// One number more at either end is another one as i8.
// CHECK-LABEL: @beyond_i8(
// CHECK: arith.trunci
// CHECK-NEXT: arith.extsi
// CHECK: arith.trunci
// CHECK-NEXT: arith.extsi
func.func @beyond_i8(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
  %e = tensor.empty() : tensor<4xi32>
  %0, %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e, %e : tensor<4xi32>, tensor<4xi32>) {
  ^bb0(%a: i32, %o: i32, %p: i32):
    %low = arith.constant -128 : i32
    %lower = arith.constant -129 : i32
    %high = arith.constant 127 : i32
    %higher = arith.constant 128 : i32
    %b = arith.maxsi %a, %lower : i32
    %c = arith.minsi %b, %high : i32
    %d = arith.trunci %c : i32 to i8
    %f = arith.extsi %d : i8 to i32
    %g = arith.maxsi %a, %low : i32
    %h = arith.minsi %g, %higher : i32
    %i = arith.trunci %h : i32 to i8
    %j = arith.extsi %i : i8 to i32
    linalg.yield %f, %j : i32, i32
  } -> (tensor<4xi32>, tensor<4xi32>)
  func.return %0, %1 : tensor<4xi32>, tensor<4xi32>
}

// A limit is moved further in only.
// CHECK-LABEL: @beyond_the_limits(
// CHECK: kernel.requantize {{.*}} minimum = 100 : i64, maximum = 200 : i64
// CHECK: arith.maxui
// CHECK: arith.minui
func.func @beyond_the_limits(%x: tensor<4xi32>) -> tensor<4xi8> {
  %e = tensor.empty() : tensor<4xi8>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi8>) {
  ^bb0(%a: i32, %o: i8):
    %m = arith.constant 0.5 : f32
    %low = arith.constant 50 : i8
    %high = arith.constant -36 : i8
    %q = kernel.requantize %a, %m {mode = #kernel.requantize<f32>, zero_point = 110 : i64, minimum = 100 : i64, maximum = 200 : i64} : i32, f32 -> i8
    %r = arith.maxui %q, %low : i8
    %s = arith.minui %r, %high : i8
    linalg.yield %s : i8
  } -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// Indices have no known number of bits, so constants that are added to them are not merged.
// CHECK-LABEL: @indices(
// CHECK: arith.addi {{.+}} : index
// CHECK-NEXT: arith.addi {{.+}} : index
// CHECK-NEXT: arith.index_cast
func.func @indices() -> tensor<4xi32> {
  %e = tensor.empty() : tensor<4xi32>
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<4xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %c = arith.constant 1 : index
    %j = arith.addi %i, %c : index
    %k = arith.addi %j, %c : index
    %n = arith.index_cast %k : index to i32
    linalg.yield %n : i32
  } -> tensor<4xi32>
  func.return %0 : tensor<4xi32>
}
