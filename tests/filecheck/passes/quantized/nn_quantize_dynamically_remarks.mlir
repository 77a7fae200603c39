// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'nn-quantize-dynamically{scope=row}'

func.func @blocks(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %0 = nn.constant dense<1> : tensor<4x2xi8> -> tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 0.5}, {0.25, 0.5}}>>
  %1 = quant.dcast %0 : tensor<4x2x!quant.uniform<i8:f32:{0:2, 1:1}, {{0.5, 0.5}, {0.25, 0.5}}>> to tensor<4x2xf32>
  // expected-remark @+1 {{'nn.matmul' op (mm) keeps float data: its weights have a scale for each block, but a sum of integers has only one}}
  %2 = nn.matmul %x, %1 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32> {origin = "mm"}
  func.return %2 : tensor<2x2xf32>
}
// -----
func.func @rows(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  %1 = quant.dcast %0 : tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>> to tensor<2x2xf32>
  // expected-remark @+1 {{its weights have a scale per index of axis 0, not per output channel}}
  %2 = nn.matmul %x, %1 : tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
// -----
func.func @batch(%x: tensor<3x2x8xf32>) -> tensor<3x2x4xf32> {
  %0 = nn.constant dense<1> : tensor<3x8x4xi8> -> tensor<3x8x4x!quant.uniform<i8:f32:0, {0.5, 0.25, 0.5}>>
  %1 = quant.dcast %0 : tensor<3x8x4x!quant.uniform<i8:f32:0, {0.5, 0.25, 0.5}>> to tensor<3x8x4xf32>
  // expected-remark @+1 {{its weights have a scale per index of axis 0, not per output channel}}
  %2 = nn.matmul %x, %1 : (tensor<3x2x8xf32>, tensor<3x8x4xf32>) -> tensor<3x2x4xf32>
  func.return %2 : tensor<3x2x4xf32>
}
// -----
func.func @wide(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = nn.constant dense<1> : tensor<2x2xi16> -> tensor<2x2x!quant.uniform<i16:f32, 0.5>>
  %1 = quant.dcast %0 : tensor<2x2x!quant.uniform<i16:f32, 0.5>> to tensor<2x2xf32>
  // expected-remark @+1 {{its weights have 16 bits, more than 8}}
  %2 = nn.matmul %x, %1 : tensor<2x2xf32>
  func.return %2 : tensor<2x2xf32>
}
// -----
// 255 * 127 * 66312 is 2^31 + 30472, one term less is not.
func.func @overflow(%x: tensor<1x66312xf32>, %y: tensor<1x66311xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %0 = nn.constant dense<127> : tensor<66312x1xi8> -> tensor<66312x1x!quant.uniform<i8:f32, 0.5>>
  %1 = quant.dcast %0 : tensor<66312x1x!quant.uniform<i8:f32, 0.5>> to tensor<66312x1xf32>
  // expected-remark @+1 {{i32 cannot hold its sums}}
  %2 = nn.matmul %x, %1 : (tensor<1x66312xf32>, tensor<66312x1xf32>) -> tensor<1x1xf32>
  %3 = nn.constant dense<127> : tensor<66311x1xi8> -> tensor<66311x1x!quant.uniform<i8:f32, 0.5>>
  %4 = quant.dcast %3 : tensor<66311x1x!quant.uniform<i8:f32, 0.5>> to tensor<66311x1xf32>
  %5 = nn.matmul %y, %4 : (tensor<1x66311xf32>, tensor<66311x1xf32>) -> tensor<1x1xf32>
  func.return %2, %5 : tensor<1x1xf32>, tensor<1x1xf32>
}
// -----
func.func @left(%x: tensor<2x2xf32>, %v: tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>) {
  %0 = nn.constant dense<1> : tensor<2x2xi8> -> tensor<2x2x!quant.uniform<i8:f32, 0.5>>
  %1 = quant.dcast %0 : tensor<2x2x!quant.uniform<i8:f32, 0.5>> to tensor<2x2xf32>
  // expected-remark @+1 {{its weights are the left factor}}
  %2 = nn.matmul %1, %x : tensor<2x2xf32>
  // expected-remark @+1 {{one of its factors is a vector}}
  %3 = nn.matmul %v, %1 : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  func.return %2, %3 : tensor<2x2xf32>, tensor<2xf32>
}
// -----
func.func @transposed(%x: tensor<1x2x3x3xf32>) -> tensor<1x1x4x4xf32> {
  %0 = nn.constant dense<1> : tensor<2x1x2x2xi8> -> tensor<2x1x2x2x!quant.uniform<i8:f32, 0.5>>
  %1 = quant.dcast %0 : tensor<2x1x2x2x!quant.uniform<i8:f32, 0.5>> to tensor<2x1x2x2xf32>
  // expected-remark @+1 {{a transposed convolution requires data without a zero point; help: pass --scheme symmetric}}
  %2 = nn.conv_transpose %x, %1 : (tensor<1x2x3x3xf32>, tensor<2x1x2x2xf32>) -> tensor<1x1x4x4xf32>
  func.return %2 : tensor<1x1x4x4xf32>
}
// -----
func.func @layers(%x: tensor<5x1x3xf32>) -> (tensor<5x1x1x2xf32>, tensor<5x1x1x2xf32>, tensor<5x1x2xf32>) {
  %c = nn.constant dense<1> : tensor<3x2xi8> -> tensor<3x2x!quant.uniform<i8:f32, 0.5>>
  %f = quant.dcast %c : tensor<3x2x!quant.uniform<i8:f32, 0.5>> to tensor<3x2xf32>
  %y = nn.matmul %x, %f : (tensor<5x1x3xf32>, tensor<3x2xf32>) -> tensor<5x1x2xf32>
  %0 = nn.constant dense<1> : tensor<1x6x3xi8> -> tensor<1x6x3x!quant.uniform<i8:f32, 0.5>>
  %1 = nn.constant dense<1> : tensor<1x6x2xi8> -> tensor<1x6x2x!quant.uniform<i8:f32, 0.5>>
  %w = quant.dcast %0 : tensor<1x6x3x!quant.uniform<i8:f32, 0.5>> to tensor<1x6x3xf32>
  %r = quant.dcast %1 : tensor<1x6x2x!quant.uniform<i8:f32, 0.5>> to tensor<1x6x2xf32>
  // expected-remark @+1 {{'nn.gru' does not support dynamically quantized data}}
  %2, %3 = nn.gru %x, %w, %r {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x6x3xf32>, tensor<1x6x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>)
  %4 = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!quant.uniform<i8:f32, 0.5>>
  %5 = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!quant.uniform<i8:f32, 0.5>>
  %v = quant.dcast %4 : tensor<1x8x3x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x3xf32>
  %s = quant.dcast %5 : tensor<1x8x2x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x2xf32>
  // expected-remark @+1 {{the data of a whole layer is u8 with a zero point; help: pass --scheme asymmetric}}
  %6, %7, %8 = nn.lstm %x, %v, %s {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) {nn.dynamic = ["row", "symmetric"]}
  func.return %2, %6, %y : tensor<5x1x1x2xf32>, tensor<5x1x1x2xf32>, tensor<5x1x2xf32>
}
// -----
func.func @lstm(%x: tensor<5x1x3xf32>, %w: tensor<1x8x3xf32>, %r: tensor<1x8x2xf32>) -> (tensor<1x1x2xf32>, tensor<1x1x2xf32>) {
  %0 = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!quant.uniform<i8:f32:2, {0.5, 0.25, 0.5}>>
  %1 = quant.dcast %0 : tensor<1x8x3x!quant.uniform<i8:f32:2, {0.5, 0.25, 0.5}>> to tensor<1x8x3xf32>
  %2 = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!quant.uniform<i8:f32, 0.5>>
  %3 = quant.dcast %2 : tensor<1x8x2x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x2xf32>
  // expected-remark @+1 {{keeps float data: weights must have one scale per direction or one per row, but got}}
  %4, %5, %6 = nn.lstm %x, %1, %3 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  %7 = nn.constant dense<1> : tensor<1x8x3xi8> -> tensor<1x8x3x!quant.uniform<i8:f32, 0.5>>
  %8 = quant.dcast %7 : tensor<1x8x3x!quant.uniform<i8:f32, 0.5>> to tensor<1x8x3xf32>
  %9 = nn.constant dense<1> : tensor<1x8x2xi8> -> tensor<1x8x2x!quant.uniform<i8:f32:1, {0.5:7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  %10 = quant.dcast %9 : tensor<1x8x2x!quant.uniform<i8:f32:1, {0.5:7, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>> to tensor<1x8x2xf32>
  // expected-remark @+1 {{keeps float data: all rows of one direction must have the same zero point, but got}}
  %11, %12, %13 = nn.lstm %x, %8, %10 {hidden_size = 2} : (tensor<5x1x3xf32>, tensor<1x8x3xf32>, tensor<1x8x2xf32>) -> (tensor<5x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  func.return %5, %12 : tensor<1x1x2xf32>, tensor<1x1x2xf32>
}
