// RUN: qmlir-opt %s --elide-weights -p kernel-tabulate-long-rows | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-tabulate-long-rows,kernel-tabulate-long-rows' -o %t.twice && qmlir-opt %s --elide-weights -p kernel-tabulate-long-rows | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p kernel-tabulate-long-rows --verify-each=exec -o %t.checked

#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// 0x40404040 is 3 and 257 / 2^16: three bytes are summed, and all bytes of a row come from 256 results.
func.func @long(%x: tensor<4x256xi8>, %m: tensor<4xi8>) -> (tensor<4x256xi8>) {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x256xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x256xi8>, tensor<4xi8>) outs(%0 : tensor<4x256xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x256xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x256xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x256xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x256xf32>, tensor<4xf64>) outs(%14 : tensor<4x256xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x256xi8>
  func.return %15 : tensor<4x256xi8>
}

// Left alone: a row that is too short, or none; a sum that may be rounded; numbers below 0; a body that asks for its place;
// floats that somebody else reads, too.
func.func @short(%x: tensor<4x255xi8>, %m: tensor<4xi8>) -> (tensor<4x255xi8>) {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x255xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x255xi8>, tensor<4xi8>) outs(%0 : tensor<4x255xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x255xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x255xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x255xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x255xf32>, tensor<4xf64>) outs(%14 : tensor<4x255xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x255xi8>
  func.return %15 : tensor<4x255xi8>
}

func.func @in_order(%x: tensor<4x256xi8>, %m: tensor<4xi8>) -> (tensor<4x256xi8>) {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x256xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x256xi8>, tensor<4xi8>) outs(%0 : tensor<4x256xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x256xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x256xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x256xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x256xf32>, tensor<4xf64>) outs(%14 : tensor<4x256xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x256xi8>
  func.return %15 : tensor<4x256xi8>
}

func.func @negative(%x: tensor<4x256xi8>, %m: tensor<4xi8>) -> (tensor<4x256xi8>) {
  %table = arith.constant dense<-64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x256xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x256xi8>, tensor<4xi8>) outs(%0 : tensor<4x256xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x256xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x256xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x256xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x256xf32>, tensor<4xf64>) outs(%14 : tensor<4x256xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x256xi8>
  func.return %15 : tensor<4x256xi8>
}

func.func @places(%x: tensor<4x256xi8>, %m: tensor<4xi8>) -> (tensor<4x256xi8>) {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x256xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x256xi8>, tensor<4xi8>) outs(%0 : tensor<4x256xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x256xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x256xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x256xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x256xf32>, tensor<4xf64>) outs(%14 : tensor<4x256xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %p = linalg.index 1 : index
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x256xi8>
  func.return %15 : tensor<4x256xi8>
}

func.func @floats(%x: tensor<4x256xi8>, %m: tensor<4xi8>) -> (tensor<4x256xi8>, tensor<4x256xf32>) {
  %table = arith.constant dense<64> : tensor<256x4x256xi8>
  %0 = tensor.empty() : tensor<4x256xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<4x256xi8>, tensor<4xi8>) outs(%0 : tensor<4x256xf32>) attrs = {origin = "s", role = "exp"} {
  ^bb0(%a: i8, %b: i8, %o: f32):
    %least = arith.constant -128 : index
    %place = arith.index_cast %a : i8 to index
    %2 = arith.subi %place, %least : index
    %largest = arith.index_cast %b : i8 to index
    %3 = arith.subi %largest, %least : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %4 = tensor.extract %table[%3, %c0, %2] : tensor<256x4x256xi8>
    %5 = tensor.extract %table[%3, %c1, %2] : tensor<256x4x256xi8>
    %6 = tensor.extract %table[%3, %c2, %2] : tensor<256x4x256xi8>
    %7 = tensor.extract %table[%3, %c3, %2] : tensor<256x4x256xi8>
    %8 = kernel.join %4, %5, %6, %7 : f32
    linalg.yield %8 : f32
  } -> tensor<4x256xf32>
  %zero = arith.constant 0.000000e+00 : f64
  %9 = tensor.empty() : tensor<4xf64>
  %10 = linalg.fill ins(%zero : f64) outs(%9 : tensor<4xf64>) -> tensor<4xf64>
  %11 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<4x256xf32>) outs(%10 : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %w = arith.extf %a : f32 to f64
    %t = arith.addf %o, %w fastmath<reassoc> : f64
    linalg.yield %t : f64
  } -> tensor<4xf64>
  %14 = tensor.empty() : tensor<4x256xi8>
  %15 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%1, %11 : tensor<4x256xf32>, tensor<4xf64>) outs(%14 : tensor<4x256xi8>) attrs = {origin = "s", role = "div"} {
  ^bb0(%a: f32, %s: f64, %o: i8):
    %16 = arith.truncf %s : f64 to f32
    %17 = arith.divf %a, %16 : f32
    %18 = arith.constant 1.200000e+02 : f32
    %19 = arith.mulf %17, %18 : f32
    %20 = arith.fptosi %19 : f32 to i8
    linalg.yield %20 : i8
  } -> tensor<4x256xi8>
  func.return %15, %1 : tensor<4x256xi8>, tensor<4x256xf32>
}

