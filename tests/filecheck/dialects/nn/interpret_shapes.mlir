// RUN: qmlir run %s

// The limit itself is never reached; a step away from it gives nothing.
func.func @ranges() {
  %0 = nn.constant dense<10> : tensor<i16>
  %1 = nn.constant dense<4> : tensor<i16>
  %2 = nn.constant dense<-3> : tensor<i16>
  %3 = nn.range %0, %1, %2 : (tensor<i16>, tensor<i16>, tensor<i16>) -> tensor<2xi16>
  %a = nn.constant dense<[10, 7]> : tensor<2xi16>
  check.expect_eq %3, %a : tensor<2xi16>
  %4 = nn.range %1, %0, %2 : (tensor<i16>, tensor<i16>, tensor<i16>) -> tensor<?xi16>
  %5 = nn.size %4 : (tensor<?xi16>) -> tensor<i64>
  %zero = nn.constant dense<0> : tensor<i64>
  check.expect_eq %5, %zero : tensor<i64>
  %6 = nn.constant dense<1.0> : tensor<f32>
  %7 = nn.constant dense<2.0> : tensor<f32>
  %8 = nn.constant dense<0.25> : tensor<f32>
  %9 = nn.range %6, %7, %8 : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  %b = nn.constant dense<[1.0, 1.25, 1.5, 1.75]> : tensor<4xf32>
  check.expect_eq %9, %b : tensor<4xf32>
  func.return
}
