// RUN: qmlir-opt %s -p convert-kernel-to-loops | filecheck %s

// The first read finds the range, as integers that are ordered as floats are, and counts: 8 elements at a time, then 3.
// CHECK-LABEL: @record(
// CHECK: scf.for %{{.+}} -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>)
// CHECK-NEXT: simd.load %x[%{{.+}}] : memref<19xf32> to vector<8xf32>
// CHECK: arith.minsi %{{.+}}, %{{.+}} : vector<8xi32>
// CHECK: arith.maxsi %{{.+}}, %{{.+}} : vector<8xi32>
// CHECK: vector.extract
// CHECK: scf.for %{{.+}} -> (i32, i32, i32, i32, i32, i32)
// CHECK: memref.load %x[%{{.+}}] : memref<19xf32>
// Without finite elements nothing else changes.
// CHECK: scf.if
// A coarser histogram moves its counts, those of positive elements and then those of negative ones.
// CHECK: scf.if
// CHECK-COUNT-2: scf.for
// The second read adds integers, which the addition of a large f64 makes of scaled elements and of their squares.
// CHECK: scf.for %{{.+}} -> (vector<8xi64>, vector<8xi64>)
// CHECK: [[WIDE:%.+]] = simd.convert %{{.+}} {kind = "extf"} : vector<8xf32> to vector<8xf64>
// CHECK: [[SCALED:%.+]] = arith.mulf [[WIDE]], %{{.+}} : vector<8xf64>
// CHECK-NEXT: [[SQUARES:%.+]] = arith.mulf [[SCALED]], [[SCALED]] : vector<8xf64>
// CHECK-NEXT: [[A:%.+]] = arith.addf [[SCALED]], %{{.+}} : vector<8xf64>
// CHECK-NEXT: [[B:%.+]] = simd.convert [[A]] {kind = "bitcast"} : vector<8xf64> to vector<8xi64>
// CHECK-NEXT: arith.addi %{{.+}}, [[B]] : vector<8xi64>
// CHECK: math.floor %{{.+}} : vector<8xf64>
// CHECK: memref.store %{{.+}}, %r[%{{.+}}] : memref<28xi64>
func.func @record(%x: memref<19xf32>, %p: memref<1xi64>, %r: memref<28xi64>) {
  kernel.record %x at %p in %r bins 16 : i64 : memref<19xf32>, memref<1xi64>, memref<28xi64>
  func.return
}

// Rows with gaps between them are read one after the other; each index of the axis has a range of its own.
// CHECK-LABEL: @rows(
// CHECK: scf.for %{{.+}} -> (i32, i32, i32, i32, i32, i32)
// CHECK-NEXT: scf.for %{{.+}} -> (i32, i32, i32, i32, i32, i32)
// CHECK-NEXT: memref.load %x[%{{.+}}, %{{.+}}] : memref<2x3xf32, strided<[5, 1]>>
// CHECK: scf.for %{{.+}} -> (i64, i64)
// CHECK-NEXT: scf.for %{{.+}} -> (i64, i64)
// CHECK: scf.for [[ROW:%.+]] =
// CHECK-NEXT: scf.for [[INDEX:%.+]] =
// CHECK: memref.load %x{{\[}}[[ROW]], [[INDEX]]{{\]}}
func.func @rows(%x: memref<2x3xf32, strided<[5, 1]>>, %p: memref<1xi64>, %r: memref<34xi64>) {
  kernel.record %x at %p in %r bins 16 : i64 axis 1 : i64 : memref<2x3xf32, strided<[5, 1]>>, memref<1xi64>, memref<34xi64>
  func.return
}

// The sizes of runs are numbers of the caller; each run ends with four words after the record.
// CHECK-LABEL: @runs(
// CHECK: arith.index_cast
// CHECK: [[RUNS:%.+]] = arith.index_cast
// CHECK: [[SIZE:%.+]] = arith.index_cast
// CHECK: scf.for [[STEP:%.+]] = %{{.+}} to [[RUNS]] step
// CHECK: arith.muli [[STEP]], [[SIZE]] : index
// CHECK: scf.for %{{.+}} -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>)
// CHECK: scf.for %{{.+}} -> (vector<8xi64>, vector<8xi64>)
// CHECK: [[OFFSET:%.+]] = arith.muli [[STEP]], %{{.+}} : index
// CHECK-NEXT: arith.addi [[OFFSET]], %{{.+}} : index
// CHECK: memref.load %r[%{{.+}}] : memref<60xi64>
// CHECK: memref.store %{{.+}}, %r[%{{.+}}] : memref<60xi64>
func.func @runs(%x: memref<64xf32>, %p: memref<1xi64>, %r: memref<60xi64>, %n: memref<2xi64>) {
  kernel.record %x at %p in %r runs %n bins 16 : i64 : memref<64xf32>, memref<1xi64>, memref<60xi64>, memref<2xi64>
  func.return
}

// A value without elements changes nothing.
// CHECK-LABEL: @empty(
// CHECK-NOT: memref.store
// CHECK: func.return
func.func @empty(%x: memref<0xf32>, %p: memref<1xi64>, %r: memref<28xi64>) {
  kernel.record %x at %p in %r bins 16 : i64 : memref<0xf32>, memref<1xi64>, memref<28xi64>
  func.return
}
