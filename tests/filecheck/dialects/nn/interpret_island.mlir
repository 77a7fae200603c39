// RUN: qmlir run %s

// The determinant of a matrix, for which `nn` has no operation: the bytes are an ONNX model of one Det.
func.func @det() {
  %x = nn.constant dense<[[3.0, 1.0], [4.0, 2.0]]> : tensor<2x2xf32>
  %y = nn.onnx_island %x {model = dense<[8, 10, 58, 57, 10, 13, 10, 1, 120, 18, 1, 121, 34, 3, 68, 101, 116, 58, 0, 18, 6, 105, 115, 108, 97, 110, 100, 90, 19, 10, 1, 120, 18, 14, 10, 12, 8, 1, 18, 8, 10, 2, 8, 2, 10, 2, 8, 2, 98, 11, 10, 1, 121, 18, 6, 10, 4, 8, 1, 18, 0, 66, 4, 10, 0, 16, 21]> : tensor<67xi8>, reason = ""} : (tensor<2x2xf32>) -> tensor<f32>
  %2 = nn.constant dense<2.0> : tensor<f32>
  check.expect_close %y, %2 : tensor<f32>
  func.return
}
