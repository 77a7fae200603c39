// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @squeeze_open(%x: tensor<?x1xf32>) {
  // expected-error @+1 {{axes must be given, because 'tensor<?x1xf32>' has dynamic dimensions}}
  %0 = nn.squeeze %x : (tensor<?x1xf32>) -> tensor<?xf32>
  func.return
}
// -----
func.func @squeeze_count(%x: tensor<1x1xf32>, %a: tensor<?xi64>) {
  // expected-error @+1 {{the number of axes must be static}}
  %0 = nn.squeeze %x, %a : (tensor<1x1xf32>, tensor<?xi64>) -> tensor<f32>
  func.return
}
// -----
func.func @split_sum(%x: tensor<5xf32>) {
  // expected-error @+1 {{sizes [2, 2] must add up to 5, the size of the split axis}}
  %0, %1 = nn.split %x {split = [2, 2]} : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  func.return
}
// -----
func.func @split_count(%x: tensor<5xf32>) {
  // expected-error @+1 {{expected one size for each of 2 results, but got 3 sizes}}
  %0, %1 = nn.split %x {split = [1, 2, 2]} : (tensor<5xf32>) -> (tensor<1xf32>, tensor<2xf32>)
  func.return
}
// -----
func.func @split_too_few(%x: tensor<2xf32>) {
  // expected-error @+1 {{sizes [1, 1, 1, -1] must add up to 2, the size of the split axis}}
  %0, %1, %2, %3 = nn.split %x : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
  func.return
}
// -----
func.func @split_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0, %1 = nn.split %x : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> (tensor<1x!quant.uniform<i8:f32, 0.1>>, tensor<1x!quant.uniform<i8:f32, 0.1>>)
  func.return
}
// -----
func.func @blocks_channels(%x: tensor<1x6x2x2xf32>) {
  // expected-error @+1 {{block size 4 must divide 6}}
  %0 = nn.depth_to_space %x {block_size = 2} : (tensor<1x6x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @blocks_mode(%x: tensor<1x4x2x2xf32>) {
  // expected-error @+1 {{mode must be one of DCR, CRD, but got 'RDC'}}
  %0 = nn.depth_to_space %x {block_size = 2, mode = "RDC"} : (tensor<1x4x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return
}
// -----
func.func @blocks_rank(%x: tensor<4x2x2xf32>) {
  // expected-error @+1 {{expected an input of shape [N, C, H, W] and a block size >= 1, but got [4, 2, 2] and 2}}
  %0 = nn.space_to_depth %x {block_size = 2} : (tensor<4x2x2xf32>) -> tensor<16x1x1xf32>
  func.return
}
// -----
func.func @reversed_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.slice %x {starts = [-1], ends = [-3], steps = [-1]} : tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
  func.return
}
