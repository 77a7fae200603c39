// RUN: qmlir-opt %s -p kernel-split-rows | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-split-rows,kernel-split-rows' -o %t.twice && qmlir-opt %s -p kernel-split-rows | diff %t.twice -
// RUN: qmlir-opt %s -p 'kernel-split-rows,kernel-bufferize' --verify-each=exec -o %t.checked

#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>
#one = affine_map<(d0) -> (d0)>

// Two reductions of the rows that one operation reads join each other, as the minimum and the maximum of dynamic
// quantization.
func.func @range(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %low = arith.constant 0x7F800000 : f32
  %high = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64xf32>
  %y = tensor.empty() : tensor<64x512xf32>
  %f = linalg.fill ins(%low : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %least = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.minimumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %g = linalg.fill ins(%high : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %largest = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xf32>) outs(%g : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %d = linalg.generic {indexing_maps = [#id, #first, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %least, %largest : tensor<64x512xf32>, tensor<64xf32>, tensor<64xf32>) outs(%y : tensor<64x512xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.subf %c, %b : f32
    %1 = arith.divf %a, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<64x512xf32>
  func.return %d : tensor<64x512xf32>
}

// CHECK-LABEL: @range(
// CHECK: kernel.row_fusion
// CHECK: arith.minimumf
// CHECK: arith.maximumf
// CHECK: arith.divf
// CHECK: kernel.yield
// CHECK: func.return

// What reads an operation by rows at the same rows joins it, behind what fills its tensor: sums of the rows, and what is
// made of these. The result itself has another reader; the largest of each row has none. The constant moves in front.
func.func @sums(%x: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64xi32>) {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<64xi8>
  %y = tensor.empty() : tensor<64x512xi8>
  %r = kernel.row_fusion outs(%y : tensor<64x512xi8>) -> tensor<64x512xi8> attributes {rows = array<i64: 64>} {
  ^bb0(%w: tensor<64x512xi8>):
    %f = linalg.fill ins(%least : i8) outs(%e : tensor<64xi8>) -> tensor<64xi8>
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xi8>) outs(%f : tensor<64xi8>) {
    ^bb0(%a: i8, %o: i8):
      %0 = arith.maxsi %a, %o : i8
      linalg.yield %0 : i8
    } -> tensor<64xi8>
    %d = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<64x512xi8>, tensor<64xi8>) outs(%w : tensor<64x512xi8>) {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %0 = arith.subi %a, %b : i8
      linalg.yield %0 : i8
    } -> tensor<64x512xi8>
    kernel.yield %d : tensor<64x512xi8>
  }
  %zero = arith.constant 0 : i32
  %0 = tensor.empty() : tensor<64xi32>
  %1 = linalg.fill ins(%zero : i32) outs(%0 : tensor<64xi32>) -> tensor<64xi32>
  %2 = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%r : tensor<64x512xi8>) outs(%1 : tensor<64xi32>) {
  ^bb0(%a: i8, %o: i32):
    %wide = arith.extsi %a : i8 to i32
    %3 = arith.addi %wide, %o : i32
    linalg.yield %3 : i32
  } -> tensor<64xi32>
  %4 = tensor.empty() : tensor<64xi32>
  %5 = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%2 : tensor<64xi32>) outs(%4 : tensor<64xi32>) {
  ^bb0(%a: i32, %o: i32):
    %6 = arith.addi %a, %a : i32
    linalg.yield %6 : i32
  } -> tensor<64xi32>
  func.return %r, %5 : tensor<64x512xi8>, tensor<64xi32>
}

