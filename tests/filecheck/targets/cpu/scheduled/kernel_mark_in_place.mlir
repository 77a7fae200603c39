// RUN: qmlir-opt %s --split-input-file -p kernel-mark-in-place | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p kernel-mark-in-place,kernel-mark-in-place | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p kernel-mark-in-place,verify-level{level=scheduled} --verify-each=exec

// A state whose rows are written: the copy is one step, which memory copied onto itself takes no time for. %other has
// the same type, and is read by no later one; %past is, after %sum is written.
// CHECK-LABEL: @main(
// CHECK-SAME: [[PAST:%.+]]: memref<4x2xi8>, [[OTHER:%.+]]: memref<4x2xi8>, [[SUM:%.+]]: memref<4x2xi8> {nn.result, kernel.may_overwrite = array<i64: 1>}
// CHECK-SAME: [[PRESENT:%.+]]: memref<4x2xi8> {nn.result, kernel.may_overwrite = array<i64: 0, 1>})
// CHECK-NEXT: linalg.generic
// CHECK: "memref.copy"([[PAST]], [[PRESENT]]) {origin = "present"} : (memref<4x2xi8>, memref<4x2xi8>) -> ()
// CHECK-NOT: linalg.generic
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(
    %past: memref<4x2xi8>, %other: memref<4x2xi8>, %sum: memref<4x2xi8> {nn.result}, %present: memref<4x2xi8> {nn.result}
) {
  linalg.generic {indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%past, %other : memref<4x2xi8>, memref<4x2xi8>) outs(%sum : memref<4x2xi8>) {
  ^bb0(%a: i8, %b: i8, %old: i8):
    %0 = arith.addi %a, %b : i8
    linalg.yield %0 : i8
  }
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%past : memref<4x2xi8>) outs(%present : memref<4x2xi8>) attrs = {origin = "present"} {
  ^bb0(%a: i8, %old: i8):
    linalg.yield %a : i8
  }
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : i8
  memref.store %c7, %present[%c1, %c1] : memref<4x2xi8>
  func.return
}

// -----

// The old state is read after the new one is begun, once by a view of it: only %other may be overwritten.
// CHECK-LABEL: @main(
// CHECK-SAME: memref<4xi8> {nn.result, kernel.may_overwrite = array<i64: 1>}
// CHECK-NEXT: linalg.generic
#same = affine_map<(d0) -> (d0)>
func.func @main(
    %past: memref<4xi8>, %other: memref<4xi8>, %present: memref<4xi8> {nn.result}, %y: memref<2xi8> {nn.result}
) {
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%past : memref<4xi8>) outs(%present : memref<4xi8>) {
  ^bb0(%a: i8, %old: i8):
    linalg.yield %a : i8
  }
  %0 = memref.subview %past[2] [2] [1] : memref<4xi8> to memref<2xi8, strided<[1], offset: 2>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%0 : memref<2xi8, strided<[1], offset: 2>>) outs(%y : memref<2xi8>) {
  ^bb0(%a: i8, %old: i8):
    linalg.yield %a : i8
  }
  func.return
}

// -----

// Elements are read elsewhere than they are written: transposed, at a place that is computed, and of another half.
// CHECK-LABEL: @main(
// CHECK-SAME: memref<2x2xi8>, [[ROW:%.+]]: memref<2x2xi8>, [[HALF:%.+]]: memref<2x2xi8>, [[Y:%.+]]: memref<2x2xi8> {nn.result})
#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: memref<2x2xi8>, %row: memref<2x2xi8>, %half: memref<2x2xi8>, %y: memref<2x2xi8> {nn.result}) {
  %c0 = arith.constant 0 : index
  %0 = memref.subview %half[1, 0] [1, 2] [1, 1] : memref<2x2xi8> to memref<1x2xi8, strided<[2, 1], offset: 2>>
  %1 = memref.subview %y[0, 0] [1, 2] [1, 1] : memref<2x2xi8> to memref<1x2xi8, strided<[2, 1]>>
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%0 : memref<1x2xi8, strided<[2, 1], offset: 2>>) outs(%1 : memref<1x2xi8, strided<[2, 1]>>) {
  ^bb0(%a: i8, %old: i8):
    linalg.yield %a : i8
  }
  linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x2xi8>) outs(%y : memref<2x2xi8>) {
  ^bb0(%a: i8, %old: i8):
    %b = memref.load %row[%c0, %c0] : memref<2x2xi8>
    %c = arith.addi %a, %b : i8
    linalg.yield %c : i8
  }
  func.return
}

// -----

// What meets the result first: transposed reading, and a load in the region.
// CHECK-LABEL: @main(
// CHECK-SAME: memref<2x2xi8>, [[ROW:%.+]]: memref<2x2xi8>, [[Y:%.+]]: memref<2x2xi8> {nn.result})
#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func @main(%x: memref<2x2xi8>, %row: memref<2x2xi8>, %y: memref<2x2xi8> {nn.result}) {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<2x2xi8>) outs(%y : memref<2x2xi8>) {
  ^bb0(%a: i8, %old: i8):
    %b = memref.load %row[%c0, %c0] : memref<2x2xi8>
    %c = arith.addi %a, %b : i8
    linalg.yield %c : i8
  }
  func.return
}
