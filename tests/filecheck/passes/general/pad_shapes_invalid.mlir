// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'pad-shapes{sizes="s=4"}'

// expected-error @+1 {{'func.func' op has no dynamic dimension 's' (available: t)}}
func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["t"]}) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op requires a maximum size >= 1 for the dynamic dimension 'n'}}
func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["s", "n"]}) {
  func.return
}
// -----
func.func @main(%x: tensor<2x?xf32> {nn.name = "x", nn.dims = ["", "s"]}) -> tensor<2x2xf32> {
  %0 = nn.transpose %x {permutation = [1, 0]} : (tensor<2x?xf32>) -> tensor<?x2xf32>
  // expected-error @+1 {{'nn.matmul' op (scores) sums floats along a dynamic dimension, s, which may change the order of the sum}}
  %1 = nn.matmul %x, %0 : (tensor<2x?xf32>, tensor<?x2xf32>) -> tensor<2x2xf32> {origin = "scores"}
  func.return %1 : tensor<2x2xf32>
}
// -----
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<?x2xf32> {
  // expected-error @+1 {{'nn.slice' op slices [-2:2147483647:1] of a dimension of size s, so the result depends on the runtime size}}
  %0 = nn.slice %x {starts = [-2], ends = [2147483647]} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %0 : tensor<?x2xf32>
}
// -----
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<2x2xf32> {
  %0 = nn.constant dense<[0, -1]> : tensor<2xi64>
  // expected-error @+1 {{'nn.gather' op slices a dimension of size s at unknown positions}}
  %1 = nn.gather %x, %0 : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}
