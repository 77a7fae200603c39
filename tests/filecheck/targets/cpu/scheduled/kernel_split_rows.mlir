// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx2}' | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx2},kernel-split-rows{isa=avx2}' -o %t.twice && qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx2}' | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx2}' --verify-each=exec -o %t.checked

#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>
#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// The widened byte is cheap, and computed by each pass; the exponential is kept.
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "softmax"} 0xFF800000 : f32
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "softmax"} ins([[V3]] : f32) outs([[V4]] : tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<8xf32>) outs([[V5]] : tensor<2xf32>) attrs =  {origin = "softmax"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: f32, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.sitofp [[V7]] : i8 to f32
// CHECK-NEXT: [[V11:%.+]] = arith.addf [[V10]], [[V8]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.maximumf [[V9]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V12]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V13:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V14:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]], [[V6]] : tensor<2x8xi8>, tensor<8xf32>, tensor<2xf32>) outs([[V13]] : tensor<2x8xf32>) attrs =  {origin = "softmax"} {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i8, [[V16:%.+]]: f32, [[V17:%.+]]: f32, [[V18:%.+]]: f32):
// CHECK-NEXT: [[V19:%.+]] = arith.sitofp [[V15]] : i8 to f32
// CHECK-NEXT: [[V20:%.+]] = arith.addf [[V19]], [[V16]] : f32
// CHECK-NEXT: [[V21:%.+]] = arith.subf [[V20]], [[V17]] : f32
// CHECK-NEXT: [[V22:%.+]] = math.exp [[V21]] : f32
// CHECK-NEXT: linalg.yield [[V22]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V23:%.+]] = arith.constant {origin = "softmax"} 0.000000e+00 : f64
// CHECK-NEXT: [[V24:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.fill {origin = "softmax"} ins([[V23]] : f64) outs([[V24]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V26:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V14]] : tensor<2x8xf32>) outs([[V25]] : tensor<2xf64>) attrs =  {origin = "softmax"} {
// CHECK-NEXT: ^bb0([[V27:%.+]]: f32, [[V28:%.+]]: f64):
// CHECK-NEXT: [[V29:%.+]] = arith.extf [[V27]] : f32 to f64
// CHECK-NEXT: [[V30:%.+]] = arith.addf [[V28]], [[V29]] : f64
// CHECK-NEXT: linalg.yield [[V30]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT: [[V32:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V26]] : tensor<2xf64>) outs([[V31]] : tensor<2xf32>) attrs =  {origin = "softmax"} {
// CHECK-NEXT: ^bb0([[V33:%.+]]: f64, [[V34:%.+]]: f32):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V35]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V36:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V14]], [[V32]] : tensor<2x8xf32>, tensor<2xf32>) outs([[V2]] : tensor<2x8xf32>) attrs =  {origin = "softmax"} {
// CHECK-NEXT: ^bb0([[V37:%.+]]: f32, [[V38:%.+]]: f32, [[V39:%.+]]: f32):
// CHECK-NEXT: [[V40:%.+]] = arith.divf [[V37]], [[V38]] : f32
// CHECK-NEXT: linalg.yield [[V40]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: func.return [[V36]] : tensor<2x8xf32>
func.func @softmax(%x: tensor<2x8xi8>, %mask: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %mask : tensor<2x8xi8>, tensor<8xf32>) outs(%0 : tensor<2x8xf32>) attrs = {origin = "softmax"} {
  ^bb0(%a: i8, %b: f32, %o: f32):
    %2 = arith.sitofp %a : i8 to f32
    %3 = arith.addf %2, %b : f32
    %4 = kernel.row_max %3 {dims = array<i64: 1>} : f32
    %5 = arith.subf %3, %4 : f32
    %6 = math.exp %5 : f32
    %7 = arith.extf %6 : f32 to f64
    %8 = kernel.row_sum %7 {dims = array<i64: 1>} : f64
    %9 = arith.truncf %8 : f64 to f32
    %10 = arith.divf %6, %9 : f32
    linalg.yield %10 : f32
  } -> tensor<2x8xf32>
  func.return %1 : tensor<2x8xf32>
}