// A reduction of the last axis, and what reads it at its rows. What needs something that is computed behind stays there.
func.func @reduction(%x: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64x512xi8>) {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<64xi8>
  %f = linalg.fill ins(%least : i8) outs(%e : tensor<64xi8>) -> tensor<64xi8>
  %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xi8>) outs(%f : tensor<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  } -> tensor<64xi8>
  %y = tensor.empty() : tensor<64x512xi8>
  %d = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<64x512xi8>, tensor<64xi8>) outs(%y : tensor<64x512xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  } -> tensor<64x512xi8>
  %z = tensor.empty() : tensor<64x512xi8>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x512xi8>) outs(%z : tensor<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.addi %a, %a : i8
    linalg.yield %0 : i8
  } -> tensor<64x512xi8>
  %v = tensor.empty() : tensor<64x512xi8>
  %q = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%n, %d : tensor<64x512xi8>, tensor<64x512xi8>) outs(%v : tensor<64x512xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.muli %a, %b : i8
    linalg.yield %0 : i8
  } -> tensor<64x512xi8>
  func.return %d, %q : tensor<64x512xi8>, tensor<64x512xi8>
}

// Columns are reduced, not rows: what follows has other rows than these.
func.func @columns(%x: tensor<512x64xi8>) -> tensor<512x64xi8> {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<64xi8>
  %f = linalg.fill ins(%least : i8) outs(%e : tensor<64xi8>) -> tensor<64xi8>
  %m = linalg.generic {indexing_maps = [#id, #second], iterator_types = ["reduction", "parallel"]} ins(%x : tensor<512x64xi8>) outs(%f : tensor<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  } -> tensor<64xi8>
  %y = tensor.empty() : tensor<512x64xi8>
  %d = linalg.generic {indexing_maps = [#id, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<512x64xi8>, tensor<64xi8>) outs(%y : tensor<512x64xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  } -> tensor<512x64xi8>
  func.return %d : tensor<512x64xi8>
}

// The largest of all rows' neighbours is read: another row's must be there before.
func.func @other_rows(%x: tensor<512x512xi8>) -> tensor<512x512xi8> {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<512xi8>
  %f = linalg.fill ins(%least : i8) outs(%e : tensor<512xi8>) -> tensor<512xi8>
  %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<512x512xi8>) outs(%f : tensor<512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  } -> tensor<512xi8>
  %y = tensor.empty() : tensor<512x512xi8>
  %d = linalg.generic {indexing_maps = [#id, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<512x512xi8>, tensor<512xi8>) outs(%y : tensor<512x512xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  } -> tensor<512x512xi8>
  func.return %d : tensor<512x512xi8>
}

// A table of 256 bytes for each row, which that row alone is looked up in. The number of a row in `numbered` says more
// than where its table is, so that stays outside.
func.func @table(%x: tensor<64x512xi8>) -> tensor<64x512xi8> {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<64xi8>
  %f = linalg.fill ins(%least : i8) outs(%e : tensor<64xi8>) -> tensor<64xi8>
  %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xi8>) outs(%f : tensor<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  } -> tensor<64xi8>
  %t = tensor.empty() : tensor<64x256xi8>
  %u = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<64xi8>) outs(%t : tensor<64x256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %place = linalg.index 1 : index
    %0 = arith.index_cast %place : index to i8
    %1 = arith.subi %a, %0 : i8
    linalg.yield %1 : i8
  } -> tensor<64x256xi8>
  %y = tensor.empty() : tensor<64x512xi8>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x512xi8>) outs(%y : tensor<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %n = arith.index_cast %a : i8 to index
    %c128 = arith.constant 128 : index
    %0 = arith.addi %n, %c128 : index
    %1 = tensor.extract %u[%row, %0] : tensor<64x256xi8>
    linalg.yield %1 : i8
  } -> tensor<64x512xi8>
  func.return %d : tensor<64x512xi8>
}

func.func @numbered(%x: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64x256xi8>) {
  %least = arith.constant -128 : i8
  %e = tensor.empty() : tensor<64xi8>
  %f = linalg.fill ins(%least : i8) outs(%e : tensor<64xi8>) -> tensor<64xi8>
  %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xi8>) outs(%f : tensor<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  } -> tensor<64xi8>
  %t = tensor.empty() : tensor<64x256xi8>
  %u = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<64xi8>) outs(%t : tensor<64x256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %place = linalg.index 1 : index
    %0 = arith.index_cast %place : index to i8
    %1 = arith.subi %a, %0 : i8
    linalg.yield %1 : i8
  } -> tensor<64x256xi8>
  %y = tensor.empty() : tensor<64x512xi8>
  %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x512xi8>) outs(%y : tensor<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %n = arith.index_cast %a : i8 to index
    %c128 = arith.constant 128 : index
    %0 = arith.addi %n, %c128 : index
    %1 = tensor.extract %u[%row, %0] : tensor<64x256xi8>
    %2 = arith.index_cast %row : index to i8
    %3 = arith.addi %1, %2 : i8
    linalg.yield %3 : i8
  } -> tensor<64x512xi8>
  func.return %d, %u : tensor<64x512xi8>, tensor<64x256xi8>
}

