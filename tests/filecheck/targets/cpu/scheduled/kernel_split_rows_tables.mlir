// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni},kernel-split-rows{isa=avx512-vnni}' -o %t.twice && qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' --verify-each=exec -o %t.checked

#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// One table for all pairs of bytes, all of whose results are 0.
func.func @softmax(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

// No table: what is widened descends; the largest number is needed beside it; there are so few elements that a table
// takes more than it saves; so little is saved.
func.func @descending(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %n = arith.negf %w : f32
    %m = kernel.row_max %n {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

func.func @needed_beside(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %l = arith.minimumf %c, %none : f32
    %t = kernel.row_sum %w {dims = array<i64: 2>} : f32
    %n = arith.addf %m, %t : f32
    %y = arith.maximumf %l, %n : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

func.func @small(%x: tensor<4x4x512xi8>) -> tensor<4x4x512xf32> {
  %0 = tensor.empty() : tensor<4x4x512xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x512xi8>) outs(%0 : tensor<4x4x512xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x512xf32>
  func.return %1 : tensor<4x4x512xf32>
}

func.func @cheap(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %y = arith.subf %w, %m : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

// Bytes that come out of a table which ascends: one table is both.
func.func @behind_a_table(%z: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %table = arith.constant dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.maxsi %a, %a : i8
    %3 = arith.index_cast %2 : i8 to index
    %first = arith.constant -128 : index
    %4 = arith.subi %3, %first : index
    %5 = tensor.extract %table[%4] : tensor<256xi8>
    linalg.yield %5 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

// The table before it stays: it descends; somebody else reads its bytes, too.
func.func @behind_a_descending_table(%z: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %table = arith.constant dense<"0x444443434242414140403F3F3E3E3D3D3C3C3B3B3A3A39393838373736363535343433333232313130302F2F2E2E2D2D2C2C2B2B2A2A29292828272726262525242423232222212120201F1F1E1E1D1D1C1C1B1B1A1A19191818171716161515141413131212111110100F0F0E0E0D0D0C0C0B0B0A0A0909080807070606050504040303020201010000FFFFFEFEFDFDFCFCFBFBFAFAF9F9F8F8F7F7F6F6F5F5F4F4F3F3F2F2F1F1F0F0EFEFEEEEEDEDECECEBEBEAEAE9E9E8E8E7E7E6E6E5E5E4E4E3E3E2E2E1E1E0E0DFDFDEDEDDDDDCDCDBDBDADAD9D9D8D8D7D7D6D6D5D5D4D4D3D3D2D2D1D1D0D0CFCFCECECDCDCCCCCBCBCACAC9C9C8C8C7C7C6C6C5C5"> : tensor<256xi8>
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.maxsi %a, %a : i8
    %3 = arith.index_cast %2 : i8 to index
    %first = arith.constant -128 : index
    %4 = arith.subi %3, %first : index
    %5 = tensor.extract %table[%4] : tensor<256xi8>
    linalg.yield %5 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

func.func @somebody_else(%z: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4x2048xi8>) {
  %table = arith.constant dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.maxsi %a, %a : i8
    %3 = arith.index_cast %2 : i8 to index
    %first = arith.constant -128 : index
    %4 = arith.subi %3, %first : index
    %5 = tensor.extract %table[%4] : tensor<256xi8>
    linalg.yield %5 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y = arith.minimumf %c, %none : f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1, %x : tensor<4x4x2048xf32>, tensor<4x4x2048xi8>
}

// Sums of 2048 numbers: zeros have no order to keep; 1, 1/e and so on up to e^-255 have.
func.func @sum_in_any_order(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %none = arith.constant 0.0 : f32
    %y0 = arith.minimumf %c, %none : f32
    %e = arith.extf %y0 : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %y = arith.truncf %t : f64 to f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

func.func @sum_in_order(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %0 = tensor.empty() : tensor<4x4x2048xf32>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x4x2048xi8>) outs(%0 : tensor<4x4x2048xf32>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %y0 = math.exp %d : f32
    %e = arith.extf %y0 : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %y = arith.truncf %t : f64 to f32
    linalg.yield %y : f32
  } -> tensor<4x4x2048xf32>
  func.return %1 : tensor<4x4x2048xf32>
}

// Long rows: one byte is summed, and all bytes of a row come from 256 results.
func.func @long(%x: tensor<4x32x256xi8>) -> tensor<4x32x256xi8> {
  %0 = tensor.empty() : tensor<4x32x256xi8>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x32x256xi8>) outs(%0 : tensor<4x32x256xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: i8):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %one = arith.constant 1.0 : f32
    %p = arith.minimumf %c, %one : f32
    %e = arith.extf %p : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %n = arith.truncf %t : f64 to f32
    %q = arith.divf %p, %n : f32
    %units = arith.constant 1.2e+02 : f32
    %u = arith.mulf %q, %units : f32
    %y = arith.fptosi %u : f32 to i8
    linalg.yield %y : i8
  } -> tensor<4x32x256xi8>
  func.return %1 : tensor<4x32x256xi8>
}

// No long row: it is too short; numbers are below 0; the body asks for its place; its neighbours are in other rows.
func.func @short(%x: tensor<4x33x255xi8>) -> tensor<4x33x255xi8> {
  %0 = tensor.empty() : tensor<4x33x255xi8>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x33x255xi8>) outs(%0 : tensor<4x33x255xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: i8):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %one = arith.constant 1.0 : f32
    %p = arith.minimumf %c, %one : f32
    %e = arith.extf %p : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %n = arith.truncf %t : f64 to f32
    %q = arith.divf %p, %n : f32
    %units = arith.constant 1.2e+02 : f32
    %u = arith.mulf %q, %units : f32
    %y = arith.fptosi %u : f32 to i8
    linalg.yield %y : i8
  } -> tensor<4x33x255xi8>
  func.return %1 : tensor<4x33x255xi8>
}

func.func @negative(%x: tensor<4x32x256xi8>) -> tensor<4x32x256xi8> {
  %0 = tensor.empty() : tensor<4x32x256xi8>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x32x256xi8>) outs(%0 : tensor<4x32x256xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: i8):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %one = arith.constant -1.0 : f32
    %p = arith.minimumf %c, %one : f32
    %e = arith.extf %p : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %n = arith.truncf %t : f64 to f32
    %q = arith.divf %p, %n : f32
    %units = arith.constant 1.2e+02 : f32
    %u = arith.mulf %q, %units : f32
    %y = arith.fptosi %u : f32 to i8
    linalg.yield %y : i8
  } -> tensor<4x32x256xi8>
  func.return %1 : tensor<4x32x256xi8>
}

func.func @places(%x: tensor<4x32x256xi8>) -> tensor<4x32x256xi8> {
  %0 = tensor.empty() : tensor<4x32x256xi8>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<4x32x256xi8>) outs(%0 : tensor<4x32x256xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: i8):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 2>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %one = arith.constant 1.0 : f32
    %p = arith.minimumf %c, %one : f32
    %e = arith.extf %p : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 2>} : f64
    %n = arith.truncf %t : f64 to f32
    %q = arith.divf %p, %n : f32
    %units = arith.constant 1.2e+02 : f32
    %u = arith.mulf %q, %units : f32
    %i = linalg.index 2 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    %zero = arith.constant 0.0 : f32
    %z = arith.mulf %k, %zero : f32
    %v = arith.addf %u, %z : f32
    %y = arith.fptosi %v : f32 to i8
    linalg.yield %y : i8
  } -> tensor<4x32x256xi8>
  func.return %1 : tensor<4x32x256xi8>
}