// Sums that keep their order take floats from memory, cheap as these are: the differences, and what is widened.
// CHECK-LABEL: @layer_norm(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<2x8xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: linalg.yield [[V7]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V8:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V10:%.+]] = linalg.fill ins([[V8]] : f64) outs([[V9]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V10]] : tensor<2xf64>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: f32, [[V13:%.+]]: f64):
// CHECK-NEXT: [[V14:%.+]] = arith.extf [[V12]] : f32 to f64
// CHECK-NEXT: [[V15:%.+]] = arith.addf [[V13]], [[V14]] : f64
// CHECK-NEXT: linalg.yield [[V15]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: [[V16:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V11]] : tensor<2xf64>) outs([[V16]] : tensor<2xf32>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: f64, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.truncf [[V18]] : f64 to f32
// CHECK-NEXT: [[V21:%.+]] = arith.constant 8.000000e+00 : f32
// CHECK-NEXT: [[V22:%.+]] = arith.divf [[V20]], [[V21]] : f32
// CHECK-NEXT: linalg.yield [[V22]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V24:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V17]] : tensor<2x8xf32>, tensor<2xf32>) outs([[V23]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V25:%.+]]: f32, [[V26:%.+]]: f32, [[V27:%.+]]: f32):
// CHECK-NEXT: [[V28:%.+]] = arith.subf [[V25]], [[V26]] : f32
// CHECK-NEXT: linalg.yield [[V28]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V29:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V31:%.+]] = linalg.fill ins([[V29]] : f64) outs([[V30]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V24]] : tensor<2x8xf32>) outs([[V31]] : tensor<2xf64>) {
// CHECK-NEXT: ^bb0([[V33:%.+]]: f32, [[V34:%.+]]: f64):
// CHECK-NEXT: [[V35:%.+]] = arith.mulf [[V33]], [[V33]] : f32
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V35]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V34]], [[V36]] : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V32]] : tensor<2xf64>) outs([[V38]] : tensor<2xf32>) {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: [[V43:%.+]] = math.sqrt [[V42]] : f32
// CHECK-NEXT: linalg.yield [[V43]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V44:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]], [[V24]], [[V39]] : tensor<8xf32>, tensor<2x8xf32>, tensor<2xf32>) outs([[V2]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V45:%.+]]: f32, [[V46:%.+]]: f32, [[V47:%.+]]: f32, [[V48:%.+]]: f32):
// CHECK-NEXT: [[V49:%.+]] = arith.divf [[V46]], [[V47]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.mulf [[V49]], [[V45]] : f32
// CHECK-NEXT: linalg.yield [[V50]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: func.return [[V44]] : tensor<2x8xf32>
func.func @layer_norm(%x: tensor<2x8xi8>, %scale: tensor<8xf32>) -> tensor<2x8xf32> {
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %scale : tensor<2x8xi8>, tensor<8xf32>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %s: f32, %o: f32):
    %2 = arith.sitofp %a : i8 to f32
    %3 = arith.extf %2 : f32 to f64
    %4 = kernel.row_sum %3 {dims = array<i64: 1>} : f64
    %5 = arith.truncf %4 : f64 to f32
    %count = arith.constant 8.0 : f32
    %6 = arith.divf %5, %count : f32
    %7 = arith.subf %2, %6 : f32
    %8 = arith.mulf %7, %7 : f32
    %9 = arith.extf %8 : f32 to f64
    %10 = kernel.row_sum %9 {dims = array<i64: 1>} : f64
    %11 = arith.truncf %10 : f64 to f32
    %12 = math.sqrt %11 : f32
    %13 = arith.divf %7, %12 : f32
    %14 = arith.mulf %13, %s : f32
    linalg.yield %14 : f32
  } -> tensor<2x8xf32>
  func.return %1 : tensor<2x8xf32>
}

