// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @attention(
// CHECK-SAME: [[V0:%.+]]: tensor<?x4x3x8xf32>, [[V1:%.+]]: tensor<?x2x5x8xf32>, [[V2:%.+]]: tensor<?x2x5x6xf32>, [[V3:%.+]]: tensor<3x4xi1>, [[V4:%.+]]: tensor<4x1x5xf32>, [[V5:%.+]]: tensor<?xi64>)
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]], [[V8:%.+]], [[V9:%.+]] = nn.attention [[V0]], [[V1]], [[V2]] : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
// CHECK-NEXT: [[V10:%.+]], [[V11:%.+]], [[V12:%.+]], [[V13:%.+]] = nn.attention [[V0]], [[V1]], [[V2]], [[V3]] {is_causal = true, left_window = 2, softcap = 30.0} : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<3x4xi1>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
// CHECK-NEXT: [[V14:%.+]], [[V15:%.+]], [[V16:%.+]], [[V17:%.+]] = nn.attention [[V0]], [[V1]], [[V2]], [[V4]], _, _, [[V5]] {right_window = 0, scale = 0.5, softmax_precision = f64, scores_are = "softmax"} : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<4x1x5xf32>, tensor<?xi64>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
// CHECK-NEXT: func.return
func.func @attention(%q: tensor<?x4x3x8xf32>, %k: tensor<?x2x5x8xf32>, %v: tensor<?x2x5x6xf32>, %m: tensor<3x4xi1>, %b: tensor<4x1x5xf32>, %n: tensor<?xi64>) {
  %0, %1, %2, %3 = nn.attention %q, %k, %v : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
  // A mask may end before the keys do, and float masks broadcast.
  %4, %5, %6, %7 = nn.attention %q, %k, %v, %m {is_causal = true, left_window = 2, softcap = 30.0} : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<3x4xi1>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
  %8, %9, %10, %11 = nn.attention %q, %k, %v, %b, _, _, %n {right_window = 0, scale = 0.5, softmax_precision = f64, scores_are = "softmax"} : (tensor<?x4x3x8xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<4x1x5xf32>, tensor<?xi64>) -> (tensor<?x4x3x6xf32>, tensor<?x2x5x8xf32>, tensor<?x2x5x6xf32>, tensor<?x4x3x5xf32>)
  func.return
}

// The past stands in front of the keys and values, however long it is.
// CHECK-LABEL: @past(
// CHECK-SAME: [[V0:%.+]]: tensor<1x2x3x8xf16>, [[V1:%.+]]: tensor<1x2x3x6xf16>, [[V2:%.+]]: tensor<1x2x?x8xf16>, [[V3:%.+]]: tensor<1x2x?x6xf16>)
// CHECK-NEXT: [[V4:%.+]], [[V5:%.+]], [[V6:%.+]], [[V7:%.+]] = nn.attention [[V0]], [[V0]], [[V1]], _, [[V2]], [[V3]] : (tensor<1x2x3x8xf16>, tensor<1x2x3x8xf16>, tensor<1x2x3x6xf16>, tensor<1x2x?x8xf16>, tensor<1x2x?x6xf16>) -> (tensor<1x2x3x6xf16>, tensor<1x2x?x8xf16>, tensor<1x2x?x6xf16>, tensor<1x2x3x?xf16>)
// CHECK-NEXT: func.return
func.func @past(%q: tensor<1x2x3x8xf16>, %v: tensor<1x2x3x6xf16>, %pk: tensor<1x2x?x8xf16>, %pv: tensor<1x2x?x6xf16>) {
  %0, %1, %2, %3 = nn.attention %q, %q, %v, _, %pk, %pv : (tensor<1x2x3x8xf16>, tensor<1x2x3x8xf16>, tensor<1x2x3x6xf16>, tensor<1x2x?x8xf16>, tensor<1x2x?x6xf16>) -> (tensor<1x2x3x6xf16>, tensor<1x2x?x8xf16>, tensor<1x2x?x6xf16>, tensor<1x2x3x?xf16>)
  func.return
}

// CHECK-LABEL: @rotary_embedding(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4x?x8xf32>, [[V1:%.+]]: tensor<2x?x4xf32>, [[V2:%.+]]: tensor<50x3xf32>, [[V3:%.+]]: tensor<2x?xi64>)
// CHECK-NEXT: [[V4:%.+]] = nn.rotary_embedding [[V0]], [[V1]], [[V1]] : (tensor<2x4x?x8xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x4x?x8xf32>
// CHECK-NEXT: [[V5:%.+]] = nn.rotary_embedding [[V4]], [[V2]], [[V2]], [[V3]] {size = 6, interleaved = true} : (tensor<2x4x?x8xf32>, tensor<50x3xf32>, tensor<50x3xf32>, tensor<2x?xi64>) -> tensor<2x4x?x8xf32>
// CHECK-NEXT: func.return
func.func @rotary_embedding(%x: tensor<2x4x?x8xf32>, %c: tensor<2x?x4xf32>, %t: tensor<50x3xf32>, %p: tensor<2x?xi64>) {
  %0 = nn.rotary_embedding %x, %c, %c : (tensor<2x4x?x8xf32>, tensor<2x?x4xf32>, tensor<2x?x4xf32>) -> tensor<2x4x?x8xf32>
  %1 = nn.rotary_embedding %0, %t, %t, %p {size = 6, interleaved = true} : (tensor<2x4x?x8xf32>, tensor<50x3xf32>, tensor<50x3xf32>, tensor<2x?xi64>) -> tensor<2x4x?x8xf32>
  func.return
}
