// RUN: qmlir-opt %s -p convert-nn-to-kernel,cse | filecheck %s

!stream = !quant.uniform<i16:f32, 0.0009765625:5>
!narrow = !quant.uniform<i8:f32, 0.03125:-3>

// Rows of integers: the zero point cancels, the sum has 32 bits, squares of 16 bits are added in 64, and a row has one root.
// CHECK-LABEL: @layer_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<2x384xi16>, [[V1:%.+]]: tensor<384xf32>, [[V2:%.+]]: tensor<384xf32>) -> tensor<2x384xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x384xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]], [[V2]] : tensor<2x384xi16>, tensor<384xf32>, tensor<384xf32>) outs([[V3]] : tensor<2x384xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i16, [[V6:%.+]]: f32, [[V7:%.+]]: f32, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.extsi [[V5]] : i16 to i32
// CHECK-NEXT: [[V10:%.+]] = arith.muli [[V9]], [[V9]] : i32
// CHECK-NEXT: [[V11:%.+]] = arith.extsi [[V10]] : i32 to i64
// CHECK-NEXT: [[V12:%.+]] = kernel.row_sum [[V11]] {dims = array<i64: 1>} : i64
// CHECK-NEXT: [[V13:%.+]] = arith.constant 384 : i64
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V12]] : i64
// CHECK-NEXT: [[V15:%.+]] = arith.constant 384 : i32
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V15]], [[V9]] : i32
// CHECK-NEXT: [[V17:%.+]] = kernel.row_sum [[V9]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V18:%.+]] = arith.extsi [[V17]] : i32 to i64
// CHECK-NEXT: [[V19:%.+]] = arith.extsi [[V17]] : i32 to i64
// CHECK-NEXT: [[V20:%.+]] = arith.muli [[V18]], [[V19]] : i64
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V14]], [[V20]] : i64
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V16]], [[V17]] : i32
// CHECK-NEXT: [[V23:%.+]] = arith.constant 14 : i64
// CHECK-NEXT: [[V24:%.+]] = arith.shli [[V21]], [[V23]] : i64
// CHECK-NEXT: [[V25:%.+]] = arith.constant 25332747264 : i64
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V24]], [[V25]] : i64
// CHECK-NEXT: [[V27:%.+]] = kernel.reciprocal_root [[V26]]
// CHECK-NEXT: [[V28:%.+]] = arith.constant 1.280000e+02 : f32
// CHECK-NEXT: [[V29:%.+]] = arith.mulf [[V27]], [[V28]] : f32
// CHECK-NEXT: [[V30:%.+]] = arith.sitofp [[V22]] : i32 to f32
// CHECK-NEXT: [[V31:%.+]] = arith.mulf [[V30]], [[V29]] : f32
// CHECK-NEXT: [[V32:%.+]] = arith.mulf [[V31]], [[V6]] : f32
// CHECK-NEXT: [[V33:%.+]] = arith.addf [[V32]], [[V7]] : f32
// CHECK-NEXT: [[V34:%.+]] = arith.constant 3.125000e-02 : f32
// CHECK-NEXT: [[V35:%.+]] = arith.divf [[V33]], [[V34]] : f32
// CHECK-NEXT: [[V36:%.+]] = math.roundeven [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant -1.250000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.maximumf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.constant 1.300000e+02 : f32
// CHECK-NEXT: [[V40:%.+]] = arith.minimumf [[V38]], [[V39]] : f32
// CHECK-NEXT: [[V41:%.+]] = arith.fptosi [[V40]] : f32 to i32
// CHECK-NEXT: [[V42:%.+]] = arith.constant -3 : i32
// CHECK-NEXT: [[V43:%.+]] = arith.addi [[V41]], [[V42]] : i32
// CHECK-NEXT: [[V44:%.+]] = arith.trunci [[V43]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V44]] : i8
// CHECK-NEXT: } -> tensor<2x384xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<2x384xi8>
func.func @layer_norm(%x: tensor<2x384x!stream>, %s: tensor<384xf32>, %b: tensor<384xf32>) -> tensor<2x384x!narrow> {
  %0 = nn.layer_norm %x, %s, %b {epsilon = 1.0e-5} : (tensor<2x384x!stream>, tensor<384xf32>, tensor<384xf32>) -> tensor<2x384x!narrow>
  func.return %0 : tensor<2x384x!narrow>
}

