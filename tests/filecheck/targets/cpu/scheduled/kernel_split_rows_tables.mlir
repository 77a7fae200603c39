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
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V5]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i8, [[V12:%.+]]: i8, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.index_cast [[V11]] : i8 to index
// CHECK-NEXT: [[V15:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V16:%.+]] = arith.subi [[V14]], [[V15]] : index
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V12]] : i8 to index
// CHECK-NEXT: [[V18:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V17]], [[V18]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V21:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V22:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V24:%.+]] = tensor.extract [[V2]][[[V19]], [[V20]], [[V16]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V25:%.+]] = tensor.extract [[V2]][[[V19]], [[V21]], [[V16]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V26:%.+]] = tensor.extract [[V2]][[[V19]], [[V22]], [[V16]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V27:%.+]] = tensor.extract [[V2]][[[V19]], [[V23]], [[V16]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V28:%.+]] = kernel.join [[V24]], [[V25]], [[V26]], [[V27]] : f32
// CHECK-NEXT: linalg.yield [[V28]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @descending(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V4]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V6]] : i8 to f32
// CHECK-NEXT: [[V9:%.+]] = arith.negf [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = arith.maximumf [[V7]], [[V9]] : f32
// CHECK-NEXT: linalg.yield [[V10]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V5]] : tensor<4x4x2048xi8>, tensor<4x4xf32>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: f32, [[V14:%.+]]: f32):
// CHECK-NEXT: [[V15:%.+]] = arith.sitofp [[V12]] : i8 to f32
// CHECK-NEXT: [[V16:%.+]] = arith.subf [[V15]], [[V13]] : f32
// CHECK-NEXT: [[V17:%.+]] = math.cosh [[V16]] : f32
// CHECK-NEXT: [[V18:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V19:%.+]] = arith.minimumf [[V17]], [[V18]] : f32
// CHECK-NEXT: linalg.yield [[V19]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @needed_beside(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V2]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: f32):
// CHECK-NEXT: [[V6:%.+]] = arith.sitofp [[V4]] : i8 to f32
// CHECK-NEXT: linalg.yield [[V6]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V7:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V8:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = linalg.fill {origin = "s"} ins([[V7]] : f32) outs([[V8]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xf32>) outs([[V9]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: f32):
// CHECK-NEXT: [[V13:%.+]] = arith.maximumf [[V12]], [[V11]] : f32
// CHECK-NEXT: linalg.yield [[V13]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f32
// CHECK-NEXT: [[V15:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V16:%.+]] = linalg.fill {origin = "s"} ins([[V14]] : f32) outs([[V15]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xf32>) outs([[V16]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V18:%.+]]: f32, [[V19:%.+]]: f32):
// CHECK-NEXT: [[V20:%.+]] = arith.addf [[V19]], [[V18]] : f32
// CHECK-NEXT: linalg.yield [[V20]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V22:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V10]], [[V17]] : tensor<4x4xf32>, tensor<4x4xf32>) outs([[V21]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V23:%.+]]: f32, [[V24:%.+]]: f32, [[V25:%.+]]: f32):
// CHECK-NEXT: [[V26:%.+]] = arith.addf [[V23]], [[V24]] : f32
// CHECK-NEXT: linalg.yield [[V26]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V27:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V10]], [[V22]] : tensor<4x4x2048xf32>, tensor<4x4xf32>, tensor<4x4xf32>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V28:%.+]]: f32, [[V29:%.+]]: f32, [[V30:%.+]]: f32, [[V31:%.+]]: f32):
// CHECK-NEXT: [[V32:%.+]] = arith.subf [[V28]], [[V29]] : f32
// CHECK-NEXT: [[V33:%.+]] = math.cosh [[V32]] : f32
// CHECK-NEXT: [[V34:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V35:%.+]] = arith.minimumf [[V33]], [[V34]] : f32
// CHECK-NEXT: [[V36:%.+]] = arith.maximumf [[V35]], [[V30]] : f32
// CHECK-NEXT: linalg.yield [[V36]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V27]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @small(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x512xi8>) -> tensor<4x4x512xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x512xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x512xi8>) outs([[V4]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V6]] : i8 to f32
// CHECK-NEXT: [[V9:%.+]] = arith.maximumf [[V7]], [[V8]] : f32
// CHECK-NEXT: linalg.yield [[V9]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V5]] : tensor<4x4x512xi8>, tensor<4x4xf32>) outs([[V1]] : tensor<4x4x512xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i8, [[V12:%.+]]: f32, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V11]] : i8 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.subf [[V14]], [[V12]] : f32
// CHECK-NEXT: [[V16:%.+]] = math.cosh [[V15]] : f32
// CHECK-NEXT: [[V17:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V18:%.+]] = arith.minimumf [[V16]], [[V17]] : f32
// CHECK-NEXT: linalg.yield [[V18]] : f32
// CHECK-NEXT: } -> tensor<4x4x512xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<4x4x512xf32>
// CHECK-LABEL: @cheap(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : f32) outs([[V3]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V4]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.sitofp [[V6]] : i8 to f32
// CHECK-NEXT: [[V9:%.+]] = arith.maximumf [[V7]], [[V8]] : f32
// CHECK-NEXT: linalg.yield [[V9]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V5]] : tensor<4x4x2048xi8>, tensor<4x4xf32>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i8, [[V12:%.+]]: f32, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V11]] : i8 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.subf [[V14]], [[V12]] : f32
// CHECK-NEXT: linalg.yield [[V15]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<4x4x2048xf32>
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
// CHECK-NEXT: [[V10:%.+]] = linalg.fill {origin = "s"} ins([[V8]] : i8) outs([[V9]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V2]] : tensor<4x4x2048xi8>) outs([[V10]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V12:%.+]]: i8, [[V13:%.+]]: i8):
// CHECK-NEXT: [[V14:%.+]] = arith.maxsi [[V13]], [[V12]] : i8
// CHECK-NEXT: linalg.yield [[V14]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V15:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V2]], [[V11]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V6]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V16:%.+]]: i8, [[V17:%.+]]: i8, [[V18:%.+]]: f32):
// CHECK-NEXT: [[V19:%.+]] = arith.index_cast [[V16]] : i8 to index
// CHECK-NEXT: [[V20:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V19]], [[V20]] : index
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V17]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.subi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V27:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V29:%.+]] = tensor.extract [[V7]][[[V24]], [[V25]], [[V21]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V7]][[[V24]], [[V26]], [[V21]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V7]][[[V24]], [[V27]], [[V21]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = tensor.extract [[V7]][[[V24]], [[V28]], [[V21]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = kernel.join [[V29]], [[V30]], [[V31]], [[V32]] : f32
// CHECK-NEXT: linalg.yield [[V33]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V15]] : tensor<4x4x2048xf32>
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
// CHECK-NEXT: [[V15:%.+]] = linalg.fill {origin = "s"} ins([[V13]] : i8) outs([[V14]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xi8>) outs([[V15]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8):
// CHECK-NEXT: [[V19:%.+]] = arith.maxsi [[V18]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V20:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V16]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V11]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i8, [[V22:%.+]]: i8, [[V23:%.+]]: f32):
// CHECK-NEXT: [[V24:%.+]] = arith.index_cast [[V21]] : i8 to index
// CHECK-NEXT: [[V25:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V24]], [[V25]] : index
// CHECK-NEXT: [[V27:%.+]] = arith.index_cast [[V22]] : i8 to index
// CHECK-NEXT: [[V28:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V27]], [[V28]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V31:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V32:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V34:%.+]] = tensor.extract [[V12]][[[V29]], [[V30]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = tensor.extract [[V12]][[[V29]], [[V31]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V12]][[[V29]], [[V32]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = tensor.extract [[V12]][[[V29]], [[V33]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V38:%.+]] = kernel.join [[V34]], [[V35]], [[V36]], [[V37]] : f32
// CHECK-NEXT: linalg.yield [[V38]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V20]] : tensor<4x4x2048xf32>
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
// CHECK-NEXT: [[V15:%.+]] = linalg.fill {origin = "s"} ins([[V13]] : i8) outs([[V14]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xi8>) outs([[V15]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V17:%.+]]: i8, [[V18:%.+]]: i8):
// CHECK-NEXT: [[V19:%.+]] = arith.maxsi [[V18]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V19]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V20:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V16]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V11]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V21:%.+]]: i8, [[V22:%.+]]: i8, [[V23:%.+]]: f32):
// CHECK-NEXT: [[V24:%.+]] = arith.index_cast [[V21]] : i8 to index
// CHECK-NEXT: [[V25:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V26:%.+]] = arith.subi [[V24]], [[V25]] : index
// CHECK-NEXT: [[V27:%.+]] = arith.index_cast [[V22]] : i8 to index
// CHECK-NEXT: [[V28:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V27]], [[V28]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V31:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V32:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V34:%.+]] = tensor.extract [[V12]][[[V29]], [[V30]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = tensor.extract [[V12]][[[V29]], [[V31]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V12]][[[V29]], [[V32]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = tensor.extract [[V12]][[[V29]], [[V33]], [[V26]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V38:%.+]] = kernel.join [[V34]], [[V35]], [[V36]], [[V37]] : f32
// CHECK-NEXT: linalg.yield [[V38]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V20]], [[V3]] : tensor<4x4x2048xf32>, tensor<4x4x2048xi8>
// CHECK-LABEL: @sum_in_any_order(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V5]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V10:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V11:%.+]] = tensor.empty() : tensor<4x4xf64>
// CHECK-NEXT: [[V12:%.+]] = linalg.fill {origin = "s"} ins([[V10]] : f64) outs([[V11]] : tensor<4x4xf64>) -> tensor<4x4xf64>
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]], [[V6]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V12]] : tensor<4x4xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8, [[V16:%.+]]: f64):
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V14]] : i8 to index
// CHECK-NEXT: [[V18:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V17]], [[V18]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V15]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V24:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V25:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V26:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V27:%.+]] = tensor.extract [[V2]][[[V22]], [[V23]], [[V19]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V28:%.+]] = tensor.extract [[V2]][[[V22]], [[V24]], [[V19]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V29:%.+]] = tensor.extract [[V2]][[[V22]], [[V25]], [[V19]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V2]][[[V22]], [[V26]], [[V19]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = kernel.join [[V27]], [[V28]], [[V29]], [[V30]] : f32
// CHECK-NEXT: [[V32:%.+]] = arith.extf [[V31]] : f32 to f64
// CHECK-NEXT: [[V33:%.+]] = arith.addf [[V16]], [[V32]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V33]] : f64
// CHECK-NEXT: } -> tensor<4x4xf64>
// CHECK-NEXT: [[V34:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V35:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V13]] : tensor<4x4xf64>) outs([[V34]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V36:%.+]]: f64, [[V37:%.+]]: f32):
// CHECK-NEXT: [[V38:%.+]] = arith.truncf [[V36]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V38]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V35]] : tensor<4x4xf32>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f32, [[V41:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V40]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V39]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @sum_in_order(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w3
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V5]] : tensor<4x4xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V10]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
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
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<4x4xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.fill {origin = "s"} ins([[V30]] : f64) outs([[V31]] : tensor<4x4xf64>) -> tensor<4x4xf64>
// CHECK-NEXT: [[V33:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V11]] : tensor<4x4x2048xf32>) outs([[V32]] : tensor<4x4xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V34:%.+]]: f32, [[V35:%.+]]: f64):
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<4x4xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V33]] : tensor<4x4xf64>) outs([[V38]] : tensor<4x4xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V43:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V39]] : tensor<4x4xf32>) outs([[V1]] : tensor<4x4x2048xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V44:%.+]]: f32, [[V45:%.+]]: f32):
// CHECK-NEXT: linalg.yield [[V44]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V43]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @long(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill {origin = "s"} ins([[V2]] : i8) outs([[V3]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V4]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V6:%.+]]: i8, [[V7:%.+]]: i8):
// CHECK-NEXT: [[V8:%.+]] = arith.maxsi [[V7]], [[V6]] : i8
// CHECK-NEXT: linalg.yield [[V8]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V9:%.+]] = arith.constant {origin = "s"} 0 : i32
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x32x1xi32>
// CHECK-NEXT: [[V11:%.+]] = linalg.fill {origin = "s"} ins([[V9]] : i32) outs([[V10]] : tensor<4x32x1xi32>) -> tensor<4x32x1xi32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant {origin = "s"} #w4
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins([[V0]], [[V5]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V11]] : tensor<4x32x1xi32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8, [[V16:%.+]]: i32):
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V14]] : i8 to index
// CHECK-NEXT: [[V18:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V17]], [[V18]] : index
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V15]] : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] : index
// CHECK-NEXT: [[V23:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V24:%.+]] = tensor.extract [[V12]][[[V22]], [[V23]], [[V19]]] : tensor<256x1x256xi8>
// CHECK-NEXT: [[V25:%.+]] = arith.extui [[V24]] : i8 to i32
// CHECK-NEXT: [[V26:%.+]] = arith.addi [[V16]], [[V25]] : i32
// CHECK-NEXT: linalg.yield [[V26]] : i32
// CHECK-NEXT: } -> tensor<4x32x1xi32>
// CHECK-NEXT: [[V27:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V28:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V29:%.+]] = linalg.fill {origin = "s"} ins([[V27]] : f64) outs([[V28]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V30:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V13]] : tensor<4x32x1xi32>) outs([[V29]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V31:%.+]]: i32, [[V32:%.+]]: f64):
// CHECK-NEXT: [[V33:%.+]] = arith.constant 2.560000e+02 : f64
// CHECK-NEXT: [[V34:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V35:%.+]] = arith.mulf [[V32]], [[V33]] : f64
// CHECK-NEXT: [[V36:%.+]] = arith.sitofp [[V31]] : i32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.mulf [[V36]], [[V34]] : f64
// CHECK-NEXT: [[V38:%.+]] = arith.addf [[V35]], [[V37]] : f64
// CHECK-NEXT: linalg.yield [[V38]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V39:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V40:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V30]] : tensor<4x32xf64>) outs([[V39]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V41:%.+]]: f64, [[V42:%.+]]: f32):
// CHECK-NEXT: [[V43:%.+]] = arith.truncf [[V41]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V43]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V44:%.+]] = arith.constant {origin = "s"} #w5
// CHECK-NEXT: [[V45:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V46:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V5]], [[V40]] : tensor<4x32xi8>, tensor<4x32xf32>) outs([[V45]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V47:%.+]]: i8, [[V48:%.+]]: f32, [[V49:%.+]]: i8):
// CHECK-NEXT: [[V50:%.+]] = arith.index_cast [[V47]] : i8 to index
// CHECK-NEXT: [[V51:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V52:%.+]] = arith.subi [[V50]], [[V51]] : index
// CHECK-NEXT: [[V53:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V54:%.+]] = tensor.extract [[V44]][[[V52]], [[V53]]] : tensor<256x256xf32>
// CHECK-NEXT: [[V55:%.+]] = arith.divf [[V54]], [[V48]] : f32
// CHECK-NEXT: [[V56:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V57:%.+]] = arith.mulf [[V55]], [[V56]] : f32
// CHECK-NEXT: [[V58:%.+]] = arith.fptosi [[V57]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V58]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V59:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V1]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V60:%.+]]: i8, [[V61:%.+]]: i8):
// CHECK-NEXT: [[V62:%.+]] = linalg.index 0 : index
// CHECK-NEXT: [[V63:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V64:%.+]] = arith.index_cast [[V60]] : i8 to index
// CHECK-NEXT: [[V65:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V66:%.+]] = arith.subi [[V64]], [[V65]] : index
// CHECK-NEXT: [[V67:%.+]] = tensor.extract [[V46]][[[V62]], [[V63]], [[V66]]] : tensor<4x32x256xi8>
// CHECK-NEXT: linalg.yield [[V67]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: func.return [[V59]] : tensor<4x32x256xi8>
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: tensor<4x33x255xi8>) -> tensor<4x33x255xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x33x255xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w6
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x33xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x33xi8>) -> tensor<4x33xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x33x255xi8>) outs([[V5]] : tensor<4x33xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x33xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x33x255xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<4x33x255xi8>, tensor<4x33xi8>) outs([[V10]] : tensor<4x33x255xf32>) attrs =  {origin = "s"} {
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
// CHECK-NEXT: } -> tensor<4x33x255xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<4x33xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.fill {origin = "s"} ins([[V30]] : f64) outs([[V31]] : tensor<4x33xf64>) -> tensor<4x33xf64>
// CHECK-NEXT: [[V33:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V11]] : tensor<4x33x255xf32>) outs([[V32]] : tensor<4x33xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V34:%.+]]: f32, [[V35:%.+]]: f64):
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<4x33xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<4x33xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V33]] : tensor<4x33xf64>) outs([[V38]] : tensor<4x33xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<4x33xf32>
// CHECK-NEXT: [[V43:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V11]], [[V39]] : tensor<4x33x255xf32>, tensor<4x33xf32>) outs([[V1]] : tensor<4x33x255xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V44:%.+]]: f32, [[V45:%.+]]: f32, [[V46:%.+]]: i8):
// CHECK-NEXT: [[V47:%.+]] = arith.divf [[V44]], [[V45]] : f32
// CHECK-NEXT: [[V48:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V49:%.+]] = arith.mulf [[V47]], [[V48]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.fptosi [[V49]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V50]] : i8
// CHECK-NEXT: } -> tensor<4x33x255xi8>
// CHECK-NEXT: func.return [[V43]] : tensor<4x33x255xi8>
// CHECK-LABEL: @negative(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w7
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V5]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x32x256xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V10]] : tensor<4x32x256xf32>) attrs =  {origin = "s"} {
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
// CHECK-NEXT: } -> tensor<4x32x256xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.fill {origin = "s"} ins([[V30]] : f64) outs([[V31]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V33:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V11]] : tensor<4x32x256xf32>) outs([[V32]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V34:%.+]]: f32, [[V35:%.+]]: f64):
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V33]] : tensor<4x32xf64>) outs([[V38]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V43:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V11]], [[V39]] : tensor<4x32x256xf32>, tensor<4x32xf32>) outs([[V1]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V44:%.+]]: f32, [[V45:%.+]]: f32, [[V46:%.+]]: i8):
// CHECK-NEXT: [[V47:%.+]] = arith.divf [[V44]], [[V45]] : f32
// CHECK-NEXT: [[V48:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V49:%.+]] = arith.mulf [[V47]], [[V48]] : f32
// CHECK-NEXT: [[V50:%.+]] = arith.fptosi [[V49]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V50]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: func.return [[V43]] : tensor<4x32x256xi8>
// CHECK-LABEL: @places(
// CHECK-SAME: [[V0:%.+]]: tensor<4x32x256xi8>) -> tensor<4x32x256xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<4x32x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w6
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} -128 : i8
// CHECK-NEXT: [[V4:%.+]] = tensor.empty() : tensor<4x32xi8>
// CHECK-NEXT: [[V5:%.+]] = linalg.fill {origin = "s"} ins([[V3]] : i8) outs([[V4]] : tensor<4x32xi8>) -> tensor<4x32xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x32x256xi8>) outs([[V5]] : tensor<4x32xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V7:%.+]]: i8, [[V8:%.+]]: i8):
// CHECK-NEXT: [[V9:%.+]] = arith.maxsi [[V8]], [[V7]] : i8
// CHECK-NEXT: linalg.yield [[V9]] : i8
// CHECK-NEXT: } -> tensor<4x32xi8>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x32x256xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V6]] : tensor<4x32x256xi8>, tensor<4x32xi8>) outs([[V10]] : tensor<4x32x256xf32>) attrs =  {origin = "s"} {
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
// CHECK-NEXT: } -> tensor<4x32x256xf32>
// CHECK-NEXT: [[V30:%.+]] = arith.constant {origin = "s"} 0.000000e+00 : f64
// CHECK-NEXT: [[V31:%.+]] = tensor.empty() : tensor<4x32xf64>
// CHECK-NEXT: [[V32:%.+]] = linalg.fill {origin = "s"} ins([[V30]] : f64) outs([[V31]] : tensor<4x32xf64>) -> tensor<4x32xf64>
// CHECK-NEXT: [[V33:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V11]] : tensor<4x32x256xf32>) outs([[V32]] : tensor<4x32xf64>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V34:%.+]]: f32, [[V35:%.+]]: f64):
// CHECK-NEXT: [[V36:%.+]] = arith.extf [[V34]] : f32 to f64
// CHECK-NEXT: [[V37:%.+]] = arith.addf [[V35]], [[V36]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V37]] : f64
// CHECK-NEXT: } -> tensor<4x32xf64>
// CHECK-NEXT: [[V38:%.+]] = tensor.empty() : tensor<4x32xf32>
// CHECK-NEXT: [[V39:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V33]] : tensor<4x32xf64>) outs([[V38]] : tensor<4x32xf32>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V40:%.+]]: f64, [[V41:%.+]]: f32):
// CHECK-NEXT: [[V42:%.+]] = arith.truncf [[V40]] : f64 to f32
// CHECK-NEXT: linalg.yield [[V42]] : f32
// CHECK-NEXT: } -> tensor<4x32xf32>
// CHECK-NEXT: [[V43:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V11]], [[V39]] : tensor<4x32x256xf32>, tensor<4x32xf32>) outs([[V1]] : tensor<4x32x256xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V44:%.+]]: f32, [[V45:%.+]]: f32, [[V46:%.+]]: i8):
// CHECK-NEXT: [[V47:%.+]] = arith.divf [[V44]], [[V45]] : f32
// CHECK-NEXT: [[V48:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V49:%.+]] = arith.mulf [[V47]], [[V48]] : f32
// CHECK-NEXT: [[V50:%.+]] = linalg.index 2 : index
// CHECK-NEXT: [[V51:%.+]] = arith.index_cast [[V50]] : index to i32
// CHECK-NEXT: [[V52:%.+]] = arith.sitofp [[V51]] : i32 to f32
// CHECK-NEXT: [[V53:%.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: [[V54:%.+]] = arith.mulf [[V52]], [[V53]] : f32
// CHECK-NEXT: [[V55:%.+]] = arith.addf [[V49]], [[V54]] : f32
// CHECK-NEXT: [[V56:%.+]] = arith.fptosi [[V55]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V56]] : i8
// CHECK-NEXT: } -> tensor<4x32x256xi8>
// CHECK-NEXT: func.return [[V43]] : tensor<4x32x256xi8>
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
