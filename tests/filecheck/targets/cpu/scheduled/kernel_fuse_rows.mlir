// RUN: qmlir-opt %s -p kernel-fuse-rows | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-fuse-rows,kernel-fuse-rows' -o %t.twice && qmlir-opt %s -p kernel-fuse-rows | diff %t.twice -
// RUN: qmlir-opt %s -p 'kernel-fuse-rows,kernel-outline' --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>
#id = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
#second = affine_map<(d0, d1) -> (d1)>

// Rows of two axes: loops over both. The largest and what is between is scratch memory of eight rows; a constant for each
// column is read whole, and what fills a sum goes with it. The copy between has nothing to do with them.
func.func @softmax(%x: memref<2x16x512xf32>, %w: memref<512xf32>, %z: memref<4xi8>, %u: memref<4xi8> {nn.result}, %y: memref<2x16x512xf32> {nn.result}) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f64
  %m = memref.alloc() {alignment = 64 : i64} : memref<2x16xf32>
  linalg.fill ins(%least : f32) outs(%m : memref<2x16xf32>)
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : memref<2x16x512xf32>) outs(%m : memref<2x16xf32>) attrs = {origin = "s", role = "max"} {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.maximumf %a, %o : f32
    linalg.yield %0 : f32
  }
  %e = memref.alloc() {alignment = 64 : i64} : memref<2x16x512xf32>
  linalg.generic {indexing_maps = [#all, #row, #column, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m, %w : memref<2x16x512xf32>, memref<2x16xf32>, memref<512xf32>) outs(%e : memref<2x16x512xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.subf %a, %b : f32
    %1 = arith.mulf %0, %c : f32
    linalg.yield %1 : f32
  }
  "memref.copy"(%z, %u) : (memref<4xi8>, memref<4xi8>) -> ()
  %s = memref.alloc() {alignment = 64 : i64} : memref<2x16xf64>
  linalg.fill ins(%zero : f64) outs(%s : memref<2x16xf64>)
  linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : memref<2x16x512xf32>) outs(%s : memref<2x16xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %0 = arith.extf %a : f32 to f64
    %1 = arith.addf %0, %o : f64
    linalg.yield %1 : f64
  }
  linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %s : memref<2x16x512xf32>, memref<2x16xf64>) outs(%y : memref<2x16x512xf32>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %b: f64, %o: f32):
    %0 = arith.truncf %b : f64 to f32
    %1 = arith.divf %a, %0 : f32
    linalg.yield %1 : f32
  }
  func.return
}

// Short rows go together as many as are near. What somebody else reads later is memory of its own, as it was.
func.func @kept(%x: memref<256x32xi8>, %y: memref<256x32xi8> {nn.result}, %n: memref<256xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<256xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<256xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<256x32xi8>) outs(%m : memref<256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  }
  %d = memref.alloc() {alignment = 64 : i64} : memref<256x32xi8>
  linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<256x32xi8>, memref<256xi8>) outs(%d : memref<256x32xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  }
  "memref.copy"(%m, %n) : (memref<256xi8>, memref<256xi8>) -> ()
  "memref.copy"(%d, %y) : (memref<256x32xi8>, memref<256x32xi8>) -> ()
  func.return
}

