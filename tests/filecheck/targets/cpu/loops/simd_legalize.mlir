// RUN: qmlir-opt %s -p simd-legalize --split-input-file | filecheck %s

// There is an instruction: nothing changes.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni">} {
  func.func @unsigned_vnni(%acc: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
    %0 = simd.dot_accumulate %acc, %x, %w {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
    func.return %0 : vector<16xi32>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni">} {
  func.func @signed_vnni(%acc: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
    %0 = simd.dot_accumulate %acc, %x, %w : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
    func.return %0 : vector<16xi32>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2-vnni">} {
  func.func @halves(%acc: vector<16xi32>, %x: vector<64xi8>, %w: vector<64xi8>) -> vector<16xi32> {
    %0 = simd.dot_accumulate %acc, %x, %w {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
    func.return %0 : vector<16xi32>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2">} {
  func.func @bytes_as_pairs(%acc: vector<8xi32>, %x: vector<32xi8>, %w: vector<32xi8>) -> vector<8xi32> {
    %0 = simd.dot_accumulate %acc, %x, %w {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
    func.return %0 : vector<8xi32>
  }
}
// -----
// Products whose neighbours are added in 16 bits are one instruction of AVX2, and six operations elsewhere.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2">} {
  func.func @short(%x: vector<32xi8>, %w: vector<32xi8>) -> vector<16xi16> {
    %0 = simd.multiply_pairs %x, %w : vector<32xi8>, vector<32xi8> -> vector<16xi16>
    func.return %0 : vector<16xi16>
  }
}
// -----
func.func @short_anywhere(%x: vector<32xi8>, %w: vector<32xi8>) -> vector<16xi16> {
  %0 = simd.multiply_pairs %x, %w : vector<32xi8>, vector<32xi8> -> vector<16xi16>
  func.return %0 : vector<16xi16>
}
// -----
// A target that does not say: products.
func.func @products(%acc: vector<2xi32>, %x: vector<4xi16>, %w: vector<4xi16>) -> vector<2xi32> {
  %0 = simd.dot_accumulate %acc, %x, %w : vector<2xi32>, vector<4xi16>, vector<4xi16> -> vector<2xi32>
  func.return %0 : vector<2xi32>
}
// -----
// x86 shifts no bytes: 16 bits, without what came over from the byte below.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni">} {
  func.func @shifted_bytes(%x: vector<64xi8>) -> vector<64xi8> {
    %c4 = arith.constant 4 : i8
    %0 = vector.broadcast %c4 : i8 to vector<64xi8>
    %1 = arith.shli %x, %0 : vector<64xi8>
    func.return %1 : vector<64xi8>
  }
}
// -----
// By what is not known here, as many for each byte, on other processors: it stays.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2">} {
  func.func @unknown_shift(%x: vector<32xi8>, %n: vector<32xi8>) -> vector<32xi8> {
    %0 = arith.shli %x, %n : vector<32xi8>
    func.return %0 : vector<32xi8>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2">} {
  func.func @many_shifts(%x: vector<4xi8>) -> vector<4xi8> {
    %0 = arith.constant dense<[1, 2, 3, 4]> : vector<4xi8>
    %1 = arith.shli %x, %0 : vector<4xi8>
    func.return %1 : vector<4xi8>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "neon">} {
  func.func @byte_shifts(%x: vector<16xi8>) -> vector<16xi8> {
    %0 = arith.constant dense<4> : vector<16xi8>
    %1 = arith.shli %x, %0 : vector<16xi8>
    func.return %1 : vector<16xi8>
  }
}

// -----
// A table of 256 bytes stays in registers where bytes are permuted by a register, and is read from memory elsewhere.
builtin.module attributes {kernel.target = #kernel.target<isa = "avx512-vnni">} {
  func.func @tables(%t: memref<256xi8>, %short: memref<128xi8>, %i: vector<16xindex>, %n: vector<16xi32>, %many: vector<128xi32>) -> (vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<128xi8>) {
    %0 = simd.gather %t[%i] : memref<256xi8>, vector<16xindex> to vector<16xi8>
    %1 = simd.gather %t[%n] : memref<256xi8>, vector<16xi32> to vector<16xi8>
    %2 = simd.gather %short[%n] : memref<128xi8>, vector<16xi32> to vector<16xi8>
    %3 = simd.gather %t[%many] : memref<256xi8>, vector<128xi32> to vector<128xi8>
    func.return %0, %1, %2, %3 : vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<128xi8>
  }
}
// -----
builtin.module attributes {kernel.target = #kernel.target<isa = "avx2">} {
  func.func @table_in_memory(%t: memref<256xi8>, %n: vector<16xi32>) -> vector<16xi8> {
    %0 = simd.gather %t[%n] : memref<256xi8>, vector<16xi32> to vector<16xi8>
    func.return %0 : vector<16xi8>
  }
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @unsigned_vnni(
// CHECK-SAME: [[V0:%.+]]: vector<16xi32>, [[V1:%.+]]: vector<64xi8>, [[V2:%.+]]: vector<64xi8>) -> vector<16xi32>
// CHECK-NEXT: [[V3:%.+]] = simd.dot_accumulate [[V0]], [[V1]], [[V2]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: func.return [[V3]] : vector<16xi32>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @signed_vnni(
// CHECK-SAME: [[V0:%.+]]: vector<16xi32>, [[V1:%.+]]: vector<64xi8>, [[V2:%.+]]: vector<64xi8>) -> vector<16xi32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<-128> : vector<64xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.xori [[V1]], [[V3]] : vector<64xi8>
// CHECK-NEXT: [[V5:%.+]] = simd.dot_accumulate [[V0]], [[V4]], [[V2]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant dense<0> : vector<16xi32>
// CHECK-NEXT: [[V7:%.+]] = simd.dot_accumulate [[V6]], [[V3]], [[V2]] {signs = "us"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.subi [[V5]], [[V7]] : vector<16xi32>
// CHECK-NEXT: func.return [[V8]] : vector<16xi32>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2-vnni">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @halves(
// CHECK-SAME: [[V0:%.+]]: vector<16xi32>, [[V1:%.+]]: vector<64xi8>, [[V2:%.+]]: vector<64xi8>) -> vector<16xi32>
// CHECK-NEXT: [[V3:%.+]] = vector.shuffle [[V0]], [[V0]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V4:%.+]] = vector.shuffle [[V1]], [[V1]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<64xi8>, vector<64xi8>
// CHECK-NEXT: [[V5:%.+]] = vector.shuffle [[V2]], [[V2]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31] : vector<64xi8>, vector<64xi8>
// CHECK-NEXT: [[V6:%.+]] = simd.dot_accumulate [[V3]], [[V4]], [[V5]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V7:%.+]] = vector.shuffle [[V0]], [[V0]] [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xi32>, vector<16xi32>
// CHECK-NEXT: [[V8:%.+]] = vector.shuffle [[V1]], [[V1]] [32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63] : vector<64xi8>, vector<64xi8>
// CHECK-NEXT: [[V9:%.+]] = vector.shuffle [[V2]], [[V2]] [32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63] : vector<64xi8>, vector<64xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.dot_accumulate [[V7]], [[V8]], [[V9]] {signs = "us"} : vector<8xi32>, vector<32xi8>, vector<32xi8> -> vector<8xi32>
// CHECK-NEXT: [[V11:%.+]] = vector.shuffle [[V6]], [[V10]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<8xi32>, vector<8xi32>
// CHECK-NEXT: func.return [[V11]] : vector<16xi32>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @bytes_as_pairs(
// CHECK-SAME: [[V0:%.+]]: vector<8xi32>, [[V1:%.+]]: vector<32xi8>, [[V2:%.+]]: vector<32xi8>) -> vector<8xi32>
// CHECK-NEXT: [[V3:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V4:%.+]] = arith.constant dense<8> : vector<16xi16>
// CHECK-NEXT: [[V5:%.+]] = arith.shli [[V3]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V6:%.+]] = arith.shrui [[V5]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V7:%.+]] = simd.convert [[V2]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V8:%.+]] = arith.shli [[V7]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V9:%.+]] = arith.shrsi [[V8]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V10:%.+]] = simd.dot_accumulate [[V0]], [[V6]], [[V9]] : vector<8xi32>, vector<16xi16>, vector<16xi16> -> vector<8xi32>
// CHECK-NEXT: [[V11:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V12:%.+]] = arith.shrui [[V11]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V13:%.+]] = simd.convert [[V2]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V14:%.+]] = arith.shrsi [[V13]], [[V4]] : vector<16xi16>
// CHECK-NEXT: [[V15:%.+]] = simd.dot_accumulate [[V10]], [[V12]], [[V14]] : vector<8xi32>, vector<16xi16>, vector<16xi16> -> vector<8xi32>
// CHECK-NEXT: func.return [[V15]] : vector<8xi32>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: vector<32xi8>, [[V1:%.+]]: vector<32xi8>) -> vector<16xi16>
// CHECK-NEXT: [[V2:%.+]] = simd.multiply_pairs [[V0]], [[V1]] : vector<32xi8>, vector<32xi8> -> vector<16xi16>
// CHECK-NEXT: func.return [[V2]] : vector<16xi16>
// CHECK: // -----
// CHECK-LABEL: @short_anywhere(
// CHECK-SAME: [[V0:%.+]]: vector<32xi8>, [[V1:%.+]]: vector<32xi8>) -> vector<16xi16>
// CHECK-NEXT: [[V2:%.+]] = simd.convert [[V0]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V3:%.+]] = arith.constant dense<8> : vector<16xi16>
// CHECK-NEXT: [[V4:%.+]] = arith.shli [[V2]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V5:%.+]] = arith.shrui [[V4]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V6:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V7:%.+]] = arith.shli [[V6]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V8:%.+]] = arith.shrsi [[V7]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V9:%.+]] = arith.muli [[V5]], [[V8]] : vector<16xi16>
// CHECK-NEXT: [[V10:%.+]] = simd.convert [[V0]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V11:%.+]] = arith.shrui [[V10]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V12:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<32xi8> to vector<16xi16>
// CHECK-NEXT: [[V13:%.+]] = arith.shrsi [[V12]], [[V3]] : vector<16xi16>
// CHECK-NEXT: [[V14:%.+]] = arith.muli [[V11]], [[V13]] : vector<16xi16>
// CHECK-NEXT: [[V15:%.+]] = simd.convert [[V9]] {kind = "extsi"} : vector<16xi16> to vector<16xi32>
// CHECK-NEXT: [[V16:%.+]] = simd.convert [[V14]] {kind = "extsi"} : vector<16xi16> to vector<16xi32>
// CHECK-NEXT: [[V17:%.+]] = arith.addi [[V15]], [[V16]] : vector<16xi32>
// CHECK-NEXT: [[V18:%.+]] = simd.narrow [[V17]] : vector<16xi32> to vector<16xi16>
// CHECK-NEXT: func.return [[V18]] : vector<16xi16>
// CHECK: // -----
// CHECK-LABEL: @products(
// CHECK-SAME: [[V0:%.+]]: vector<2xi32>, [[V1:%.+]]: vector<4xi16>, [[V2:%.+]]: vector<4xi16>) -> vector<2xi32>
// CHECK-NEXT: [[V3:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<4xi16> to vector<2xi32>
// CHECK-NEXT: [[V4:%.+]] = arith.constant dense<16> : vector<2xi32>
// CHECK-NEXT: [[V5:%.+]] = arith.shli [[V3]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V6:%.+]] = arith.shrsi [[V5]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V7:%.+]] = simd.convert [[V2]] {kind = "bitcast"} : vector<4xi16> to vector<2xi32>
// CHECK-NEXT: [[V8:%.+]] = arith.shli [[V7]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V9:%.+]] = arith.shrsi [[V8]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V10:%.+]] = arith.muli [[V6]], [[V9]] : vector<2xi32>
// CHECK-NEXT: [[V11:%.+]] = arith.addi [[V0]], [[V10]] : vector<2xi32>
// CHECK-NEXT: [[V12:%.+]] = simd.convert [[V1]] {kind = "bitcast"} : vector<4xi16> to vector<2xi32>
// CHECK-NEXT: [[V13:%.+]] = arith.shrsi [[V12]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V14:%.+]] = simd.convert [[V2]] {kind = "bitcast"} : vector<4xi16> to vector<2xi32>
// CHECK-NEXT: [[V15:%.+]] = arith.shrsi [[V14]], [[V4]] : vector<2xi32>
// CHECK-NEXT: [[V16:%.+]] = arith.muli [[V13]], [[V15]] : vector<2xi32>
// CHECK-NEXT: [[V17:%.+]] = arith.addi [[V11]], [[V16]] : vector<2xi32>
// CHECK-NEXT: func.return [[V17]] : vector<2xi32>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @shifted_bytes(
// CHECK-SAME: [[V0:%.+]]: vector<64xi8>) -> vector<64xi8>
// CHECK-NEXT: [[V1:%.+]] = simd.convert [[V0]] {kind = "bitcast"} : vector<64xi8> to vector<32xi16>
// CHECK-NEXT: [[V2:%.+]] = arith.constant dense<4> : vector<32xi16>
// CHECK-NEXT: [[V3:%.+]] = arith.shli [[V1]], [[V2]] : vector<32xi16>
// CHECK-NEXT: [[V4:%.+]] = simd.convert [[V3]] {kind = "bitcast"} : vector<32xi16> to vector<64xi8>
// CHECK-NEXT: [[V5:%.+]] = arith.constant dense<-16> : vector<64xi8>
// CHECK-NEXT: [[V6:%.+]] = arith.andi [[V4]], [[V5]] : vector<64xi8>
// CHECK-NEXT: func.return [[V6]] : vector<64xi8>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @unknown_shift(
// CHECK-SAME: [[V0:%.+]]: vector<32xi8>, [[V1:%.+]]: vector<32xi8>) -> vector<32xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.shli [[V0]], [[V1]] : vector<32xi8>
// CHECK-NEXT: func.return [[V2]] : vector<32xi8>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @many_shifts(
// CHECK-SAME: [[V0:%.+]]: vector<4xi8>) -> vector<4xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<[1, 2, 3, 4]> : vector<4xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.shli [[V0]], [[V1]] : vector<4xi8>
// CHECK-NEXT: func.return [[V2]] : vector<4xi8>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "neon">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @byte_shifts(
// CHECK-SAME: [[V0:%.+]]: vector<16xi8>) -> vector<16xi8>
// CHECK-NEXT: [[V1:%.+]] = arith.constant dense<4> : vector<16xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.shli [[V0]], [[V1]] : vector<16xi8>
// CHECK-NEXT: func.return [[V2]] : vector<16xi8>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @tables(
// CHECK-SAME: [[V0:%.+]]: memref<256xi8>, [[V1:%.+]]: memref<128xi8>, [[V2:%.+]]: vector<16xindex>, [[V3:%.+]]: vector<16xi32>, [[V4:%.+]]: vector<128xi32>) -> (vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<128xi8>)
// CHECK-NEXT: [[V5:%.+]] = simd.convert [[V2]] {kind = "index_cast"} : vector<16xindex> to vector<16xi64>
// CHECK-NEXT: [[V6:%.+]] = simd.convert [[V5]] {kind = "trunci"} : vector<16xi64> to vector<16xi8>
// CHECK-NEXT: [[V7:%.+]] = simd.look_up [[V0]][[[V6]]] : memref<256xi8>, vector<16xi8> to vector<16xi8>
// CHECK-NEXT: [[V8:%.+]] = simd.convert [[V3]] {kind = "trunci"} : vector<16xi32> to vector<16xi8>
// CHECK-NEXT: [[V9:%.+]] = simd.look_up [[V0]][[[V8]]] : memref<256xi8>, vector<16xi8> to vector<16xi8>
// CHECK-NEXT: [[V10:%.+]] = simd.gather [[V1]][[[V3]]] : memref<128xi8>, vector<16xi32> to vector<16xi8>
// CHECK-NEXT: [[V11:%.+]] = simd.gather [[V0]][[[V4]]] : memref<256xi8>, vector<128xi32> to vector<128xi8>
// CHECK-NEXT: func.return [[V7]], [[V9]], [[V10]], [[V11]] : vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<128xi8>
// CHECK: // -----
// CHECK-NEXT: #k0 = #kernel.target<isa = "avx2">
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @table_in_memory(
// CHECK-SAME: [[V0:%.+]]: memref<256xi8>, [[V1:%.+]]: vector<16xi32>) -> vector<16xi8>
// CHECK-NEXT: [[V2:%.+]] = simd.gather [[V0]][[[V1]]] : memref<256xi8>, vector<16xi32> to vector<16xi8>
// CHECK-NEXT: func.return [[V2]] : vector<16xi8>
