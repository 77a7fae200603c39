// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @kernel_rank(%x: tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{kernel must have one size per spatial axis of 'tensor<1x1x4x4xf32>', but got 1}}
  %0 = nn.max_pool %x {kernel = [2]} : tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @indices_type(%x: tensor<1x1x4xf32>) {
  // expected-error @+1 {{expected a result with elements of type 'i64', but got 'i32'}}
  %0, %1 = nn.max_pool_with_indices %x {kernel = [2]} : (tensor<1x1x4xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x3xi32>)
  func.return
}
// -----
func.func @indices_shape(%x: tensor<1x1x4xf32>) {
  // expected-error @+1 {{expected a result with the shape of 'tensor<1x1x3xi64>', but got 'tensor<1x1x4xi64>'}}
  %0, %1 = nn.max_pool_with_indices %x {kernel = [2]} : (tensor<1x1x4xf32>) -> (tensor<1x1x3xf32>, tensor<1x1x4xi64>)
  func.return
}
// -----
func.func @average_of_integers(%x: tensor<1x1x4xi8>) {
  // expected-error @+1 {{its elements may be float, quantized}}
  %0 = nn.average_pool %x {kernel = [2]} : (tensor<1x1x4xi8>) -> tensor<1x1x3xi8>
  func.return
}
// -----
func.func @norm(%x: tensor<1x1x4xf32>) {
  // expected-error @+1 {{p must be >= 1, but got 0}}
  %0 = nn.lp_pool %x {kernel = [1], p = 0} : tensor<1x1x4xf32>
  func.return
}
// -----
func.func @global_norm(%x: tensor<1x1x4xf32>) {
  // expected-error @+1 {{p must be >= 1, but got -2}}
  %0 = nn.global_lp_pool %x {p = -2} : (tensor<1x1x4xf32>) -> tensor<1x1x1xf32>
  func.return
}
// -----
func.func @no_spatial_axes(%x: tensor<1x4xf32>) {
  // expected-error @+1 {{expected data of rank >= 3 (N, C, spatial...), but got 'tensor<1x4xf32>'}}
  %0 = nn.global_max_pool %x : tensor<1x4xf32>
  func.return
}
// -----
func.func @rescale(%x: tensor<1x1x4x!quant.uniform<i8:f32, 0.5>>) {
  // expected-error @+1 {{cannot requantize the elements it moves: expected result elements of type '!quant.uniform<i8:f32, 5.000000e-01>'}}
  %0 = nn.global_max_pool %x : (tensor<1x1x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x1x1x!quant.uniform<i8:f32, 0.25>>
  func.return
}
