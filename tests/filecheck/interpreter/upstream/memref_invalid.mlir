// RUN: not qmlir run %s --function load 2>&1 | filecheck %s --check-prefix LOAD
// RUN: not qmlir run %s --function store 2>&1 | filecheck %s --check-prefix STORE
// RUN: not qmlir run %s --function subview 2>&1 | filecheck %s --check-prefix SUBVIEW
// RUN: not qmlir run %s --function reinterpret 2>&1 | filecheck %s --check-prefix REINTERPRET
// RUN: not qmlir run %s --function collapse 2>&1 | filecheck %s --check-prefix COLLAPSE
// RUN: not qmlir run %s --function constant 2>&1 | filecheck %s --check-prefix CONSTANT
// RUN: not qmlir run %s --function cast 2>&1 | filecheck %s --check-prefix CAST

"memref.global"() <{constant, sym_name = "weights", sym_visibility = "private", type = memref<2xi8>, initial_value = dense<[1, 2]> : tensor<2xi8>}> : () -> ()

// LOAD: 'memref.load' op cannot be computed: index [1, 3] is out of bounds of memref<2x?xi8> with the shape [2, 3]
func.func @load() {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = memref.alloc(%c3) : memref<2x?xi8>
  %a = memref.load %m[%c1, %c3] : memref<2x?xi8>
  func.return
}

// STORE: 'memref.store' op cannot be computed: index [-1] is out of bounds of memref<2xi8> with the shape [2]
func.func @store() {
  %i = arith.constant -1 : index
  %a = arith.constant 0 : i8
  %m = memref.alloc() : memref<2xi8>
  memref.store %a, %m[%i] : memref<2xi8>
  func.return
}

// SUBVIEW: the slice at [1] of sizes [2] and strides [2] is out of bounds of memref<3xi8> with the shape [3]
func.func @subview() {
  %m = memref.alloc() : memref<3xi8>
  %v = memref.subview %m[1] [2] [2] : memref<3xi8> to memref<2xi8, strided<[2], offset: 1>>
  func.return
}

// REINTERPRET: offset 1, sizes [4] and strides [1] are out of bounds of a buffer of 4 elements
func.func @reinterpret() {
  %m = memref.alloc() : memref<2x2xi8>
  %v = memref.reinterpret_cast %m to offset: [1], sizes: [4], strides: [1] : memref<2x2xi8> to memref<4xi8, strided<[1], offset: 1>>
  func.return
}

// COLLAPSE: cannot cast memory of shape [2, 2] and strides [4, 1] to shape [4]
func.func @collapse() {
  %m = memref.alloc() : memref<2x2xi8, strided<[4, 1]>>
  %v = memref.collapse_shape %m [[0, 1]] : memref<2x2xi8, strided<[4, 1]>> into memref<4xi8, strided<[1]>>
  func.return
}

// CONSTANT: 'memref.store' op cannot be computed: cannot write to constant memory of memref<2xi8>
func.func @constant() {
  %c0 = arith.constant 0 : index
  %a = arith.constant 0 : i8
  %m = memref.get_global @weights : memref<2xi8>
  memref.store %a, %m[%c0] : memref<2xi8>
  func.return
}

// CAST: 'memref.cast' op cannot be computed: shape [3] is incompatible with memref<2xi8>
func.func @cast() {
  %c3 = arith.constant 3 : index
  %m = memref.alloc(%c3) : memref<?xi8>
  %n = "memref.cast"(%m) : (memref<?xi8>) -> memref<2xi8>
  func.return
}
