// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

!x = !quant.uniform<i8:f32, 0.5>
!s = !quant.uniform<u8:f32, 0.00390625>
!b = !quant.uniform<i32:f32, 0.25>
func.func @accepted(%x: tensor<1x4x3x!x>, %w: tensor<2x4x1x!x>, %b: tensor<2x!b>, %f: tensor<4xf32>) {
  %0 = nn.swish %x {components = {sigmoid = !s}} : tensor<1x4x3x!x>
  %1 = nn.conv %x, %w, %b {components = {correlation = !s}} : (tensor<1x4x3x!x>, tensor<2x4x1x!x>, tensor<2x!b>) -> tensor<1x2x3x!x>
  %2 = nn.swish %f {components = {sigmoid = !quant.calibrated<f32<0.0:1.0>>}} : tensor<4xf32>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @no_composite(%x: tensor<4x!x>) {
  // expected-error @+1 {{'nn.relu' op 'components' requires a composite, but this operation has no parts}}
  %0 = nn.relu %x {components = {relu = !x}} : tensor<4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @missing(%x: tensor<4x!x>) {
  // expected-error @+1 {{'nn.hard_swish' op components do not define the types of all parts: the part 'sixth' has none}}
  %0 = nn.hard_swish %x {components = {mul = !x}} : tensor<4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @unknown(%x: tensor<4x!x>) {
  // expected-error @+1 {{'nn.swish' op has no part 'tanh' (available: sigmoid, product)}}
  %0 = nn.swish %x {components = {sigmoid = !x, tanh = !x}} : tensor<4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @no_type(%x: tensor<4x!x>) {
  // expected-error @+1 {{'nn.swish' op 'components' must map parts to element types, but got '1 : i64' for 'sigmoid'}}
  %0 = nn.swish %x {components = {sigmoid = 1 : i64}} : tensor<4x!x>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @type_of_a_part(%x: tensor<4x!x>) {
  // expected-error @+1 {{'nn.swish' op part 'sigmoid' operands and result must all be quantized or all be plain, but got result 'tensor<4xf32>'; use quant.qcast or quant.dcast}}
  %0 = nn.swish %x {components = {sigmoid = f32}} : tensor<4x!x>
  func.return
}