// Without a mean the zero point counts; squares of bytes, and their sum, have 32 bits.
// CHECK-LABEL: @rms_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>) -> tensor<2x8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x8xi8>) outs([[V1]] : tensor<2x8xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.extsi [[V3]] : i8 to i32
// CHECK-NEXT: [[V6:%.+]] = arith.constant -3 : i32
// CHECK-NEXT: [[V7:%.+]] = arith.subi [[V5]], [[V6]] : i32
// CHECK-NEXT: [[V8:%.+]] = arith.muli [[V7]], [[V7]] : i32
// CHECK-NEXT: [[V9:%.+]] = kernel.row_sum [[V8]] {dims = array<i64: 1>} : i32
// CHECK-NEXT: [[V10:%.+]] = arith.extsi [[V9]] : i32 to i64
// CHECK-NEXT: [[V11:%.+]] = arith.constant 8 : i64
// CHECK-NEXT: [[V12:%.+]] = arith.muli [[V11]], [[V10]] : i64
// CHECK-NEXT: [[V13:%.+]] = arith.constant 8 : i32
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V13]], [[V7]] : i32
// CHECK-NEXT: [[V15:%.+]] = arith.constant 40 : i64
// CHECK-NEXT: [[V16:%.+]] = arith.shli [[V12]], [[V15]] : i64
// CHECK-NEXT: [[V17:%.+]] = arith.constant 720575922176 : i64
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V16]], [[V17]] : i64
// CHECK-NEXT: [[V19:%.+]] = kernel.reciprocal_root [[V18]]
// CHECK-NEXT: [[V20:%.+]] = arith.constant 1.048576e+06 : f32
// CHECK-NEXT: [[V21:%.+]] = arith.mulf [[V19]], [[V20]] : f32
// CHECK-NEXT: [[V22:%.+]] = arith.sitofp [[V14]] : i32 to f32
// CHECK-NEXT: [[V23:%.+]] = arith.mulf [[V22]], [[V21]] : f32
// CHECK-NEXT: [[V24:%.+]] = arith.constant 3.125000e-02 : f32
// CHECK-NEXT: [[V25:%.+]] = arith.divf [[V23]], [[V24]] : f32
// CHECK-NEXT: [[V26:%.+]] = math.roundeven [[V25]] : f32
// CHECK-NEXT: [[V27:%.+]] = arith.constant -1.250000e+02 : f32
// CHECK-NEXT: [[V28:%.+]] = arith.maximumf [[V26]], [[V27]] : f32
// CHECK-NEXT: [[V29:%.+]] = arith.constant 1.300000e+02 : f32
// CHECK-NEXT: [[V30:%.+]] = arith.minimumf [[V28]], [[V29]] : f32
// CHECK-NEXT: [[V31:%.+]] = arith.fptosi [[V30]] : f32 to i32
// CHECK-NEXT: [[V32:%.+]] = arith.addi [[V31]], [[V6]] : i32
// CHECK-NEXT: [[V33:%.+]] = arith.trunci [[V32]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V33]] : i8
// CHECK-NEXT: } -> tensor<2x8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<2x8xi8>
func.func @rms_norm(%x: tensor<2x8x!narrow>) -> tensor<2x8x!narrow> {
  %0 = nn.rms_norm %x : tensor<2x8x!narrow>
  func.return %0 : tensor<2x8x!narrow>
}