// Threads divide the loops over the rows, and nothing inside.
func.func @divided(%x: memref<64x512xi8>, %y: memref<64x512xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
  linalg.fill {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 64>} ins(%least : i8) outs(%m : memref<64xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x512xi8>) outs(%m : memref<64xi8>) attrs = {kernel.schedule = #kernel.schedule<variant = "lanes", lanes = 64, threads = true>} {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  }
  linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<64x512xi8>, memref<64xi8>) outs(%y : memref<64x512xi8>) attrs = {kernel.schedule = #kernel.schedule<variant = "scalar", threads = true>} {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  }
  func.return
}

// Columns are reduced, not rows: what follows has other rows than these.
func.func @columns(%x: memref<512x64xi8>, %y: memref<512x64xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<64xi8>)
  linalg.generic {indexing_maps = [#id, #second], iterator_types = ["reduction", "parallel"]} ins(%x : memref<512x64xi8>) outs(%m : memref<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  }
  linalg.generic {indexing_maps = [#id, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<512x64xi8>, memref<64xi8>) outs(%y : memref<512x64xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  }
  func.return
}

// The largest of all rows' neighbours is read: another row's must be there before.
func.func @other_rows(%x: memref<512x512xi8>, %y: memref<512x512xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<512xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<512xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<512x512xi8>) outs(%m : memref<512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  }
  linalg.generic {indexing_maps = [#id, #second, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<512x512xi8>, memref<512xi8>) outs(%y : memref<512x512xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  }
  func.return
}

// All rows are near together: nothing would be nearer.
func.func @few(%x: memref<16x32xi8>, %y: memref<16x32xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<16xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<16xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<16x32xi8>) outs(%m : memref<16xi8>) {
  ^bb0(%a: i8, %o: i8):
    %0 = arith.maxsi %a, %o : i8
    linalg.yield %0 : i8
  }
  linalg.generic {indexing_maps = [#id, #first, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %m : memref<16x32xi8>, memref<16xi8>) outs(%y : memref<16x32xi8>) {
  ^bb0(%a: i8, %b: i8, %o: i8):
    %0 = arith.subi %a, %b : i8
    linalg.yield %0 : i8
  }
  func.return
}

// A table of 256 bytes for each row, which that row alone is looked up in: scratch memory, too.

func.func @table(%x: memref<64x512xi8>, %y: memref<64x512xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
  %0 = memref.alloc() {alignment = 64 : i64} : memref<64x256xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<64xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x512xi8>) outs(%m : memref<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %1 = arith.maxsi %a, %o : i8
    linalg.yield %1 : i8
  }
  linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : memref<64xi8>) outs(%0 : memref<64x256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %place = linalg.index 1 : index
    %1 = arith.index_cast %place : index to i8
    %2 = arith.subi %a, %1 : i8
    linalg.yield %2 : i8
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x512xi8>) outs(%y : memref<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %n = arith.index_cast %a : i8 to index
    %c128 = arith.constant 128 : index
    %1 = arith.addi %n, %c128 : index
    %2 = memref.load %0[%row, %1] : memref<64x256xi8>
    linalg.yield %2 : i8
  }
  func.return
}

// The last operation stays outside: somebody else wants the table; the number of a row says more than where its table is.

func.func @wanted(%x: memref<64x512xi8>, %y: memref<64x512xi8> {nn.result}, %0: memref<64x256xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<64xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x512xi8>) outs(%m : memref<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %1 = arith.maxsi %a, %o : i8
    linalg.yield %1 : i8
  }
  linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : memref<64xi8>) outs(%0 : memref<64x256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %place = linalg.index 1 : index
    %1 = arith.index_cast %place : index to i8
    %2 = arith.subi %a, %1 : i8
    linalg.yield %2 : i8
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x512xi8>) outs(%y : memref<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %n = arith.index_cast %a : i8 to index
    %c128 = arith.constant 128 : index
    %1 = arith.addi %n, %c128 : index
    %2 = memref.load %0[%row, %1] : memref<64x256xi8>
    linalg.yield %2 : i8
  }
  func.return
}

func.func @numbered(%x: memref<64x512xi8>, %y: memref<64x512xi8> {nn.result}) {
  %least = arith.constant -128 : i8
  %m = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
  %0 = memref.alloc() {alignment = 64 : i64} : memref<64x256xi8>
  linalg.fill ins(%least : i8) outs(%m : memref<64xi8>)
  linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x512xi8>) outs(%m : memref<64xi8>) {
  ^bb0(%a: i8, %o: i8):
    %1 = arith.maxsi %a, %o : i8
    linalg.yield %1 : i8
  }
  linalg.generic {indexing_maps = [#first, #id], iterator_types = ["parallel", "parallel"]} ins(%m : memref<64xi8>) outs(%0 : memref<64x256xi8>) {
  ^bb0(%a: i8, %o: i8):
    %place = linalg.index 1 : index
    %1 = arith.index_cast %place : index to i8
    %2 = arith.subi %a, %1 : i8
    linalg.yield %2 : i8
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<64x512xi8>) outs(%y : memref<64x512xi8>) {
  ^bb0(%a: i8, %o: i8):
    %row = linalg.index 0 : index
    %n = arith.index_cast %a : i8 to index
    %c128 = arith.constant 128 : index
    %1 = arith.addi %n, %c128 : index
    %3 = memref.load %0[%row, %1] : memref<64x256xi8>
    %4 = arith.index_cast %row : index to i8
    %2 = arith.addi %3, %4 : i8
    linalg.yield %2 : i8
  }
  func.return
}

// CHECK: #k0 = #kernel.schedule<variant = "lanes", lanes = 64>
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "scalar", threads = true>
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: memref<2x16x512xf32>, [[V1:%.+]]: memref<512xf32>, [[V2:%.+]]: memref<4xi8>, [[V3:%.+]]: memref<4xi8> {nn.result}, [[V4:%.+]]: memref<2x16x512xf32> {nn.result})
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V6:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: "memref.copy"([[V2]], [[V3]]) : (memref<4xi8>, memref<4xi8>) -> ()
// CHECK-NEXT: [[V7:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V8:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V9:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V10:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V11:%.+]] = arith.constant 16 : index
// CHECK-NEXT: [[V12:%.+]] = arith.constant 8 : index
// CHECK-NEXT: scf.for [[V13:%.+]] = [[V10]] to [[V8]] step [[V9]] {
// CHECK-NEXT: scf.for [[V14:%.+]] = [[V10]] to [[V11]] step [[V12]] {
// CHECK-NEXT: [[V15:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8xf32>
// CHECK-NEXT: [[V16:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8x512xf32>
// CHECK-NEXT: [[V17:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<1x8xf64>
// CHECK-NEXT: linalg.fill ins([[V5]] : f32) outs([[V15]] : memref<1x8xf32>)
// CHECK-NEXT: [[V18:%.+]] = memref.subview [[V0]][[[V13]], [[V14]], 0] [1, 8, 512] [1, 1, 1] : memref<2x16x512xf32> to memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V18]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>) outs([[V15]] : memref<1x8xf32>) attrs =  {origin = "s", role = "max"} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: f32, [[V20:%.+]]: f32):
// CHECK-NEXT: [[V21:%.+]] = arith.maximumf [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V18]], [[V15]], [[V1]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>, memref<1x8xf32>, memref<512xf32>) outs([[V16]] : memref<1x8x512xf32>) attrs =  {origin = "s", role = "exp"} {
// CHECK-NEXT: ^bb0([[V22:%.+]]: f32, [[V23:%.+]]: f32, [[V24:%.+]]: f32, [[V25:%.+]]: f32):
// CHECK-NEXT: [[V26:%.+]] = arith.subf [[V22]], [[V23]] : f32
// CHECK-NEXT: [[V27:%.+]] = arith.mulf [[V26]], [[V24]] : f32
// CHECK-NEXT: linalg.yield [[V27]] : f32
// CHECK: linalg.fill ins([[V6]] : f64) outs([[V17]] : memref<1x8xf64>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V16]] : memref<1x8x512xf32>) outs([[V17]] : memref<1x8xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V28:%.+]]: f32, [[V29:%.+]]: f64):
// CHECK-NEXT: [[V30:%.+]] = arith.extf [[V28]] : f32 to f64
// CHECK-NEXT: [[V31:%.+]] = arith.addf [[V30]], [[V29]] : f64
// CHECK-NEXT: linalg.yield [[V31]] : f64
// CHECK: [[V32:%.+]] = memref.subview [[V4]][[[V13]], [[V14]], 0] [1, 8, 512] [1, 1, 1] : memref<2x16x512xf32> to memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V16]], [[V17]] : memref<1x8x512xf32>, memref<1x8xf64>) outs([[V32]] : memref<1x8x512xf32, strided<[8192, 512, 1], offset: ?>>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V33:%.+]]: f32, [[V34:%.+]]: f64, [[V35:%.+]]: f32):
// CHECK-NEXT: [[V36:%.+]] = arith.truncf [[V34]] : f64 to f32
// CHECK-NEXT: [[V37:%.+]] = arith.divf [[V33]], [[V36]] : f32
// CHECK-NEXT: linalg.yield [[V37]] : f32
// CHECK: func.return
// CHECK-LABEL: @kept(
// CHECK-SAME: [[V0:%.+]]: memref<256x32xi8>, [[V1:%.+]]: memref<256x32xi8> {nn.result}, [[V2:%.+]]: memref<256xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V4:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<256xi8>
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V4]] : memref<256xi8>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : memref<256x32xi8>) outs([[V4]] : memref<256xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.maxsi [[V5]], [[V6]] : i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK: [[V8:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<256x32xi8>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V4]] : memref<256x32xi8>, memref<256xi8>) outs([[V8]] : memref<256x32xi8>) {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V9]], [[V10]] : i8
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK: "memref.copy"([[V4]], [[V2]]) : (memref<256xi8>, memref<256xi8>) -> ()
// CHECK-NEXT: "memref.copy"([[V8]], [[V1]]) : (memref<256x32xi8>, memref<256x32xi8>) -> ()
// CHECK-NEXT: func.return
// CHECK-LABEL: @divided(
// CHECK-SAME: [[V0:%.+]]: memref<64x512xi8>, [[V1:%.+]]: memref<64x512xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V7:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: linalg.fill {kernel.schedule = #k0} ins([[V2]] : i8) outs([[V7]] : memref<16xi8>)
// CHECK-NEXT: [[V8:%.+]] = memref.subview [[V0]][[[V6]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V8]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V7]] : memref<16xi8>) attrs =  {kernel.schedule = #k0} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: [[V11:%.+]] = arith.maxsi [[V9]], [[V10]] : i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK: [[V12:%.+]] = memref.subview [[V1]][[[V6]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]], [[V7]] : memref<16x512xi8, strided<[512, 1], offset: ?>>, memref<16xi8>) outs([[V12]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8, [[V15:%.+]]: i8):
// CHECK-NEXT: [[V16:%.+]] = arith.subi [[V13]], [[V14]] : i8
// CHECK-NEXT: linalg.yield [[V16]] : i8
// CHECK: } {kernel.schedule = #k1}
// CHECK-NEXT: func.return
// CHECK-LABEL: @columns(
// CHECK-SAME: [[V0:%.+]]: memref<512x64xi8>, [[V1:%.+]]: memref<512x64xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<64xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V3]] : memref<64xi8>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins([[V0]] : memref<512x64xi8>) outs([[V3]] : memref<64xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V3]] : memref<512x64xi8>, memref<64xi8>) outs([[V1]] : memref<512x64xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V7]], [[V8]] : i8
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK: func.return
// CHECK-LABEL: @other_rows(
// CHECK-SAME: [[V0:%.+]]: memref<512x512xi8>, [[V1:%.+]]: memref<512x512xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<512xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V3]] : memref<512xi8>)
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : memref<512x512xi8>) outs([[V3]] : memref<512xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V5]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V3]] : memref<512x512xi8>, memref<512xi8>) outs([[V1]] : memref<512x512xi8>) {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V7]], [[V8]] : i8
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK: func.return
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
// CHECK-LABEL: @table(
// CHECK-SAME: [[V0:%.+]]: memref<64x512xi8>, [[V1:%.+]]: memref<64x512xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V6:%.+]] = [[V3]] to [[V4]] step [[V5]] {
// CHECK-NEXT: [[V7:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: [[V8:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16x256xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V7]] : memref<16xi8>)
// CHECK-NEXT: [[V9:%.+]] = memref.subview [[V0]][[[V6]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V9]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V7]] : memref<16xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.maxsi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V7]] : memref<16xi8>) outs([[V8]] : memref<16x256xi8>) {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V16:%.+]] = arith.index_cast [[V15]] : index to i8
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V13]], [[V16]] : i8
// CHECK-NEXT: linalg.yield [[V17]] : i8
// CHECK: [[V18:%.+]] = memref.subview [[V1]][[[V6]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V9]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V18]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = memref.load [[V8]][[[V21]], [[V24]]] : memref<16x256xi8>
// CHECK-NEXT: linalg.yield [[V25]] : i8
// CHECK: func.return
// CHECK-LABEL: @wanted(
// CHECK-SAME: [[V0:%.+]]: memref<64x512xi8>, [[V1:%.+]]: memref<64x512xi8> {nn.result}, [[V2:%.+]]: memref<64x256xi8> {nn.result})
// CHECK-NEXT: [[V3:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V8:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: linalg.fill ins([[V3]] : i8) outs([[V8]] : memref<16xi8>)
// CHECK-NEXT: [[V9:%.+]] = memref.subview [[V0]][[[V7]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V9]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V8]] : memref<16xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.maxsi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK: [[V13:%.+]] = memref.subview [[V2]][[[V7]], 0] [16, 256] [1, 1] : memref<64x256xi8> to memref<16x256xi8, strided<[256, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]] : memref<16xi8>) outs([[V13]] : memref<16x256xi8, strided<[256, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8):
// CHECK-NEXT: [[V16:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V16]] : index to i8
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V14]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<64x512xi8>) outs([[V1]] : memref<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = memref.load [[V2]][[[V21]], [[V24]]] : memref<64x256xi8>
// CHECK-NEXT: linalg.yield [[V25]] : i8
// CHECK: func.return
// CHECK-LABEL: @numbered(
// CHECK-SAME: [[V0:%.+]]: memref<64x512xi8>, [[V1:%.+]]: memref<64x512xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V3:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<64x256xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 64 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 16 : index
// CHECK-NEXT: scf.for [[V7:%.+]] = [[V4]] to [[V5]] step [[V6]] {
// CHECK-NEXT: [[V8:%.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xi8>
// CHECK-NEXT: linalg.fill ins([[V2]] : i8) outs([[V8]] : memref<16xi8>)
// CHECK-NEXT: [[V9:%.+]] = memref.subview [[V0]][[[V7]], 0] [16, 512] [1, 1] : memref<64x512xi8> to memref<16x512xi8, strided<[512, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V9]] : memref<16x512xi8, strided<[512, 1], offset: ?>>) outs([[V8]] : memref<16xi8>) {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8):
// CHECK-NEXT: [[V12:%.+]] = arith.maxsi [[V10]], [[V11]] : i8
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK: [[V13:%.+]] = memref.subview [[V3]][[[V7]], 0] [16, 256] [1, 1] : memref<64x256xi8> to memref<16x256xi8, strided<[256, 1], offset: ?>>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V8]] : memref<16xi8>) outs([[V13]] : memref<16x256xi8, strided<[256, 1], offset: ?>>) {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8):
// CHECK-NEXT: [[V16:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V16]] : index to i8
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V14]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : memref<64x512xi8>) outs([[V1]] : memref<64x512xi8>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.addi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = memref.load [[V3]][[[V21]], [[V24]]] : memref<64x256xi8>
// CHECK-NEXT: [[V26:%.+]] = arith.index_cast [[V21]] : index to i8
// CHECK-NEXT: [[V27:%.+]] = arith.addi [[V25]], [[V26]] : i8
// CHECK-NEXT: linalg.yield [[V27]] : i8
// CHECK: func.return