func.func @across(%x: tensor<256x32x4xi8>) -> tensor<256x32x4xi8> {
  %0 = tensor.empty() : tensor<256x32x4xi8>
  %1 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<256x32x4xi8>) outs(%0 : tensor<256x32x4xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i8, %o: i8):
    %w = arith.sitofp %a : i8 to f32
    %m = kernel.row_max %w {dims = array<i64: 0>} : f32
    %d = arith.subf %w, %m : f32
    %c = math.cosh %d : f32
    %one = arith.constant 1.0 : f32
    %p = arith.minimumf %c, %one : f32
    %e = arith.extf %p : f32 to f64
    %t = kernel.row_sum %e {dims = array<i64: 0>} : f64
    %n = arith.truncf %t : f64 to f32
    %q = arith.divf %p, %n : f32
    %units = arith.constant 1.2e+02 : f32
    %u = arith.mulf %q, %units : f32
    %y = arith.fptosi %u : f32 to i8
    linalg.yield %y : i8
  } -> tensor<256x32x4xi8>
  func.return %1 : tensor<256x32x4xi8>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w1 = dense<"0x444443434242414140403F3F3E3E3D3D3C3C3B3B3A3A39393838373736363535343433333232313130302F2F2E2E2D2D2C2C2B2B2A2A29292828272726262525242423232222212120201F1F1E1E1D1D1C1C1B1B1A1A19191818171716161515141413131212111110100F0F0E0E0D0D0C0C0B0B0A0A0909080807070606050504040303020201010000FFFFFEFEFDFDFCFCFBFBFAFAF9F9F8F8F7F7F6F6F5F5F4F4F3F3F2F2F1F1F0F0EFEFEEEEEDEDECECEBEBEAEAE9E9E8E8E7E7E6E6E5E5E4E4E3E3E2E2E1E1E0E0DFDFDEDEDDDDDCDCDBDBDADAD9D9D8D8D7D7D6D6D5D5D4D4D3D3D2D2D1D1D0D0CFCFCECECDCDCCCCCBCBCACAC9C9C8C8C7C7C6C6C5C5"> : tensor<256xi8>
