// RUN: qmlir run %s

func.func @registers() {
  %c1 = arith.constant 1 : index
  %a = arith.constant 7 : i8
  %v = vector.broadcast %a : i8 to vector<2x3xi8>
  %row = arith.constant dense<[1, 2, 3]> : vector<3xi8>
  %w = vector.insert %row, %v [1] : vector<3xi8> into vector<2x3xi8>
  %0 = vector.extract %w[0, 2] : i8 from vector<2x3xi8>
  %back = vector.extract %w[%c1] : vector<3xi8> from vector<2x3xi8>
  %sum = vector.reduction <add>, %back : vector<3xi8> into i8
  %start = arith.constant 120 : i8
  %wrapped = vector.reduction <add>, %back, %start : vector<3xi8> into i8
  %largest = vector.reduction <maxui>, %row : vector<3xi8> into i8
  %found = tensor.from_elements %0, %sum, %wrapped, %largest : tensor<4xi8>
  %expected = arith.constant dense<[7, 6, 126, 3]> : tensor<4xi8>
  check.expect_eq %found, %expected : tensor<4xi8>

  %other = arith.constant dense<[4, 5]> : vector<2xi8>
  %mixed = vector.shuffle %row, %other [4, 0, 3, 3] : vector<3xi8>, vector<2xi8>
  %word = vector.bitcast %mixed : vector<4xi8> to vector<1xi32>
  %1 = vector.extract %word[0] : i32 from vector<1xi32>
  %word_tensor = tensor.from_elements %1 : tensor<1xi32>
  // 0x04040105
  %e1 = arith.constant dense<67371269> : tensor<1xi32>
  check.expect_eq %word_tensor, %e1 : tensor<1xi32>
  func.return
}

// From the first element to the last: (2^24 + 1) - 2^24 = 0, and fused where it says so.
func.func @floats() {
  %v = arith.constant dense<[16777216.0, 1.0, -16777216.0]> : vector<3xf32>
  %0 = vector.reduction <add>, %v : vector<3xf32> into f32
  %x = arith.constant dense<1.000244140625> : vector<2xf32>
  %c = arith.constant dense<-1.0> : vector<2xf32>
  %f = vector.fma %x, %x, %c : vector<2xf32>
  %1 = vector.extract %f[1] : f32 from vector<2xf32>
  %found = tensor.from_elements %0, %1 : tensor<2xf32>
  %expected = arith.constant dense<[0.0, 0.000488340854644775390625]> : tensor<2xf32>
  check.expect_eq %found, %expected : tensor<2xf32>
  func.return
}

func.func @memory() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i32
  %m = memref.alloc() : memref<2x4xi32>
  linalg.fill ins(%zero : i32) outs(%m : memref<2x4xi32>)
  %v = arith.constant dense<[1, 2]> : vector<2xi32>
  vector.store %v, %m[%c1, %c2] : memref<2x4xi32>, vector<2xi32>
  %mask = vector.create_mask %c1 : vector<2xi1>
  vector.maskedstore %m[%c0, %c1], %mask, %v : memref<2x4xi32>, vector<2xi1>, vector<2xi32>
  %l = vector.load %m[%c1, %c1] : memref<2x4xi32>, vector<3xi32>
  %0 = vector.extract %l[1] : i32 from vector<3xi32>
  %1 = vector.extract %l[2] : i32 from vector<3xi32>
  %pass = arith.constant dense<-7> : vector<2xi32>
  // The second lane would lie outside: it is masked.
  %c3 = arith.constant 3 : index
  %k = vector.maskedload %m[%c1, %c3], %mask, %pass : memref<2x4xi32>, vector<2xi1>, vector<2xi32> into vector<2xi32>
  %2 = vector.extract %k[0] : i32 from vector<2xi32>
  %3 = vector.extract %k[1] : i32 from vector<2xi32>
  %4 = memref.load %m[%c0, %c1] : memref<2x4xi32>
  %5 = memref.load %m[%c0, %c2] : memref<2x4xi32>
  %found = tensor.from_elements %0, %1, %2, %3, %4, %5 : tensor<6xi32>
  %expected = arith.constant dense<[1, 2, 2, -7, 1, 0]> : tensor<6xi32>
  check.expect_eq %found, %expected : tensor<6xi32>
  func.return
}

// A column that runs over the edge is padded when read, and cut when written.
func.func @transfers() {
  %c1 = arith.constant 1 : index
  %pad = arith.constant -1 : i32
  %x = arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %v = vector.transfer_read %x[%c1, %c1], %pad {permutation_map = affine_map<(d0, d1) -> (d0)>} : tensor<2x2xi32>, vector<2xi32>
  %0 = vector.extract %v[0] : i32 from vector<2xi32>
  %1 = vector.extract %v[1] : i32 from vector<2xi32>
  %found = tensor.from_elements %0, %1 : tensor<2xi32>
  %expected = arith.constant dense<[4, -1]> : tensor<2xi32>
  check.expect_eq %found, %expected : tensor<2xi32>
  %w = arith.constant dense<[8, 9]> : vector<2xi32>
  %y = vector.transfer_write %w, %x[%c1, %c1] : vector<2xi32>, tensor<2x2xi32>
  %e = arith.constant dense<[[1, 2], [3, 8]]> : tensor<2x2xi32>
  check.expect_eq %y, %e : tensor<2x2xi32>
  func.return
}
