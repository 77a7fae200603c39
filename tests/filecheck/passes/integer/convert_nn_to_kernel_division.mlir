// RUN: qmlir-opt %s -p convert-nn-to-kernel | filecheck %s

// Integers wrap: the smallest one by -1 is itself. `arith.divsi` has no such quotient, so what is divided by -1 is
// negated and divided by 1.
// CHECK-LABEL: @quotient(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.constant -1 : i8
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi eq, [[V5]], [[V7]] : i8
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i8
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V4]] : i8
// CHECK-NEXT: [[V11:%.+]] = arith.select [[V8]], [[V10]], [[V4]] : i8
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1 : i8
// CHECK-NEXT: [[V13:%.+]] = arith.select [[V8]], [[V12]], [[V5]] : i8
// CHECK-NEXT: [[V14:%.+]] = arith.divsi [[V11]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V14]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @quotient(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %0 = nn.div %a, %b : tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// CHECK-LABEL: @remainder(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi64>, [[V1:%.+]]: tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi64>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi64>, tensor<4xi64>) outs([[V2]] : tensor<4xi64>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i64, [[V5:%.+]]: i64, [[V6:%.+]]: i64):
// CHECK-NEXT: [[V7:%.+]] = arith.constant -1 : i64
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi eq, [[V5]], [[V7]] : i64
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V4]] : i64
// CHECK-NEXT: [[V11:%.+]] = arith.select [[V8]], [[V10]], [[V4]] : i64
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1 : i64
// CHECK-NEXT: [[V13:%.+]] = arith.select [[V8]], [[V12]], [[V5]] : i64
// CHECK-NEXT: [[V14:%.+]] = arith.remsi [[V11]], [[V13]] : i64
// CHECK-NEXT: linalg.yield [[V14]] : i64
// CHECK-NEXT: } -> tensor<4xi64>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi64>
func.func @remainder(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %0 = nn.mod %a, %b {fmod = true} : tensor<4xi64>
  func.return %0 : tensor<4xi64>
}

// The remainder with the sign of the divisor is that of the same division.
// CHECK-LABEL: @floored_remainder(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi32>, [[V1:%.+]]: tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi32>, tensor<4xi32>) outs([[V2]] : tensor<4xi32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32, [[V5:%.+]]: i32, [[V6:%.+]]: i32):
// CHECK-NEXT: [[V7:%.+]] = arith.constant -1 : i32
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi eq, [[V5]], [[V7]] : i32
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V4]] : i32
// CHECK-NEXT: [[V11:%.+]] = arith.select [[V8]], [[V10]], [[V4]] : i32
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1 : i32
// CHECK-NEXT: [[V13:%.+]] = arith.select [[V8]], [[V12]], [[V5]] : i32
// CHECK-NEXT: [[V14:%.+]] = arith.remsi [[V11]], [[V13]] : i32
// CHECK-NEXT: [[V15:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V16:%.+]] = arith.cmpi slt, [[V14]], [[V15]] : i32
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V18:%.+]] = arith.cmpi slt, [[V13]], [[V17]] : i32
// CHECK-NEXT: [[V19:%.+]] = arith.xori [[V16]], [[V18]] : i1
// CHECK-NEXT: [[V20:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V21:%.+]] = arith.cmpi ne, [[V14]], [[V20]] : i32
// CHECK-NEXT: [[V22:%.+]] = arith.andi [[V21]], [[V19]] : i1
// CHECK-NEXT: [[V23:%.+]] = arith.addi [[V14]], [[V13]] : i32
// CHECK-NEXT: [[V24:%.+]] = arith.select [[V22]], [[V23]], [[V14]] : i32
// CHECK-NEXT: linalg.yield [[V24]] : i32
// CHECK-NEXT: } -> tensor<4xi32>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi32>
func.func @floored_remainder(%a: tensor<4xi32>, %b: tensor<4xi32>) -> tensor<4xi32> {
  %0 = nn.mod %a, %b : tensor<4xi32>
  func.return %0 : tensor<4xi32>
}

