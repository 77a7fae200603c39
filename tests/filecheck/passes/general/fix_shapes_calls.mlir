// RUN: qmlir-opt %s -p 'fix-shapes{shapes="x=3x4"}' | filecheck %s

// A function that is called gets the sizes that it is called with: itself where it is private and called once, as a
// private copy for each call otherwise. Functions that those call follow.
func.func private @once(%x: tensor<?x4xf32> {nn.name = "a"}) -> (tensor<?x4xf32> {nn.name = "b"}) attributes {target.part = "dsp"} {
  %0 = nn.relu %x : tensor<?x4xf32> {origin = "relu"}
  func.return %0 : tensor<?x4xf32>
}
func.func private @several(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = nn.abs %x : tensor<?x4xf32>
  %1 = func.call @inner(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %1 : tensor<?x4xf32>
}
func.func private @inner(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  func.return %x : tensor<?x4xf32>
}
func.func @main(%x: tensor<?x4xf32> {nn.name = "x"}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = func.call @once(%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = func.call @several(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = nn.concat %0, %1 {axis = 0} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = func.call @several(%2) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  func.return %0, %3 : tensor<?x4xf32>, tensor<?x4xf32>
}

// CHECK-LABEL: @once(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xf32> {nn.name = "a"}) -> (tensor<3x4xf32> {nn.name = "b"}) attributes {target.part = "dsp"}
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<3x4xf32> {origin = "relu"}
// CHECK-NEXT: func.return [[V1]] : tensor<3x4xf32>
// CHECK-LABEL: @several_1(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]] : tensor<3x4xf32>
// CHECK-NEXT: [[V2:%.+]] = func.call @inner_1([[V1]]) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<3x4xf32>
// CHECK-LABEL: @several(
// CHECK-SAME: [[V0:%.+]]: tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.abs [[V0]] : tensor<6x4xf32>
// CHECK-NEXT: [[V2:%.+]] = func.call @inner([[V1]]) : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<6x4xf32>
// CHECK-LABEL: @inner_1(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<3x4xf32>
// CHECK-LABEL: @inner(
// CHECK-SAME: [[V0:%.+]]: tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: func.return [[V0]] : tensor<6x4xf32>
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<3x4xf32> {nn.name = "x"}) -> (tensor<3x4xf32>, tensor<6x4xf32>)
// CHECK-NEXT: [[V1:%.+]] = func.call @once([[V0]]) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: [[V2:%.+]] = func.call @several_1([[V1]]) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.concat [[V1]], [[V2]] {axis = 0} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: [[V4:%.+]] = func.call @several([[V3]]) : (tensor<6x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: func.return [[V1]], [[V4]] : tensor<3x4xf32>, tensor<6x4xf32>
