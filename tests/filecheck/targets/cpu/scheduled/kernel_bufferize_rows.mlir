// RUN: qmlir-opt %s -p kernel-bufferize | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-bufferize,kernel-outline' --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>

// Rows of two axes: loops over both, over eight rows at a time. What is between is scratch memory of eight rows; a
// constant for each column is read whole.
func.func @softmax(%x: tensor<2x16x512xf32>, %w: tensor<512xf32>) -> tensor<2x16x512xf32> {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f64
  %0 = tensor.empty() : tensor<2x16xf32>
  %1 = tensor.empty() : tensor<2x16x512xf32>
  %2 = tensor.empty() : tensor<2x16xf64>
  %3 = tensor.empty() : tensor<2x16x512xf32>
  %r = kernel.row_fusion outs(%3 : tensor<2x16x512xf32>) -> tensor<2x16x512xf32> attributes {rows = array<i64: 2, 16>} {
  ^bb0(%y: tensor<2x16x512xf32>):
    %f = linalg.fill ins(%least : f32) outs(%0 : tensor<2x16xf32>) -> tensor<2x16xf32>
    %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<2x16x512xf32>) outs(%f : tensor<2x16xf32>) attrs = {origin = "s", role = "max"} {
    ^bb0(%a: f32, %o: f32):
      %4 = arith.maximumf %a, %o : f32
      linalg.yield %4 : f32
    } -> tensor<2x16xf32>
    %e = linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m, %w : tensor<2x16x512xf32>, tensor<2x16xf32>, tensor<512xf32>) outs(%1 : tensor<2x16x512xf32>) attrs = {origin = "s", role = "exp"} {
    ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
      %4 = arith.subf %a, %b : f32
      %5 = arith.mulf %4, %c : f32
      linalg.yield %5 : f32
    } -> tensor<2x16x512xf32>
    %g = linalg.fill ins(%zero : f64) outs(%2 : tensor<2x16xf64>) -> tensor<2x16xf64>
    %s = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<2x16x512xf32>) outs(%g : tensor<2x16xf64>) attrs = {origin = "s", role = "sum"} {
    ^bb0(%a: f32, %o: f64):
      %4 = arith.extf %a : f32 to f64
      %5 = arith.addf %4, %o : f64
      linalg.yield %5 : f64
    } -> tensor<2x16xf64>
    %q = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %s : tensor<2x16x512xf32>, tensor<2x16xf64>) outs(%y : tensor<2x16x512xf32>) attrs = {origin = "s", role = "div"} {
    ^bb0(%a: f32, %b: f64, %o: f32):
      %4 = arith.truncf %b : f64 to f32
      %5 = arith.divf %a, %4 : f32
      linalg.yield %5 : f32
    } -> tensor<2x16x512xf32>
    kernel.yield %q : tensor<2x16x512xf32>
  }
  func.return %r : tensor<2x16x512xf32>
}

// Short rows go together as many as are near. The largest of each row is a result, too. What the result begins with is
// not written over, but copied: it is read inside.
func.func @kept(%x: tensor<1024x32xi8>) -> (tensor<1024x32xi8>, tensor<1024xi8>) {
  %0 = tensor.empty() : tensor<1024xi8>
  %1 = tensor.empty() : tensor<1024x32xi8>
  %c = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1024x32xi8>) outs(%1 : tensor<1024x32xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.addi %a, %a : i8
    linalg.yield %2 : i8
  } -> tensor<1024x32xi8>
  %d, %n = kernel.row_fusion outs(%c, %0 : tensor<1024x32xi8>, tensor<1024xi8>) -> tensor<1024x32xi8>, tensor<1024xi8> attributes {rows = array<i64: 1024>} {
  ^bb0(%y: tensor<1024x32xi8>, %e: tensor<1024xi8>):
    %least = arith.constant -128 : i8
    %f = linalg.fill ins(%least : i8) outs(%e : tensor<1024xi8>) -> tensor<1024xi8>
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%c : tensor<1024x32xi8>) outs(%f : tensor<1024xi8>) {
    ^bb0(%a: i8, %o: i8):
      %2 = arith.maxsi %a, %o : i8
      linalg.yield %2 : i8
    } -> tensor<1024xi8>
    %s = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%c, %m : tensor<1024x32xi8>, tensor<1024xi8>) outs(%y : tensor<1024x32xi8>) {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %2 = arith.subi %a, %b : i8
      linalg.yield %2 : i8
    } -> tensor<1024x32xi8>
    kernel.yield %s, %m : tensor<1024x32xi8>, tensor<1024xi8>
  }
  func.return %d, %n : tensor<1024x32xi8>, tensor<1024xi8>
}