// The axes of a row run in the order that the operation says, those of the rows in front of them.
// CHECK-LABEL: @order(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x3x4x5xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x5xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V2]] : f32) outs([[V3]] : tensor<2x5xf32>) -> tensor<2x5xf32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins([[V0]] : tensor<2x3x4x5xf32>) outs([[V4]] : tensor<2x5xf32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: f32, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.addf [[V7]], [[V6]] : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<2x5xf32>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins([[V0]], [[V5]] : tensor<2x3x4x5xf32>, tensor<2x5xf32>) outs([[V1]] : tensor<2x3x4x5xf32>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: f32, [[V11:%.+]]: f32, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.subf [[V10]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V13]] : f32
// CHECK-NEXT: } -> tensor<2x3x4x5xf32>
// CHECK-NEXT: func.return [[V9]] : tensor<2x3x4x5xf32>
func.func @order(%x: tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32> {
  %0 = tensor.empty() : tensor<2x3x4x5xf32>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<2x3x4x5xf32>) outs(%0 : tensor<2x3x4x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = kernel.row_sum %a {dims = array<i64: 2, 1>} : f32
    %3 = arith.subf %a, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x3x4x5xf32>
  func.return %1 : tensor<2x3x4x5xf32>
}

// One row: a number without axes. The place of an element stays what it is, where it does not go along the row, too.
// CHECK-LABEL: @one_row(
// CHECK-SAME: [[V0:%.+]]: tensor<8xf32>) -> tensor<8xi32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<f32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V2]] : f32) outs([[V3]] : tensor<f32>) -> tensor<f32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins([[V0]] : tensor<8xf32>) outs([[V4]] : tensor<f32>) {
// CHECK-NEXT: ^bb0([[V6:%.+]]: f32, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.maximumf [[V7]], [[V6]] : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<f32>
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<1xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V5]] : tensor<f32>) outs([[V9]] : tensor<1xf32>) {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.negf [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V13]] : f32
// CHECK-NEXT: } -> tensor<1xf32>
// CHECK-NEXT: [[V14:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V10]] : tensor<8xf32>, tensor<1xf32>) outs([[V1]] : tensor<8xi32>) {
// CHECK-NEXT: ^bb0([[V15:%.+]]: f32, [[V16:%.+]]: f32, [[V17:%.+]]: i32):
// CHECK-NEXT: [[V18:%.+]] = arith.cmpf oeq, [[V16]], [[V15]] : f32
// CHECK-NEXT: [[V19:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V19]] : index to i32
// CHECK-NEXT: [[V21:%.+]] = arith.extui [[V18]] : i1 to i32
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V20]], [[V21]] : i32
// CHECK-NEXT: linalg.yield [[V22]] : i32
// CHECK-NEXT: } -> tensor<8xi32>
// CHECK-NEXT: func.return [[V14]] : tensor<8xi32>
func.func @one_row(%x: tensor<8xf32>) -> tensor<8xi32> {
  %0 = tensor.empty() : tensor<8xi32>
  %1 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%0 : tensor<8xi32>) {
  ^bb0(%a: f32, %o: i32):
    %2 = kernel.row_max %a {dims = array<i64: 0>} : f32
    %3 = arith.negf %2 : f32
    %4 = arith.cmpf oeq, %3, %a : f32
    %5 = linalg.index 0 : index
    %6 = arith.index_cast %5 : index to i32
    %7 = arith.extui %4 : i1 to i32
    %8 = arith.addi %6, %7 : i32
    linalg.yield %8 : i32
  } -> tensor<8xi32>
  func.return %1 : tensor<8xi32>
}

