// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-follow-lengths

// A neighbor beyond the runtime size is read.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  func.func private @window(%x: memref<80xi32>, %y: memref<80xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c80 = arith.constant 80 : index
    scf.for %i = %c0 to %c80 step %c1 {
      %j = arith.addi %i, %c1 : index
      // expected-remark @+1 {{'memref.load' op computes up to the capacity of padded dimensions: may read beyond the runtime size along axis 0}}
      %v = memref.load %x[%j] : memref<80xi32>
      memref.store %v, %y[%i] : memref<80xi32>
    }
    func.return
  }
  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<80xi32>, %y: memref<80xi32> {nn.result}) {
    func.call @window(%x, %y) : (memref<80xi32>, memref<80xi32>) -> ()
    func.return
  }
}
// -----
// An index is data.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  func.func private @gather(%x: memref<80xi32>, %at: memref<1xi64>, %y: memref<1xi32>) {
    %c0 = arith.constant 0 : index
    %i = memref.load %at[%c0] : memref<1xi64>
    // expected-remark @+1 {{'arith.index_cast' op computes up to the capacity of padded dimensions: computes an index in a way that is not known to be linear}}
    %j = arith.index_cast %i : i64 to index
    %v = memref.load %x[%j] : memref<80xi32>
    memref.store %v, %y[%c0] : memref<1xi32>
    func.return
  }
  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<80xi32>, %at: memref<1xi64>, %y: memref<1xi32> {nn.result}) {
    func.call @gather(%x, %at, %y) : (memref<80xi32>, memref<1xi64>, memref<1xi32>) -> ()
    func.return
  }
}
// -----
// The last step reaches beyond the bound.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  func.func private @steps(%x: memref<80xi32>) {
    %c0 = arith.constant 0 : index
    %c6 = arith.constant 6 : index
    %c80 = arith.constant 80 : index
    // expected-remark @+1 {{'scf.for' op computes up to the capacity of padded dimensions: has steps of 6 up to 80}}
    scf.for %i = %c0 to %c80 step %c6 {
      %v = memref.load %x[%i] : memref<80xi32>
      memref.store %v, %x[%i] : memref<80xi32>
    }
    func.return
  }
  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<80xi32> {nn.result}) {
    func.call @steps(%x) : (memref<80xi32>) -> ()
    func.return
  }
}
// -----
// The elements up to the runtime size are not at the front of the joined axis.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  func.func private @inner(%x: memref<3x80xi32>) {
    %c0 = arith.constant 0 : index
    // expected-remark @+1 {{'memref.collapse_shape' op computes up to the capacity of padded dimensions: joins axes so that a padded dimension is not outermost}}
    %flat = memref.collapse_shape %x [[0 : i64, 1 : i64]] : memref<3x80xi32> into memref<240xi32>
    %v = memref.load %flat[%c0] : memref<240xi32>
    memref.store %v, %flat[%c0] : memref<240xi32>
    func.return
  }
  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<3x80xi32> {nn.result}) {
    func.call @inner(%x) : (memref<3x80xi32>) -> ()
    func.return
  }
}
// -----
// The loop is not in a kernel.
builtin.module attributes {kernel.lengths = {n = array<i64: 5, 16>}} {
  func.func private @one(%x: memref<7xi32>) {
    func.return
  }
  func.func @main(%n: memref<i64> {nn.name = "n"}, %x: memref<7xi32> {nn.result}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c80 = arith.constant 80 : index
    // expected-remark @+1 {{'scf.for' op computes up to the capacity of padded dimensions: is in the function that calls kernels}}
    scf.for %i = %c0 to %c80 step %c1 {
      func.call @one(%x) : (memref<7xi32>) -> ()
    }
    func.return
  }
}
