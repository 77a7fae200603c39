// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @mode(%x: tensor<2xf32>) {
  // expected-error @+1 {{mode must be one of nearest, linear, cubic, but got 'bilinear'}}
  %0 = nn.resize %x {sizes = [4], mode = "bilinear"} : (tensor<2xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @coordinates(%x: tensor<2xf32>) {
  // expected-error @+1 {{coordinate_transformation_mode must be one of}}
  %0 = nn.resize %x {sizes = [4], coordinate_transformation_mode = "pixel"} : (tensor<2xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @nothing(%x: tensor<2xf32>) {
  // expected-error @+1 {{expected either scales or sizes, but got none}}
  %0 = nn.resize %x : tensor<2xf32>
  func.return
}
// -----
func.func @both(%x: tensor<2xf32>, %s: tensor<1xf32>) {
  // expected-error @+1 {{expected either scales or sizes, but got scales and sizes}}
  %0 = nn.resize %x, _, %s {sizes = [4]} : (tensor<2xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return
}
// -----
func.func @sizes_count(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{sizes must have one value for each of the axes [0, 1], but got [4]}}
  %0 = nn.resize %x {sizes = [4]} : (tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return
}
// -----
func.func @negative_size(%x: tensor<2xf32>) {
  // expected-error @+1 {{sizes must be finite and greater than -1, but got [-2]}}
  %0 = nn.resize %x {sizes = [-2]} : (tensor<2xf32>) -> tensor<?xf32>
  func.return
}
// -----
func.func @no_scale(%x: tensor<2xf32>) {
  // expected-error @+1 {{scales must be finite and greater than 0, but got [0.0]}}
  %0 = nn.resize %x {scales = [0.0]} : (tensor<2xf32>) -> tensor<0xf32>
  func.return
}
// -----
func.func @from_nothing(%x: tensor<0xf32>) {
  // expected-error @+1 {{cannot resize empty axis 0 to 2 elements}}
  %0 = nn.resize %x {sizes = [2]} : (tensor<0xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @no_roi(%x: tensor<2xf32>) {
  // expected-error @+1 {{tf_crop_and_resize requires roi}}
  %0 = nn.resize %x {sizes = [2], coordinate_transformation_mode = "tf_crop_and_resize"} : tensor<2xf32>
  func.return
}
// -----
func.func @roi_count(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{roi must have 2 values, but got [0.0, 1.0, 0.5]}}
  %0 = nn.resize %x {sizes = [2], axes = [0], roi = [0.0, 1.0, 0.5]} : tensor<2x2xf32>
  func.return
}
// -----
func.func @scales_type(%x: tensor<2xf32>, %s: tensor<1xf64>) {
  // expected-error @+1 {{'scales_value' must be a 1-D tensor of 1 f32 elements, but got 'tensor<1xf64>'}}
  %0 = nn.resize %x, _, %s : (tensor<2xf32>, tensor<1xf64>) -> tensor<?xf32>
  func.return
}
// -----
func.func @axis_twice(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{axes must be unique, but got [1, -1]}}
  %0 = nn.resize %x {sizes = [2, 2], axes = [1, -1]} : tensor<2x2xf32>
  func.return
}
// -----
func.func @between_booleans(%x: tensor<2xi1>) {
  // expected-error @+1 {{mode 'linear' requires numbers, but got 'tensor<2xi1>'}}
  %0 = nn.resize %x {sizes = [2], mode = "linear"} : tensor<2xi1>
  func.return
}
// -----
func.func @resized_parameters(%x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) {
  // expected-error @+1 {{axis 0, which has per-axis parameters, must be kept ('!quant.uniform<i8:f32:0, {1.000000e-01, 2.000000e-01}>')}}
  %0 = nn.resize %x {sizes = [4]} : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>
  func.return
}
