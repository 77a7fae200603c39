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

// CHECK: #w0 = #nn.weights<elided> : tensor<256x4x256xi8>
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
