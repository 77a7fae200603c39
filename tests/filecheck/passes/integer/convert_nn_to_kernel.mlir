// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce | filecheck %s
// RUN: qmlir-opt %s -p convert-nn-to-kernel,canonicalize,cse,dce --verify-each=exec --exec-function='*' -o %t

!x = !quant.uniform<i8:f32, 0.25:3>
!few = !quant.uniform<i4:f32, 0.5:1>
!u = !quant.uniform<u8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5:-1>
!long = !quant.uniform<i32:f32, 0.1>
!other = !quant.uniform<i32:f32, 0.3:5>

// One scale: the sum of the integers, rescaled once. What the caller's bytes are is told on the argument.
// CHECK-LABEL: @sum(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8>, [[V1:%.+]]: tensor<4xi8> {nn.element = ui8}) -> tensor<4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.extsi [[V4]] : i8 to i32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 3 : i32
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : i32
// CHECK-NEXT: [[V10:%.+]] = arith.extui [[V5]] : i8 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V9]], [[V10]] : i32
// CHECK-NEXT: [[V12:%.+]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT: [[V13:%.+]] = kernel.requantize [[V11]], [[V12]] {mode = #kernel.requantize<f32>, zero_point = -1 : i64, minimum = -128 : i64, maximum = 127 : i64} : i32, f32 -> i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @sum(%a: tensor<4x!x>, %b: tensor<4x!u>) -> tensor<4x!y> {
  %0 = nn.add %a, %b : (tensor<4x!x>, tensor<4x!u>) -> tensor<4x!y>
  func.return %0 : tensor<4x!y>
}

// A function of one stored integer of few bits is looked up.
// CHECK-LABEL: @lookup(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi4>) -> tensor<4xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 1]> : tensor<16xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<4xi4>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i4, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.extsi [[V4]] : i4 to i32
// CHECK-NEXT: [[V7:%.+]] = arith.index_cast [[V6]] : i32 to index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -8 : index
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = tensor.extract [[V1]][[[V9]]] : tensor<16xi8>
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @lookup(%a: tensor<4x!few>) -> tensor<4x!y> {
  %0 = nn.sigmoid %a : (tensor<4x!few>) -> tensor<4x!y>
  func.return %0 : tensor<4x!y>
}

// 32 bits by 24: the product, what its rounding left, and the low parts only where the high ones are equal.
// CHECK-LABEL: @exact_comparison(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi32>, [[V1:%.+]]: tensor<4xi32>) -> tensor<4xi1>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi1>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi32>, tensor<4xi32>) outs([[V2]] : tensor<4xi1>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32, [[V6:%.+]]: i1):
// CHECK-NEXT: [[V7:%.+]] = arith.extsi [[V4]] : i32 to i64
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V7]] : i64 to f64
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0.20000000298023224 : f64
// CHECK-NEXT: [[V10:%.+]] = arith.mulf [[V9]], [[V8]] : f64
// CHECK-NEXT: [[V11:%.+]] = arith.negf [[V10]] : f64
// CHECK-NEXT: [[V12:%.+]] = math.fma [[V9]], [[V8]], [[V11]] : f64
// CHECK-NEXT: [[V13:%.+]] = arith.extsi [[V5]] : i32 to i64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 5 : i64
// CHECK-NEXT: [[V15:%.+]] = arith.subi [[V13]], [[V14]] : i64
// CHECK-NEXT: [[V16:%.+]] = arith.sitofp [[V15]] : i64 to f64
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0.6000000238418579 : f64
// CHECK-NEXT: [[V18:%.+]] = arith.mulf [[V17]], [[V16]] : f64
// CHECK-NEXT: [[V19:%.+]] = arith.negf [[V18]] : f64
// CHECK-NEXT: [[V20:%.+]] = math.fma [[V17]], [[V16]], [[V19]] : f64
// CHECK-NEXT: [[V21:%.+]] = arith.cmpf oeq, [[V10]], [[V18]] : f64
// CHECK-NEXT: [[V22:%.+]] = arith.cmpf olt, [[V12]], [[V20]] : f64
// CHECK-NEXT: [[V23:%.+]] = arith.cmpf olt, [[V10]], [[V18]] : f64
// CHECK-NEXT: [[V24:%.+]] = arith.select [[V21]], [[V22]], [[V23]] : i1
// CHECK-NEXT: linalg.yield [[V24]] : i1
// CHECK-NEXT: } -> tensor<4xi1>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi1>
func.func @exact_comparison(%a: tensor<4x!long>, %b: tensor<4x!other>) -> tensor<4xi1> {
  %0 = nn.less %a, %b : (tensor<4x!long>, tensor<4x!other>) -> tensor<4xi1>
  func.return %0 : tensor<4xi1>
}

// A composite that nobody lowers whole: its parts.
// CHECK-LABEL: @parts(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x3xf32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x3xf32>) outs([[V1]] : tensor<2x3xf32>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f32):
// CHECK-NEXT: [[V5:%.+]] = kernel.row_max [[V3]] {dims = array<i64: 1>} : f32
// CHECK-NEXT: [[V6:%.+]] = arith.subf [[V3]], [[V5]] : f32
// CHECK-NEXT: [[V7:%.+]] = math.exp [[V6]] : f32
// CHECK-NEXT: [[V8:%.+]] = arith.extf [[V7]] : f32 to f64
// CHECK-NEXT: [[V9:%.+]] = kernel.row_sum [[V8]] {dims = array<i64: 1>} : f64
// CHECK-NEXT: [[V10:%.+]] = arith.truncf [[V9]] : f64 to f32
// CHECK-NEXT: [[V11:%.+]] = math.log [[V10]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.subf [[V6]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V12]] : f32
// CHECK-NEXT: } -> tensor<2x3xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<2x3xf32>
func.func @parts(%a: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = nn.log_softmax %a : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
