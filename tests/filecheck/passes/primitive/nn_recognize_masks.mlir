// RUN: qmlir-opt %s -p nn-recognize-masks,canonicalize,cse,dce | filecheck %s
// RUN: qmlir-opt %s -p nn-recognize-masks,canonicalize,cse,dce,nn-recognize-masks,canonicalize,cse,dce | filecheck %s

// A sum with 0 and the lowest number: what selects it is the mask; a row that it masks as a whole stays uniform.
// CHECK-LABEL: @additive(
// CHECK-SAME: [[S:%.+]]: tensor<2x4xf32>, [[K:%.+]]: tensor<4xi1>)
// CHECK-NEXT: [[P:%.+]] = nn.softmax [[S]], [[K]] {empty_rows = "uniform"} : (tensor<2x4xf32>, tensor<4xi1>) -> tensor<2x4xf32> {origin = "p"}
// CHECK-NEXT: func.return [[P]]
func.func @additive(%s: tensor<2x4xf32>, %keep: tensor<4xi1>) -> tensor<2x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-3.40282347e+38> : tensor<f32>
  %m = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %0 = nn.add %s, %m : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> {origin = "masked"}
  %1 = nn.softmax %0 : tensor<2x4xf32> {origin = "p"}
  func.return %1 : tensor<2x4xf32>
}

// Scores or minus infinity: of a row that is masked as a whole comes 0, whose guard goes.
// CHECK-LABEL: @chosen(
// CHECK-SAME: [[S:%.+]]: tensor<2x4xf32>, [[D:%.+]]: tensor<2x4xi1>)
// CHECK-NEXT: [[K:%.+]] = nn.not [[D]] : tensor<2x4xi1> {origin = "p", role = "mask"}
// CHECK-NEXT: [[P:%.+]] = nn.softmax [[S]], [[K]] : (tensor<2x4xf32>, tensor<2x4xi1>) -> tensor<2x4xf32> {origin = "p"}
// CHECK-NEXT: func.return [[P]]
func.func @chosen(%s: tensor<2x4xf32>, %drop: tensor<2x4xi1>) -> tensor<2x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.where %drop, %never, %s : (tensor<2x4xi1>, tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.softmax %0 : tensor<2x4xf32> {origin = "p"}
  %2 = nn.is_nan %1 : (tensor<2x4xf32>) -> tensor<2x4xi1>
  %3 = nn.where %2, %zero, %1 : (tensor<2x4xi1>, tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %3 : tensor<2x4xf32>
}

// `(1 - m) * -10000` of a Boolean, moved between; and a triangle.
// CHECK-LABEL: @computed(
// CHECK-SAME: [[S:%.+]]: tensor<1x2x2xf32>, [[B:%.+]]: tensor<1x2xi1>)
// CHECK-NEXT: [[M:%.+]] = nn.reshape [[B]] : (tensor<1x2xi1>) -> tensor<1x1x2xi1> {origin = "p", role = "mask"}
// CHECK-NEXT: [[T:%.+]] = nn.constant dense<{{\[\[}}true, false], [true, true{{\]\]}}> : tensor<2x2xi1> {origin = "p", role = "mask"}
// CHECK-NEXT: [[K:%.+]] = nn.and [[M]], [[T]] : (tensor<1x1x2xi1>, tensor<2x2xi1>) -> tensor<1x2x2xi1> {origin = "p", role = "mask"}
// CHECK-NEXT: nn.softmax [[S]], [[K]] {empty_rows = "uniform"}
func.func @computed(%s: tensor<1x2x2xf32>, %b: tensor<1x2xi1>) -> tensor<1x2x2xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %fill = nn.constant dense<-10000.0> : tensor<f32>
  %above = nn.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %0 = nn.cast %b : (tensor<1x2xi1>) -> tensor<1x2xf32>
  %1 = nn.unsqueeze %0 {axes = [1]} : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %2 = nn.sub %one, %1 : (tensor<f32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %3 = nn.mul %2, %fill : (tensor<1x1x2xf32>, tensor<f32>) -> tensor<1x1x2xf32>
  %4 = nn.add %3, %above : (tensor<1x1x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2xf32>
  %5 = nn.add %s, %4 : tensor<1x2x2xf32>
  %6 = nn.softmax %5 : tensor<1x2x2xf32> {origin = "p"}
  func.return %6 : tensor<1x2x2xf32>
}

// By their ranges: scores that differ by 8 are masked by -40.
// CHECK-LABEL: @by_range(
// CHECK-NEXT: nn.softmax %{{.+}}, %{{.+}} {empty_rows = "uniform"} : (tensor<4x!q0>, tensor<4xi1>) -> tensor<4x!q1>
func.func @by_range(%s: tensor<4x!quant.calibrated<f32<-4.0:4.0>>>, %keep: tensor<4xi1>) -> tensor<4x!quant.calibrated<f32<0.0:1.0>>> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-40.0> : tensor<f32>
  %m = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %0 = nn.add %s, %m : (tensor<4x!quant.calibrated<f32<-4.0:4.0>>>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.softmax %0 : (tensor<4xf32>) -> tensor<4x!quant.calibrated<f32<0.0:1.0>>>
  func.return %1 : tensor<4x!quant.calibrated<f32<0.0:1.0>>>
}

// Not certain without a range, and what is no mask.
// CHECK-LABEL: @numbers(
// CHECK-NOT: -> tensor<4xf32>, tensor<4xi1>
// CHECK-COUNT-2: nn.softmax %{{[^,]+}} : tensor<4xf32>
// CHECK-NEXT: func.return
func.func @numbers(%s: tensor<4xf32>, %keep: tensor<4xi1>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %fill = nn.constant dense<-40.0> : tensor<f32>
  %low = nn.constant dense<-1.0e+09> : tensor<f32>
  %m = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %0 = nn.add %s, %m : tensor<4xf32>
  %c = nn.cast %i : (tensor<4xi64>) -> tensor<4xf32>
  %d = nn.sub %one, %c : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %e = nn.mul %d, %low : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.add %s, %e : tensor<4xf32>
  %3 = nn.softmax %0 : tensor<4xf32>
  %4 = nn.softmax %2 : tensor<4xf32>
  func.return %3, %4 : tensor<4xf32>, tensor<4xf32>
}
