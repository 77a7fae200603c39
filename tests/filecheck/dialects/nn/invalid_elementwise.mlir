// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @float_only(%x: tensor<2xi32>) {
  // expected-error @+1 {{does not support operand type 'tensor<2xi32>'; its elements may be float, quantized}}
  %0 = nn.sin %x : tensor<2xi32>
  func.return
}
// -----
func.func @remainder_of_quantized(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>) {
  // expected-error @+1 {{does not support operand type 'tensor<2x!quant.uniform<i8:f32, 1.000000e-01>>'; its elements may be float, integer}}
  %0 = nn.mod %x, %x : tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @bit_cast_width(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot reinterpret 'f32' as 'i16': the types have different bit widths}}
  %0 = nn.bit_cast %x : (tensor<2xf32>) -> tensor<2xi16>
  func.return
}
// -----
func.func @bit_cast_to_nothing(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot reinterpret 'f32' as 'index': the types have different bit widths}}
  %0 = nn.bit_cast %x : (tensor<2xf32>) -> tensor<2xindex>
  func.return
}
// -----
func.func @cast_to_nothing(%x: tensor<2xf32>) {
  // expected-error @+1 {{cannot cast to 'index'}}
  %0 = nn.cast %x : (tensor<2xf32>) -> tensor<2xindex>
  func.return
}
// -----
func.func @condition(%c: tensor<2xi8>, %x: tensor<2xf32>) {
  // expected-error @+1 {{condition must have elements of type i1, but got 'tensor<2xi8>'}}
  %0 = nn.where %c, %x, %x : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
// -----
func.func @computes(%x: tensor<4xf8E4M3FN>) {
  // expected-error @+1 {{does not support operand type 'tensor<4xf8E4M3FN>'; its elements may be float, integer, quantized}}
  %0 = nn.add %x, %x : tensor<4xf8E4M3FN>
  func.return
}
// -----
func.func @computes_on_stored(%x: tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>) {
  // expected-error @+1 {{does not support operand type 'tensor<4x!quant.uniform<f8E4M3FN:f32, 5.000000e-01>>'; its elements may be float, integer, quantized}}
  %0 = nn.relu %x : tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>
  func.return
}
// -----
func.func @casts_stored(%x: tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>) {
  // expected-error @+1 {{cannot cast from '!quant.uniform<f8E4M3FN:f32, 5.000000e-01>'; use quant.dcast}}
  %0 = nn.cast %x : (tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>) -> tensor<4xf32>
  func.return
}
// -----
func.func @casts_to_stored(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot cast to '!quant.uniform<f8E4M3FN:f32, 5.000000e-01>'}}
  %0 = nn.cast %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>
  func.return
}
// -----
func.func @saturates(%x: tensor<4xf32>) {
  // expected-error @+1 {{'saturate' requires a float result of at most 8 bits, but got 'i8'}}
  %0 = nn.cast %x {saturate = false} : (tensor<4xf32>) -> tensor<4xi8>
  func.return
}
// -----
func.func @rounds(%x: tensor<4xf32>) {
  // expected-error @+1 {{'round_mode' requires a result of type f8E8M0FNU, but got 'f8E5M2'}}
  %0 = nn.cast %x {round_mode = "up"} : (tensor<4xf32>) -> tensor<4xf8E5M2>
  func.return
}
// -----
func.func @rounds_somehow(%x: tensor<4xf32>) {
  // expected-error @+1 {{'nn.cast' op 'round_mode' must be one of up, down, nearest, but got 'even'}}
  %0 = nn.cast %x {round_mode = "even"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  func.return
}
// -----
!x = !quant.uniform<i8:f32, 0.5>
func.func @quantized_exponents(%x: tensor<2x!x>) {
  // expected-error @+1 {{exponents must have the element type of the base (!quant.uniform<i8:f32, 5.000000e-01>), but got 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>'}}
  %0 = nn.pow %x, %x : tensor<2x!x>
  func.return
}
// -----
func.func @exponents_of_another_type(%x: tensor<2xf32>, %e: tensor<2xi32>) {
  // expected-error @+1 {{exponents must have the element type of the base (f32), but got 'tensor<2xi32>'}}
  %0 = nn.pow %x, %e : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  func.return
}
