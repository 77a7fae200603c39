// RUN: qmlir-opt %s -p kernel-outline | filecheck %s

#rows = affine_map<(d0, d1) -> (d0, d1)>
#columns = affine_map<(d0, d1) -> (d1, d0)>

// One number everywhere fills; elements that keep their places are copied; others move.
// CHECK: func.func private @fill_4x4_i8(
// CHECK: func.func private @copy_4x4_i8(
// CHECK: func.func private @move_4x4_i8(
func.func @main(%n: i8, %x: memref<4x4xi8>, %y: memref<4x4xi8>, %z: memref<4x4xi8>, %u: memref<4x4xi8>) {
  linalg.generic {indexing_maps = [#rows], iterator_types = ["parallel", "parallel"]} outs(%y : memref<4x4xi8>) {
  ^bb0(%a: i8):
    linalg.yield %n : i8
  }
  linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x4xi8>) outs(%z : memref<4x4xi8>) {
  ^bb0(%a: i8, %b: i8):
    linalg.yield %a : i8
  }
  linalg.generic {indexing_maps = [#columns, #rows], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x4xi8>) outs(%u : memref<4x4xi8>) {
  ^bb0(%a: i8, %b: i8):
    linalg.yield %a : i8
  }
  func.return
}
