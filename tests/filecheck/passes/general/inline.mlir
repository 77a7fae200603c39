// RUN: qmlir-opt %s -p inline | filecheck %s
// RUN: qmlir-opt %s -p inline --verify-diagnostics -o %t.out

func.func private @act(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu"}
  func.return %0 : tensor<2xf32>
}
func.func private @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @act(%x) {origin = "inner"} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @loop(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-remark @+1 {{is not inlined: function '@loop' is recursive}}
  %0 = func.call @loop(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func private @outside(tensor<2xf32>) -> tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = func.call @twice(%x) {origin = "block1"} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-remark @+1 {{is not inlined: function '@loop' is recursive}}
  %1 = func.call @loop(%0) : (tensor<2xf32>) -> tensor<2xf32>
  // expected-remark @+1 {{is not inlined: function '@outside' has no body}}
  %2 = func.call @outside(%1) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// CHECK-LABEL: @act(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = "relu"}
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32>
// CHECK-LABEL: @twice(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = ["relu", "inner"]}
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32>
// CHECK-LABEL: @loop(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = func.call @loop([[V0]]) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<2xf32>
// CHECK-LABEL: @outside(
// CHECK-SAME: tensor<2xf32>) -> tensor<2xf32>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = ["relu", "inner", "block1"]}
// CHECK-NEXT: [[V2:%.+]] = func.call @loop([[V1]]) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = func.call @outside([[V2]]) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2xf32>
