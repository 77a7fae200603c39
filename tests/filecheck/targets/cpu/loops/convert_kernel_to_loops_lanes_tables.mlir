// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#row = affine_map<(d0, d1) -> (d0, d1)>

// A row that is shorter than a byte has values is not looked up in registers.
// CHECK-LABEL: @shorter_rows(
// CHECK-NOT: simd.gather
// CHECK: memref.load {{.*}} : memref<8x128xi8>
// CHECK-NOT: simd.gather
// CHECK: func.return
func.func @shorter_rows(%z: memref<8x8xi8>, %t: memref<8x128xi8>, %u: memref<8x8xi8>) {
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%z : memref<8x8xi8>) outs(%u : memref<8x8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %byte = arith.extui %a : i8 to i32
    %one = arith.constant 1 : i32
    %upper = arith.shrui %byte, %one : i32
    %place = arith.index_cast %upper : i32 to index
    %found = memref.load %t[%row, %place] : memref<8x128xi8>
    linalg.yield %found : i8
  }
  func.return
}

// Nor are tables whose elements lie apart, or share bytes.
// CHECK-LABEL: @tables_apart(
// CHECK-NOT: simd.gather
// CHECK: memref.load {{.*}} : memref<256xi8, strided<[2]>>
// CHECK-NOT: simd.gather
// CHECK: memref.load {{.*}} : memref<256xi1>
// CHECK-NOT: simd.gather
// CHECK: func.return
func.func @tables_apart(%x: memref<8xi8>, %t: memref<256xi8, strided<[2]>>, %bits: memref<256xi1>, %y: memref<8xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %byte = arith.extui %a : i8 to i32
    %place = arith.index_cast %byte : i32 to index
    %found = memref.load %t[%place] : memref<256xi8, strided<[2]>>
    linalg.yield %found : i8
  }
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %byte = arith.extui %a : i8 to i32
    %place = arith.index_cast %byte : i32 to index
    %bit = memref.load %bits[%place] : memref<256xi1>
    %found = arith.extui %bit : i1 to i8
    linalg.yield %found : i8
  }
  func.return
}