// CHECK-LABEL: @sums(
// CHECK-SAME: [[V0:%.+]]: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64xi32>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : i32
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<64xi32>
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<64xi32>
// CHECK-NEXT: [[V7:%.+]], [[V8:%.+]] = kernel.row_fusion outs([[V3]], [[V6]] : tensor<64x512xi8>, tensor<64xi32>) -> tensor<64x512xi8>, tensor<64xi32> attributes {rows = array<i64: 64>} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: tensor<64x512xi8>, [[V10:%.+]]: tensor<64xi32>):
// CHECK-NEXT: [[V11:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<64xi8>) -> tensor<64xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<64x512xi8>) outs([[V11]] : tensor<64xi8>) {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V13]], [[V14]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<64xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V12]] : tensor<64x512xi8>, tensor<64xi8>) outs([[V9]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: [[V20:%.+]] = arith.subi [[V17]], [[V18]] : i8
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: [[V21:%.+]] = linalg.fill ins([[V4]] : i32) outs([[V5]] : tensor<64xi32>) -> tensor<64xi32>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V16]] : tensor<64x512xi8>) outs([[V21]] : tensor<64xi32>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i32):
// CHECK-NEXT: [[V25:%.+]] = arith.extsi [[V23]] : i8 to i32
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V25]], [[V24]] : i32
// CHECK-NEXT: linalg.yield [[V26]] : i32
// CHECK-NEXT: } -> tensor<64xi32>
// CHECK-NEXT: [[V27:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V22]] : tensor<64xi32>) outs([[V10]] : tensor<64xi32>) {
// CHECK-NEXT: ^bb0([[V28:%.+]]: i32, [[V29:%.+]]: i32):
// CHECK-NEXT: [[V30:%.+]] = arith.addi [[V28]], [[V28]] : i32
// CHECK-NEXT: linalg.yield [[V30]] : i32
// CHECK-NEXT: } -> tensor<64xi32>
// CHECK-NEXT: kernel.yield [[V16]], [[V27]] : tensor<64x512xi8>, tensor<64xi32>
// CHECK: func.return [[V7]], [[V8]] : tensor<64x512xi8>, tensor<64xi32>
// CHECK-LABEL: @reduction(
// CHECK-SAME: [[V0:%.+]]: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64x512xi8>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V4:%.+]] = kernel.row_fusion outs([[V3]] : tensor<64x512xi8>) -> tensor<64x512xi8> attributes {rows = array<i64: 64>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<64x512xi8>):
// CHECK-NEXT: [[V6:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<64xi8>) -> tensor<64xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<64x512xi8>) outs([[V6]] : tensor<64xi8>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.maxsi [[V8]], [[V9]] : i8
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<64xi8>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V7]] : tensor<64x512xi8>, tensor<64xi8>) outs([[V5]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.subi [[V12]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: kernel.yield [[V11]] : tensor<64x512xi8>
// CHECK: [[V16:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<64x512xi8>) outs([[V16]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V18]], [[V18]] : i8
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V17]], [[V4]] : tensor<64x512xi8>, tensor<64x512xi8>) outs([[V21]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8, [[V25:%.+]]: i8):
// CHECK-NEXT: [[V26:%.+]] = arith.muli [[V23]], [[V24]] : i8
// CHECK-NEXT: linalg.yield [[V26]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: func.return [[V4]], [[V22]] : tensor<64x512xi8>, tensor<64x512xi8>
// CHECK-LABEL: @columns(
// CHECK-SAME: [[V0:%.+]]: tensor<512x64xi8>) -> tensor<512x64xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<64xi8>) -> tensor<64xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins([[V0]] : tensor<512x64xi8>) outs([[V3]] : tensor<64xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.maxsi [[V5]], [[V6]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<64xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<512x64xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V4]] : tensor<512x64xi8>, tensor<64xi8>) outs([[V8]] : tensor<512x64xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.subi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK-NEXT: } -> tensor<512x64xi8>
// CHECK-NEXT: func.return [[V9]] : tensor<512x64xi8>
// CHECK-LABEL: @other_rows(
// CHECK-SAME: [[V0:%.+]]: tensor<512x512xi8>) -> tensor<512x512xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<512xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<512xi8>) -> tensor<512xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<512x512xi8>) outs([[V3]] : tensor<512xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.maxsi [[V5]], [[V6]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<512xi8>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<512x512xi8>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V4]] : tensor<512x512xi8>, tensor<512xi8>) outs([[V8]] : tensor<512x512xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.subi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK-NEXT: } -> tensor<512x512xi8>
// CHECK-NEXT: func.return [[V9]] : tensor<512x512xi8>
// CHECK-LABEL: @table(
// CHECK-SAME: [[V0:%.+]]: tensor<64x512xi8>) -> tensor<64x512xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<64x256xi8>
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.row_fusion outs([[V4]] : tensor<64x512xi8>) -> tensor<64x512xi8> attributes {rows = array<i64: 64>} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: tensor<64x512xi8>):
// CHECK-NEXT: [[V7:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<64xi8>) -> tensor<64xi8>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<64x512xi8>) outs([[V7]] : tensor<64xi8>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: [[V11:%.+]] = arith.maxsi [[V9]], [[V10]] : i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<64xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]] : tensor<64xi8>) outs([[V3]] : tensor<64x256xi8>) {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V16:%.+]] = arith.index_cast [[V15]] : index to i8
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V13]], [[V16]] : i8
// CHECK-NEXT: linalg.yield [[V17]] : i8
// CHECK-NEXT: } -> tensor<64x256xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<64x512xi8>) outs([[V6]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = tensor.extract [[V12]][[[V21]], [[V24]]] : tensor<64x256xi8>
// CHECK-NEXT: linalg.yield [[V25]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: kernel.yield [[V18]] : tensor<64x512xi8>
// CHECK: func.return [[V5]] : tensor<64x512xi8>
// CHECK-LABEL: @numbered(
// CHECK-SAME: [[V0:%.+]]: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64x256xi8>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<64xi8>
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<64x256xi8>
// CHECK-NEXT: [[V4:%.+]] = kernel.row_fusion outs([[V3]] : tensor<64x256xi8>) -> tensor<64x256xi8> attributes {rows = array<i64: 64>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<64x256xi8>):
// CHECK-NEXT: [[V6:%.+]] = linalg.fill ins([[V1]] : i8) outs([[V2]] : tensor<64xi8>) -> tensor<64xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<64x512xi8>) outs([[V6]] : tensor<64xi8>) {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.maxsi [[V8]], [[V9]] : i8
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<64xi8>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V7]] : tensor<64xi8>) outs([[V5]] : tensor<64x256xi8>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.index_cast [[V14]] : index to i8
// CHECK-NEXT: [[V16:%.+]] = arith.subi [[V12]], [[V15]] : i8
// CHECK-NEXT: linalg.yield [[V16]] : i8
// CHECK-NEXT: } -> tensor<64x256xi8>
// CHECK-NEXT: kernel.yield [[V11]] : tensor<64x256xi8>
// CHECK: [[V17:%.+]] = tensor.empty() : tensor<64x512xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<64x512xi8>) outs([[V17]] : tensor<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = tensor.extract [[V4]][[[V21]], [[V24]]] : tensor<64x256xi8>
// CHECK-NEXT: [[V26:%.+]] = arith.index_cast [[V21]] : index to i8
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V25]], [[V26]] : i8
// CHECK-NEXT: linalg.yield [[V27]] : i8
// CHECK-NEXT: } -> tensor<64x512xi8>
// CHECK-NEXT: func.return [[V18]], [[V4]] : tensor<64x512xi8>, tensor<64x256xi8>