// A constant without -1 may divide everything, and -1 a constant without the smallest integer.
// CHECK-LABEL: @known_divisor(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8>) -> tensor<4xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[1, 7, 2, -128]> : tensor<4xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.divsi [[V4]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @known_divisor(%a: tensor<4xi8>) -> tensor<4xi8> {
  %b = nn.constant dense<[1, 7, 2, -128]> : tensor<4xi8>
  %0 = nn.div %a, %b : tensor<4xi8>
  func.return %0 : tensor<4xi8>
}

// CHECK-LABEL: @known_dividend(
// CHECK-SAME: [[V0:%.+]]: tensor<2xi16>) -> tensor<2xi16>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[-32767, 32767]> : tensor<2xi16>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2xi16>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V1]], [[V0]] : tensor<2xi16>, tensor<2xi16>) outs([[V2]] : tensor<2xi16>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i16, [[V5:%.+]]: i16, [[V6:%.+]]: i16):
// CHECK-NEXT: [[V7:%.+]] = arith.divsi [[V4]], [[V5]] : i16
// CHECK-NEXT: linalg.yield [[V7]] : i16
// CHECK-NEXT: } -> tensor<2xi16>
// CHECK-NEXT: func.return [[V3]] : tensor<2xi16>
func.func @known_dividend(%b: tensor<2xi16>) -> tensor<2xi16> {
  %a = nn.constant dense<[-32767, 32767]> : tensor<2xi16>
  %0 = nn.div %a, %b : tensor<2xi16>
  func.return %0 : tensor<2xi16>
}

// A single -1 is enough.
// CHECK-LABEL: @known_to_meet(
// CHECK-SAME: [[V0:%.+]]: tensor<2xi4>) -> tensor<2xi4>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[3, -1]> : tensor<2xi4>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2xi4>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<2xi4>, tensor<2xi4>) outs([[V2]] : tensor<2xi4>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i4, [[V5:%.+]]: i4, [[V6:%.+]]: i4):
// CHECK-NEXT: [[V7:%.+]] = arith.constant -1 : i4
// CHECK-NEXT: [[V8:%.+]] = arith.cmpi eq, [[V5]], [[V7]] : i4
// CHECK-NEXT: [[V9:%.+]] = arith.constant 0 : i4
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V4]] : i4
// CHECK-NEXT: [[V11:%.+]] = arith.select [[V8]], [[V10]], [[V4]] : i4
// CHECK-NEXT: [[V12:%.+]] = arith.constant 1 : i4
// CHECK-NEXT: [[V13:%.+]] = arith.select [[V8]], [[V12]], [[V5]] : i4
// CHECK-NEXT: [[V14:%.+]] = arith.divsi [[V11]], [[V13]] : i4
// CHECK-NEXT: linalg.yield [[V14]] : i4
// CHECK-NEXT: } -> tensor<2xi4>
// CHECK-NEXT: func.return [[V3]] : tensor<2xi4>
func.func @known_to_meet(%a: tensor<2xi4>) -> tensor<2xi4> {
  %b = nn.constant dense<[3, -1]> : tensor<2xi4>
  %0 = nn.div %a, %b : tensor<2xi4>
  func.return %0 : tensor<2xi4>
}

// Without a sign there is no -1, and floats have infinities.
// CHECK-LABEL: @unsigned(
// CHECK-SAME: [[V0:%.+]]: tensor<4xi8> {nn.element = ui8}, [[V1:%.+]]: tensor<4xi8> {nn.element = ui8}) -> (tensor<4xi8> {nn.element = ui8})
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xi8>, tensor<4xi8>) outs([[V2]] : tensor<4xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.divui [[V4]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<4xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<4xi8>
func.func @unsigned(%a: tensor<4xui8>, %b: tensor<4xui8>) -> tensor<4xui8> {
  %0 = nn.div %a, %b : tensor<4xui8>
  func.return %0 : tensor<4xui8>
}

// CHECK-LABEL: @floats(
// CHECK-SAME: [[V0:%.+]]: tensor<4xf32>, [[V1:%.+]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<4xf32>, tensor<4xf32>) outs([[V2]] : tensor<4xf32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: f32, [[V5:%.+]]: f32, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.divf [[V4]], [[V5]] : f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<4xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<4xf32>
func.func @floats(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.div %a, %b : tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
