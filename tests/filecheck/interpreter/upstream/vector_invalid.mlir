// RUN: not qmlir run %s --function load 2>&1 | filecheck %s --check-prefix LOAD
// RUN: not qmlir run %s --function transfer 2>&1 | filecheck %s --check-prefix TRANSFER
// RUN: not qmlir run %s --function extract 2>&1 | filecheck %s --check-prefix EXTRACT

// LOAD: the slice at [1] of sizes [2] and strides [1] is out of bounds of memref<2xi32> with the shape [2]
func.func @load() {
  %c1 = arith.constant 1 : index
  %m = memref.alloc() : memref<2xi32>
  %v = vector.load %m[%c1] : memref<2xi32>, vector<2xi32>
  func.return
}

// TRANSFER: index [2] is out of bounds of memref<2xi32> with the shape [2]
func.func @transfer() {
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0 : i32
  %m = memref.alloc() : memref<2xi32>
  %v = vector.transfer_read %m[%c1], %pad {in_bounds = [true]} : memref<2xi32>, vector<2xi32>
  func.return
}

// EXTRACT: index [2] is out of bounds of vector<2xi8> with the shape [2]
func.func @extract() {
  %c2 = arith.constant 2 : index
  %v = arith.constant dense<[1, 2]> : vector<2xi8>
  %a = vector.extract %v[%c2] : i8 from vector<2xi8>
  func.return
}
