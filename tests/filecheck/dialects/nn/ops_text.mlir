// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

// CHECK-LABEL: @text(
// CHECK-SAME: [[V0:%.+]]: tensor<4x!nn.string>, [[V1:%.+]]: tensor<1x4x!nn.string>) -> (tensor<4x?x!nn.string>, tensor<4xi64>)
// CHECK-NEXT: [[V2:%.+]] = nn.string_normalizer [[V0]] {case_change = "LOWER", is_case_sensitive = true, stopwords = ["Montag", "jeden \22Tag\22"]} : (tensor<4x!nn.string>) -> tensor<?x!nn.string>
// CHECK-NEXT: [[V3:%.+]] = nn.string_normalizer [[V1]] : tensor<1x4x!nn.string>
// CHECK-NEXT: [[V4:%.+]] = nn.string_concat [[V3]], [[V0]] : (tensor<1x4x!nn.string>, tensor<4x!nn.string>) -> tensor<1x4x!nn.string>
// CHECK-NEXT: [[V5:%.+]] = nn.reshape [[V4]] : (tensor<1x4x!nn.string>) -> tensor<4x!nn.string>
// CHECK-NEXT: [[V6:%.+]], [[V7:%.+]] = nn.string_split [[V5]] {delimiter = ",", max_split = 2} : (tensor<4x!nn.string>) -> (tensor<4x?x!nn.string>, tensor<4xi64>)
// CHECK-NEXT: [[V8:%.+]] = nn.equal [[V0]], [[V5]] : (tensor<4x!nn.string>, tensor<4x!nn.string>) -> tensor<4xi1>
// CHECK-NEXT: func.return [[V6]], [[V7]] : tensor<4x?x!nn.string>, tensor<4xi64>
func.func @text(%x: tensor<4x!nn.string>, %row: tensor<1x4x!nn.string>) -> (tensor<4x?x!nn.string>, tensor<4xi64>) {
  %0 = nn.string_normalizer %x {case_change = "LOWER", is_case_sensitive = true, stopwords = ["Montag", "jeden \"Tag\""]} : (tensor<4x!nn.string>) -> tensor<?x!nn.string>
  %1 = nn.string_normalizer %row : tensor<1x4x!nn.string>
  %2 = nn.string_concat %1, %x : (tensor<1x4x!nn.string>, tensor<4x!nn.string>) -> tensor<1x4x!nn.string>
  %3 = nn.reshape %2 : (tensor<1x4x!nn.string>) -> tensor<4x!nn.string>
  %4, %5 = nn.string_split %3 {delimiter = ",", max_split = 2} : (tensor<4x!nn.string>) -> (tensor<4x?x!nn.string>, tensor<4xi64>)
  %6 = nn.equal %x, %3 : (tensor<4x!nn.string>, tensor<4x!nn.string>) -> tensor<4xi1>
  func.return %4, %5 : tensor<4x?x!nn.string>, tensor<4xi64>
}
