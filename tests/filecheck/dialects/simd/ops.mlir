// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @memory(
// CHECK-SAME: [[V0:%.+]]: memref<4x64xi8>, [[V1:%.+]]: memref<256xi8>, [[V2:%.+]]: vector<16xi32>, [[V3:%.+]]: vector<64xi8>, [[V4:%.+]]: index)
// CHECK-NEXT: [[V5:%.+]] = simd.load [[V0]][[[V4]], [[V4]]] : memref<4x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V6:%.+]] = simd.load_partial [[V0]][[[V4]], [[V4]]], [[V4]] : memref<4x64xi8> to vector<16xi8>
// CHECK-NEXT: [[V7:%.+]] = simd.load_group_splat [[V0]][[[V4]], [[V4]]] : memref<4x64xi8> to vector<64xi8>
// CHECK-NEXT: simd.store [[V5]], [[V0]][[[V4]], [[V4]]] : vector<16xi8>, memref<4x64xi8>
// CHECK-NEXT: simd.store_partial [[V6]], [[V0]][[[V4]], [[V4]]], [[V4]] : vector<16xi8>, memref<4x64xi8>
// CHECK-NEXT: [[V8:%.+]] = simd.gather [[V1]][[[V2]]] : memref<256xi8>, vector<16xi32> to vector<16xi8>
// CHECK-NEXT: [[V9:%.+]] = simd.look_up [[V1]][[[V3]]] : memref<256xi8>, vector<64xi8> to vector<64xi8>
// CHECK-NEXT: func.return
func.func @memory(%m: memref<4x64xi8>, %t: memref<256xi8>, %places: vector<16xi32>, %bytes: vector<64xi8>, %i: index) {
  %0 = simd.load %m[%i, %i] : memref<4x64xi8> to vector<16xi8>
  %1 = simd.load_partial %m[%i, %i], %i : memref<4x64xi8> to vector<16xi8>
  %2 = simd.load_group_splat %m[%i, %i] : memref<4x64xi8> to vector<64xi8>
  simd.store %0, %m[%i, %i] : vector<16xi8>, memref<4x64xi8>
  simd.store_partial %1, %m[%i, %i], %i : vector<16xi8>, memref<4x64xi8>
  %3 = simd.gather %t[%places] : memref<256xi8>, vector<16xi32> to vector<16xi8>
  %4 = simd.look_up %t[%bytes] : memref<256xi8>, vector<64xi8> to vector<64xi8>
  func.return
}

// CHECK-LABEL: @lanes(
// CHECK-SAME: [[V0:%.+]]: vector<16xi32>, [[V1:%.+]]: vector<64xi8>, [[V2:%.+]]: vector<32xi16>, [[V3:%.+]]: vector<16xf32>)
// CHECK-NEXT: [[V4:%.+]] = simd.dot_accumulate [[V0]], [[V1]], [[V1]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: [[V5:%.+]] = simd.dot_accumulate [[V0]], [[V2]], [[V2]] : vector<16xi32>, vector<32xi16>, vector<32xi16> -> vector<16xi32>
// CHECK-NEXT: [[V6:%.+]] = simd.convert [[V0]] {kind = "sitofp"} : vector<16xi32> to vector<16xf32>
// CHECK-NEXT: [[V7:%.+]] = simd.convert [[V0]] {kind = "bitcast"} : vector<16xi32> to vector<64xi8>
// CHECK-NEXT: [[V8:%.+]] = simd.round_to_int [[V3]] : vector<16xf32> to vector<16xi32>
// CHECK-NEXT: [[V9:%.+]] = simd.narrow [[V0]] : vector<16xi32> to vector<16xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.narrow [[V0]] {unsigned} : vector<16xi32> to vector<16xi8>
// CHECK-NEXT: [[V11:%.+]] = simd.narrow [[V0]], [[V0]], [[V0]] : vector<16xi32>, vector<16xi32>, vector<16xi32> to vector<48xi8>
// CHECK-NEXT: [[V12:%.+]] = simd.compare [[V3]], [[V3]] {predicate = "olt"} : vector<16xf32> -> vector<16xi1>
// CHECK-NEXT: [[V13:%.+]] = simd.select [[V12]], [[V0]], [[V0]] : vector<16xi1>, vector<16xi32>
// CHECK-NEXT: [[V14:%.+]] = simd.interleave_low [[V2]], [[V2]] {block = 8 : i64} : vector<32xi16>
// CHECK-NEXT: [[V15:%.+]] = simd.interleave_high [[V2]], [[V2]] : vector<32xi16>
// CHECK-NEXT: [[V16:%.+]] = simd.reduce_add [[V0]] : vector<16xi32> to i32
// CHECK-NEXT: [[V17:%.+]] = simd.multiply_pairs [[V1]], [[V1]] : vector<64xi8>, vector<64xi8> -> vector<32xi16>
// CHECK-NEXT: func.return
func.func @lanes(%a: vector<16xi32>, %x: vector<64xi8>, %h: vector<32xi16>, %f: vector<16xf32>) {
  %0 = simd.dot_accumulate %a, %x, %x {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
  %1 = simd.dot_accumulate %a, %h, %h : vector<16xi32>, vector<32xi16>, vector<32xi16> -> vector<16xi32>
  %2 = simd.convert %a {kind = "sitofp"} : vector<16xi32> to vector<16xf32>
  %3 = simd.convert %a {kind = "bitcast"} : vector<16xi32> to vector<64xi8>
  %4 = simd.round_to_int %f : vector<16xf32> to vector<16xi32>
  %5 = simd.narrow %a : vector<16xi32> to vector<16xi8>
  %6 = simd.narrow %a {unsigned} : vector<16xi32> to vector<16xi8>
  %joined = simd.narrow %a, %a, %a : vector<16xi32>, vector<16xi32>, vector<16xi32> to vector<48xi8>
  %7 = simd.compare %f, %f {predicate = "olt"} : vector<16xf32> -> vector<16xi1>
  %8 = simd.select %7, %a, %a : vector<16xi1>, vector<16xi32>
  %9 = simd.interleave_low %h, %h {block = 8 : i64} : vector<32xi16>
  %10 = simd.interleave_high %h, %h : vector<32xi16>
  %11 = simd.reduce_add %a : vector<16xi32> to i32
  %12 = simd.multiply_pairs %x, %x : vector<64xi8>, vector<64xi8> -> vector<32xi16>
  func.return
}

func.func @tiles(%m: memref<4x64xi8>, %a: vector<8xi32>, %i: index) {
  %0 = simd.load %m[%i, %i] {strides = array<i64: 64, 16>} : memref<4x64xi8> to vector<2x3x16xi8>
  %1 = simd.load_group_splat %m[%i, %i] {strides = array<i64: 64>} : memref<4x64xi8> to vector<2x16xi8>
  simd.store %0, %m[%i, %i] {strides = array<i64: 64, 16>} : vector<2x3x16xi8>, memref<4x64xi8>
  %2 = simd.stack %a, %a : vector<8xi32>, vector<8xi32> to vector<2x1x8xi32>
  %3 = simd.transpose %2 : vector<2x1x8xi32> to vector<1x2x8xi32>
  %4 = simd.stack %3, %3 : vector<1x2x8xi32>, vector<1x2x8xi32> to vector<2x1x2x8xi32>
  %5 = simd.narrow %2, %2 : vector<2x1x8xi32>, vector<2x1x8xi32> to vector<2x1x16xi8>
  %6 = simd.convert %2 {kind = "bitcast"} : vector<2x1x8xi32> to vector<2x1x32xi8>
  func.return
}