// CHECK-NEXT: #w2 = dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
// CHECK-NEXT: #w3 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w4 = #nn.weights<elided> : tensor<256x1x256xi8>
// CHECK-NEXT: #w5 = #nn.weights<elided> : tensor<256x256xf32>
// CHECK-NEXT: #w6 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w7 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V5:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V7:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V8:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V7]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: i8, [[V10:%.+]]: i8):
// CHECK-NEXT: [[V11:%.+]] = arith.maxsi [[V10]], [[V9]] : i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V8]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V6]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8, [[V15:%.+]]: f32):
// CHECK-NEXT: [[V16:%.+]] = arith.index_cast [[V13]] : i8 to index
// CHECK-NEXT: [[V17:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V16]], [[V17]] : index
// CHECK-NEXT: [[V19:%.+]] = arith.index_cast [[V14]] : i8 to index
// CHECK-NEXT: [[V20:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V19]], [[V20]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V24:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V25:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V26:%.+]] = tensor.extract [[V2]][[[V21]], [[V22]], [[V18]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V27:%.+]] = tensor.extract [[V2]][[[V21]], [[V23]], [[V18]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V28:%.+]] = tensor.extract [[V2]][[[V21]], [[V24]], [[V18]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V29:%.+]] = tensor.extract [[V2]][[[V21]], [[V25]], [[V18]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V30:%.+]] = kernel.join [[V26]], [[V27]], [[V28]], [[V29]] : f32
// CHECK-NEXT: linalg.yield [[V30]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V12]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V5]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @descending(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V6:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V6]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.sitofp [[V8]] : i8 to f32
// CHECK-NEXT: [[V11:%.+]] = arith.negf [[V10]] : f32
// CHECK-NEXT: [[V12:%.+]] = arith.maximumf [[V9]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V12]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V7]] : tensor<4x4x2048xi8>, tensor<4x4xf32>) outs([[V5]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: f32, [[V16:%.+]]: f32):
// CHECK-NEXT: [[V17:%.+]] = arith.sitofp [[V14]] : i8 to f32
// CHECK-NEXT: [[V18:%.+]] = arith.subf [[V17]], [[V15]] : f32
// CHECK-NEXT: [[V19:%.+]] = math.cosh [[V18]] : f32
// CHECK-NEXT: [[V20:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V21:%.+]] = arith.minimumf [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V13]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V4]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @needed_beside(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V5:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f32
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V2]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i8, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.sitofp [[V11]] : i8 to f32
// CHECK-NEXT: linalg.yield [[V13]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V14:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : f32) outs([[V4]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V15:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V10]] : tensor<4x4x2048xf32>) outs([[V14]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: f32, [[V17:%.+]]: f32):
// CHECK-NEXT: [[V18:%.+]] = arith.maximumf [[V17]], [[V16]] : f32
// CHECK-NEXT: linalg.yield [[V18]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V19:%.+]] = linalg.fill {origin = "s"} ins([[V5]] : f32) outs([[V6]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V20:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V10]] : tensor<4x4x2048xf32>) outs([[V19]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V21:%.+]]: f32, [[V22:%.+]]: f32):
// CHECK-NEXT: [[V23:%.+]] = arith.addf [[V22]], [[V21]] : f32
// CHECK-NEXT: linalg.yield [[V23]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V24:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V15]], [[V20]] : tensor<4x4xf32>, tensor<4x4xf32>) outs([[V7]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V25:%.+]]: f32, [[V26:%.+]]: f32, [[V27:%.+]]: f32):
// CHECK-NEXT: [[V28:%.+]] = arith.addf [[V25]], [[V26]] : f32
// CHECK-NEXT: linalg.yield [[V28]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V29:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V10]], [[V15]], [[V24]] : tensor<4x4x2048xf32>, tensor<4x4xf32>, tensor<4x4xf32>) outs([[V9]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V30:%.+]]: f32, [[V31:%.+]]: f32, [[V32:%.+]]: f32, [[V33:%.+]]: f32):
// CHECK-NEXT: [[V34:%.+]] = arith.subf [[V30]], [[V31]] : f32
// CHECK-NEXT: [[V35:%.+]] = math.cosh [[V34]] : f32
// CHECK-NEXT: [[V36:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V37:%.+]] = arith.minimumf [[V35]], [[V36]] : f32
// CHECK-NEXT: [[V38:%.+]] = arith.maximumf [[V37]], [[V32]] : f32
// CHECK-NEXT: linalg.yield [[V38]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V29]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V8]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @small(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x512xi8>) -> tensor<4x4x512xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x512xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x512xf32>) -> tensor<4x4x512xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<4x4x512xf32>):
// CHECK-NEXT: [[V6:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x512xi8>) outs([[V6]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.sitofp [[V8]] : i8 to f32
// CHECK-NEXT: [[V11:%.+]] = arith.maximumf [[V9]], [[V10]] : f32
// CHECK-NEXT: linalg.yield [[V11]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V7]] : tensor<4x4x512xi8>, tensor<4x4xf32>) outs([[V5]] : tensor<4x4x512xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: f32, [[V15:%.+]]: f32):
// CHECK-NEXT: [[V16:%.+]] = arith.sitofp [[V13]] : i8 to f32
// CHECK-NEXT: [[V17:%.+]] = arith.subf [[V16]], [[V14]] : f32
// CHECK-NEXT: [[V18:%.+]] = math.cosh [[V17]] : f32
// CHECK-NEXT: [[V19:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V20:%.+]] = arith.minimumf [[V18]], [[V19]] : f32
// CHECK-NEXT: linalg.yield [[V20]] : f32
// CHECK-NEXT: } -> tensor<4x4x512xf32>
// CHECK-NEXT: kernel.yield [[V12]] : tensor<4x4x512xf32>
// CHECK: func.return [[V4]] : tensor<4x4x512xf32>
// CHECK-LABEL: @cheap(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V6:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V6]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: f32):
// CHECK-NEXT: [[V10:%.+]] = arith.sitofp [[V8]] : i8 to f32
// CHECK-NEXT: [[V11:%.+]] = arith.maximumf [[V9]], [[V10]] : f32
// CHECK-NEXT: linalg.yield [[V11]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V7]] : tensor<4x4x2048xi8>, tensor<4x4xf32>) outs([[V5]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: f32, [[V15:%.+]]: f32):
// CHECK-NEXT: [[V16:%.+]] = arith.sitofp [[V13]] : i8 to f32
// CHECK-NEXT: [[V17:%.+]] = arith.subf [[V16]], [[V14]] : f32
// CHECK-NEXT: linalg.yield [[V17]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V12]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V4]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @behind_a_table(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V1]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.maxsi [[V3]], [[V3]] : i8
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V7:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V8:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V10:%.+]] = kernel.row_fusion outs([[V6]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V12:%.+]] = linalg.fill {origin = "s"} ins([[V8]] : i8) outs([[V9]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V2]] : tensor<4x4x2048xi8>) outs([[V12]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8):
// CHECK-NEXT: [[V16:%.+]] = arith.maxsi [[V15]], [[V14]] : i8
// CHECK-NEXT: linalg.yield [[V16]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V2]], [[V13]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V11]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8, [[V20:%.+]]: f32):
// CHECK-NEXT: [[V21:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V22:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V23:%.+]] = arith.subi [[V21]], [[V22]] : index
// CHECK-NEXT: [[V24:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V25:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V24]], [[V25]] : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V30:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V7]][[[V26]], [[V27]], [[V23]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V7]][[[V26]], [[V28]], [[V23]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V7]][[[V26]], [[V29]], [[V23]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = tensor.extract [[V7]][[[V26]], [[V30]], [[V23]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = kernel.join [[V31]], [[V32]], [[V33]], [[V34]] : f32
// CHECK-NEXT: linalg.yield [[V35]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V17]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V10]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @behind_a_descending_table(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V2]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V4]] : i8
// CHECK-NEXT: [[V7:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = tensor.extract [[V1]][[[V9]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V11:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V13:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V14:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V15:%.+]] = kernel.row_fusion outs([[V11]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V17:%.+]] = linalg.fill {origin = "s"} ins([[V13]] : i8) outs([[V14]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xi8>) outs([[V17]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = arith.maxsi [[V20]], [[V19]] : i8
// CHECK-NEXT: linalg.yield [[V21]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V18]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V16]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8, [[V25:%.+]]: f32):
// CHECK-NEXT: [[V26:%.+]] = arith.index_cast [[V23]] : i8 to index
// CHECK-NEXT: [[V27:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V26]], [[V27]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.index_cast [[V24]] : i8 to index
// CHECK-NEXT: [[V30:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V31:%.+]] = arith.subi [[V29]], [[V30]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V34:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V35:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V12]][[[V31]], [[V32]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = tensor.extract [[V12]][[[V31]], [[V33]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V38:%.+]] = tensor.extract [[V12]][[[V31]], [[V34]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V39:%.+]] = tensor.extract [[V12]][[[V31]], [[V35]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V40:%.+]] = kernel.join [[V36]], [[V37]], [[V38]], [[V39]] : f32
// CHECK-NEXT: linalg.yield [[V40]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V22]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V15]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @somebody_else(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4x2048xi8>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V2]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V4]] : i8
// CHECK-NEXT: [[V7:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : index
// CHECK-NEXT: [[V10:%.+]] = tensor.extract [[V1]][[[V9]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V10]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V11:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V13:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V14:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V15:%.+]] = kernel.row_fusion outs([[V11]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V17:%.+]] = linalg.fill {origin = "s"} ins([[V13]] : i8) outs([[V14]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xi8>) outs([[V17]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8):
// CHECK-NEXT: [[V21:%.+]] = arith.maxsi [[V20]], [[V19]] : i8
// CHECK-NEXT: linalg.yield [[V21]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V18]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V16]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V23:%.+]]: i8, [[V24:%.+]]: i8, [[V25:%.+]]: f32):
// CHECK-NEXT: [[V26:%.+]] = arith.index_cast [[V23]] : i8 to index
// CHECK-NEXT: [[V27:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V26]], [[V27]] : index
// CHECK-NEXT: [[V29:%.+]] = arith.index_cast [[V24]] : i8 to index
// CHECK-NEXT: [[V30:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V31:%.+]] = arith.subi [[V29]], [[V30]] : index
// CHECK-NEXT: [[V32:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V34:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V35:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V12]][[[V31]], [[V32]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = tensor.extract [[V12]][[[V31]], [[V33]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V38:%.+]] = tensor.extract [[V12]][[[V31]], [[V34]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V39:%.+]] = tensor.extract [[V12]][[[V31]], [[V35]], [[V28]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V40:%.+]] = kernel.join [[V36]], [[V37]], [[V38]], [[V39]] : f32
// CHECK-NEXT: linalg.yield [[V40]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V22]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V15]], [[V3]] : tensor<4x4x2048xf32>, tensor<4x4x2048xi8>
// CHECK-LABEL: @sum_in_any_order(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V5:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V6:%.+]] = tensor.empty() : tensor<4x4xf64>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V9:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V10:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V10]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = arith.maxsi [[V13]], [[V12]] : i8
// CHECK-NEXT: linalg.yield [[V14]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V15:%.+]] = linalg.fill {origin = "s"} ins([[V5]] : f64) outs([[V6]] : tensor<4x4xf64>) -> tensor<4x4xf64>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]], [[V11]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V15]] : tensor<4x4xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: f64):
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V24:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V23]], [[V24]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V25]], [[V26]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V2]][[[V25]], [[V27]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V2]][[[V25]], [[V28]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V2]][[[V25]], [[V29]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = kernel.join [[V30]], [[V31]], [[V32]], [[V33]] : f32
// CHECK-NEXT: [[V35:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V36:%.+]] = arith.addf [[V19]], [[V35]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V36]] : f64
// CHECK-NEXT: } -> tensor<4x4xf64>
// CHECK-NEXT: [[V37:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V16]] : tensor<4x4xf64>) outs([[V7]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V38:%.+]]: f64, [[V39:%.+]]: f32):
// CHECK-NEXT: [[V40:%.+]] = arith.truncf [[V38]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V40]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V41:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V37]] : tensor<4x4xf32>) outs([[V9]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V42:%.+]]: f32, [[V43:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V41]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V8]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @sum_in_order(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w3
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x4xf64>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x4x2048xf32>) -> tensor<4x4x2048xf32> attributes {rows = array<i64: 4, 4>} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: tensor<4x4x2048xf32>):
// CHECK-NEXT: [[V11:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V11]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V14]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V12]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V5]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V24:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V23]], [[V24]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V25]], [[V26]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V2]][[[V25]], [[V27]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V2]][[[V25]], [[V28]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V2]][[[V25]], [[V29]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = kernel.join [[V30]], [[V31]], [[V32]], [[V33]] : f32
// CHECK-NEXT: linalg.yield [[V34]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V35:%.+]] = linalg.fill {origin = "s"} ins([[V6]] : f64) outs([[V7]] : tensor<4x4xf64>) -> tensor<4x4xf64>
// CHECK-NEXT: [[V36:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V16]] : tensor<4x4x2048xf32>) outs([[V35]] : tensor<4x4xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V37:%.+]]: f32, [[V38:%.+]]: f64):
// CHECK-NEXT: [[V39:%.+]] = arith.extf [[V37]] : f32 to f64
// CHECK-NEXT: [[V40:%.+]] = arith.addf [[V38]], [[V39]] : f64
// CHECK-NEXT: linalg.yield [[V40]] : f64
// CHECK-NEXT: } -> tensor<4x4xf64>
// CHECK-NEXT: [[V41:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V36]] : tensor<4x4xf64>) outs([[V8]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V42:%.+]]: f64, [[V43:%.+]]: f32):
// CHECK-NEXT: [[V44:%.+]] = arith.truncf [[V42]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V44]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V45:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V41]] : tensor<4x4xf32>) outs([[V10]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V46:%.+]]: f32, [[V47:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V46]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: kernel.yield [[V45]] : tensor<4x4x2048xf32>
// CHECK: func.return [[V9]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @long(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V4:%.+]] = arith.constant {origin = "s"} 0 : i32
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x32x1xi32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s"} #w4
// CHECK-NEXT: [[V7:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V10:%.+]] = arith.constant {origin = "s"} #w5
// CHECK-NEXT: [[V11:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V12:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x32x256xi8>) -> tensor<4x32x256xi8> attributes {rows = array<i64: 4, 32>} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: tensor<4x32x256xi8>):
// CHECK-NEXT: [[V14:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : i8) outs([[V3]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V15:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V14]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: i8, [[V17:%.+]]: i8):
// CHECK-NEXT: [[V18:%.+]] = arith.maxsi [[V17]], [[V16]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V19:%.+]] = linalg.fill {origin = "s"} ins([[V4]] : i32) outs([[V5]] : tensor<4x32x1xi32>) -> tensor<4x32x1xi32>
// CHECK-NEXT: [[V20:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins([[V0]], [[V15]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V19]] : tensor<4x32x1xi32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i8, [[V22:%.+]]: i8, [[V23:%.+]]: i32):
// CHECK-NEXT: [[V24:%.+]] = arith.index_cast [[V21]] : i8 to index
// CHECK-NEXT: [[V25:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V24]], [[V25]] : index
// CHECK-NEXT: [[V27:%.+]] = arith.index_cast [[V22]] : i8 to index
// CHECK-NEXT: [[V28:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V27]], [[V28]] : index
// CHECK-NEXT: [[V30:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V6]][[[V29]], [[V30]], [[V26]]] : tensor<256x1x256xi8>
// CHECK-NEXT: [[V32:%.+]] = arith.extui [[V31]] : i8 to i32
// CHECK-NEXT: [[V33:%.+]] = arith.addi [[V23]], [[V32]] : i32
// CHECK-NEXT: linalg.yield [[V33]] : i32
// CHECK-NEXT: } -> tensor<4x32x1xi32>
// CHECK-NEXT: [[V34:%.+]] = linalg.fill {origin = "s"} ins([[V7]] : f64) outs([[V8]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V35:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V20]] : tensor<4x32x1xi32>) outs([[V34]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V36:%.+]]: i32, [[V37:%.+]]: f64):
// CHECK-NEXT: [[V38:%.+]] = arith.constant 2.560000e+02 : f64
// CHECK-NEXT: [[V39:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V40:%.+]] = arith.mulf [[V37]], [[V38]] : f64
// CHECK-NEXT: [[V41:%.+]] = arith.sitofp [[V36]] : i32 to f64
// CHECK-NEXT: [[V42:%.+]] = arith.mulf [[V41]], [[V39]] : f64
// CHECK-NEXT: [[V43:%.+]] = arith.addf [[V40]], [[V42]] : f64
// CHECK-NEXT: linalg.yield [[V43]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V44:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V35]] : tensor<4x32xf64>) outs([[V9]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V45:%.+]]: f64, [[V46:%.+]]: f32):
// CHECK-NEXT: [[V47:%.+]] = arith.truncf [[V45]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V47]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V48:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V15]], [[V44]] : tensor<4x32xi8>, tensor<4x32xf32>) outs([[V11]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V49:%.+]]: i8, [[V50:%.+]]: f32, [[V51:%.+]]: i8):
// CHECK-NEXT: [[V52:%.+]] = arith.index_cast [[V49]] : i8 to index
// CHECK-NEXT: [[V53:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V54:%.+]] = arith.subi [[V52]], [[V53]] : index
// CHECK-NEXT: [[V55:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V56:%.+]] = tensor.extract [[V10]][[[V54]], [[V55]]] : tensor<256x256xf32>
// CHECK-NEXT: [[V57:%.+]] = arith.divf [[V56]], [[V50]] : f32
// CHECK-NEXT: [[V58:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V59:%.+]] = arith.mulf [[V57]], [[V58]] : f32
// CHECK-NEXT: [[V60:%.+]] = arith.fptosi [[V59]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V60]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V61:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V13]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V62:%.+]]: i8, [[V63:%.+]]: i8):
// CHECK-NEXT: [[V64:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V65:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V66:%.+]] = arith.index_cast [[V62]] : i8 to index
// CHECK-NEXT: [[V67:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V68:%.+]] = arith.subi [[V66]], [[V67]] : index
// CHECK-NEXT: [[V69:%.+]] = tensor.extract [[V48]][[[V64]], [[V65]], [[V68]]] : tensor<4x32x256xi8>
// CHECK-NEXT: linalg.yield [[V69]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: kernel.yield [[V61]] : tensor<4x32x256xi8>
// CHECK: func.return [[V12]] : tensor<4x32x256xi8>
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: tensor<4x33x255xi8>) -> tensor<4x33x255xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x33x255xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w6
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x33xi8>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x33x255xf32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x33xf64>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x33xf32>
// CHECK-NEXT: [[V9:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x33x255xi8>) -> tensor<4x33x255xi8> attributes {rows = array<i64: 4, 33>} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: tensor<4x33x255xi8>):
// CHECK-NEXT: [[V11:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x33xi8>) -> tensor<4x33xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x33x255xi8>) outs([[V11]] : tensor<4x33xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V14]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<4x33xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V12]] : tensor<4x33x255xi8>, tensor<4x33xi8>) outs([[V5]] : tensor<4x33x255xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V24:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V23]], [[V24]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V25]], [[V26]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V2]][[[V25]], [[V27]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V2]][[[V25]], [[V28]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V2]][[[V25]], [[V29]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = kernel.join [[V30]], [[V31]], [[V32]], [[V33]] : f32
// CHECK-NEXT: linalg.yield [[V34]] : f32
// CHECK-NEXT: } -> tensor<4x33x255xf32>
// CHECK-NEXT: [[V35:%.+]] = linalg.fill {origin = "s"} ins([[V6]] : f64) outs([[V7]] : tensor<4x33xf64>) -> tensor<4x33xf64>
// CHECK-NEXT: [[V36:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V16]] : tensor<4x33x255xf32>) outs([[V35]] : tensor<4x33xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V37:%.+]]: f32, [[V38:%.+]]: f64):
// CHECK-NEXT: [[V39:%.+]] = arith.extf [[V37]] : f32 to f64
// CHECK-NEXT: [[V40:%.+]] = arith.addf [[V38]], [[V39]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V40]] : f64
// CHECK-NEXT: } -> tensor<4x33xf64>
// CHECK-NEXT: [[V41:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V36]] : tensor<4x33xf64>) outs([[V8]] : tensor<4x33xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V42:%.+]]: f64, [[V43:%.+]]: f32):
// CHECK-NEXT: [[V44:%.+]] = arith.truncf [[V42]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V44]] : f32
// CHECK-NEXT: } -> tensor<4x33xf32>
// CHECK-NEXT: [[V45:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V16]], [[V41]] : tensor<4x33x255xf32>, tensor<4x33xf32>) outs([[V10]] : tensor<4x33x255xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V46:%.+]]: f32, [[V47:%.+]]: f32, [[V48:%.+]]: i8):
// CHECK-NEXT: [[V49:%.+]] = arith.divf [[V46]], [[V47]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V51:%.+]] = arith.mulf [[V49]], [[V50]] : f32
// CHECK-NEXT: [[V52:%.+]] = arith.fptosi [[V51]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V52]] : i8
// CHECK-NEXT: } -> tensor<4x33x255xi8>
// CHECK-NEXT: kernel.yield [[V45]] : tensor<4x33x255xi8>
// CHECK: func.return [[V9]] : tensor<4x33x255xi8>
// CHECK-LABEL: @negative(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w7
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x32x256xf32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V9:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x32x256xi8>) -> tensor<4x32x256xi8> attributes {rows = array<i64: 4, 32>} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: tensor<4x32x256xi8>):
// CHECK-NEXT: [[V11:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V11]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V14]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V12]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V5]] : tensor<4x32x256xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V24:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V23]], [[V24]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V25]], [[V26]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V2]][[[V25]], [[V27]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V2]][[[V25]], [[V28]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V2]][[[V25]], [[V29]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = kernel.join [[V30]], [[V31]], [[V32]], [[V33]] : f32
// CHECK-NEXT: linalg.yield [[V34]] : f32
// CHECK-NEXT: } -> tensor<4x32x256xf32>
// CHECK-NEXT: [[V35:%.+]] = linalg.fill {origin = "s"} ins([[V6]] : f64) outs([[V7]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V36:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V16]] : tensor<4x32x256xf32>) outs([[V35]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V37:%.+]]: f32, [[V38:%.+]]: f64):
// CHECK-NEXT: [[V39:%.+]] = arith.extf [[V37]] : f32 to f64
// CHECK-NEXT: [[V40:%.+]] = arith.addf [[V38]], [[V39]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V40]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V41:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V36]] : tensor<4x32xf64>) outs([[V8]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V42:%.+]]: f64, [[V43:%.+]]: f32):
// CHECK-NEXT: [[V44:%.+]] = arith.truncf [[V42]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V44]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V45:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V16]], [[V41]] : tensor<4x32x256xf32>, tensor<4x32xf32>) outs([[V10]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V46:%.+]]: f32, [[V47:%.+]]: f32, [[V48:%.+]]: i8):
// CHECK-NEXT: [[V49:%.+]] = arith.divf [[V46]], [[V47]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V51:%.+]] = arith.mulf [[V49]], [[V50]] : f32
// CHECK-NEXT: [[V52:%.+]] = arith.fptosi [[V51]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V52]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: kernel.yield [[V45]] : tensor<4x32x256xi8>
// CHECK: func.return [[V9]] : tensor<4x32x256xi8>
// CHECK-LABEL: @places(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w6
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x32x256xf32>
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V9:%.+]] = kernel.row_fusion outs([[V1]] : tensor<4x32x256xi8>) -> tensor<4x32x256xi8> attributes {rows = array<i64: 4, 32>} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: tensor<4x32x256xi8>):
// CHECK-NEXT: [[V11:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V11]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V14]], [[V13]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V12]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V5]] : tensor<4x32x256xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.index_cast [[V18]] : i8 to index
// CHECK-NEXT: [[V24:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V25:%.+]] = arith.subi [[V23]], [[V24]] : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V29:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V25]], [[V26]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V2]][[[V25]], [[V27]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V2]][[[V25]], [[V28]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V2]][[[V25]], [[V29]], [[V22]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = kernel.join [[V30]], [[V31]], [[V32]], [[V33]] : f32
// CHECK-NEXT: linalg.yield [[V34]] : f32
// CHECK-NEXT: } -> tensor<4x32x256xf32>
// CHECK-NEXT: [[V35:%.+]] = linalg.fill {origin = "s"} ins([[V6]] : f64) outs([[V7]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V36:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V16]] : tensor<4x32x256xf32>) outs([[V35]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V37:%.+]]: f32, [[V38:%.+]]: f64):
// CHECK-NEXT: [[V39:%.+]] = arith.extf [[V37]] : f32 to f64
// CHECK-NEXT: [[V40:%.+]] = arith.addf [[V38]], [[V39]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V40]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V41:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V36]] : tensor<4x32xf64>) outs([[V8]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V42:%.+]]: f64, [[V43:%.+]]: f32):
// CHECK-NEXT: [[V44:%.+]] = arith.truncf [[V42]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V44]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V45:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V16]], [[V41]] : tensor<4x32x256xf32>, tensor<4x32xf32>) outs([[V10]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V46:%.+]]: f32, [[V47:%.+]]: f32, [[V48:%.+]]: i8):
// CHECK-NEXT: [[V49:%.+]] = arith.divf [[V46]], [[V47]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V51:%.+]] = arith.mulf [[V49]], [[V50]] : f32
// CHECK-NEXT: [[V52:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V53:%.+]] = arith.index_cast [[V52]] : index to i32
// CHECK-NEXT: [[V54:%.+]] = arith.sitofp [[V53]] : i32 to f32
// CHECK-NEXT: [[V55:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V56:%.+]] = arith.mulf [[V54]], [[V55]] : f32
// CHECK-NEXT: [[V57:%.+]] = arith.addf [[V51]], [[V56]] : f32
// CHECK-NEXT: [[V58:%.+]] = arith.fptosi [[V57]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V58]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: kernel.yield [[V45]] : tensor<4x32x256xi8>
// CHECK: func.return [[V9]] : tensor<4x32x256xi8>
// CHECK-LABEL: @across(
// CHECK-SAME: [[V0:%.+]]: tensor<256x32x4xi8>) -> tensor<256x32x4xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<256x32x4xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w6
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<32x4xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<32x4xi8>) -> tensor<32x4xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<256x32x4xi8>) outs([[V5]] : tensor<32x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<32x4xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<256x32x4xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<256x32x4xi8>, tensor<32x4xi8>) outs([[V10]] : tensor<256x32x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8, [[V14:%.+]]: f32):
// CHECK-NEXT: [[V15:%.+]] = arith.index_cast [[V12]] : i8 to index
// CHECK-NEXT: [[V16:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V17:%.+]] = arith.subi [[V15]], [[V16]] : index
// CHECK-NEXT: [[V18:%.+]] = arith.index_cast [[V13]] : i8 to index
// CHECK-NEXT: [[V19:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V20:%.+]] = arith.subi [[V18]], [[V19]] : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V22:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V24:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V25:%.+]] = tensor.extract [[V2]][[[V20]], [[V21]], [[V17]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V26:%.+]] = tensor.extract [[V2]][[[V20]], [[V22]], [[V17]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V27:%.+]] = tensor.extract [[V2]][[[V20]], [[V23]], [[V17]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V28:%.+]] = tensor.extract [[V2]][[[V20]], [[V24]], [[V17]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V29:%.+]] = kernel.join [[V25]], [[V26]], [[V27]], [[V28]] : f32
// CHECK-NEXT: linalg.yield [[V29]] : f32
// CHECK-NEXT: } -> tensor<256x32x4xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<32x4xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.fill {origin = "s"} ins([[V30]] : f64) outs([[V31]] : tensor<32x4xf64>) -> tensor<32x4xf64>
// CHECK-NEXT: [[V33:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V11]] : tensor<256x32x4xf32>) outs([[V32]] : tensor<32x4xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V34:%.+]]: f32, [[V35:%.+]]: f64):
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<32x4xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<32x4xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V33]] : tensor<32x4xf64>) outs([[V38]] : tensor<32x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<32x4xf32>
// CHECK-NEXT: [[V43:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V11]], [[V39]] : tensor<256x32x4xf32>, tensor<32x4xf32>) outs([[V1]] : tensor<256x32x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V44:%.+]]: f32, [[V45:%.+]]: f32, [[V46:%.+]]: i8):
// CHECK-NEXT: [[V47:%.+]] = arith.divf [[V44]], [[V45]] : f32
// CHECK-NEXT: [[V48:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V49:%.+]] = arith.mulf [[V47]], [[V48]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.fptosi [[V49]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V50]] : i8
// CHECK-NEXT: } -> tensor<256x32x4xi8>
// CHECK-NEXT: func.return [[V43]] : tensor<256x32x4xi8>