// -----
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}, %y: tensor<3x4xf32>) -> tensor<?x8xf32> {
  %1 = nn.concat %x, %x {axis = 1} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{'nn.concat' op combines sizes s and 3, which may differ}}
  %2 = nn.concat %1, %y {axis = 1} : (tensor<?x4xf32>, tensor<3x4xf32>) -> tensor<?x8xf32>
  func.return %2 : tensor<?x8xf32>
}
// -----
func.func @main(%x: tensor<?x6xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<4x?xf32> {
  // expected-error @+1 {{'nn.reshape' op joins or splits dynamic axes, which would put padding between elements: [s, 6] to [4, -1]}}
  %0 = nn.reshape %x : (tensor<?x6xf32>) -> tensor<4x?xf32>
  func.return %0 : tensor<4x?xf32>
}
// -----
func.func @main(%x: tensor<?x0x6xf32> {nn.name = "x", nn.dims = ["s", "", ""]}) -> tensor<?x3x2xf32> {
  // expected-error @+1 {{'nn.reshape' op joins or splits dynamic axes, which would put padding between elements: [s, 0, 6] to [-1, 3, 2]}}
  %0 = nn.reshape %x : (tensor<?x0x6xf32>) -> tensor<?x3x2xf32>
  func.return %0 : tensor<?x3x2xf32>
}
// -----
func.func @main(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["s", "s"]}, %y: tensor<4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.add' op combines sizes s and 4, which may differ}}
  %0 = nn.add %x, %y : (tensor<?x?xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  func.return %0 : tensor<?x4xf32>
}
// -----
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<?x2xf32> {
  %0 = nn.constant dense<0> : tensor<i64>
  // expected-error @+1 {{'nn.cum_sum' op has no padding rule for a dynamic dimension}}
  %1 = nn.cum_sum %x, %0 {reverse = true} : (tensor<?x2xf32>, tensor<i64>) -> tensor<?x2xf32>
  func.return %1 : tensor<?x2xf32>
}
// -----
func.func @main(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["s", ""]}) -> tensor<2x?xi64> {
  // expected-error @+1 {{'nn.non_zero' op has no padding rule for a dynamic dimension}}
  %0 = nn.non_zero %x : (tensor<?x2xf32>) -> tensor<2x?xi64>
  func.return %0 : tensor<2x?xi64>
}
// -----
// A sum of integers needs a 0, which this type does not store.
func.func @main(%x: tensor<?x!quant.uniform<i8<-127:127>:f32, 0.5:-128>> {nn.name = "x", nn.dims = ["s"]}) -> tensor<!quant.uniform<i8:f32, 0.5>> {
  // expected-error @+1 {{'nn.reduce_sum' op would read padding of tensor<?x!quant.uniform<i8<-127:127>:f32, 5.000000e-01:-128>>, which has no neutral element}}
  %0 = nn.reduce_sum %x {axes = [0], keep_dims = false} : (tensor<?x!quant.uniform<i8<-127:127>:f32, 0.5:-128>>) -> tensor<!quant.uniform<i8:f32, 0.5>>
  func.return %0 : tensor<!quant.uniform<i8:f32, 0.5>>
}
// -----
// As an index it would be another element where the size is padded.
func.func @main(%x: tensor<?xi64> {nn.name = "x", nn.dims = ["s"]}) -> tensor<?xi64> {
  %0 = nn.constant dense<0> : tensor<i64>
  %1 = nn.constant dense<1> : tensor<i64>
  %2 = nn.size %x : (tensor<?xi64>) -> tensor<i64>
  %3 = nn.range %0, %2, %1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %4 = nn.mul %3, %2 : (tensor<?xi64>, tensor<i64>) -> tensor<?xi64>
  // expected-error @+1 {{'nn.sub' op uses indices multiplied by s, which change if that dimension is padded}}
  %5 = nn.sub %x, %4 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  func.return %5 : tensor<?xi64>
}
// -----
func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["s"]}, %c: i1 {nn.name = "c"}) -> tensor<?xf32> {
  // expected-error @+1 {{'scf.if' op is a branch or a loop, which cannot be padded; fix its shapes (fix-shapes)}}
  %0 = scf.if %c -> (tensor<?xf32>) {
    %1 = nn.exp %x : tensor<?xf32>
    scf.yield %1 : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  func.return %0 : tensor<?xf32>
}
// -----
// A mean of f16 is divided in f32.
func.func @main(%x: tensor<1x2x?xf16> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x?xf16> {
  // expected-error @+1 {{'nn.average_pool' op is a mean of f16 along a dynamic dimension, whose rounding depends on the runtime size}}
  %0 = nn.average_pool %x {kernel = [3], pads = [1, 1]} : tensor<1x2x?xf16>
  func.return %0 : tensor<1x2x?xf16>
}
// -----
func.func @main(%x: tensor<1x2x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x?xi64> {
  // expected-error @+1 {{'nn.max_pool_with_indices' op returns flat indices, which change if a dimension is padded}}
  %0, %1 = nn.max_pool_with_indices %x {kernel = [3]} : (tensor<1x2x?xf32>) -> (tensor<1x2x?xf32>, tensor<1x2x?xi64>)
  func.return %1 : tensor<1x2x?xi64>
}
// -----
func.func @main(%x: tensor<1x2x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x?xf32> {
  // expected-error @+1 {{'nn.resize' op samples a dimension of size s at coordinates (align_corners) that depend on the runtime size}}
  %0 = nn.resize %x {scales = [1.0, 1.0, 2.0], mode = "linear", coordinate_transformation_mode = "align_corners"} : tensor<1x2x?xf32>
  func.return %0 : tensor<1x2x?xf32>
}
// -----
func.func @main(%x: tensor<1x1x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x1x?xf32> {
  %0 = nn.constant dense<[1, 1, 0]> : tensor<3xi64>
  %1 = nn.tile %x, %0 : (tensor<1x1x?xf32>, tensor<3xi64>) -> tensor<1x1x?xf32>
  %2 = nn.shape %1 : (tensor<1x1x?xf32>) -> tensor<3xi64>
  // expected-error @+1 {{'nn.resize' op resizes a dimension of size 0*s, which has no elements}}
  %3 = nn.resize %1, _, _, %2 : (tensor<1x1x?xf32>, tensor<3xi64>) -> tensor<1x1x?xf32>
  func.return %3 : tensor<1x1x?xf32>
}
// -----
func.func @main(%x: tensor<1x2x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x7xf32> {
  // expected-error @+1 {{'nn.resize' op resizes a dimension from s to 7, a scale that depends on the runtime size}}
  %0 = nn.resize %x {sizes = [1, 2, 7]} : (tensor<1x2x?xf32>) -> tensor<1x2x7xf32>
  func.return %0 : tensor<1x2x7xf32>
}
// -----
func.func @main(%x: tensor<1x?x4xf32> {nn.name = "x", nn.dims = ["", "s", ""]}, %w: tensor<2x?x3xf32> {nn.name = "w", nn.dims = ["", "s", ""]}) -> tensor<1x2x2xf32> {
  // expected-error @+1 {{'nn.conv' op has s channels or weights, but only spatial axes and the batch can be padded}}
  %0 = nn.conv %x, %w : (tensor<1x?x4xf32>, tensor<2x?x3xf32>) -> tensor<1x2x2xf32>
  func.return %0 : tensor<1x2x2xf32>
}
// -----
func.func @main(%x: tensor<1x2x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x?xf32> {
  // expected-error @+1 {{'nn.pad' op pads a dimension of size s, so the added elements depend on the runtime size}}
  %0 = nn.pad %x {pads = [0, 0, 0, 0, 0, 1], mode = "edge"} : tensor<1x2x?xf32>
  func.return %0 : tensor<1x2x?xf32>
}
// -----
// Rounded by another arithmetic than f32.
func.func @main(%x: tensor<1x2x?x!quant.uniform<i8:f32, 0.5>> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x2x1x!quant.uniform<i8:f32, 0.5>> {
  // expected-error @+1 {{'nn.global_average_pool' op is a mean of !quant.uniform<i8:f32, 5.000000e-01> along a dynamic dimension, whose rounding depends on the runtime size}}
  %0 = nn.global_average_pool %x {requantize = #kernel.requantize<single_round>} : (tensor<1x2x?x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x2x1x!quant.uniform<i8:f32, 0.5>>
  func.return %0 : tensor<1x2x1x!quant.uniform<i8:f32, 0.5>>
}
// -----
// A third of 4, and three times that, is no 4.
// expected-error @+1 {{'func.func' op does not accept these sizes: 'nn.add' op requires ((s + 2) // 3)*3 = s, but got 6 and 4 for s = 4}}
func.func @main(%x: tensor<1x1x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x1x?xf32> {
  %0 = nn.max_pool %x {kernel = [1], strides = [3]} : tensor<1x1x?xf32>
  %1 = nn.resize %0 {scales = [1.0, 1.0, 3.0]} : tensor<1x1x?xf32>
  %2 = nn.add %1, %x : tensor<1x1x?xf32>
  func.return %2 : tensor<1x1x?xf32>
}
// -----
// expected-error @+1 {{'func.func' op does not accept these sizes: 'nn.conv' op requires (s - 5) >= 1, but got -1 and 1 for s = 4}}
func.func @main(%x: tensor<1x1x?xf32> {nn.name = "x", nn.dims = ["", "", "s"]}) -> tensor<1x1x?xf32> {
  %0 = nn.constant dense<1.0> : tensor<1x1x6xf32>
  %1 = nn.conv %x, %0 : (tensor<1x1x?xf32>, tensor<1x1x6xf32>) -> tensor<1x1x?xf32>
  func.return %1 : tensor<1x1x?xf32>
}
