// RUN: not qmlir run %s --function extract 2>&1 | filecheck %s --check-prefix EXTRACT
// RUN: not qmlir run %s --function slice 2>&1 | filecheck %s --check-prefix SLICE
// RUN: not qmlir run %s --function cast 2>&1 | filecheck %s --check-prefix CAST

// EXTRACT: 'tensor.extract' op cannot be computed: index [-1] is out of bounds of tensor<2xi8> with the shape [2]
func.func @extract() {
  %x = arith.constant dense<[1, 2]> : tensor<2xi8>
  %i = arith.constant -1 : index
  %0 = tensor.extract %x[%i] : tensor<2xi8>
  func.return
}

// SLICE: the slice at [1] of sizes [2] and strides [2] is out of bounds of tensor<3xi8> with the shape [3]
func.func @slice() {
  %x = arith.constant dense<[1, 2, 3]> : tensor<3xi8>
  %0 = tensor.extract_slice %x[1] [2] [2] : tensor<3xi8> to tensor<2xi8>
  func.return
}

// CAST: shape [3] is incompatible with tensor<2xi8>
func.func @cast() {
  %n = arith.constant 3 : index
  %x = tensor.empty(%n) : tensor<?xi8>
  %0 = tensor.cast %x : tensor<?xi8> to tensor<2xi8>
  func.return
}
