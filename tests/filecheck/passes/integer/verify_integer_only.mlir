// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p verify-integer-only

// Floats before the first cast and behind the last one are no matter; neither is a function of one value of 8 bits.
!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!a = !quant.uniform<i32:f32, 0.125>
func.func @right(%x: tensor<2x4xf32>, %w: tensor<2x4x!w>) -> (tensor<2x2xf32>, tensor<2x1xi64>) {
  %0 = nn.exp %x : tensor<2x4xf32>
  %1 = quant.qcast %0 : tensor<2x4xf32> to tensor<2x4x!x>
  %2 = nn.fully_connected %1, %w : (tensor<2x4x!x>, tensor<2x4x!w>) -> tensor<2x2x!a>
  %3 = nn.relu %2 {requantize = #kernel.requantize<shift, even>} : (tensor<2x2x!a>) -> tensor<2x2x!x>
  %4 = nn.sigmoid %3 : (tensor<2x2x!x>) -> tensor<2x2x!w>
  %5 = nn.add %3, %4 {requantize = #kernel.requantize<shift, even>} : (tensor<2x2x!x>, tensor<2x2x!w>) -> tensor<2x2x!w>
  %6 = nn.arg_max %5 {axis = 1} : (tensor<2x2x!w>) -> tensor<2x1xi64>
  %7 = quant.dcast %5 : tensor<2x2x!w> to tensor<2x2xf32>
  %8 = nn.softmax %7 : tensor<2x2xf32>
  func.return %8, %6 : tensor<2x2xf32>, tensor<2x1xi64>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
func.func @mode(%x: tensor<2x!x>) -> tensor<2x!y> {
  // expected-error@+1 {{'nn.relu' op (relu1) requantizes by a product of floats (mode f32); between the casts at inputs and outputs, all values must be integers}}
  %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!y> {origin = "relu1"}
  func.return %0 : tensor<2x!y>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
func.func @different_scales(%x: tensor<2x!x>, %y: tensor<2x!y>) -> tensor<2xi1> {
  // The result is not a number that anything is made of.
  %0 = nn.less %x, %y : (tensor<2x!x>, tensor<2x!y>) -> tensor<2xi1>
  func.return %0 : tensor<2xi1>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i16:f32, 0.5>
func.func @wide(%x: tensor<2x!y>) -> tensor<2x!x> {
  // expected-error@+1 {{'nn.tanh' op computes on floats; between the casts at inputs and outputs, all values must be integers}}
  %0 = nn.tanh %x : (tensor<2x!y>) -> tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
// -----
// Between casts: the operation is named rather than the casts around it.
!x = !quant.uniform<i8:f32, 0.25>
func.func @casts(%x: tensor<2x!x>) -> tensor<2x!x> {
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  // expected-error@+1 {{'nn.softmax' op (softmax1) computes on floats; between the casts at inputs and outputs, all values must be integers}}
  %1 = nn.softmax %0 : tensor<2xf32> {origin = "softmax1"}
  %2 = quant.qcast %1 : tensor<2xf32> to tensor<2x!x>
  func.return %2 : tensor<2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
func.func @only_casts(%x: tensor<2x!x>) -> tensor<2x!y> {
  // expected-error@+1 {{'quant.dcast' op computes on floats; between the casts at inputs and outputs, all values must be integers}}
  %0 = quant.dcast %x : tensor<2x!x> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!y>
  func.return %1 : tensor<2x!y>
}
// -----
// The integer level: an input cast, an integer body, an output cast.
#id = affine_map<(d0) -> (d0)>
func.func @integers(%x: tensor<2xf32>) -> tensor<2xf32> {
  %scale = arith.constant 4.0 : f32
  %e8 = tensor.empty() : tensor<2xi8>
  %ef = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%e8 : tensor<2xi8>) {
  ^bb0(%a: f32, %b: i8):
    %m = arith.mulf %a, %scale : f32
    %i = arith.fptosi %m : f32 to i32
    %t = arith.trunci %i : i32 to i8
    linalg.yield %t : i8
  } -> tensor<2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<2xi8>) outs(%e8 : tensor<2xi8>) {
  ^bb0(%a: i8, %b: i8):
    %w = arith.extsi %a : i8 to i32
    %s = arith.constant 1 : i8
    %r = kernel.requantize %w, %s {mode = #kernel.requantize<shift, even>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, i8 -> i8
    linalg.yield %r : i8
  } -> tensor<2xi8>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%1 : tensor<2xi8>) outs(%ef : tensor<2xf32>) {
  ^bb0(%a: i8, %b: f32):
    %f = arith.sitofp %a : i8 to f32
    %m = arith.mulf %f, %scale : f32
    linalg.yield %m : f32
  } -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}
// -----
#id = affine_map<(d0) -> (d0)>
func.func @float_body(%x: tensor<2xi8>) -> tensor<2xi8> {
  %e8 = tensor.empty() : tensor<2xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xi8>) outs(%e8 : tensor<2xi8>) {
  ^bb0(%a: i8, %b: i8):
    %w = arith.extsi %a : i8 to i32
    %s = arith.constant 0.3 : f32
    // expected-error@+1 {{'kernel.requantize' op (conv1) requantizes by a product of floats (mode f32); between the casts at inputs and outputs, all values must be integers}}
    %r = kernel.requantize %w, %s {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64, origin = "conv1"} : i32, f32 -> i8
    linalg.yield %r : i8
  } -> tensor<2xi8>
  func.return %1 : tensor<2xi8>
}
// -----
// The output cast in the epilogue of a kernel.
func.func @epilogue(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xf32> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x3xf32> {
  ^bb0(%acc: i32):
    %s = arith.constant 1 : i8
    %r = kernel.requantize %acc, %s {mode = #kernel.requantize<shift, even>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, i8 -> i8
    %f = arith.sitofp %r : i8 to f32
    kernel.yield %f : f32
  }
  func.return %0 : tensor<2x3xf32>
}
// -----
func.func @float_epilogue(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>) -> tensor<2x3xi8> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<3x4xi8>) -> tensor<2x3xi8> {
  ^bb0(%acc: i32):
    // expected-error@+1 {{'arith.sitofp' op computes on floats; between the casts at inputs and outputs, all values must be integers}}
    %f = arith.sitofp %acc : i32 to f32
    %r = arith.fptosi %f : f32 to i8
    kernel.yield %r : i8
  }
  func.return %0 : tensor<2x3xi8>
}
// -----
// Loops: through calls, loops and memory.
func.func private @kernel(%x: memref<4xi8>, %y: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %v = memref.load %x[%i] : memref<4xi8>
    // expected-error@+1 {{'arith.sitofp' op (relu1) computes on floats; between the casts at inputs and outputs, all values must be integers}}
    %f = arith.sitofp %v {origin = "relu1"} : i8 to f32
    %r = arith.fptosi %f : f32 to i8
    memref.store %r, %y[%i] : memref<4xi8>
    scf.yield
  }
  func.return
}
func.func @main(%x: memref<4xi8>, %y: memref<4xi8>) {
  func.call @kernel(%x, %y) : (memref<4xi8>, memref<4xi8>) -> ()
  func.return
}
// -----
// The casts of inputs and outputs alone, through memory.
func.func private @cast(%x: memref<4xf32>, %y: memref<4xi8>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  %r = arith.fptosi %v : f32 to i8
  memref.store %r, %y[%c0] : memref<4xi8>
  func.return
}
func.func private @back(%x: memref<4xi8>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xi8>
  %r = arith.sitofp %v : i8 to f32
  memref.store %r, %y[%c0] : memref<4xf32>
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>) {
  %b = memref.alloc() : memref<4xi8>
  func.call @cast(%x, %b) : (memref<4xf32>, memref<4xi8>) -> ()
  func.call @back(%b, %y) : (memref<4xi8>, memref<4xf32>) -> ()
  func.return
}
// -----
// An operation with parts of their own computes on integers only where its mode does.
!x = !quant.uniform<i8:f32, 0.25>
func.func @parts(%x: tensor<2x!x>) -> tensor<2x!x> {
  %0 = nn.swish %x {components = {sigmoid = !x}, requantize = #kernel.requantize<shift, even>} : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
// -----
!x = !quant.uniform<i8:f32, 0.25>
func.func @parts(%x: tensor<2x!x>) -> tensor<2x!x> {
  // expected-error@+1 {{'nn.swish' op has parts that may compute on floats; between the casts at inputs and outputs, all values must be integers}}
  %0 = nn.swish %x {components = {sigmoid = !x}} : tensor<2x!x>
  func.return %0 : tensor<2x!x>
}
// -----
// What only moves floats is not named, though it stands first: what made them of integers is.
func.func private @moves(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %on = arith.constant true
  %all = vector.broadcast %on : i1 to vector<4xi1>
  %first = arith.constant 0 : i32
  %firsts = vector.broadcast %first : i32 to vector<4xi32>
  simd.prefetch %x[%c0] : memref<8xf32>
  %shaped = kernel.reshape %x : memref<8xf32> to memref<2x4xf32>
  %0 = simd.load %shaped[%c0, %c0] : memref<2x4xf32> to vector<4xf32>
  %1 = simd.load_partial %x[%c4], %c4 : memref<8xf32> to vector<4xf32>
  %2 = simd.gather %x[%firsts] : memref<8xf32>, vector<4xi32> to vector<4xf32>
  %3 = simd.select %all, %0, %1 : vector<4xi1>, vector<4xf32>
  %4 = simd.interleave_low %3, %2 : vector<4xf32>
  %5 = simd.interleave_high %4, %3 : vector<4xf32>
  simd.store %5, %y[%c0] : vector<4xf32>, memref<8xf32>
  simd.store_partial %5, %y[%c4], %c4 : vector<4xf32>, memref<8xf32>
  %6 = memref.load %x[%c0] : memref<8xf32>
  %7 = memref.load %x[%c4] : memref<8xf32>
  %8 = arith.select %on, %6, %7 : f32
  %9 = vector.broadcast %8 : f32 to vector<4xf32>
  simd.store %9, %y[%c0] : vector<4xf32>, memref<8xf32>
  linalg.fill ins(%8 : f32) outs(%y : memref<8xf32>)
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  func.return
}
func.func @main(%x: memref<8xi8>, %y: memref<8xi8>) {
  %c0 = arith.constant 0 : index
  %before = memref.alloc() : memref<8xf32>
  %after = memref.alloc() : memref<8xf32>
  %0 = memref.load %x[%c0] : memref<8xi8>
  // expected-error@+1 {{'arith.sitofp' op (conv1) computes on floats; between the casts at inputs and outputs, all values must be integers}}
  %1 = arith.sitofp %0 {origin = "conv1"} : i8 to f32
  memref.store %1, %before[%c0] : memref<8xf32>
  func.call @moves(%before, %after) : (memref<8xf32>, memref<8xf32>) -> ()
  %2 = memref.load %after[%c0] : memref<8xf32>
  %3 = arith.fptosi %2 : f32 to i8
  memref.store %3, %y[%c0] : memref<8xi8>
  func.return
}
// -----
// A product of floats that stands first is named, though it has no result: it writes memory.
func.func private @product(%x: memref<1x2xf32>, %y: memref<1x1xf32>) {
  // expected-error@+1 {{'kernel.matmul' op (conv1) computes on floats; between the casts at inputs and outputs, all values must be integers}}
  kernel.matmul ins(%x, %x : memref<1x2xf32>, memref<1x2xf32>) outs(%y : memref<1x1xf32>) attributes {origin = "conv1"} {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  }
  func.return
}
func.func @main(%x: memref<1x2xi8>, %y: memref<1x1xi8>) {
  %c0 = arith.constant 0 : index
  %before = memref.alloc() : memref<1x2xf32>
  %after = memref.alloc() : memref<1x1xf32>
  %0 = memref.load %x[%c0, %c0] : memref<1x2xi8>
  %1 = arith.sitofp %0 : i8 to f32
  memref.store %1, %before[%c0, %c0] : memref<1x2xf32>
  func.call @product(%before, %after) : (memref<1x2xf32>, memref<1x1xf32>) -> ()
  %2 = memref.load %after[%c0, %c0] : memref<1x1xf32>
  %3 = arith.fptosi %2 : f32 to i8
  memref.store %3, %y[%c0, %c0] : memref<1x1xi8>
  func.return
}
// -----
// Floats that a region takes are no factors: the region is named for what it does with them.
func.func @region_of_floats(%x: tensor<2x4xi8>, %w: tensor<3x4xi8>, %s: tensor<3xf32>) -> tensor<2x3xi8> {
  %0 = kernel.matmul ins(%x, %w : tensor<2x4xi8>, tensor<3x4xi8>) epilogue(%s : tensor<3xf32>) -> tensor<2x3xi8> attributes {epilogue_maps = [affine_map<(d0, d1) -> (d1)>]} {
  ^bb0(%acc: i32, %scale: f32):
    // expected-error@+1 {{'kernel.requantize' op requantizes by a product of floats (mode f32); between the casts at inputs and outputs, all values must be integers}}
    %r = kernel.requantize %acc, %scale {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    kernel.yield %r : i8
  }
  func.return %0 : tensor<2x3xi8>
}