// Threads divide the loops over the rows, and nothing inside. A table for each row is a result, too: that of the row is
// looked up in the part of the memory that belongs to it. What nothing inside has written is copied, row by row.
func.func @divided(%x: tensor<64x512xi8>) -> (tensor<64x512xi8>, tensor<64x256xi8>, tensor<64x256xi8>) {
  %least = arith.constant -128 : i8
  %0 = tensor.empty() : tensor<64xi8>
  %1 = tensor.empty() : tensor<64x512xi8>
  %2 = tensor.empty() : tensor<64x256xi8>
  %3 = tensor.empty() : tensor<64x256xi8>
  %d, %t, %u = kernel.row_fusion outs(%1, %2, %3 : tensor<64x512xi8>, tensor<64x256xi8>, tensor<64x256xi8>) -> tensor<64x512xi8>, tensor<64x256xi8>, tensor<64x256xi8> attributes {rows = array<i64: 64>} {
  ^bb0(%y: tensor<64x512xi8>, %z: tensor<64x256xi8>, %again: tensor<64x256xi8>):
    %f = linalg.fill {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 64>} ins(%least : i8) outs(%0 : tensor<64xi8>) -> tensor<64xi8>
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x512xi8>) outs(%f : tensor<64xi8>) attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 64, threads = true>} {
    ^bb0(%a: i8, %o: i8):
      %4 = arith.maxsi %a, %o : i8
      linalg.yield %4 : i8
    } -> tensor<64xi8>
    %v = linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<64xi8>) outs(%z : tensor<64x256xi8>) {
    ^bb0(%a: i8, %o: i8):
      %place = linalg.index 1 : index
      %4 = arith.index_cast %place : index to i8
      %5 = arith.subi %a, %4 : i8
      linalg.yield %5 : i8
    } -> tensor<64x256xi8>
    %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<64x512xi8>) outs(%y : tensor<64x512xi8>) attrs = {kernel.schedule = #kernel.schedule<variant = "scalar", threads = true>} {
    ^bb0(%a: i8, %o: i8):
      %row = linalg.index 0 : index
      %n = arith.index_cast %a : i8 to index
      %c128 = arith.constant 128 : index
      %4 = arith.addi %n, %c128 : index
      %5 = tensor.extract %v[%row, %4] : tensor<64x256xi8>
      linalg.yield %5 : i8
    } -> tensor<64x512xi8>
    kernel.yield %w, %v, %v : tensor<64x512xi8>, tensor<64x256xi8>, tensor<64x256xi8>
  }
  func.return %d, %t, %u : tensor<64x512xi8>, tensor<64x256xi8>, tensor<64x256xi8>
}

// All rows are near together: nothing would be nearer.
func.func @few(%x: tensor<16x32xi8>) -> tensor<16x32xi8> {
  %least = arith.constant -128 : i8
  %0 = tensor.empty() : tensor<16xi8>
  %1 = tensor.empty() : tensor<16x32xi8>
  %d = kernel.row_fusion outs(%1 : tensor<16x32xi8>) -> tensor<16x32xi8> attributes {rows = array<i64: 16>} {
  ^bb0(%y: tensor<16x32xi8>):
    %f = linalg.fill ins(%least : i8) outs(%0 : tensor<16xi8>) -> tensor<16xi8>
    %m = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x32xi8>) outs(%f : tensor<16xi8>) {
    ^bb0(%a: i8, %o: i8):
      %2 = arith.maxsi %a, %o : i8
      linalg.yield %2 : i8
    } -> tensor<16xi8>
    %s = linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<16x32xi8>, tensor<16xi8>) outs(%y : tensor<16x32xi8>) {
    ^bb0(%a: i8, %b: i8, %o: i8):
      %2 = arith.subi %a, %b : i8
      linalg.yield %2 : i8
    } -> tensor<16x32xi8>
    kernel.yield %s : tensor<16x32xi8>
  }
  func.return %d : tensor<16x32xi8>
}

