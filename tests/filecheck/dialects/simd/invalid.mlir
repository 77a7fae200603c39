// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rank(%m: memref<4x64xi8>, %i: index) {
  // expected-error @+1 {{expected one index per axis of 'memref<4x64xi8>', but got 1}}
  %0 = simd.load %m[%i] : memref<4x64xi8> to vector<16xi8>
  func.return
}
// -----
func.func @gaps(%m: memref<4x64xi8, strided<[1, 4]>>, %i: index) {
  // expected-error @+1 {{innermost stride of the memref must be 1, but got 'memref<4x64xi8, strided<[1, 4]>>'}}
  %0 = simd.load_partial %m[%i, %i], %i : memref<4x64xi8, strided<[1, 4]>> to vector<16xi8>
  func.return
}
// -----
func.func @elements(%v: vector<16xi16>, %m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{expected a memref of i16, but got 'memref<64xi8>'}}
  simd.store %v, %m[%i] : vector<16xi16>, memref<64xi8>
  func.return
}
// -----
func.func @two_axes(%v: vector<4x4xi8>, %m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{expected a 1-D vector, but got 'vector<4x4xi8>'}}
  simd.store_partial %v, %m[%i], %i : vector<4x4xi8>, memref<64xi8>
  func.return
}
// -----
func.func @group(%m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{result must be a multiple of 32 bits, but got 'vector<6xi8>'}}
  %0 = simd.load_group_splat %m[%i] : memref<64xi8> to vector<6xi8>
  func.return
}
// -----
func.func @group_of_floats(%m: memref<64xf32>, %i: index) {
  // expected-error @+1 {{elements must be i8, i16 or i32, but got f32}}
  %0 = simd.load_group_splat %m[%i] : memref<64xf32> to vector<4xf32>
  func.return
}
// -----
func.func @places(%t: memref<256xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{indices must be i32, i64 or index, but got i8}}
  %0 = simd.gather %t[%p] : memref<256xi8>, vector<16xi8> to vector<16xi8>
  func.return
}
// -----
func.func @places_and_lanes(%t: memref<256xi8>, %p: vector<16xi32>) {
  // expected-error @+1 {{result must have one lane per index, but got 'vector<16xi32>' and 'vector<8xi8>'}}
  %0 = simd.gather %t[%p] : memref<256xi8>, vector<16xi32> to vector<8xi8>
  func.return
}
// -----
func.func @look_up_places(%t: memref<256xi8>, %p: vector<16xi32>) {
  // expected-error @+1 {{expected a memref of i32, but got 'memref<256xi8>'}}
  %0 = simd.look_up %t[%p] : memref<256xi8>, vector<16xi32> to vector<16xi32>
  func.return
}
// -----
func.func @look_up_lanes(%t: memref<256xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{result must have one byte per index, but got 'vector<16xi8>' and 'vector<8xi8>'}}
  %0 = simd.look_up %t[%p] : memref<256xi8>, vector<16xi8> to vector<8xi8>
  func.return
}
// -----
func.func @look_up_table(%t: memref<128xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{table must have 256 bytes, but got 'memref<128xi8>'}}
  %0 = simd.look_up %t[%p] : memref<128xi8>, vector<16xi8> to vector<16xi8>
  func.return
}
// -----
func.func @accumulator(%a: vector<16xi16>, %x: vector<64xi8>) {
  // expected-error @+1 {{accumulator and result must have the same i32 vector type, but got accumulator 'vector<16xi16>'}}
  %0 = simd.dot_accumulate %a, %x, %x : vector<16xi16>, vector<64xi8>, vector<64xi8> -> vector<16xi16>
  func.return
}
// -----
func.func @factors(%a: vector<16xi32>, %x: vector<64xi8>, %w: vector<32xi16>) {
  // expected-error @+1 {{operands must be vectors of i8 or i16, but got 'vector<64xi8>' and 'vector<32xi16>'}}
  %0 = simd.dot_accumulate %a, %x, %w : vector<16xi32>, vector<64xi8>, vector<32xi16> -> vector<16xi32>
  func.return
}
// -----
func.func @groups(%a: vector<16xi32>, %x: vector<32xi8>) {
  // expected-error @+1 {{operands must have 32 bits per lane of the accumulator, but got 'vector<32xi8>' for 'vector<16xi32>'}}
  %0 = simd.dot_accumulate %a, %x, %x : vector<16xi32>, vector<32xi8>, vector<32xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @signs(%a: vector<16xi32>, %x: vector<64xi8>) {
  // expected-error @+1 {{signs must be one of us, ss, but got su}}
  %0 = simd.dot_accumulate %a, %x, %x {signs = "su"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @unsigned_pairs(%a: vector<16xi32>, %x: vector<32xi16>) {
  // expected-error @+1 {{16-bit operands must be signed, but got signs us}}
  %0 = simd.dot_accumulate %a, %x, %x {signs = "us"} : vector<16xi32>, vector<32xi16>, vector<32xi16> -> vector<16xi32>
  func.return
}
// -----
func.func @multiplied(%x: vector<32xi8>, %w: vector<32xi16>) {
  // expected-error @+1 {{operands must be vectors of an even number of i8, but got 'vector<32xi8>' and 'vector<32xi16>'}}
  %0 = simd.multiply_pairs %x, %w : vector<32xi8>, vector<32xi16> -> vector<16xi16>
  func.return
}
// -----
func.func @added_neighbours(%x: vector<32xi8>) {
  // expected-error @+1 {{result must be 'vector<16xi16>', but got 'vector<16xi32>'}}
  %0 = simd.multiply_pairs %x, %x : vector<32xi8>, vector<32xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @kind(%a: vector<16xi32>) {
  // expected-error @+1 {{kind must be one of extsi, extui, trunci, sitofp, uitofp, fptosi, fptoui, extf, truncf, index_cast, bitcast, but got fpext}}
  %0 = simd.convert %a {kind = "fpext"} : vector<16xi32> to vector<16xi64>
  func.return
}
// -----
func.func @wider(%a: vector<16xi32>) {
  // expected-error @+1 {{extsi cannot convert vector<16xi32> to vector<16xi8>}}
  %0 = simd.convert %a {kind = "extsi"} : vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{number of lanes must not change, but got 'vector<16xi32>' and 'vector<8xi64>'}}
  %0 = simd.convert %a {kind = "extsi"} : vector<16xi32> to vector<8xi64>
  func.return
}
// -----
func.func @bits(%a: vector<16xi32>) {
  // expected-error @+1 {{total number of bits must not change, but got 'vector<16xi32>' and 'vector<16xi8>'}}
  %0 = simd.convert %a {kind = "bitcast"} : vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @rounded(%a: vector<16xf64>) {
  // expected-error @+1 {{expected f32 and i32 vectors, but got 'vector<16xf64>' and 'vector<16xi32>'}}
  %0 = simd.round_to_int %a : vector<16xf64> to vector<16xi32>
  func.return
}
// -----
func.func @narrower(%a: vector<16xi8>) {
  // expected-error @+1 {{expected a conversion to narrower integers, but got 'i8' and 'i16'}}
  %0 = simd.narrow %a : vector<16xi8> to vector<16xi16>
  func.return
}
// -----
func.func @narrow_lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{number of lanes must not change, but got vector<16xi32> and vector<8xi8>}}
  %0 = simd.narrow %a : vector<16xi32> to vector<8xi8>
  func.return
}
// -----
func.func @narrowed_lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{number of lanes must not change, but got vector<16xi32> and vector<16xi32> and vector<16xi8>}}
  %0 = simd.narrow %a, %a : vector<16xi32>, vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @predicate(%a: vector<16xi32>) {
  // expected-error @+1 {{predicate on i32 must be one of eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge, but got olt}}
  %0 = simd.compare %a, %a {predicate = "olt"} : vector<16xi32> -> vector<16xi1>
  func.return
}
// -----
func.func @compared(%a: vector<16xi32>) {
  // expected-error @+1 {{result must have one i1 per lane, but got 'vector<8xi1>'}}
  %0 = simd.compare %a, %a {predicate = "slt"} : vector<16xi32> -> vector<8xi1>
  func.return
}
// -----
func.func @condition(%c: vector<8xi1>, %a: vector<16xi32>) {
  // expected-error @+1 {{condition must have one i1 per lane, but got 'vector<8xi1>'}}
  %0 = simd.select %c, %a, %a : vector<8xi1>, vector<16xi32>
  func.return
}
// -----
func.func @block(%a: vector<16xi32>) {
  // expected-error @+1 {{block must be even and divide the number of lanes (16), but got 6}}
  %0 = simd.interleave_low %a, %a {block = 6 : i64} : vector<16xi32>
  func.return
}
// -----
func.func @sum(%a: vector<16xi32>) {
  // expected-error @+1 {{result must be i32, but got 'i64'}}
  %0 = simd.reduce_add %a : vector<16xi32> to i64
  func.return
}
// -----
func.func @odd_sum(%a: vector<12xi32>) {
  // expected-error @+1 {{number of lanes must be a power of two, but got 12}}
  %0 = simd.reduce_add %a : vector<12xi32> to i32
  func.return
}
// -----
func.func @strides(%m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{expected 2 strides for 'vector<2x3x16xi8>', but got 1}}
  %0 = simd.load %m[%i] {strides = array<i64: 16>} : memref<64xi8> to vector<2x3x16xi8>
  func.return
}
// -----
func.func @strides_of_a_register(%m: memref<64xi8>, %v: vector<16xi8>, %i: index) {
  // expected-error @+1 {{expected 0 strides for 'vector<16xi8>', but got 1}}
  simd.store %v, %m[%i] {strides = array<i64: 16>} : vector<16xi8>, memref<64xi8>
  func.return
}
// -----
func.func @partial_tile(%m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{expected a 1-D vector, but got 'vector<2x16xi8>'}}
  %0 = simd.load_partial %m[%i], %i : memref<64xi8> to vector<2x16xi8>
  func.return
}
// -----
func.func @other_tile(%a: vector<2x8xi32>, %x: vector<1x32xi8>) {
  // expected-error @+1 {{operands must have 32 bits per lane of the accumulator, but got 'vector<1x32xi8>' for 'vector<2x8xi32>'}}
  %0 = simd.dot_accumulate %a, %x, %x : vector<2x8xi32>, vector<1x32xi8>, vector<1x32xi8> -> vector<2x8xi32>
  func.return
}
// -----
func.func @stacked(%a: vector<8xi32>) {
  // expected-error @+1 {{result must hold 3 vectors of type 'vector<8xi32>', but got 'vector<2x8xi32>'}}
  %0 = simd.stack %a, %a, %a : vector<8xi32>, vector<8xi32>, vector<8xi32> to vector<2x8xi32>
  func.return
}
// -----
func.func @transposed(%a: vector<2x3x8xi32>) {
  // expected-error @+1 {{expected a tile and its transpose, but got 'vector<2x3x8xi32>' and 'vector<2x3x8xi32>'}}
  %0 = simd.transpose %a : vector<2x3x8xi32> to vector<2x3x8xi32>
  func.return
}
// -----
func.func @no_tile(%a: vector<8xi32>) {
  // expected-error @+1 {{expected a tile and its transpose, but got 'vector<8xi32>' and 'vector<8xi32>'}}
  %0 = simd.transpose %a : vector<8xi32> to vector<8xi32>
  func.return
}
// -----
func.func @bits_of_a_tile(%a: vector<2x8xi32>) {
  // expected-error @+1 {{total number of bits must not change, but got 'vector<2x8xi32>' and 'vector<1x64xi8>'}}
  %0 = simd.convert %a {kind = "bitcast"} : vector<2x8xi32> to vector<1x64xi8>
  func.return
}