// A group becomes an axis.
// CHECK-LABEL: @group_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4x3xi8>, [[V1:%.+]]: tensor<4xf32>) -> tensor<1x4x3xi8>
// CHECK-NEXT: [[V2:%.+]] = kernel.reshape [[V1]] : tensor<4xf32> to tensor<2x2xf32>
// CHECK-NEXT: [[V3:%.+]] = kernel.reshape [[V0]] : tensor<1x4x3xi8> to tensor<1x2x2x3xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<1x2x2x3xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V3]], [[V2]], [[V2]] : tensor<1x2x2x3xi8>, tensor<2x2xf32>, tensor<2x2xf32>) outs([[V4]] : tensor<1x2x2x3xi8>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: f32, [[V8:%.+]]: f32, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.extsi [[V6]] : i8 to i32
// CHECK-NEXT: [[V11:%.+]] = arith.muli [[V10]], [[V10]] : i32
// CHECK-NEXT: [[V12:%.+]] = kernel.row_sum [[V11]] {dims = array<i64: 2, 3>} : i32
// CHECK-NEXT: [[V13:%.+]] = arith.extsi [[V12]] : i32 to i64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 6 : i64
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V14]], [[V13]] : i64
// CHECK-NEXT: [[V16:%.+]] = arith.constant 6 : i32
// CHECK-NEXT: [[V17:%.+]] = arith.muli [[V16]], [[V10]] : i32
// CHECK-NEXT: [[V18:%.+]] = kernel.row_sum [[V10]] {dims = array<i64: 2, 3>} : i32
// CHECK-NEXT: [[V19:%.+]] = arith.extsi [[V18]] : i32 to i64
// CHECK-NEXT: [[V20:%.+]] = arith.extsi [[V18]] : i32 to i64
// CHECK-NEXT: [[V21:%.+]] = arith.muli [[V19]], [[V20]] : i64
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V15]], [[V21]] : i64
// CHECK-NEXT: [[V23:%.+]] = arith.subi [[V17]], [[V18]] : i32
// CHECK-NEXT: [[V24:%.+]] = arith.constant 42 : i64
// CHECK-NEXT: [[V25:%.+]] = arith.shli [[V22]], [[V24]] : i64
// CHECK-NEXT: [[V26:%.+]] = arith.constant 1621295824896 : i64
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V25]], [[V26]] : i64
// CHECK-NEXT: [[V28:%.+]] = kernel.reciprocal_root [[V27]]
// CHECK-NEXT: [[V29:%.+]] = arith.constant 2.097152e+06 : f32
// CHECK-NEXT: [[V30:%.+]] = arith.mulf [[V28]], [[V29]] : f32
// CHECK-NEXT: [[V31:%.+]] = arith.sitofp [[V23]] : i32 to f32
// CHECK-NEXT: [[V32:%.+]] = arith.mulf [[V31]], [[V30]] : f32
// CHECK-NEXT: [[V33:%.+]] = arith.mulf [[V32]], [[V7]] : f32
// CHECK-NEXT: [[V34:%.+]] = arith.addf [[V33]], [[V8]] : f32
// CHECK-NEXT: [[V35:%.+]] = arith.constant 3.125000e-02 : f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V34]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = math.roundeven [[V36]] : f32
// CHECK-NEXT: [[V38:%.+]] = arith.constant -1.250000e+02 : f32
// CHECK-NEXT: [[V39:%.+]] = arith.maximumf [[V37]], [[V38]] : f32
// CHECK-NEXT: [[V40:%.+]] = arith.constant 1.300000e+02 : f32
// CHECK-NEXT: [[V41:%.+]] = arith.minimumf [[V39]], [[V40]] : f32
// CHECK-NEXT: [[V42:%.+]] = arith.fptosi [[V41]] : f32 to i32
// CHECK-NEXT: [[V43:%.+]] = arith.constant -3 : i32
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V42]], [[V43]] : i32
// CHECK-NEXT: [[V45:%.+]] = arith.trunci [[V44]] : i32 to i8
// CHECK-NEXT: linalg.yield [[V45]] : i8
// CHECK-NEXT: } -> tensor<1x2x2x3xi8>
// CHECK-NEXT: [[V46:%.+]] = kernel.reshape [[V5]] : tensor<1x2x2x3xi8> to tensor<1x4x3xi8>
// CHECK-NEXT: func.return [[V46]] : tensor<1x4x3xi8>
func.func @group_norm(%x: tensor<1x4x3x!narrow>, %s: tensor<4xf32>) -> tensor<1x4x3x!narrow> {
  %0 = nn.group_norm %x, %s, %s {groups = 2} : (tensor<1x4x3x!narrow>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4x3x!narrow>
  func.return %0 : tensor<1x4x3x!narrow>
}
