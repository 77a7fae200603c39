// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @rank(%m: memref<4x64xi8>, %i: index) {
  // expected-error @+1 {{takes an index for each axis of memref<4x64xi8>, found 1}}
  %0 = simd.load %m[%i] : memref<4x64xi8> to vector<16xi8>
  func.return
}
// -----
func.func @gaps(%m: memref<4x64xi8, strided<[1, 4]>>, %i: index) {
  // expected-error @+1 {{takes memory whose innermost axis has the stride 1}}
  %0 = simd.load_partial %m[%i, %i], %i : memref<4x64xi8, strided<[1, 4]>> to vector<16xi8>
  func.return
}
// -----
func.func @elements(%v: vector<16xi16>, %m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{takes memory of i16, found memref<64xi8>}}
  simd.store %v, %m[%i] : vector<16xi16>, memref<64xi8>
  func.return
}
// -----
func.func @two_axes(%v: vector<4x4xi8>, %m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{takes vectors of one axis, found vector<4x4xi8>}}
  simd.store_partial %v, %m[%i], %i : vector<4x4xi8>, memref<64xi8>
  func.return
}
// -----
func.func @group(%m: memref<64xi8>, %i: index) {
  // expected-error @+1 {{makes vectors of whole groups of 32 bits, found vector<6xi8>}}
  %0 = simd.load_group_splat %m[%i] : memref<64xi8> to vector<6xi8>
  func.return
}
// -----
func.func @group_of_floats(%m: memref<64xf32>, %i: index) {
  // expected-error @+1 {{takes elements of i8, i16 or i32, found f32}}
  %0 = simd.load_group_splat %m[%i] : memref<64xf32> to vector<4xf32>
  func.return
}
// -----
func.func @places(%t: memref<256xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{takes places of i32, i64 or index, found i8}}
  %0 = simd.gather %t[%p] : memref<256xi8>, vector<16xi8> to vector<16xi8>
  func.return
}
// -----
func.func @places_and_lanes(%t: memref<256xi8>, %p: vector<16xi32>) {
  // expected-error @+1 {{gives a lane for each place, found vector<16xi32> and vector<8xi8>}}
  %0 = simd.gather %t[%p] : memref<256xi8>, vector<16xi32> to vector<8xi8>
  func.return
}
// -----
func.func @look_up_places(%t: memref<256xi8>, %p: vector<16xi32>) {
  // expected-error @+1 {{takes memory of i32, found memref<256xi8>}}
  %0 = simd.look_up %t[%p] : memref<256xi8>, vector<16xi32> to vector<16xi32>
  func.return
}
// -----
func.func @look_up_lanes(%t: memref<256xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{gives a byte for each byte, found vector<16xi8> and vector<8xi8>}}
  %0 = simd.look_up %t[%p] : memref<256xi8>, vector<16xi8> to vector<8xi8>
  func.return
}
// -----
func.func @look_up_table(%t: memref<128xi8>, %p: vector<16xi8>) {
  // expected-error @+1 {{takes a table of 256 bytes, found memref<128xi8>}}
  %0 = simd.look_up %t[%p] : memref<128xi8>, vector<16xi8> to vector<16xi8>
  func.return
}
// -----
func.func @accumulator(%a: vector<16xi16>, %x: vector<64xi8>) {
  // expected-error @+1 {{adds to a vector of i32 of one type, found vector<16xi16>}}
  %0 = simd.dot_accumulate %a, %x, %x : vector<16xi16>, vector<64xi8>, vector<64xi8> -> vector<16xi16>
  func.return
}
// -----
func.func @factors(%a: vector<16xi32>, %x: vector<64xi8>, %w: vector<32xi16>) {
  // expected-error @+1 {{multiplies vectors of i8 or of i16, found vector<64xi8> and vector<32xi16>}}
  %0 = simd.dot_accumulate %a, %x, %w : vector<16xi32>, vector<64xi8>, vector<32xi16> -> vector<16xi32>
  func.return
}
// -----
func.func @groups(%a: vector<16xi32>, %x: vector<32xi8>) {
  // expected-error @+1 {{sums groups of 32 bits, found vector<32xi8> for vector<16xi32>}}
  %0 = simd.dot_accumulate %a, %x, %x : vector<16xi32>, vector<32xi8>, vector<32xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @signs(%a: vector<16xi32>, %x: vector<64xi8>) {
  // expected-error @+1 {{signs are us, ss, found su}}
  %0 = simd.dot_accumulate %a, %x, %x {signs = "su"} : vector<16xi32>, vector<64xi8>, vector<64xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @unsigned_pairs(%a: vector<16xi32>, %x: vector<32xi16>) {
  // expected-error @+1 {{integers of 16 bits are signed: found signs us}}
  %0 = simd.dot_accumulate %a, %x, %x {signs = "us"} : vector<16xi32>, vector<32xi16>, vector<32xi16> -> vector<16xi32>
  func.return
}
// -----
func.func @multiplied(%x: vector<32xi8>, %w: vector<32xi16>) {
  // expected-error @+1 {{multiplies two vectors of pairs of i8, found vector<32xi8> and vector<32xi16>}}
  %0 = simd.multiply_pairs %x, %w : vector<32xi8>, vector<32xi16> -> vector<16xi16>
  func.return
}
// -----
func.func @added_neighbours(%x: vector<32xi8>) {
  // expected-error @+1 {{gives vector<16xi16>, found vector<16xi32>}}
  %0 = simd.multiply_pairs %x, %x : vector<32xi8>, vector<32xi8> -> vector<16xi32>
  func.return
}
// -----
func.func @kind(%a: vector<16xi32>) {
  // expected-error @+1 {{kinds are extsi, extui,}}
  %0 = simd.convert %a {kind = "fpext"} : vector<16xi32> to vector<16xi64>
  func.return
}
// -----
func.func @wider(%a: vector<16xi32>) {
  // expected-error @+1 {{extsi does not take vector<16xi32> to vector<16xi8>}}
  %0 = simd.convert %a {kind = "extsi"} : vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{keeps the lanes, found vector<16xi32> and vector<8xi64>}}
  %0 = simd.convert %a {kind = "extsi"} : vector<16xi32> to vector<8xi64>
  func.return
}
// -----
func.func @bits(%a: vector<16xi32>) {
  // expected-error @+1 {{keeps the bits of the vector, found vector<16xi32> and vector<16xi8>}}
  %0 = simd.convert %a {kind = "bitcast"} : vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @rounded(%a: vector<16xf64>) {
  // expected-error @+1 {{takes f32 to i32, found vector<16xf64> and vector<16xi32>}}
  %0 = simd.round_to_int %a : vector<16xf64> to vector<16xi32>
  func.return
}
// -----
func.func @narrower(%a: vector<16xi8>) {
  // expected-error @+1 {{takes integers to narrower ones, found i8 and i16}}
  %0 = simd.narrow %a : vector<16xi8> to vector<16xi16>
  func.return
}
// -----
func.func @narrow_lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{keeps the lanes, found vector<16xi32> and vector<8xi8>}}
  %0 = simd.narrow %a : vector<16xi32> to vector<8xi8>
  func.return
}
// -----
func.func @narrowed_lanes(%a: vector<16xi32>) {
  // expected-error @+1 {{keeps the lanes, found vector<16xi32> and vector<16xi32> and vector<16xi8>}}
  %0 = simd.narrow %a, %a : vector<16xi32>, vector<16xi32> to vector<16xi8>
  func.return
}
// -----
func.func @predicate(%a: vector<16xi32>) {
  // expected-error @+1 {{predicates on i32 are eq, ne, slt,}}
  %0 = simd.compare %a, %a {predicate = "olt"} : vector<16xi32> -> vector<16xi1>
  func.return
}
// -----
func.func @compared(%a: vector<16xi32>) {
  // expected-error @+1 {{gives i1 for each lane, found vector<8xi1>}}
  %0 = simd.compare %a, %a {predicate = "slt"} : vector<16xi32> -> vector<8xi1>
  func.return
}
// -----
func.func @condition(%c: vector<8xi1>, %a: vector<16xi32>) {
  // expected-error @+1 {{takes a condition of i1 for each lane, found vector<8xi1>}}
  %0 = simd.select %c, %a, %a : vector<8xi1>, vector<16xi32>
  func.return
}
// -----
func.func @block(%a: vector<16xi32>) {
  // expected-error @+1 {{takes blocks of an even number of lanes that divides 16, found 6}}
  %0 = simd.interleave_low %a, %a {block = 6 : i64} : vector<16xi32>
  func.return
}
// -----
func.func @sum(%a: vector<16xi32>) {
  // expected-error @+1 {{gives a value of i32, found i64}}
  %0 = simd.reduce_add %a : vector<16xi32> to i64
  func.return
}
// -----
func.func @odd_sum(%a: vector<12xi32>) {
  // expected-error @+1 {{takes a number of lanes that is a power of two, found 12}}
  %0 = simd.reduce_add %a : vector<12xi32> to i32
  func.return
}
