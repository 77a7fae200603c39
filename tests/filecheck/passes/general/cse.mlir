// RUN: qmlir-opt %s -p cse | filecheck %s
// RUN: qmlir-opt %s -p 'cse{keep_places}' | filecheck %s --check-prefix=PLACES

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

// Equal constants of floats may become different where they are trained: those of one place stay one. What is moved of
// one constant is one, and integers are no weights.
func.func @constants(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<2xi64>, tensor<2xi64>) {
  %0 = nn.constant dense<0.0> : tensor<2xf32> {origin = "a"}
  %1 = nn.constant dense<0.0> : tensor<2xf32> {origin = "b"}
  %2 = nn.constant dense<0.0> : tensor<2xf32> {origin = "a"}
  %3 = nn.reshape %0 : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "c"}
  %4 = nn.reshape %2 : (tensor<2xf32>) -> tensor<1x2xf32> {origin = "d"}
  %5 = nn.constant dense<0> : tensor<2xi64> {origin = "e"}
  %6 = nn.constant dense<0> : tensor<2xi64> {origin = "f"}
  func.return %0, %1, %2, %3, %4, %5, %6 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<2xi64>, tensor<2xi64>
}

// Scalars, such as the condition of a loop, have no element type.
func.func @scalars() -> (i1, i1, f32, f32) {
  %0 = arith.constant true
  %1 = arith.constant true
  %2 = arith.constant {origin = "a"} 1.0 : f32
  %3 = arith.constant {origin = "b"} 1.0 : f32
  func.return %0, %1, %2, %3 : i1, i1, f32, f32
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
// CHECK-LABEL: @constants(
// CHECK: [[V1:%.+]] = nn.constant dense<0.000000e+00> : tensor<2xf32> {origin = ["a", "b"]}
// CHECK-NEXT: [[V2:%.+]] = nn.reshape [[V1]] : (tensor<2xf32>) -> tensor<1x2xf32> {origin = ["c", "d"]}
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<0> : tensor<2xi64> {origin = ["e", "f"]}
// CHECK-NEXT: func.return [[V1]], [[V1]], [[V1]], [[V2]], [[V2]], [[V3]], [[V3]] :
// CHECK-LABEL: @scalars(
// CHECK-NEXT: [[V1:%.+]] = arith.constant true
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = ["a", "b"]} 1.000000e+00 : f32
// CHECK-NEXT: func.return [[V1]], [[V1]], [[V2]], [[V2]] :

// PLACES: {origin = ["relu1", "relu2"]}
// PLACES-LABEL: @constants(
// PLACES: [[V1:%.+]] = nn.constant dense<0.000000e+00> : tensor<2xf32> {origin = "a"}
// PLACES-NEXT: [[V2:%.+]] = nn.constant dense<0.000000e+00> : tensor<2xf32> {origin = "b"}
// PLACES-NEXT: [[V3:%.+]] = nn.reshape [[V1]] : (tensor<2xf32>) -> tensor<1x2xf32> {origin = ["c", "d"]}
// PLACES-NEXT: [[V4:%.+]] = nn.constant dense<0> : tensor<2xi64> {origin = ["e", "f"]}
// PLACES-NEXT: func.return [[V1]], [[V2]], [[V1]], [[V3]], [[V3]], [[V4]], [[V4]] :
// PLACES-LABEL: @scalars(
// PLACES-NEXT: [[V1:%.+]] = arith.constant true
// PLACES-NEXT: [[V2:%.+]] = arith.constant {origin = "a"} 1.000000e+00 : f32
// PLACES-NEXT: [[V3:%.+]] = arith.constant {origin = "b"} 1.000000e+00 : f32
// PLACES-NEXT: func.return [[V1]], [[V1]], [[V2]], [[V3]] :
