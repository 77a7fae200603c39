// RUN: qmlir-opt %s -p cse | filecheck %s

// Two nodes that compute the same become one operation that stands for both.
func.func @merge(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "relu1"}
  %1 = nn.relu %x : tensor<2xf32> {origin = "relu2"}
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// Other properties make another operation.
func.func @different(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.leaky_relu %x {alpha = 0.5} : tensor<2xf32>
  %1 = nn.leaky_relu %x {alpha = 0.25} : tensor<2xf32>
  %2 = nn.add %0, %1 : tensor<2xf32>
  func.return %2 : tensor<2xf32>
}

// What has an effect stays.
func.func @effects(%x: tensor<2xf32>) {
  %0 = calib.observe %x "x" : tensor<2xf32>
  %1 = calib.observe %x "x" : tensor<2xf32>
  func.return
}

// CHECK-LABEL: @merge(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.relu [[V0]] : tensor<2xf32> {origin = ["relu1", "relu2"]}
// CHECK-NEXT: [[V2:%.+]] = nn.add [[V1]], [[V1]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<2xf32>
// CHECK-LABEL: @different(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = nn.leaky_relu [[V0]] {alpha = 0.5} : tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = nn.leaky_relu [[V0]] {alpha = 0.25} : tensor<2xf32>
// CHECK-NEXT: [[V3:%.+]] = nn.add [[V1]], [[V2]] : tensor<2xf32>
// CHECK-NEXT: func.return [[V3]] : tensor<2xf32>
// CHECK-LABEL: @effects(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>)
// CHECK-NEXT: [[V1:%.+]] = calib.observe [[V0]] "x" : tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = calib.observe [[V0]] "x" : tensor<2xf32>
// CHECK-NEXT: func.return
