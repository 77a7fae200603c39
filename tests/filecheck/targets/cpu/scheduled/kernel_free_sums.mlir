// RUN: qmlir-opt %s --elide-weights -p kernel-free-sums | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-free-sums,kernel-free-sums' -o %t.twice && qmlir-opt %s --elide-weights -p kernel-free-sums | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p kernel-free-sums --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// 0x40404040 is a bit more than 3: eight of one number are exact.
func.func @exact(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %s = arith.index_cast %a : i8 to index
    %q = arith.subi %s, %least : index
    %u = arith.index_cast %b : i8 to index
    %r = arith.subi %u, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %b0 = tensor.extract %table[%r, %c0, %q] : tensor<256x4x256xi8>
    %b1 = tensor.extract %table[%r, %c1, %q] : tensor<256x4x256xi8>
    %b2 = tensor.extract %table[%r, %c2, %q] : tensor<256x4x256xi8>
    %b3 = tensor.extract %table[%r, %c3, %q] : tensor<256x4x256xi8>
    %e = kernel.join %b0, %b1, %b2, %b3 : f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %start = arith.constant 0.0 : f64
  %2 = tensor.empty() : tensor<2xf64>
  %3 = linalg.fill ins(%start : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
  %4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>) outs(%3 : tensor<2xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  func.return %4 : tensor<2xf64>
}

// 0x7F7F7F7F is finite, and so is a sum of eight of it in f64.
func.func @infinite(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
  %table = arith.constant dense<127> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %s = arith.index_cast %a : i8 to index
    %q = arith.subi %s, %least : index
    %u = arith.index_cast %b : i8 to index
    %r = arith.subi %u, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %b0 = tensor.extract %table[%r, %c0, %q] : tensor<256x4x256xi8>
    %b1 = tensor.extract %table[%r, %c1, %q] : tensor<256x4x256xi8>
    %b2 = tensor.extract %table[%r, %c2, %q] : tensor<256x4x256xi8>
    %b3 = tensor.extract %table[%r, %c3, %q] : tensor<256x4x256xi8>
    %e = kernel.join %b0, %b1, %b2, %b3 : f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %start = arith.constant 0.0 : f64
  %2 = tensor.empty() : tensor<2xf64>
  %3 = linalg.fill ins(%start : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
  %4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>) outs(%3 : tensor<2xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  func.return %4 : tensor<2xf64>
}

// 0xFFFFFFFF is no number.
func.func @not_a_number(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
  %table = arith.constant dense<-1> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %s = arith.index_cast %a : i8 to index
    %q = arith.subi %s, %least : index
    %u = arith.index_cast %b : i8 to index
    %r = arith.subi %u, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %b0 = tensor.extract %table[%r, %c0, %q] : tensor<256x4x256xi8>
    %b1 = tensor.extract %table[%r, %c1, %q] : tensor<256x4x256xi8>
    %b2 = tensor.extract %table[%r, %c2, %q] : tensor<256x4x256xi8>
    %b3 = tensor.extract %table[%r, %c3, %q] : tensor<256x4x256xi8>
    %e = kernel.join %b0, %b1, %b2, %b3 : f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %start = arith.constant 0.0 : f64
  %2 = tensor.empty() : tensor<2xf64>
  %3 = linalg.fill ins(%start : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
  %4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>) outs(%3 : tensor<2xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  func.return %4 : tensor<2xf64>
}

// What it begins with is another number.
func.func @begun(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %s = arith.index_cast %a : i8 to index
    %q = arith.subi %s, %least : index
    %u = arith.index_cast %b : i8 to index
    %r = arith.subi %u, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %b0 = tensor.extract %table[%r, %c0, %q] : tensor<256x4x256xi8>
    %b1 = tensor.extract %table[%r, %c1, %q] : tensor<256x4x256xi8>
    %b2 = tensor.extract %table[%r, %c2, %q] : tensor<256x4x256xi8>
    %b3 = tensor.extract %table[%r, %c3, %q] : tensor<256x4x256xi8>
    %e = kernel.join %b0, %b1, %b2, %b3 : f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %start = arith.constant 1.0 : f64
  %2 = tensor.empty() : tensor<2xf64>
  %3 = linalg.fill ins(%start : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
  %4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>) outs(%3 : tensor<2xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  func.return %4 : tensor<2xf64>
}

// Bytes in another order are other numbers than the table is read for.
func.func @in_turn(%x: tensor<2x8xi8>, %m: tensor<2xi8>) -> tensor<2xf64> {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<2x8xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<2x8xi8>, tensor<2xi8>) outs(%0 : tensor<2x8xf32>) {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %s = arith.index_cast %a : i8 to index
    %q = arith.subi %s, %least : index
    %u = arith.index_cast %b : i8 to index
    %r = arith.subi %u, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %b0 = tensor.extract %table[%r, %c1, %q] : tensor<256x4x256xi8>
    %b1 = tensor.extract %table[%r, %c0, %q] : tensor<256x4x256xi8>
    %b2 = tensor.extract %table[%r, %c2, %q] : tensor<256x4x256xi8>
    %b3 = tensor.extract %table[%r, %c3, %q] : tensor<256x4x256xi8>
    %e = kernel.join %b0, %b1, %b2, %b3 : f32
    linalg.yield %e : f32
  } -> tensor<2x8xf32>
  %start = arith.constant 0.0 : f64
  %2 = tensor.empty() : tensor<2xf64>
  %3 = linalg.fill ins(%start : f64) outs(%2 : tensor<2xf64>) -> tensor<2xf64>
  %4 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<2x8xf32>) outs(%3 : tensor<2xf64>) attrs = {origin = "s", role = "sum"} {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  func.return %4 : tensor<2xf64>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w1 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w2 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-LABEL: @exact(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<2xi8>) -> tensor<2xf64>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<2xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V5]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V11]], [[V8]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V2]][[[V12]], [[V13]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V18:%.+]] = tensor.extract [[V2]][[[V12]], [[V14]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.extract [[V2]][[[V12]], [[V15]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V12]], [[V16]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.join [[V17]], [[V18]], [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V24]] : tensor<2xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: func.return [[V25]] : tensor<2xf64>
// CHECK-LABEL: @infinite(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<2xi8>) -> tensor<2xf64>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<2xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V5]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V11]], [[V8]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V2]][[[V12]], [[V13]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V18:%.+]] = tensor.extract [[V2]][[[V12]], [[V14]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.extract [[V2]][[[V12]], [[V15]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V12]], [[V16]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.join [[V17]], [[V18]], [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V24]] : tensor<2xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: func.return [[V25]] : tensor<2xf64>
// CHECK-LABEL: @not_a_number(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<2xi8>) -> tensor<2xf64>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<2xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V5]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V11]], [[V8]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V2]][[[V12]], [[V13]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V18:%.+]] = tensor.extract [[V2]][[[V12]], [[V14]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.extract [[V2]][[[V12]], [[V15]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V12]], [[V16]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.join [[V17]], [[V18]], [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V24]] : tensor<2xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: func.return [[V25]] : tensor<2xf64>
// CHECK-LABEL: @begun(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<2xi8>) -> tensor<2xf64>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<2xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V5]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V11]], [[V8]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V2]][[[V12]], [[V13]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V18:%.+]] = tensor.extract [[V2]][[[V12]], [[V14]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.extract [[V2]][[[V12]], [[V15]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V12]], [[V16]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.join [[V17]], [[V18]], [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V24]] : tensor<2xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: func.return [[V25]] : tensor<2xf64>
// CHECK-LABEL: @in_turn(
// CHECK-SAME: [[V0:%.+]]: tensor<2x8xi8>, [[V1:%.+]]: tensor<2xi8>) -> tensor<2xf64>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<2x8xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<2x8xi8>, tensor<2xi8>) outs([[V3]] : tensor<2x8xf32>) {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i8, [[V6:%.+]]: i8, [[V7:%.+]]: f32):
// CHECK-NEXT: [[V8:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V5]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.subi [[V9]], [[V8]] : index
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V6]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.subi [[V11]], [[V8]] : index
// CHECK-NEXT: [[V13:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V14:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V15:%.+]] = arith.constant 2 : index
// CHECK-NEXT: [[V16:%.+]] = arith.constant 3 : index
// CHECK-NEXT: [[V17:%.+]] = tensor.extract [[V2]][[[V12]], [[V14]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V18:%.+]] = tensor.extract [[V2]][[[V12]], [[V13]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V19:%.+]] = tensor.extract [[V2]][[[V12]], [[V15]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V12]], [[V16]], [[V10]]] : tensor<256x4x256xi8>
// CHECK-NEXT: [[V21:%.+]] = kernel.join [[V17]], [[V18]], [[V19]], [[V20]] : f32
// CHECK-NEXT: linalg.yield [[V21]] : f32
// CHECK-NEXT: } -> tensor<2x8xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<2xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<2xf64>) -> tensor<2xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<2x8xf32>) outs([[V24]] : tensor<2xf64>) attrs =  {origin = "s", role = "sum"} {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<2xf64>
// CHECK-NEXT: func.return [[V25]] : tensor<2xf64>