// CHECK: #k0 = #kernel.schedule<variant = "lanes", lanes = 64>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "scalar", threads = true>
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: memref<2x16x512xf32>, [[V1:%.+]]: memref<512xf32>, [[V2:%.+]]: memref<2x16x512xf32> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 8 : index
// CHECK-NEXT: scf.for [[V10:%.+]] = [[V5]] to [[V6]] step [[V7]] {
// CHECK-NEXT: scf.for [[V11:%.+]] = [[V5]] to [[V8]] step [[V9]] {
// CHECK-NEXT: [[V12:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8xf32>
// CHECK-NEXT: [[V13:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8x512xf32>
// CHECK-NEXT: [[V14:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8xf64>
// CHECK-NEXT: linalg.fill ins([[V3]] : f32) outs([[V12]] : memref<1x8xf32>)
// CHECK-NEXT: [[V15:%.+]] = memref.subview [[V0]][[[V10]], [[V11]], 0] [1, 8, 512] [1, 1, 1] : memref<2x16x512xf32> to memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V15]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>) outs([[V12]] : memref<1x8xf32>) attrs =  {origin = "s", role = "max"} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: f32, [[V17:%.+]]: f32):
// CHECK-NEXT: [[V18:%.+]] = arith.maximumf [[V16]], [[V17]] : f32
// CHECK-NEXT: linalg.yield [[V18]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V15]], [[V12]], [[V1]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>, memref<1x8xf32>, memref<512xf32>) outs([[V13]] : memref<1x8x512xf32>) attrs =  {origin = "s", role = "exp"} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: f32, [[V20:%.+]]: f32, [[V21:%.+]]: f32, [[V22:%.+]]: f32):
// CHECK-NEXT: [[V23:%.+]] = arith.subf [[V19]], [[V20]] : f32
// CHECK-NEXT: [[V24:%.+]] = arith.mulf [[V23]], [[V21]] : f32
// CHECK-NEXT: linalg.yield [[V24]] : f32
// CHECK: linalg.fill ins([[V4]] : f64) outs([[V14]] : memref<1x8xf64>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V13]] : memref<1x8x512xf32>) outs([[V14]] : memref<1x8xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V25:%.+]]: f32, [[V26:%.+]]: f64):
// CHECK-NEXT: [[V27:%.+]] = arith.extf [[V25]] : f32 to f64
// CHECK-NEXT: [[V28:%.+]] = arith.addf [[V27]], [[V26]] : f64
// CHECK-NEXT: linalg.yield [[V28]] : f64
// CHECK: [[V29:%.+]] = memref.subview [[V2]][[[V10]], [[V11]], 0] [1, 8, 512] [1, 1, 1] : memref<2x16x512xf32> to memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V13]], [[V14]] : memref<1x8x512xf32>, memref<1x8xf64>) outs([[V29]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V30:%.+]]: f32, [[V31:%.+]]: f64, [[V32:%.+]]: f32):
// CHECK-NEXT: [[V33:%.+]] = arith.truncf [[V31]] : f64 to f32
// CHECK-NEXT: [[V34:%.+]] = arith.divf [[V30]], [[V33]] : f32
// CHECK-NEXT: linalg.yield [[V34]] : f32
// CHECK: func.return
// CHECK-LABEL: @kept(
// CHECK-SAME: [[V0:%.+]]: memref<1024x32xi8>, [[V1:%.+]]: memref<1024x32xi8> {nn.result}, [[V2:%.+]]: memref<1024xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<1024x32xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<1024x32xi8>) outs([[V3]] : memref<1024x32xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V4]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V3]] : memref<1024x32xi8>) outs([[V1]] : memref<1024x32xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: [[V9:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 1024 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 256 : index
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V9]] to [[V10]] step [[V11]] {
// CHECK-NEXT: [[V13:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V14:%.+]] = memref.subview [[V2]][[[V12]]] [256] [1] : memref<1024xi8> to memref<256xi8, strided<[1], offset: ?>>
// CHECK-NEXT: linalg.fill ins([[V13]] : i8) outs([[V14]] : memref<256xi8, strided<[1], offset: ?>>)
// CHECK-NEXT: [[V15:%.+]] = memref.subview [[V3]][[[V12]], 0] [256, 32] [1, 1] : memref<1024x32xi8> to memref<256x32xi8, strided<[32, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V15]] : memref<256x32xi8, strided<[32, 1], offset: ?>>) outs([[V14]] : memref<256xi8, strided<[1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V16:%.+]]: i8, [[V17:%.+]]: i8):
// CHECK-NEXT: [[V18:%.+]] = arith.maxsi [[V16]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK: [[V19:%.+]] = memref.subview [[V1]][[[V12]], 0] [256, 32] [1, 1] : memref<1024x32xi8> to memref<256x32xi8, strided<[32, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V15]], [[V14]] : memref<256x32xi8, strided<[32, 1], offset: ?>>, memref<256xi8, strided<[1], offset: ?>>) outs([[V19]] : memref<256x32xi8, strided<[32, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V20:%.+]]: i8, [[V21:%.+]]: i8, [[V22:%.+]]: i8):
// CHECK-NEXT: [[V23:%.+]] = arith.subi [[V20]], [[V21]] : i8
// CHECK-NEXT: linalg.yield [[V23]] : i8
// CHECK: func.return
// CHECK-LABEL: @divided(
// CHECK-SAME: [[V0:%.+]]: memref<64x512xi8>, [[V1:%.+]]: memref<64x512xi8> {nn.result}, [[V2:%.+]]: memref<64x256xi8> {nn.result}, [[V3:%.+]]: memref<64x256xi8> {nn.result})
// CHECK-NEXT: [[V4:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V8:%.+]] = [[V5]] to [[V6]] step [[V7]] {
// CHECK-NEXT: [[V9:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: linalg.fill {kernel.schedule = #k0} ins([[V4]] : i8) outs([[V9]] : memref<16xi8>)
// CHECK-NEXT: [[V10:%.+]] = memref.subview [[V0]][[[V8]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V10]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V9]] : memref<16xi8>) attrs =  {kernel.schedule = #k0} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i8, [[V12:%.+]]: i8):
// CHECK-NEXT: [[V13:%.+]] = arith.maxsi [[V11]], [[V12]] : i8
// CHECK-NEXT: linalg.yield [[V13]] : i8
// CHECK: [[V14:%.+]] = memref.subview [[V2]][[[V8]], 0] [16, 256] [1, 1] : memref<64x256xi8> to memref<16x256xi8, strided<[256, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V9]] : memref<16xi8>) outs([[V14]] : memref<16x256xi8, strided<[256, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V15:%.+]]: i8, [[V16:%.+]]: i8):
// CHECK-NEXT: [[V17:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V18:%.+]] = arith.index_cast [[V17]] : index to i8
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V15]], [[V18]] : i8
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK: [[V20:%.+]] = memref.subview [[V1]][[[V8]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V10]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V20]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i8, [[V22:%.+]]: i8):
// CHECK-NEXT: [[V23:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V24:%.+]] = arith.index_cast [[V21]] : i8 to index
// CHECK-NEXT: [[V25:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V24]], [[V25]] : index
// CHECK-NEXT: [[V27:%.+]] = memref.load [[V14]][[[V23]], [[V26]]] : memref<16x256xi8, strided<[256, 1], offset: ?>>
// CHECK-NEXT: linalg.yield [[V27]] : i8
// CHECK: [[V28:%.+]] = memref.subview [[V3]][[[V8]], 0] [16, 256] [1, 1] : memref<64x256xi8> to memref<16x256xi8, strided<[256, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V14]] : memref<16x256xi8, strided<[256, 1], offset: ?>>) outs([[V28]] : memref<16x256xi8, strided<[256, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V29:%.+]]: i8, [[V30:%.+]]: i8):
// CHECK-NEXT: linalg.yield [[V29]] : i8
// CHECK: } {kernel.schedule = #k1}
// CHECK-NEXT: func.return
// CHECK-LABEL: @few(
// CHECK-SAME: [[V0:%.+]]: memref<16x32xi8>, [[V1:%.+]]: memref<16x32xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V3]] : memref<16xi8>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : memref<16x32xi8>) outs([[V3]] : memref<16xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V3]] : memref<16x32xi8>, memref<16xi8>) outs([[V1]] : memref<16x32xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V7]], [[V8]] : i8
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK: func.return
