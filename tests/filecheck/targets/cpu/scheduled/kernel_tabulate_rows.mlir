// RUN: qmlir-opt %s --elide-weights -p 'kernel-tabulate-rows{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-tabulate-rows{isa=avx512-vnni},kernel-tabulate-rows{isa=avx512-vnni}' -o %t.twice && qmlir-opt %s --elide-weights -p 'kernel-tabulate-rows{isa=avx512-vnni}' | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p 'kernel-tabulate-rows{isa=avx512-vnni}' --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1, d2) -> (d0, d1)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#other = affine_map<(d0, d1, d2) -> (d1, d0)>

// One table for all pairs of bytes, all of whose results are 0.
func.func @softmax(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) attrs = {origin = "s", role = "max"} {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    %none = arith.constant 0.0 : f32
    %7 = arith.minimumf %6, %none : f32
    linalg.yield %7 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3 : tensor<4x4x2048xf32>
}

// Left alone: the largest is that of another row; what is widened descends; somebody else reads the largest, too; there
// are so few elements that a table takes more than it saves.
func.func @another_row(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#other, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3 : tensor<4x4x2048xf32>
}

func.func @descending(%x: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32> {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.negf %4 : f32
    %6 = arith.maximumf %o, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3 : tensor<4x4x2048xf32>
}

func.func @read_twice(%x: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3, %2 : tensor<4x4x2048xf32>, tensor<4x4xf32>
}

func.func @small(%x: tensor<4x4x512xi8>) -> tensor<4x4x512xf32> {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x512xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x512xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x512xi8>) outs(%e : tensor<4x4x512xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x512xf32>
  func.return %3 : tensor<4x4x512xf32>
}

// Bytes that come out of a table which ascends: one table is both.

func.func @behind_a_table(%z: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>) {
  %table = arith.constant dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
  %least = arith.constant 0xFF800000 : f32
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %4 = arith.maxsi %a, %a : i8
    %5 = arith.index_cast %4 : i8 to index
    %first = arith.constant -128 : index
    %6 = arith.subi %5, %first : index
    %7 = tensor.extract %table[%6] : tensor<256xi8>
    linalg.yield %7 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    %none = arith.constant 0.0 : f32
    %7 = arith.minimumf %6, %none : f32
    linalg.yield %7 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3 : tensor<4x4x2048xf32>
}

// The table stays: it descends; somebody else reads its bytes, too.

func.func @behind_a_descending_table(%z: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>) {
  %table = arith.constant dense<"0x444443434242414140403F3F3E3E3D3D3C3C3B3B3A3A39393838373736363535343433333232313130302F2F2E2E2D2D2C2C2B2B2A2A29292828272726262525242423232222212120201F1F1E1E1D1D1C1C1B1B1A1A19191818171716161515141413131212111110100F0F0E0E0D0D0C0C0B0B0A0A0909080807070606050504040303020201010000FFFFFEFEFDFDFCFCFBFBFAFAF9F9F8F8F7F7F6F6F5F5F4F4F3F3F2F2F1F1F0F0EFEFEEEEEDEDECECEBEBEAEAE9E9E8E8E7E7E6E6E5E5E4E4E3E3E2E2E1E1E0E0DFDFDEDEDDDDDCDCDBDBDADAD9D9D8D8D7D7D6D6D5D5D4D4D3D3D2D2D1D1D0D0CFCFCECECDCDCCCCCBCBCACAC9C9C8C8C7C7C6C6C5C5"> : tensor<256xi8>
  %least = arith.constant 0xFF800000 : f32
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %4 = arith.maxsi %a, %a : i8
    %5 = arith.index_cast %4 : i8 to index
    %first = arith.constant -128 : index
    %6 = arith.subi %5, %first : index
    %7 = tensor.extract %table[%6] : tensor<256xi8>
    linalg.yield %7 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    %none = arith.constant 0.0 : f32
    %7 = arith.minimumf %6, %none : f32
    linalg.yield %7 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3 : tensor<4x4x2048xf32>
}

func.func @somebody_else(%z: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4x2048xi8>) {
  %table = arith.constant dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
  %least = arith.constant 0xFF800000 : f32
  %b = tensor.empty() : tensor<4x4x2048xi8>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%z : tensor<4x4x2048xi8>) outs(%b : tensor<4x4x2048xi8>) {
  ^bb0(%a: i8, %o: i8):
    %4 = arith.maxsi %a, %a : i8
    %5 = arith.index_cast %4 : i8 to index
    %first = arith.constant -128 : index
    %6 = arith.subi %5, %first : index
    %7 = tensor.extract %table[%6] : tensor<256xi8>
    linalg.yield %7 : i8
  } -> tensor<4x4x2048xi8>
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    %none = arith.constant 0.0 : f32
    %7 = arith.minimumf %6, %none : f32
    linalg.yield %7 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3, %x : tensor<4x4x2048xf32>, tensor<4x4x2048xi8>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w1 = dense<"0x444443434242414140403F3F3E3E3D3D3C3C3B3B3A3A39393838373736363535343433333232313130302F2F2E2E2D2D2C2C2B2B2A2A29292828272726262525242423232222212120201F1F1E1E1D1D1C1C1B1B1A1A19191818171716161515141413131212111110100F0F0E0E0D0D0C0C0B0B0A0A0909080807070606050504040303020201010000FFFFFEFEFDFDFCFCFBFBFAFAF9F9F8F8F7F7F6F6F5F5F4F4F3F3F2F2F1F1F0F0EFEFEEEEEDEDECECEBEBEAEAE9E9E8E8E7E7E6E6E5E5E4E4E3E3E2E2E1E1E0E0DFDFDEDEDDDDDCDCDBDBDADAD9D9D8D8D7D7D6D6D5D5D4D4D3D3D2D2D1D1D0D0CFCFCECECDCDCCCCCBCBCACAC9C9C8C8C7C7C6C6C5C5"> : tensor<256xi8>
// CHECK-NEXT: #w2 = dense<"0xC5C5C6C6C7C7C8C8C9C9CACACBCBCCCCCDCDCECECFCFD0D0D1D1D2D2D3D3D4D4D5D5D6D6D7D7D8D8D9D9DADADBDBDCDCDDDDDEDEDFDFE0E0E1E1E2E2E3E3E4E4E5E5E6E6E7E7E8E8E9E9EAEAEBEBECECEDEDEEEEEFEFF0F0F1F1F2F2F3F3F4F4F5F5F6F6F7F7F8F8F9F9FAFAFBFBFCFCFDFDFEFEFFFF00000101020203030404050506060707080809090A0A0B0B0C0C0D0D0E0E0F0F10101111121213131414151516161717181819191A1A1B1B1C1C1D1D1E1E1F1F20202121222223232424252526262727282829292A2A2B2B2C2C2D2D2E2E2F2F30303131323233333434353536363737383839393A3A3B3B3C3C3D3D3E3E3F3F40404141424243434444"> : tensor<256xi8>
// CHECK-LABEL: @softmax(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V2]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = arith.constant {origin = "s", role = "exp"} -128 : i8
// CHECK-NEXT: [[V5:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V6:%.+]] = linalg.fill {origin = "s", role = "max"} ins([[V4]] : i8) outs([[V5]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V7:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V6]] : tensor<4x4xi8>) attrs =  {origin = "s", role = "max"} {
// CHECK-NEXT: ^bb0([[V8:%.+]]: i8, [[V9:%.+]]: i8):
// CHECK-NEXT: [[V10:%.+]] = arith.maxsi [[V8]], [[V9]] {origin = "s", role = "exp"} : i8
// CHECK-NEXT: linalg.yield {origin = "s", role = "exp"} [[V10]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V11:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V12:%.+]] = arith.constant {origin = "s", role = "exp"} #w0
// CHECK-NEXT: [[V13:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]], [[V7]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V11]] : tensor<4x4x2048xf32>) attrs =  {origin = "s", role = "exp"} {
// CHECK-NEXT: ^bb0([[V14:%.+]]: i8, [[V15:%.+]]: i8, [[V16:%.+]]: f32):
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V14]] {origin = "s", role = "exp"} : i8 to index
// CHECK-NEXT: [[V18:%.+]] = arith.constant {origin = "s", role = "exp"} -128 : index
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V17]], [[V18]] {origin = "s", role = "exp"} : index
// CHECK-NEXT: [[V20:%.+]] = arith.index_cast [[V15]] {origin = "s", role = "exp"} : i8 to index
// CHECK-NEXT: [[V21:%.+]] = arith.constant {origin = "s", role = "exp"} -128 : index
// CHECK-NEXT: [[V22:%.+]] = arith.subi [[V20]], [[V21]] {origin = "s", role = "exp"} : index
// CHECK-NEXT: [[V23:%.+]] = arith.constant {origin = "s", role = "exp"} 0 : index
// CHECK-NEXT: [[V24:%.+]] = tensor.extract [[V12]][[[V22]], [[V23]], [[V19]]] {origin = "s", role = "exp"} : tensor<256x4x256xi8>
// CHECK-NEXT: [[V25:%.+]] = arith.constant {origin = "s", role = "exp"} 1 : index
// CHECK-NEXT: [[V26:%.+]] = tensor.extract [[V12]][[[V22]], [[V25]], [[V19]]] {origin = "s", role = "exp"} : tensor<256x4x256xi8>
// CHECK-NEXT: [[V27:%.+]] = arith.constant {origin = "s", role = "exp"} 2 : index
// CHECK-NEXT: [[V28:%.+]] = tensor.extract [[V12]][[[V22]], [[V27]], [[V19]]] {origin = "s", role = "exp"} : tensor<256x4x256xi8>
// CHECK-NEXT: [[V29:%.+]] = arith.constant {origin = "s", role = "exp"} 3 : index
// CHECK-NEXT: [[V30:%.+]] = tensor.extract [[V12]][[[V22]], [[V29]], [[V19]]] {origin = "s", role = "exp"} : tensor<256x4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = kernel.join [[V24]], [[V26]], [[V28]], [[V30]] {origin = "s", role = "exp"} : f32
// CHECK-NEXT: linalg.yield {origin = "s", role = "exp"} [[V31]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V13]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @another_row(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V2]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V3]] : tensor<4x4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.maximumf [[V6]], [[V7]] : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V0]] : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs([[V9]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: i8, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V12]] : i8 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.subf [[V14]], [[V11]] : f32
// CHECK-NEXT: [[V16:%.+]] = math.cosh [[V15]] : f32
// CHECK-NEXT: linalg.yield [[V16]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @descending(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V2]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V3]] : tensor<4x4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.negf [[V7]] : f32
// CHECK-NEXT: [[V9:%.+]] = arith.maximumf [[V6]], [[V8]] : f32
// CHECK-NEXT: linalg.yield [[V9]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V11:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V0]] : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs([[V10]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V12:%.+]]: f32, [[V13:%.+]]: i8, [[V14:%.+]]: f32):
// CHECK-NEXT: [[V15:%.+]] = arith.sitofp [[V13]] : i8 to f32
// CHECK-NEXT: [[V16:%.+]] = arith.subf [[V15]], [[V12]] : f32
// CHECK-NEXT: [[V17:%.+]] = math.cosh [[V16]] : f32
// CHECK-NEXT: linalg.yield [[V17]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @read_twice(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4xf32>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V2]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V3]] : tensor<4x4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.maximumf [[V6]], [[V7]] : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V0]] : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs([[V9]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: i8, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V12]] : i8 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.subf [[V14]], [[V11]] : f32
// CHECK-NEXT: [[V16:%.+]] = math.cosh [[V15]] : f32
// CHECK-NEXT: linalg.yield [[V16]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V10]], [[V4]] : tensor<4x4x2048xf32>, tensor<4x4xf32>
// CHECK-LABEL: @small(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x512xi8>) -> tensor<4x4x512xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V3:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V2]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]] : tensor<4x4x512xi8>) outs([[V3]] : tensor<4x4xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: f32):
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V5]] : i8 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.maximumf [[V6]], [[V7]] : f32
// CHECK-NEXT: linalg.yield [[V8]] : f32
// CHECK-NEXT: } -> tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = tensor.empty() : tensor<4x4x512xf32>
// CHECK-NEXT: [[V10:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V0]] : tensor<4x4xf32>, tensor<4x4x512xi8>) outs([[V9]] : tensor<4x4x512xf32>) {
// CHECK-NEXT: ^bb0([[V11:%.+]]: f32, [[V12:%.+]]: i8, [[V13:%.+]]: f32):
// CHECK-NEXT: [[V14:%.+]] = arith.sitofp [[V12]] : i8 to f32
// CHECK-NEXT: [[V15:%.+]] = arith.subf [[V14]], [[V11]] : f32
// CHECK-NEXT: [[V16:%.+]] = math.cosh [[V15]] : f32
// CHECK-NEXT: linalg.yield [[V16]] : f32
// CHECK-NEXT: } -> tensor<4x4x512xf32>
// CHECK-NEXT: func.return [[V10]] : tensor<4x4x512xf32>
// CHECK-LABEL: @behind_a_table(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V2]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i8, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.maxsi [[V4]], [[V4]] : i8
// CHECK-NEXT: linalg.yield [[V6]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V8:%.+]] = linalg.fill ins([[V1]] : f32) outs([[V7]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V9:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V10:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V11:%.+]] = linalg.fill ins([[V9]] : i8) outs([[V10]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V12:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V3]] : tensor<4x4x2048xi8>) outs([[V11]] : tensor<4x4xi8>) {
// CHECK-NEXT: ^bb0([[V13:%.+]]: i8, [[V14:%.+]]: i8):
// CHECK-NEXT: [[V15:%.+]] = arith.maxsi [[V13]], [[V14]] : i8
// CHECK-NEXT: linalg.yield [[V15]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V17:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V18:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V3]], [[V12]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V16]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V19:%.+]]: i8, [[V20:%.+]]: i8, [[V21:%.+]]: f32):
// CHECK-NEXT: [[V22:%.+]] = arith.index_cast [[V19]] : i8 to index
// CHECK-NEXT: [[V23:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V24:%.+]] = arith.subi [[V22]], [[V23]] : index
// CHECK-NEXT: [[V25:%.+]] = arith.index_cast [[V20]] : i8 to index
// CHECK-NEXT: [[V26:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V27:%.+]] = arith.subi [[V25]], [[V26]] : index
// CHECK-NEXT: [[V28:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V29:%.+]] = tensor.extract [[V17]][[[V27]], [[V28]], [[V24]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V31:%.+]] = tensor.extract [[V17]][[[V27]], [[V30]], [[V24]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V32:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V17]][[[V27]], [[V32]], [[V24]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V34:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V35:%.+]] = tensor.extract [[V17]][[[V27]], [[V34]], [[V24]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V36:%.+]] = kernel.join [[V29]], [[V31]], [[V33]], [[V35]] : f32
// CHECK-NEXT: linalg.yield [[V36]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V18]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @behind_a_descending_table(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> tensor<4x4x2048xf32>
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V3]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.maxsi [[V5]], [[V5]] : i8
// CHECK-NEXT: [[V8:%.+]] = arith.index_cast [[V7]] : i8 to index
// CHECK-NEXT: [[V9:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V8]], [[V9]] : index
// CHECK-NEXT: [[V11:%.+]] = tensor.extract [[V1]][[[V10]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V12:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V13:%.+]] = linalg.fill ins([[V2]] : f32) outs([[V12]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V15:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.fill ins([[V14]] : i8) outs([[V15]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V4]] : tensor<4x4x2048xi8>) outs([[V16]] : tensor<4x4xi8>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: [[V20:%.+]] = arith.maxsi [[V18]], [[V19]] : i8
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V23:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V17]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V21]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V24:%.+]]: i8, [[V25:%.+]]: i8, [[V26:%.+]]: f32):
// CHECK-NEXT: [[V27:%.+]] = arith.index_cast [[V24]] : i8 to index
// CHECK-NEXT: [[V28:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V27]], [[V28]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.index_cast [[V25]] : i8 to index
// CHECK-NEXT: [[V31:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V30]], [[V31]] : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V34:%.+]] = tensor.extract [[V22]][[[V32]], [[V33]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V22]][[[V32]], [[V35]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V38:%.+]] = tensor.extract [[V22]][[[V32]], [[V37]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V39:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V40:%.+]] = tensor.extract [[V22]][[[V32]], [[V39]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V41:%.+]] = kernel.join [[V34]], [[V36]], [[V38]], [[V40]] : f32
// CHECK-NEXT: linalg.yield [[V41]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V23]] : tensor<4x4x2048xf32>
// CHECK-LABEL: @somebody_else(
// CHECK-SAME: [[V0:%.+]]: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4x2048xi8>)
// CHECK-NEXT: [[V1:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x4x2048xi8>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V0]] : tensor<4x4x2048xi8>) outs([[V3]] : tensor<4x4x2048xi8>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.maxsi [[V5]], [[V5]] : i8
// CHECK-NEXT: [[V8:%.+]] = arith.index_cast [[V7]] : i8 to index
// CHECK-NEXT: [[V9:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V8]], [[V9]] : index
// CHECK-NEXT: [[V11:%.+]] = tensor.extract [[V1]][[[V10]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<4x4x2048xi8>
// CHECK-NEXT: [[V12:%.+]] = tensor.empty() : tensor<4x4xf32>
// CHECK-NEXT: [[V13:%.+]] = linalg.fill ins([[V2]] : f32) outs([[V12]] : tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: [[V14:%.+]] = arith.constant -128 : i8
// CHECK-NEXT: [[V15:%.+]] = tensor.empty() : tensor<4x4xi8>
// CHECK-NEXT: [[V16:%.+]] = linalg.fill ins([[V14]] : i8) outs([[V15]] : tensor<4x4xi8>) -> tensor<4x4xi8>
// CHECK-NEXT: [[V17:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V4]] : tensor<4x4x2048xi8>) outs([[V16]] : tensor<4x4xi8>) {
// CHECK-NEXT: ^bb0([[V18:%.+]]: i8, [[V19:%.+]]: i8):
// CHECK-NEXT: [[V20:%.+]] = arith.maxsi [[V18]], [[V19]] : i8
// CHECK-NEXT: linalg.yield [[V20]] : i8
// CHECK-NEXT: } -> tensor<4x4xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.empty() : tensor<4x4x2048xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V23:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins([[V4]], [[V17]] : tensor<4x4x2048xi8>, tensor<4x4xi8>) outs([[V21]] : tensor<4x4x2048xf32>) {
// CHECK-NEXT: ^bb0([[V24:%.+]]: i8, [[V25:%.+]]: i8, [[V26:%.+]]: f32):
// CHECK-NEXT: [[V27:%.+]] = arith.index_cast [[V24]] : i8 to index
// CHECK-NEXT: [[V28:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V29:%.+]] = arith.subi [[V27]], [[V28]] : index
// CHECK-NEXT: [[V30:%.+]] = arith.index_cast [[V25]] : i8 to index
// CHECK-NEXT: [[V31:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V30]], [[V31]] : index
// CHECK-NEXT: [[V33:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V34:%.+]] = tensor.extract [[V22]][[[V32]], [[V33]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V36:%.+]] = tensor.extract [[V22]][[[V32]], [[V35]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V37:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V38:%.+]] = tensor.extract [[V22]][[[V32]], [[V37]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V39:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V40:%.+]] = tensor.extract [[V22]][[[V32]], [[V39]], [[V29]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V41:%.+]] = kernel.join [[V34]], [[V36]], [[V38]], [[V40]] : f32
// CHECK-NEXT: linalg.yield [[V41]] : f32
// CHECK-NEXT: } -> tensor<4x4x2048xf32>
// CHECK-NEXT: func.return [[V23]], [[V4]] : tensor<4x4x2048xf32>, tensor<4x4x2048xi8>

