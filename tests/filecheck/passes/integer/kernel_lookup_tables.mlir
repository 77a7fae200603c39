// RUN: qmlir-opt %s -p kernel-lookup-tables | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-lookup-tables,kernel-lookup-tables' -o %t.twice && qmlir-opt %s -p kernel-lookup-tables | diff %t.twice -
// RUN: qmlir-opt %s -p kernel-lookup-tables --verify-each=exec -o %t.checked

#id = affine_map<(d0) -> (d0)>
#mm = affine_map<(d0, d1) -> (d0, d1)>

// Two nodes and a table between them, in an epilogue: everything behind the first requantization is one table.
func.func @epilogue(%x: tensor<2x8xi8>, %w: tensor<4x8xi8>) -> tensor<2x4xf32> {
  %inner = arith.constant dense<7> : tensor<256xi8>
  %0 = kernel.matmul ins(%x, %w : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> attributes {origin = ["fc", "act"]} {
  ^bb0(%sum: i32):
    %m = arith.constant 1.000000e-02 : f32
    %1 = kernel.requantize %sum, %m {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    %2 = arith.index_cast %1 : i8 to index
    %first = arith.constant -128 : index
    %3 = arith.subi %2, %first : index
    %4 = tensor.extract %inner[%3] : tensor<256xi8>
    %5 = arith.extsi %1 : i8 to i32
    %6 = arith.extsi %4 : i8 to i32
    %7 = arith.muli %5, %6 : i32
    %8 = kernel.requantize %7, %m {mode = #kernel.requantize<f32>, zero_point = 0 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
    %9 = arith.sitofp %8 : i8 to f32
    kernel.yield %9 : f32
  }
  func.return %0 : tensor<2x4xf32>
}

// A byte that something else goes into is where a chain begins.
func.func @two_inputs(%x: tensor<8xi8>, %y: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<8xi8>, tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %2 = arith.maxsi %a, %b : i8
    %3 = arith.sitofp %2 : i8 to f32
    %c = arith.constant 1.000000e-01 : f32
    %4 = arith.mulf %3, %c : f32
    %5 = math.erf %4 : f32
    %d = arith.constant 1.000000e+02 : f32
    %6 = arith.mulf %5, %d : f32
    %7 = math.roundeven %6 : f32
    %8 = arith.fptosi %7 : f32 to i8
    linalg.yield %8 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// A chain that costs less than a table stays.
func.func @cheap(%x: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.extsi %a : i8 to i32
    %c = arith.constant 5 : i32
    %3 = arith.addi %2, %c : i32
    %4 = arith.maxsi %3, %c : i32
    %5 = arith.trunci %4 : i32 to i8
    linalg.yield %5 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// So does one that is needed for something else, too: a table would save nothing.
func.func @needed(%x: tensor<8xi8>) -> (tensor<8xi8>, tensor<8xf32>) {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = tensor.empty() : tensor<8xf32>
  %2, %3 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%0, %1 : tensor<8xi8>, tensor<8xf32>) {
  ^bb0(%a: i8, %o: i8, %p: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = math.tanh %4 : f32
    %6 = arith.fptosi %5 : f32 to i8
    linalg.yield %6, %5 : i8, f32
  } -> tensor<8xi8>, tensor<8xf32>
  func.return %2, %3 : tensor<8xi8>, tensor<8xf32>
}

// The number of an iterator is not a constant.
func.func @numbered(%x: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = linalg.index 0 : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.extsi %a : i8 to i32
    %5 = arith.addi %3, %4 : i32
    %6 = arith.sitofp %5 : i32 to f32
    %7 = math.tanh %6 : f32
    %8 = arith.fptosi %7 : f32 to i8
    linalg.yield %8 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// Every byte stays what it is, so nothing is left of the operation.
func.func @unchanged(%x: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.sitofp %a : i8 to f32
    %3 = arith.constant 0.99999994 : f32
    %4 = arith.mulf %2, %3 : f32
    %5 = math.roundeven %4 : f32
    %6 = arith.fptosi %5 : f32 to i8
    linalg.yield %6 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// 127 becomes 126.
func.func @one_byte_changes(%x: tensor<8xi8>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<8xi8>) outs(%0 : tensor<8xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.constant 126 : i8
    %3 = arith.minsi %a, %2 : i8
    linalg.yield %3 : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// The same byte at another index.
func.func @moved(%x: tensor<4x4xi8>) -> tensor<4x4xi8> {
  %0 = tensor.empty() : tensor<4x4xi8>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x4xi8>) outs(%0 : tensor<4x4xi8>) {
  ^bb0(%a: i8, %o: i8):
    linalg.yield %a : i8
  } -> tensor<4x4xi8>
  func.return %1 : tensor<4x4xi8>
}

// CHECK: #w0 = dense<"0xF7F7F7F7F7F7F7F8F8F8F8F8F8F8F8F8F8F8F8F8F8F9F9F9F9F9F9F9F9F9F9F9F9F9F9F9FAFAFAFAFAFAFAFAFAFAFAFAFAFAFBFBFBFBFBFBFBFBFBFBFBFBFBFBFCFCFCFCFCFCFCFCFCFCFCFCFCFCFCFDFDFDFDFDFDFDFDFDFDFDFDFDFDFEFEFEFEFEFEFEFEFEFEFEFEFEFEFFFFFFFFFFFFFFFFFFFFFFFFFFFF000000000000000000000000000000010101010101010101010101010102020202020202020202020202020303030303030303030303030303040404040404040404040404040404050505050505050505050505050506060606060606060606060606060707070707070707070707070707070808080808080808080808080808090909090909"> : tensor<256xi8>
// CHECK-NEXT: #w1 = dense<"0x9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9C9D9D9E9E9FA1A3A5A8ACB0B6BCC4CCD5DFEAF5000B16212B343C444A5054585B5D5F6162626363646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464"> : tensor<256xi8>
// CHECK-LABEL: @epilogue(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<4x8xi8>) -> tensor<2x4xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = ["fc", "act"]} #w0
// CHECK-NEXT: [[V3:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<4x8xi8>) -> tensor<2x4xf32> attributes {origin = ["fc", "act"]} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0.01 : f32
// CHECK-NEXT: [[V6:%.+]] = kernel.requantize [[V4]], [[V5]] {mode = #kernel.requantize<f32>, zero_point = 3 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: [[V7:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = tensor.extract [[V2]][[[V9]]] : tensor<256xi8>
// CHECK-NEXT: [[V11:%.+]] = arith.sitofp [[V10]] : i8 to f32
// CHECK-NEXT: kernel.yield [[V11]] : f32
// CHECK: func.return [[V3]] : tensor<2x4xf32>
// CHECK-LABEL: @two_inputs(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>, [[V1:%.+]]: tensor<8xi8>) -> tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V3:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<8xi8>, tensor<8xi8>) outs([[V2]] : tensor<8xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: [[V8:%.+]] = arith.maxsi [[V5]], [[V6]] : i8
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V8]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V11:%.+]] = arith.subi [[V9]], [[V10]] : index
// CHECK-NEXT: [[V12:%.+]] = tensor.extract [[V3]][[[V11]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<8xi8>
// CHECK-LABEL: @cheap(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi8>) outs([[V1]] : tensor<8xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.extsi [[V3]] : i8 to i32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 5 : i32
// CHECK-NEXT: [[V7:%.+]] = arith.addi [[V5]], [[V6]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.maxsi [[V7]], [[V6]] : i32
// CHECK-NEXT: [[V9:%.+]] = arith.trunci [[V8]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
// CHECK-LABEL: @needed(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>) -> (tensor<8xi8>, tensor<8xf32>)
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT: [[V3:%.+]], [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi8>) outs([[V1]], [[V2]] : tensor<8xi8>, tensor<8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V9:%.+]] = math.tanh [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.fptosi [[V9]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V10]], [[V9]] : i8, f32
// CHECK-NEXT: } -> (tensor<8xi8>, tensor<8xf32>)
// CHECK-NEXT: func.return [[V3]], [[V4]] : tensor<8xi8>, tensor<8xf32>
// CHECK-LABEL: @numbered(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi8>) outs([[V1]] : tensor<8xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.index_cast [[V5]] : index to i32
// CHECK-NEXT: [[V7:%.+]] = arith.extsi [[V3]] : i8 to i32
// CHECK-NEXT: [[V8:%.+]] = arith.addi [[V6]], [[V7]] : i32
// CHECK-NEXT: [[V9:%.+]] = arith.sitofp [[V8]] : i32 to f32
// CHECK-NEXT: [[V10:%.+]] = math.tanh [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.fptosi [[V10]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
// CHECK-LABEL: @unchanged(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi8>) -> tensor<8xi8>
// CHECK-NOT: linalg.generic
// CHECK: func.return [[V0]] : tensor<8xi8>
// CHECK-LABEL: @one_byte_changes(
// CHECK: arith.minsi
// CHECK-LABEL: @moved(
// CHECK: linalg.yield
