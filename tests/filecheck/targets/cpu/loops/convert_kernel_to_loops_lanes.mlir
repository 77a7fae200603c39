// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

#row = affine_map<(d0, d1) -> (d0, d1)>
#each = affine_map<(d0, d1) -> (d0)>
#last = affine_map<(d0, d1) -> (d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// What is the same for a row is a scalar outside; 10 elements are two vectors of 4 and one of 2.
// CHECK-LABEL: @elementwise(
// CHECK-SAME: [[V0:%.+]]: memref<3x10xf32>, [[V1:%.+]]: memref<3xf32>, [[V2:%.+]]: memref<3x10xf32>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 2 : index
// CHECK-NEXT: scf.for [[V9:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V10:%.+]] = memref.load [[V1]][[[V9]]] : memref<3xf32>
// CHECK-NEXT: [[V11:%.+]] = arith.negf [[V10]] : f32
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V3]] to [[V6]] step [[V7]] {
// CHECK-NEXT: [[V13:%.+]] = simd.load [[V0]][[[V9]], [[V12]]] : memref<3x10xf32> to vector<4xf32>
// CHECK-NEXT: [[V14:%.+]] = vector.broadcast [[V11]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V15:%.+]] = arith.addf [[V13]], [[V14]] : vector<4xf32>
// CHECK-NEXT: [[V16:%.+]] = math.sqrt [[V15]] : vector<4xf32>
// CHECK-NEXT: simd.store [[V16]], [[V2]][[[V9]], [[V12]]] : vector<4xf32>, memref<3x10xf32>
// CHECK: [[V17:%.+]] = simd.load_partial [[V0]][[[V9]], [[V6]]], [[V8]] : memref<3x10xf32> to vector<4xf32>
// CHECK-NEXT: [[V18:%.+]] = vector.broadcast [[V11]] : f32 to vector<4xf32>
// CHECK-NEXT: [[V19:%.+]] = arith.addf [[V17]], [[V18]] : vector<4xf32>
// CHECK-NEXT: [[V20:%.+]] = math.sqrt [[V19]] : vector<4xf32>
// CHECK-NEXT: simd.store_partial [[V20]], [[V2]][[[V9]], [[V6]]], [[V8]] : vector<4xf32>, memref<3x10xf32>
// CHECK: func.return
func.func @elementwise(%x: memref<3x10xf32>, %m: memref<3xf32>, %y: memref<3x10xf32>) {
  linalg.generic {indexing_maps = [#row, #each, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : memref<3x10xf32>, memref<3xf32>) outs(%y : memref<3x10xf32>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.negf %b : f32
    %0 = arith.addf %a, %n : f32
    %1 = math.sqrt %0 : f32
    linalg.yield %1 : f32
  }
  func.return
}

// Sums of floats keep their order: those of two rows run side by side.
// CHECK-LABEL: @sum(
// CHECK-SAME: [[V0:%.+]]: memref<6x10xf32>, [[V1:%.+]]: memref<6xf64>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 10 : index
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V8:%.+]] = arith.addi [[V7]], [[V5]] : index
// CHECK-NEXT: [[V9:%.+]] = memref.load [[V1]][[[V7]]] : memref<6xf64>
// CHECK-NEXT: [[V10:%.+]] = memref.load [[V1]][[[V8]]] : memref<6xf64>
// CHECK-NEXT: [[V11:%.+]], [[V12:%.+]] = scf.for [[V13:%.+]] = [[V2]] to [[V6]] step [[V5]] iter_args([[V14:%.+]] = [[V9]], [[V15:%.+]] = [[V10]]) -> (f64, f64) {
// CHECK-NEXT: [[V16:%.+]] = memref.load [[V0]][[[V7]], [[V13]]] : memref<6x10xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.extf [[V16]] : f32 to f64
// CHECK-NEXT: [[V18:%.+]] = arith.addf [[V14]], [[V17]] : f64
// CHECK-NEXT: [[V19:%.+]] = memref.load [[V0]][[[V8]], [[V13]]] : memref<6x10xf32>
// CHECK-NEXT: [[V20:%.+]] = arith.extf [[V19]] : f32 to f64
// CHECK-NEXT: [[V21:%.+]] = arith.addf [[V15]], [[V20]] : f64
// CHECK-NEXT: scf.yield [[V18]], [[V21]] : f64, f64
// CHECK: memref.store [[V11]], [[V1]][[[V7]]] : memref<6xf64>
// CHECK-NEXT: memref.store [[V12]], [[V1]][[[V8]]] : memref<6xf64>
// CHECK: func.return
func.func @sum(%x: memref<6x10xf32>, %y: memref<6xf64>) {
  linalg.generic {indexing_maps = [#row, #each], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<6x10xf32>) outs(%y : memref<6xf64>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: f32, %so_far: f64):
    %0 = arith.extf %a : f32 to f64
    %1 = arith.addf %so_far, %0 : f64
    linalg.yield %1 : f64
  }
  func.return
}

// The largest of each row in two chains of four lanes: these together, their upper half with the lower one, what was
// there, then what is left over.
// CHECK-LABEL: @largest(
// CHECK-SAME: [[V0:%.+]]: memref<3x10xi8>, [[V1:%.+]]: memref<3xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 10 : index
// CHECK-NEXT: scf.for [[V10:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V11:%.+]] = memref.load [[V1]][[[V10]]] : memref<3xi8>
// CHECK-NEXT: [[V12:%.+]], [[V13:%.+]] = scf.for [[V14:%.+]] = [[V2]] to [[V7]] step [[V7]] iter_args([[V15:%.+]] = [[V6]], [[V16:%.+]] = [[V6]]) -> (vector<4xi8>, vector<4xi8>) {
// CHECK-NEXT: [[V17:%.+]] = simd.load [[V0]][[[V10]], [[V14]]] : memref<3x10xi8> to vector<4xi8>
// CHECK-NEXT: [[V18:%.+]] = arith.maxsi [[V15]], [[V17]] : vector<4xi8>
// CHECK-NEXT: [[V19:%.+]] = arith.addi [[V14]], [[V8]] : index
// CHECK-NEXT: [[V20:%.+]] = simd.load [[V0]][[[V10]], [[V19]]] : memref<3x10xi8> to vector<4xi8>
// CHECK-NEXT: [[V21:%.+]] = arith.maxsi [[V16]], [[V20]] : vector<4xi8>
// CHECK-NEXT: scf.yield [[V18]], [[V21]] : vector<4xi8>, vector<4xi8>
// CHECK: [[V22:%.+]] = arith.maxsi [[V12]], [[V13]] : vector<4xi8>
// CHECK-NEXT: [[V23:%.+]] = vector.shuffle [[V22]], [[V22]] [0, 1] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT: [[V24:%.+]] = vector.shuffle [[V22]], [[V22]] [2, 3] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT: [[V25:%.+]] = arith.maxsi [[V23]], [[V24]] : vector<2xi8>
// CHECK-NEXT: [[V26:%.+]] = vector.shuffle [[V25]], [[V25]] [0] : vector<2xi8>, vector<2xi8>
// CHECK-NEXT: [[V27:%.+]] = vector.shuffle [[V25]], [[V25]] [1] : vector<2xi8>, vector<2xi8>
// CHECK-NEXT: [[V28:%.+]] = arith.maxsi [[V26]], [[V27]] : vector<1xi8>
// CHECK-NEXT: [[V29:%.+]] = vector.extract [[V28]][0] : i8 from vector<1xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.maxsi [[V11]], [[V29]] : i8
// CHECK-NEXT: [[V31:%.+]] = scf.for [[V32:%.+]] = [[V7]] to [[V9]] step [[V4]] iter_args([[V33:%.+]] = [[V30]]) -> (i8) {
// CHECK-NEXT: [[V34:%.+]] = memref.load [[V0]][[[V10]], [[V32]]] : memref<3x10xi8>
// CHECK-NEXT: [[V35:%.+]] = arith.maxsi [[V33]], [[V34]] : i8
// CHECK-NEXT: scf.yield [[V35]] : i8
// CHECK: memref.store [[V31]], [[V1]][[[V10]]] : memref<3xi8>
// CHECK: func.return
func.func @largest(%x: memref<3x10xi8>, %y: memref<3xi8>) {
  linalg.generic {indexing_maps = [#row, #each], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<3x10xi8>) outs(%y : memref<3xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %so_far: i8):
    %0 = arith.maxsi %so_far, %a : i8
    linalg.yield %0 : i8
  }
  func.return
}

// A sum of each column stays in memory, a vector of columns at a time.
// CHECK-LABEL: @columns(
// CHECK-SAME: [[V0:%.+]]: memref<3x8xi8>, [[V1:%.+]]: memref<8xi32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: scf.for [[V8:%.+]] = [[V2]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V9:%.+]] = simd.load [[V0]][[[V7]], [[V8]]] : memref<3x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.load [[V1]][[[V8]]] : memref<8xi32> to vector<4xi32>
// CHECK-NEXT: [[V11:%.+]] = simd.convert [[V9]] {kind = "extsi"} : vector<4xi8> to vector<4xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.addi [[V10]], [[V11]] : vector<4xi32>
// CHECK-NEXT: simd.store [[V12]], [[V1]][[[V8]]] : vector<4xi32>, memref<8xi32>
// CHECK: func.return
func.func @columns(%x: memref<3x8xi8>, %y: memref<8xi32>) {
  linalg.generic {indexing_maps = [#row, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<3x8xi8>) outs(%y : memref<8xi32>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %so_far: i32):
    %0 = arith.extsi %a : i8 to i32
    %1 = arith.addi %so_far, %0 : i32
    linalg.yield %1 : i32
  }
  func.return
}

// A table is read at a vector of places.
// CHECK-LABEL: @table(
// CHECK-SAME: [[V0:%.+]]: memref<8xi8>, [[V1:%.+]]: memref<256xi8>, [[V2:%.+]]: memref<8xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V7:%.+]] = vector.broadcast [[V3]] : index to vector<4xindex>
// CHECK-NEXT: scf.for [[V8:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V9:%.+]] = simd.load [[V0]][[[V8]]] : memref<8xi8> to vector<4xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.convert [[V9]] {kind = "index_cast"} : vector<4xi8> to vector<4xindex>
// CHECK-NEXT: [[V11:%.+]] = arith.subi [[V10]], [[V7]] : vector<4xindex>
// CHECK-NEXT: [[V12:%.+]] = simd.gather [[V1]][[[V11]]] : memref<256xi8>, vector<4xindex> to vector<4xi8>
// CHECK-NEXT: simd.store [[V12]], [[V2]][[[V8]]] : vector<4xi8>, memref<8xi8>
// CHECK: func.return
func.func @table(%x: memref<8xi8>, %t: memref<256xi8>, %y: memref<8xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.index_cast %a : i8 to index
    %1 = arith.constant -128 : index
    %2 = arith.subi %0, %1 : index
    %3 = memref.load %t[%2] : memref<256xi8>
    linalg.yield %3 : i8
  }
  func.return
}

// Axes of one step behind the others hide no neighbours, neither in the rows of wider memory.
// CHECK-LABEL: @units_behind(
// CHECK-SAME: [[V0:%.+]]: memref<1x8x1x1xi8>, [[V1:%.+]]: memref<1x8x1x1xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V5:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64, 3 : i64]] : memref<1x8x1x1xi8> into memref<1x8xi8>
// CHECK-NEXT: [[V6:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64], [1 : i64, 2 : i64, 3 : i64]] : memref<1x8x1x1xi8> into memref<1x8xi8>
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V8:%.+]] = simd.load [[V5]][[[V2]], [[V7]]] : memref<1x8xi8> to vector<4xi8>
// CHECK-NEXT: [[V9:%.+]] = arith.addi [[V8]], [[V8]] : vector<4xi8>
// CHECK-NEXT: simd.store [[V9]], [[V6]][[[V2]], [[V7]]] : vector<4xi8>, memref<1x8xi8>
// CHECK: func.return
func.func @units_behind(%x: memref<1x8x1x1xi8>, %y: memref<1x8x1x1xi8>) {
  linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<1x8x1x1xi8>) outs(%y : memref<1x8x1x1xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.addi %a, %a : i8
    linalg.yield %0 : i8
  }
  func.return
}
// CHECK-LABEL: @largest_of_units(
// CHECK-SAME: [[V0:%.+]]: memref<3x8x1xi8, strided<[10, 1, 1]>>, [[V1:%.+]]: memref<3x1xi8>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V6:%.+]] = vector.broadcast [[V5]] : i8 to vector<4xi8>
// CHECK-NEXT: [[V7:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4 : index
// CHECK-NEXT: [[V9:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64], [1 : i64, 2 : i64]] : memref<3x8x1xi8, strided<[10, 1, 1]>> into memref<3x8xi8, strided<[10, 1]>>
// CHECK-NEXT: [[V10:%.+]] = memref.collapse_shape [[V1]] {{\[\[}}0 : i64, 1 : i64]] : memref<3x1xi8> into memref<3xi8>
// CHECK-NEXT: scf.for [[V11:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V12:%.+]] = memref.load [[V10]][[[V11]]] : memref<3xi8>
// CHECK-NEXT: [[V13:%.+]], [[V14:%.+]] = scf.for [[V15:%.+]] = [[V2]] to [[V7]] step [[V7]] iter_args([[V16:%.+]] = [[V6]], [[V17:%.+]] = [[V6]]) -> (vector<4xi8>, vector<4xi8>) {
// CHECK-NEXT: [[V18:%.+]] = simd.load [[V9]][[[V11]], [[V15]]] : memref<3x8xi8, strided<[10, 1]>> to vector<4xi8>
// CHECK-NEXT: [[V19:%.+]] = arith.maxsi [[V16]], [[V18]] : vector<4xi8>
// CHECK-NEXT: [[V20:%.+]] = arith.addi [[V15]], [[V8]] : index
// CHECK-NEXT: [[V21:%.+]] = simd.load [[V9]][[[V11]], [[V20]]] : memref<3x8xi8, strided<[10, 1]>> to vector<4xi8>
// CHECK-NEXT: [[V22:%.+]] = arith.maxsi [[V17]], [[V21]] : vector<4xi8>
// CHECK-NEXT: scf.yield [[V19]], [[V22]] : vector<4xi8>, vector<4xi8>
// CHECK: [[V23:%.+]] = arith.maxsi [[V13]], [[V14]] : vector<4xi8>
// CHECK-NEXT: [[V24:%.+]] = vector.shuffle [[V23]], [[V23]] [0, 1] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT: [[V25:%.+]] = vector.shuffle [[V23]], [[V23]] [2, 3] : vector<4xi8>, vector<4xi8>
// CHECK-NEXT: [[V26:%.+]] = arith.maxsi [[V24]], [[V25]] : vector<2xi8>
// CHECK-NEXT: [[V27:%.+]] = vector.shuffle [[V26]], [[V26]] [0] : vector<2xi8>, vector<2xi8>
// CHECK-NEXT: [[V28:%.+]] = vector.shuffle [[V26]], [[V26]] [1] : vector<2xi8>, vector<2xi8>
// CHECK-NEXT: [[V29:%.+]] = arith.maxsi [[V27]], [[V28]] : vector<1xi8>
// CHECK-NEXT: [[V30:%.+]] = vector.extract [[V29]][0] : i8 from vector<1xi8>
// CHECK-NEXT: [[V31:%.+]] = arith.maxsi [[V12]], [[V30]] : i8
// CHECK-NEXT: memref.store [[V31]], [[V10]][[[V11]]] : memref<3xi8>
// CHECK: func.return
func.func @largest_of_units(%x: memref<3x8x1xi8, strided<[10, 1, 1]>>, %y: memref<3x1xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : memref<3x8x1xi8, strided<[10, 1, 1]>>) outs(%y : memref<3x1xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %so_far: i8):
    %0 = arith.maxsi %so_far, %a : i8
    linalg.yield %0 : i8
  }
  func.return
}
// Gaps stay: elements are taken one by one. What has no other axes keeps those of one step.
// CHECK-LABEL: @units_with_gaps(
// CHECK-SAME: [[V0:%.+]]: memref<8x1xi8, strided<[3, 1]>>, [[V1:%.+]]: memref<1x1xi8>, [[V2:%.+]]: memref<8x1xi8>)
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 8 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V6:%.+]] = memref.collapse_shape [[V0]] {{\[\[}}0 : i64, 1 : i64]] : memref<8x1xi8, strided<[3, 1]>> into memref<8xi8, strided<[3]>>
// CHECK-NEXT: [[V7:%.+]] = memref.collapse_shape [[V2]] {{\[\[}}0 : i64, 1 : i64]] : memref<8x1xi8> into memref<8xi8>
// CHECK-NEXT: [[V8:%.+]] = memref.load [[V1]][[[V3]], [[V3]]] : memref<1x1xi8>
// CHECK-NEXT: scf.for [[V9:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V10:%.+]] = memref.load [[V6]][[[V9]]] : memref<8xi8, strided<[3]>>
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V10]], [[V8]] : i8
// CHECK-NEXT: memref.store [[V11]], [[V7]][[[V9]]] : memref<8xi8>
// CHECK: func.return
func.func @units_with_gaps(%x: memref<8x1xi8, strided<[3, 1]>>, %m: memref<1x1xi8>, %y: memref<8x1xi8>) {
  linalg.generic {indexing_maps = [#row, affine_map<(d0, d1) -> (0, d1)>, #row],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : memref<8x1xi8, strided<[3, 1]>>, memref<1x1xi8>) outs(%y : memref<8x1xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.addi %a, %b : i8
    linalg.yield %0 : i8
  }
  func.return
}

// Elements that lie apart, and short loops, are taken one by one.
// CHECK-LABEL: @apart(
// CHECK-SAME: [[V0:%.+]]: memref<8x6xf32>, [[V1:%.+]]: memref<6x8xf32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 6 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V2]] to [[V5]] step [[V4]] {
// CHECK-NEXT: [[V8:%.+]] = memref.load [[V0]][[[V7]], [[V6]]] : memref<8x6xf32>
// CHECK-NEXT: memref.store [[V8]], [[V1]][[[V6]], [[V7]]] : memref<6x8xf32>
// CHECK: func.return
func.func @apart(%x: memref<8x6xf32>, %y: memref<6x8xf32>) {
  linalg.generic {indexing_maps = [#turned, #row], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x6xf32>) outs(%y : memref<6x8xf32>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  }
  func.return
}
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: memref<3xf32>, [[V1:%.+]]: memref<3xf32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V3:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for [[V5:%.+]] = [[V2]] to [[V3]] step [[V4]] {
// CHECK-NEXT: [[V6:%.+]] = memref.load [[V0]][[[V5]]] : memref<3xf32>
// CHECK-NEXT: [[V7:%.+]] = arith.addf [[V6]], [[V6]] : f32
// CHECK-NEXT: memref.store [[V7]], [[V1]][[[V5]]] : memref<3xf32>
// CHECK: func.return
func.func @short(%x: memref<3xf32>, %y: memref<3xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<3xf32>) outs(%y : memref<3xf32>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %a : f32
    linalg.yield %0 : f32
  }
  func.return
}

// A row of its own for each element is looked up one by one; one row for all of them is the memory of all lanes.
// CHECK-LABEL: @rows_of_tables(
// CHECK: memref.load {{.*}} : memref<8x256xi8>
// CHECK-NOT: simd.gather
// CHECK: memref.subview {{.*}} : memref<8x256xi8>
// CHECK: simd.gather {{.*}} vector<4xi8>
// CHECK: func.return
func.func @rows_of_tables(%x: memref<8xi8>, %z: memref<8x8xi8>, %t: memref<8x256xi8>, %y: memref<8xi8>, %u: memref<8x8xi8>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xi8>) outs(%y : memref<8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %byte = arith.extui %a : i8 to i32
    %place = arith.index_cast %byte : i32 to index
    %five = arith.constant 5 : i32
    %upper = arith.shrui %byte, %five : i32
    %row = arith.index_cast %upper : i32 to index
    %found = memref.load %t[%row, %place] : memref<8x256xi8>
    linalg.yield %found : i8
  }
  linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
      ins(%z : memref<8x8xi8>) outs(%u : memref<8x8xi8>)
      attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 4>} {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %byte = arith.extui %a : i8 to i32
    %place = arith.index_cast %byte : i32 to index
    %found = memref.load %t[%row, %place] : memref<8x256xi8>
    linalg.yield %found : i8
  }
  func.return
}