// The largest of two tensors, and a largest beside another result: neither is the largest of a row of bytes.
// CHECK-LABEL: @other_reductions(
// CHECK: arith.maximumf
// CHECK: math.cosh
// CHECK: arith.maximumf
// CHECK: math.cosh
// CHECK: func.return
func.func @other_reductions(%x: tensor<4x4x2048xi8>, %y: tensor<4x4x2048xi8>) -> (tensor<4x4x2048xf32>, tensor<4x4x2048xf32>, tensor<4x4xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %0 = tensor.empty() : tensor<4x4xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = linalg.generic {indexing_maps = [#all, #all, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<4x4x2048xi8>, tensor<4x4x2048xi8>) outs(%1 : tensor<4x4xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %4 = arith.maxsi %a, %b : i8
    %5 = arith.sitofp %4 : i8 to f32
    %6 = arith.maximumf %o, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4xf32>
  %e = tensor.empty() : tensor<4x4x2048xf32>
  %3 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%2, %x : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x2048xf32>
  %7, %8 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y : tensor<4x4x2048xi8>) outs(%1, %1 : tensor<4x4xf32>, tensor<4x4xf32>) {
  ^bb0(%a: i8, %o: f32, %p: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.maximumf %o, %4 : f32
    %6 = arith.maximumf %p, %4 : f32
    linalg.yield %5, %6 : f32, f32
  } -> tensor<4x4xf32>, tensor<4x4xf32>
  %9 = linalg.generic {indexing_maps = [#row, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7, %y : tensor<4x4xf32>, tensor<4x4x2048xi8>) outs(%e : tensor<4x4x2048xf32>) {
  ^bb0(%m: f32, %a: i8, %o: f32):
    %4 = arith.sitofp %a : i8 to f32
    %5 = arith.subf %4, %m : f32
    %6 = math.cosh %5 : f32
    linalg.yield %6 : f32
  } -> tensor<4x4x2048xf32>
  func.return %3, %9, %8 : tensor<4x4x2048xf32>, tensor<4x4x2048xf32>, tensor<4x4xf32>
}