func.func @no_row(%x: tensor<i8>) -> tensor<i8> {
  %0 = tensor.empty() : tensor<i8>
  %1 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%x : tensor<i8>) outs(%0 : tensor<i8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.addi %a, %a : i8
    linalg.yield %2 : i8
  } -> tensor<i8>
  func.return %1 : tensor<i8>
}

// CHECK: #w0 = #nn.weights<elided> : tensor<256x3x256xi8>
// CHECK-NEXT: #w1 = #nn.weights<elided> : tensor<256x256xf32>
// CHECK-NEXT: #w2 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-NEXT: #w3 = #nn.weights<elided> : tensor<256x4x256xi8>
// CHECK-LABEL: @long(
// CHECK-SAME: [[V0:%.+]]: tensor<4x256xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V4:%.+]] = linalg.fill ins([[V2]] : f64) outs([[V3]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V5:%.+]] = arith.constant {origin = "s", role = "div"} #w0
// CHECK-NEXT: [[V6:%.+]] = arith.constant {origin = "s", role = "div"} 0 : i32
// CHECK-NEXT: [[V7:%.+]] = tensor.empty() : tensor<4x3xi32>
// CHECK-NEXT: [[V8:%.+]] = linalg.fill {origin = "s", role = "div"} ins([[V6]] : i32) outs([[V7]] : tensor<4x3xi32>) -> tensor<4x3xi32>
// CHECK-NEXT: [[V9:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins([[V0]], [[V1]] : tensor<4x256xi8>, tensor<4xi8>) outs([[V8]] : tensor<4x3xi32>) attrs =  {origin = "s", role = "exp"} {
// CHECK-NEXT: ^bb0([[V10:%.+]]: i8, [[V11:%.+]]: i8, [[V12:%.+]]: i32):
// CHECK-NEXT: [[V13:%.+]] = arith.index_cast [[V10]] {origin = "s", role = "div"} : i8 to index
// CHECK-NEXT: [[V14:%.+]] = arith.constant {origin = "s", role = "div"} -128 : index
// CHECK-NEXT: [[V15:%.+]] = arith.subi [[V13]], [[V14]] {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V16:%.+]] = arith.index_cast [[V11]] {origin = "s", role = "div"} : i8 to index
// CHECK-NEXT: [[V17:%.+]] = arith.constant {origin = "s", role = "div"} -128 : index
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V16]], [[V17]] {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V19:%.+]] = linalg.index 1 {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V5]][[[V18]], [[V19]], [[V15]]] {origin = "s", role = "div"} : tensor<256x3x256xi8>
// CHECK-NEXT: [[V21:%.+]] = arith.extui [[V20]] {origin = "s", role = "div"} : i8 to i32
// CHECK-NEXT: [[V22:%.+]] = arith.addi [[V12]], [[V21]] {origin = "s", role = "div"} : i32
// CHECK-NEXT: linalg.yield {origin = "s", role = "div"} [[V22]] : i32
// CHECK-NEXT: } -> tensor<4x3xi32>
// CHECK-NEXT: [[V23:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V9]] : tensor<4x3xi32>) outs([[V4]] : tensor<4xf64>) attrs =  {origin = "s", role = "exp"} {
// CHECK-NEXT: ^bb0([[V24:%.+]]: i32, [[V25:%.+]]: f64):
// CHECK-NEXT: [[V26:%.+]] = arith.constant {origin = "s", role = "div"} 2.560000e+02 : f64
// CHECK-NEXT: [[V27:%.+]] = arith.constant {origin = "s", role = "div"} 1.52587890625e-05 : f64
// CHECK-NEXT: [[V28:%.+]] = arith.mulf [[V25]], [[V26]] {origin = "s", role = "div"} : f64
// CHECK-NEXT: [[V29:%.+]] = arith.sitofp [[V24]] {origin = "s", role = "div"} : i32 to f64
// CHECK-NEXT: [[V30:%.+]] = arith.mulf [[V29]], [[V27]] {origin = "s", role = "div"} : f64
// CHECK-NEXT: [[V31:%.+]] = arith.addf [[V28]], [[V30]] {origin = "s", role = "div"} : f64
// CHECK-NEXT: linalg.yield {origin = "s", role = "div"} [[V31]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V32:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V33:%.+]] = arith.constant {origin = "s", role = "div"} #w1
// CHECK-NEXT: [[V34:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V35:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V1]], [[V23]] : tensor<4xi8>, tensor<4xf64>) outs([[V34]] : tensor<4x256xi8>) attrs =  {origin = ["s", "s"], role = ["exp", "div"]} {
// CHECK-NEXT: ^bb0([[V36:%.+]]: i8, [[V37:%.+]]: f64, [[V38:%.+]]: i8):
// CHECK-NEXT: [[V39:%.+]] = arith.index_cast [[V36]] {origin = "s", role = "div"} : i8 to index
// CHECK-NEXT: [[V40:%.+]] = arith.constant {origin = "s", role = "div"} -128 : index
// CHECK-NEXT: [[V41:%.+]] = arith.subi [[V39]], [[V40]] {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V42:%.+]] = linalg.index 1 {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V43:%.+]] = tensor.extract [[V33]][[[V41]], [[V42]]] {origin = "s", role = "div"} : tensor<256x256xf32>
// CHECK-NEXT: [[V44:%.+]] = arith.truncf [[V37]] {origin = "s", role = "div"} : f64 to f32
// CHECK-NEXT: [[V45:%.+]] = arith.divf [[V43]], [[V44]] {origin = "s", role = "div"} : f32
// CHECK-NEXT: [[V46:%.+]] = arith.constant {origin = "s", role = "div"} 1.200000e+02 : f32
// CHECK-NEXT: [[V47:%.+]] = arith.mulf [[V45]], [[V46]] {origin = "s", role = "div"} : f32
// CHECK-NEXT: [[V48:%.+]] = arith.fptosi [[V47]] {origin = "s", role = "div"} : f32 to i8
// CHECK-NEXT: linalg.yield {origin = "s", role = "div"} [[V48]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: [[V49:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]] : tensor<4x256xi8>) outs([[V32]] : tensor<4x256xi8>) attrs =  {origin = ["s", "s"], role = ["exp", "div"]} {
// CHECK-NEXT: ^bb0([[V50:%.+]]: i8, [[V51:%.+]]: i8):
// CHECK-NEXT: [[V52:%.+]] = linalg.index 0 {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V53:%.+]] = arith.index_cast [[V50]] {origin = "s", role = "div"} : i8 to index
// CHECK-NEXT: [[V54:%.+]] = arith.constant {origin = "s", role = "div"} -128 : index
// CHECK-NEXT: [[V55:%.+]] = arith.subi [[V53]], [[V54]] {origin = "s", role = "div"} : index
// CHECK-NEXT: [[V56:%.+]] = tensor.extract [[V35]][[[V52]], [[V55]]] {origin = "s", role = "div"} : tensor<4x256xi8>
// CHECK-NEXT: linalg.yield {origin = "s", role = "div"} [[V56]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: func.return [[V49]] : tensor<4x256xi8>
// CHECK-LABEL: @short(
// CHECK-SAME: [[V0:%.+]]: tensor<4x255xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4x255xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x255xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<4x255xi8>, tensor<4xi8>) outs([[V3]] : tensor<4x255xf32>) attrs =  {origin = "s", role = "exp"} {
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
// CHECK-NEXT: } -> tensor<4x255xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<4x255xf32>) outs([[V24]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<4x255xi8>
// CHECK-NEXT: [[V31:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V25]] : tensor<4x255xf32>, tensor<4xf64>) outs([[V30]] : tensor<4x255xi8>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V32:%.+]]: f32, [[V33:%.+]]: f64, [[V34:%.+]]: i8):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V32]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.fptosi [[V38]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V39]] : i8
// CHECK-NEXT: } -> tensor<4x255xi8>
// CHECK-NEXT: func.return [[V31]] : tensor<4x255xi8>
// CHECK-LABEL: @in_order(
// CHECK-SAME: [[V0:%.+]]: tensor<4x256xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x256xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<4x256xi8>, tensor<4xi8>) outs([[V3]] : tensor<4x256xf32>) attrs =  {origin = "s", role = "exp"} {
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
// CHECK-NEXT: } -> tensor<4x256xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<4x256xf32>) outs([[V24]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V25]] : tensor<4x256xf32>, tensor<4xf64>) outs([[V30]] : tensor<4x256xi8>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V32:%.+]]: f32, [[V33:%.+]]: f64, [[V34:%.+]]: i8):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V32]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.fptosi [[V38]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V39]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: func.return [[V31]] : tensor<4x256xi8>
// CHECK-LABEL: @negative(
// CHECK-SAME: [[V0:%.+]]: tensor<4x256xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w3
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x256xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<4x256xi8>, tensor<4xi8>) outs([[V3]] : tensor<4x256xf32>) attrs =  {origin = "s", role = "exp"} {
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
// CHECK-NEXT: } -> tensor<4x256xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<4x256xf32>) outs([[V24]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V25]] : tensor<4x256xf32>, tensor<4xf64>) outs([[V30]] : tensor<4x256xi8>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V32:%.+]]: f32, [[V33:%.+]]: f64, [[V34:%.+]]: i8):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V32]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.fptosi [[V38]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V39]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: func.return [[V31]] : tensor<4x256xi8>
// CHECK-LABEL: @places(
// CHECK-SAME: [[V0:%.+]]: tensor<4x256xi8>, [[V1:%.+]]: tensor<4xi8>) -> tensor<4x256xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x256xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<4x256xi8>, tensor<4xi8>) outs([[V3]] : tensor<4x256xf32>) attrs =  {origin = "s", role = "exp"} {
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
// CHECK-NEXT: } -> tensor<4x256xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<4x256xf32>) outs([[V24]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V25]] : tensor<4x256xf32>, tensor<4xf64>) outs([[V30]] : tensor<4x256xi8>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V32:%.+]]: f32, [[V33:%.+]]: f64, [[V34:%.+]]: i8):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V32]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = linalg.index 1 : index
// CHECK-NEXT: [[V40:%.+]] = arith.fptosi [[V38]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V40]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: func.return [[V31]] : tensor<4x256xi8>
// CHECK-LABEL: @floats(
// CHECK-SAME: [[V0:%.+]]: tensor<4x256xi8>, [[V1:%.+]]: tensor<4xi8>) -> (tensor<4x256xi8>, tensor<4x256xf32>)
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w2
// CHECK-NEXT: [[V3:%.+]] = tensor.empty() : tensor<4x256xf32>
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V0]], [[V1]] : tensor<4x256xi8>, tensor<4xi8>) outs([[V3]] : tensor<4x256xf32>) attrs =  {origin = "s", role = "exp"} {
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
// CHECK-NEXT: } -> tensor<4x256xf32>
// CHECK-NEXT: [[V22:%.+]] = arith.constant 0.000000e+00 : f64
// CHECK-NEXT: [[V23:%.+]] = tensor.empty() : tensor<4xf64>
// CHECK-NEXT: [[V24:%.+]] = linalg.fill ins([[V22]] : f64) outs([[V23]] : tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT: [[V25:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V4]] : tensor<4x256xf32>) outs([[V24]] : tensor<4xf64>) {
// CHECK-NEXT: ^bb0([[V26:%.+]]: f32, [[V27:%.+]]: f64):
// CHECK-NEXT: [[V28:%.+]] = arith.extf [[V26]] : f32 to f64
// CHECK-NEXT: [[V29:%.+]] = arith.addf [[V27]], [[V28]] fastmath<reassoc> : f64
// CHECK-NEXT: linalg.yield [[V29]] : f64
// CHECK-NEXT: } -> tensor<4xf64>
// CHECK-NEXT: [[V30:%.+]] = tensor.empty() : tensor<4x256xi8>
// CHECK-NEXT: [[V31:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins([[V4]], [[V25]] : tensor<4x256xf32>, tensor<4xf64>) outs([[V30]] : tensor<4x256xi8>) attrs =  {origin = "s", role = "div"} {
// CHECK-NEXT: ^bb0([[V32:%.+]]: f32, [[V33:%.+]]: f64, [[V34:%.+]]: i8):
// CHECK-NEXT: [[V35:%.+]] = arith.truncf [[V33]] : f64 to f32
// CHECK-NEXT: [[V36:%.+]] = arith.divf [[V32]], [[V35]] : f32
// CHECK-NEXT: [[V37:%.+]] = arith.constant 1.200000e+02 : f32
// CHECK-NEXT: [[V38:%.+]] = arith.mulf [[V36]], [[V37]] : f32
// CHECK-NEXT: [[V39:%.+]] = arith.fptosi [[V38]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V39]] : i8
// CHECK-NEXT: } -> tensor<4x256xi8>
// CHECK-NEXT: func.return [[V31]], [[V4]] : tensor<4x256xi8>, tensor<4x256xf32>
