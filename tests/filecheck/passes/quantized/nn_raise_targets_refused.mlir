// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p nn-raise

!x = !quant.uniform<i8:f32, 0.25>
!a = !quant.uniform<i32:f32, 0.0625>
// A composite that the target wants and would not compute with these types stays its parts.
#dsp = #target.spec<"dsp", supports = [{op = "nn.matmul"}, {op = "nn.add"}, {op = "nn.fully_connected", weight = {storages = [i4]}}], raises = ["*"]>
builtin.module attributes {target.specs = [#dsp]} {
  func.func @types(%x: tensor<1x4x!x>, %w: tensor<2x4x!x>, %b: tensor<2x!a>) -> tensor<1x2x!x> {
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4x!x>) -> tensor<1x2x!a> {origin = "fc", role = "matmul"}
    // expected-remark @+1 {{is not raised to nn.fully_connected: target 'dsp' does not support it: weight in i8 (supported: i4)}}
    %1 = nn.add %0, %b : (tensor<1x2x!a>, tensor<2x!a>) -> tensor<1x2x!x> {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
    func.return %1 : tensor<1x2x!x>
  }
}
// -----
// What a preferred target computes stays apart for it, whatever later ones want.
!x = !quant.uniform<i8:f32, 0.25>
!a = !quant.uniform<i32:f32, 0.0625>
#products = #target.spec<"products", supports = [{op = "nn.matmul"}, {op = "nn.conv"}, {op = "nn.reshape"}]>
#host = #target.spec<"host", supports = [{op = "*"}], raises = ["*"]>
builtin.module attributes {target.specs = [#products, #host]} {
  func.func @types(%x: tensor<1x4x!x>, %w: tensor<2x4x!x>, %b: tensor<2x!a>) -> tensor<1x2x!x> {
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x4x!x>, tensor<2x4x!x>) -> tensor<1x2x!a> {origin = "fc", role = "matmul"}
    // expected-remark @+1 {{is not raised to nn.fully_connected: target 'products' computes 'nn.matmul' op (fc/matmul), and is preferred to those that want it whole}}
    %1 = nn.add %0, %b : (tensor<1x2x!a>, tensor<2x!a>) -> tensor<1x2x!x> {origin = "fc", role = "bias_add", composite = {op = "nn.fully_connected"}}
    func.return %1 : tensor<1x2x!x>
  }
}
// -----
// expected-error @+1 {{target 'dsp' requires patterns 'dsp.raise', which no package provides}}
builtin.module attributes {target.specs = [#target.spec<"dsp", patterns = ["dsp.raise"]>]} {
}
