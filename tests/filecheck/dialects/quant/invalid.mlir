// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{illegal storage type 'x8'}}
func.func private @storage_prefix(!quant.any<x8>)
// -----
// expected-error @+1 {{illegal storage type size: 33 (must be 1 to 32 bits)}}
func.func private @storage_width(!quant.any<i33>)
// -----
// expected-error @+1 {{illegal storage type size: 0}}
func.func private @storage_zero(!quant.any<i0>)
// -----
// expected-error @+1 {{illegal storage type minimum: -129 (must be at least -128)}}
func.func private @storage_minimum(!quant.any<i8<-129:0>>)
// -----
// expected-error @+1 {{illegal storage type maximum: 256 (must be at most 255)}}
func.func private @storage_maximum(!quant.any<u8<0:256>>)
// -----
// expected-error @+1 {{illegal storage min and storage max: (5:5)}}
func.func private @storage_empty(!quant.any<i8<5:5>>)
// -----
// expected-error @+1 {{expressed type must be floating point, but got 'i32'}}
func.func private @expressed(!quant.uniform<i8:i32, 0.1>)
// -----
// expected-error @+1 {{scale 0.0 out of expressed type range}}
func.func private @scale_zero(!quant.uniform<i8:f32, 0.0>)
// -----
// expected-error @+1 {{scale -1.0 out of expressed type range}}
func.func private @scale_negative(!quant.uniform<i8:f32, -1.0>)
// -----
// expected-error @+1 {{scale inf out of expressed type range}}
func.func private @scale_infinite(!quant.uniform<i8:f32, 1.0e400>)
// -----
// expected-error @+1 {{scale nan out of expressed type range}}
func.func private @scale_nan(!quant.uniform<i8:f32, 0x7FF8000000000000>)
// -----
// expected-error @+1 {{scale 70000.0 out of expressed type range}}
func.func private @scale_of_half(!quant.uniform<i8:f16, 70000.0>)
// -----
// expected-error @+1 {{unexpected decimal integer literal for a floating point value}}
func.func private @scale_integer(!quant.uniform<i8:f32, 1>)
// -----
// expected-error @+1 {{zero point 128 out of storage range [-128, 127]}}
func.func private @zero_point(!quant.uniform<i8:f32, 0.1:128>)
// -----
// expected-error @+1 {{zero point -5 out of storage range [0, 15]}}
func.func private @zero_point_of_channel(!quant.uniform<u4:f32:0, {0.1, 0.1:-5}>)
// -----
// expected-error @+1 {{zero point 300 out of storage range [0, 255], at [1, 0]}}
func.func private @zero_point_of_block(!quant.uniform<u8:f32:{0:1, 1:1}, {{0.1}, {0.1:300}}>)
// -----
// expected-error @+1 {{zero point 300 out of storage range [0, 255], at [0]}}
func.func private @zero_point_of_narrow_block(!quant.uniform<u8<0:100>:f32:{0:1}, {0.1:300}>)
// -----
// expected-error @+1 {{expected an integer storage type}}
func.func private @storage_type(!quant.any<!quant.any<i8>>)
// -----
// expected-error @+1 {{illegal quantized dimension: 2147483648}}
func.func private @axis_width(!quant.uniform<i8:f32:2147483648, {0.1}>)
// -----
// expected-error @+1 {{integer value too large}}
func.func private @zero_point_width(!quant.uniform<i8:f32, 0.1:99999999999999999999>)
// -----
// expected-error @+1 {{illegal quantized dimension: -1}}
func.func private @axis_negative(!quant.uniform<i8:f32:-1, {0.1}>)
// -----
// expected-error @+1 {{illegal block size: 0}}
func.func private @block_size(!quant.uniform<i8:f32:{0:0}, {0.1}>)
// -----
// expected-error @+1 {{illegal block size: 9223372036854775808}}
func.func private @block_size_width(!quant.uniform<i8:f32:{0:9223372036854775808}, {0.1}>)
// -----
// expected-error @+1 {{ranks are not consistent between elements}}
func.func private @ragged(!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1}, {0.3, 0.4}}>)
// -----
// expected-error @+1 {{illegal min and max: (1.0:1.0)}}
func.func private @calibrated_empty(!quant.calibrated<f32<1.0:1.0>>)
// -----
func.func @shape(%x: tensor<2xf32>) {
  // expected-error @+1 {{operand and result must both be scalars or both tensors of one shape}}
  %0 = quant.qcast %x : tensor<2xf32> to tensor<3x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @qcast_expressed(%x: tensor<2xf64>) {
  // expected-error @+1 {{expressed type in quantized type expected to match operand type: f32 and f64}}
  %0 = quant.qcast %x : tensor<2xf64> to tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @qcast_without_expressed(%x: tensor<2xf32>) {
  // expected-error @+1 {{result must have expressed type f32, but got '!quant.any<i8>'}}
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.any<i8>>
  func.return
}
// -----
func.func @long_types_are_brief(%x: tensor<6xf32>) {
  // expected-error @+1 {{operand and result must both be scalars or both tensors of one shape, but got 'tensor<6xf32>' and 'tensor<5x!quant.uniform<i8:f32:0, {...}>>'}}
  %0 = quant.qcast %x : tensor<6xf32> to tensor<5x!quant.uniform<i8:f32:0, {0.1, 0.2, 0.3, 0.4, 0.5}>>
  func.return
}
// -----
func.func @qcast_result(%x: tensor<2xf32>) {
  // expected-error @+1 {{result must be a quantized type, but got 'f32'}}
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2xf32>
  func.return
}
// -----
func.func @scast_width(%x: tensor<2xi16>) {
  // expected-error @+1 {{storage type in quantized type expected to match i16}}
  %0 = quant.scast %x : tensor<2xi16> to tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @scast_signed(%x: tensor<2xsi8>) {
  // expected-error @+1 {{storage must be a signless integer, but got 'si8'}}
  %0 = quant.scast %x : tensor<2xsi8> to tensor<2x!quant.uniform<i8:f32, 0.1>>
  func.return
}
// -----
func.func @axis_of_scalar(%x: f32) {
  // expected-error @+1 {{scalar types may not use per-axis quantization}}
  %0 = quant.qcast %x : f32 to !quant.uniform<i8:f32:0, {0.1}>
  func.return
}
// -----
func.func @axis_out_of_rank(%x: tensor<2xf32>) {
  // expected-error @+1 {{quantized dimension 1 must be less than tensor rank 1}}
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32:1, {0.1}>>
  func.return
}
// -----
func.func @axis_count(%x: tensor<2xf32>) {
  // expected-error @+1 {{quantized dimension size 2 does not match number of scales 1}}
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32:0, {0.1}>>
  func.return
}
// -----
func.func @blocks_unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{tensor containing the sub-channel quantized type must be ranked}}
  %0 = quant.qcast %x : tensor<*xf32> to tensor<*x!quant.uniform<i8:f32:{0:1}, {0.1}>>
  func.return
}
// -----
func.func @blocks_rank(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{rank of scales 1 must match the rank of the tensor 2}}
  %0 = quant.qcast %x : tensor<4x4xf32> to tensor<4x4x!quant.uniform<i8:f32:{0:2}, {0.1, 0.2}>>
  func.return
}
// -----
func.func @blocks_divide(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{tensor dimension size 4 at axis 0 must be divisible by the corresponding block size 3}}
  %0 = quant.qcast %x : tensor<4x4xf32> to tensor<4x4x!quant.uniform<i8:f32:{0:3}, {{0.1}, {0.2}}>>
  func.return
}
// -----
func.func @blocks_count(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{number of scales along axis 0 should be 2 (4 elements in blocks of 2), but got 1}}
  %0 = quant.qcast %x : tensor<4x4xf32> to tensor<4x4x!quant.uniform<i8:f32:{0:2}, {{0.1}}>>
  func.return
}
// -----
// expected-error @+1 {{storage type f8E4M3FN does not support a zero point}}
func.func private @float_zero_point(!quant.uniform<f8E4M3FN:f32, 0.5:3>)
// -----
// expected-error @+1 {{storage type f8E5M2 does not support a storage range}}
func.func private @float_range(!quant.uniform<f8E5M2<-1:1>:f32, 0.5>)
// -----
// expected-error @+1 {{illegal storage type 'bf16' (floats must have at most 8 bits)}}
func.func private @float_width(!quant.uniform<bf16:f32, 0.5>)
// -----
// expected-error @+1 {{illegal storage type: f8E8M0FNU has neither sign nor zero}}
func.func private @float_sign(!quant.uniform<f8E8M0FNU:f32, 0.5>)
// -----
// expected-error @+1 {{scale -0.5 out of expressed type range}}
func.func private @float_scale(!quant.uniform<f8E5M2:f32, -0.5>)
// -----
func.func @float_storage(%x: tensor<4xf8E5M2>) {
  // expected-error @+1 {{expected a quantized type and its storage type, but got 'f8E5M2' and '!quant.uniform<f8E4M3FN:f32, 5.000000e-01>'}}
  %0 = quant.scast %x : tensor<4xf8E5M2> to tensor<4x!quant.uniform<f8E4M3FN:f32, 0.5>>
  func.return
}