// CHECK-LABEL: @number_of_the_row(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xf32>) -> tensor<2x8xi32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x8xi32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<2xi32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs([[V2]] : tensor<2xi32>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.index_cast [[V5]] : index to i32
// CHECK-NEXT: linalg.yield [[V6]] : i32
// CHECK-NEXT: } -> tensor<2xi32>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<2xi32>
// CHECK-NEXT: [[V9:%.+]] = linalg.fill ins([[V7]] : i32) outs([[V8]] : tensor<2xi32>) -> tensor<2xi32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]], [[V3]] : tensor<2x8xf32>, tensor<2xi32>) outs([[V9]] : tensor<2xi32>) {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: i32, [[V13:%.+]]: i32):
// CHECK-NEXT: [[V14:%.+]] = arith.fptosi [[V11]] : f32 to i32
// CHECK-NEXT: [[V15:%.+]] = arith.muli [[V12]], [[V14]] : i32
// CHECK-NEXT: [[V16:%.+]] = arith.addi [[V13]], [[V15]] : i32
// CHECK-NEXT: linalg.yield [[V16]] : i32
// CHECK-NEXT: } -> tensor<2xi32>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V10]] : tensor<2xi32>) outs([[V1]] : tensor<2x8xi32>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i32, [[V19:%.+]]: i32):
// CHECK-NEXT: linalg.yield [[V18]] : i32
// CHECK-NEXT: } -> tensor<2x8xi32>
// CHECK-NEXT: func.return [[V17]] : tensor<2x8xi32>
func.func @number_of_the_row(%x: tensor<2x8xf32>) -> tensor<2x8xi32> {
  %0 = tensor.empty() : tensor<2x8xi32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x8xf32>) outs(%0 : tensor<2x8xi32>) {
  ^bb0(%a: f32, %o: i32):
    %2 = linalg.index 0 : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.fptosi %a : f32 to i32
    %5 = arith.muli %3, %4 : i32
    %6 = kernel.row_sum %5 {dims = array<i64: 1>} : i32
    linalg.yield %6 : i32
  } -> tensor<2x8xi32>
  func.return %1 : tensor<2x8xi32>
}

// What is the same for all elements is summed as often as there are elements.
// CHECK-LABEL: @same(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2x8xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V2]] : f32) outs([[V3]] : tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]], [[V5]] : tensor<2xf32>, tensor<8xf32>) outs([[V4]] : tensor<2xf32>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: f32, [[V8:%.+]]: f32, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.addf [[V9]], [[V7]] : f32
// CHECK-NEXT: linalg.yield [[V10]] : f32
// CHECK-NEXT: } -> tensor<2xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V6]] : tensor<2xf32>) outs([[V1]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: f32, [[V13:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V12]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<2x8xf32>
func.func @same(%x: tensor<2xf32>) -> tensor<2x8xf32> {
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2xf32>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %2 = kernel.row_sum %a {dims = array<i64: 1>} : f32
    linalg.yield %2 : f32
  } -> tensor<2x8xf32>
  func.return %1 : tensor<2x8xf32>
}

// Exponentials that only an ordered sum reads are stored, too: its loop, in which each addition waits, only adds.
// CHECK-LABEL: @sum_of_exponentials(
// CHECK: math.exp
// CHECK-NEXT: linalg.yield {{.+}} : f32
// CHECK: arith.extf
// CHECK-NEXT: arith.addf
// CHECK-NEXT: linalg.yield {{.+}} : f64
func.func @sum_of_exponentials(%x: tensor<4x8xf32>) -> tensor<4x8xf64> {
  %e = tensor.empty() : tensor<4x8xf64>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf64>) {
  ^bb0(%a: f32, %o: f64):
    %1 = math.exp %a : f32
    %2 = arith.extf %1 : f32 to f64
    %3 = kernel.row_sum %2 {dims = array<i64: 1>} : f64
    linalg.yield %3 : f64
  } -> tensor<4x8xf64>
  func.return %0 : tensor<4x8xf64>
}
