// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'quant-partition{min_ops=2}'

!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.3>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports =
    [{op = "nn.relu", output = {schemes = [symmetric_pow2]}}, {op = "nn.add"}, {op = "nn.reshape"}]>,
    #target.spec<"npu", supports = [{op = "nn.sigmoid"}]>, #target.spec<"cpu", supports = [{op = "*"}]>]} {
  func.func private @callee(%x: tensor<2x!y>) -> tensor<2x!y> {
    // expected-remark@+1 {{'nn.mul' op (product) stays on the host: target 'dsp' does not support it; target 'npu' does not support it}}
    %0 = nn.mul %x, %x : (tensor<2x!y>, tensor<2x!y>) -> tensor<2x!y> {origin = "product"}
    func.return %0 : tensor<2x!y>
  }
  func.func @main(%x: tensor<2x!x>) -> tensor<1x2x!y> {
    // expected-remark@+1 {{stays on the host: target 'dsp' does not support it: output with scheme symmetric (supported: symmetric_pow2); target 'npu' does not support it}}
    %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!y> {origin = "relu1"}
    // expected-remark@+1 {{'func.call' op stays on the host: it is a call; inline it first, so that its operations can be partitioned}}
    %1 = func.call @callee(%0) : (tensor<2x!y>) -> tensor<2x!y>
    // expected-remark@+1 {{stays on the host: target 'dsp' does not support it; target 'npu' would compute it, but a part of 1 operation is smaller than min_ops=2}}
    %2 = nn.sigmoid %1 : tensor<2x!y> {origin = "sigmoid1"}
    // expected-remark@+1 {{stays on the host: target 'dsp' supports it, but keeping it here transfers less: it only moves data}}
    %3 = nn.reshape %2 : (tensor<2x!y>) -> tensor<1x2x!y> {origin = "reshape1"}
    func.return %3 : tensor<1x2x!y>
  }
}
// -----
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<2xf32>) {
    // expected-remark@+1 {{'check.expect_close' op stays on the host: it has side effects}}
    check.expect_close %x, %x : tensor<2xf32>
    func.return
  }
}
// -----
// What goes to a later target says why the preferred one has not got it.
!y = !quant.uniform<i8:f32, 0.3>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.add"}]>,
    #target.spec<"npu", supports = [{op = "*"}]>, #target.spec<"cpu", supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<2x!y>) -> tensor<2x!y> {
    %0 = nn.add %x, %x : (tensor<2x!y>, tensor<2x!y>) -> tensor<2x!y> {origin = "sum"}
    // expected-remark@-1 {{'nn.add' op (sum) goes to target 'npu': target 'dsp' would compute it, but a part of 1 operation is smaller than min_ops=2}}
    %1 = nn.abs %0 : tensor<2x!y> {origin = "sum2"}
    // expected-remark@-1 {{'nn.abs' op (sum2) goes to target 'npu': target 'dsp' does not support it}}
    %2 = nn.mul %1, %1 : (tensor<2x!y>, tensor<2x!y>) -> tensor<2x!y> {origin = "product"}
    // expected-remark@-1 {{'nn.mul' op (product) goes to target 'npu': target 'dsp' does not support it}}
    func.return %2 : tensor<2x!y>
  }
}
// -----
// A device whose adder has no shift takes a bias with the scale of the sum, and no other.
!x = !quant.uniform<i8:f32, 0.25>
!a = !quant.uniform<i32:f32, 0.0625>
!b = !quant.uniform<i32:f32, 0.125>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports =
    [{op = "nn.matmul"}, {op = "nn.add", bias = {scales = [sum]}}, {op = "nn.fully_connected", bias = {scales = [sum]}}]>]} {
  func.func @main(%x: tensor<2x4x!x>) -> (tensor<2x3x!x>, tensor<2x3x!x>) {
    %w = nn.constant dense<1> : tensor<3x4xi8> -> tensor<3x4x!x>
    %b = nn.constant dense<1> : tensor<3xi32> -> tensor<3x!b>
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<2x4x!x>, tensor<3x4x!x>) -> tensor<2x3x!a>
    // expected-remark@+1 {{stays on the host: target 'dsp' does not support it: bias with the scale of its range (supported: sum)}}
    %1 = nn.add %0, %b : (tensor<2x3x!a>, tensor<3x!b>) -> tensor<2x3x!x> {origin = "fc1"}
    // expected-remark@+1 {{'nn.fully_connected' op (fc2) stays on the host: target 'dsp' does not support it: bias with the scale of its range}}
    %2 = nn.fully_connected %x, %w, %b {components = {matmul = !a}} : (tensor<2x4x!x>, tensor<3x4x!x>, tensor<3x!b>) -> tensor<2x3x!x> {origin = "fc2"}
    // expected-remark@-5 {{target 'dsp' would compute it, but a part of 1 operation is smaller than min_ops=2}}
    func.return %1, %2 : tensor<2x3x!x>, tensor<2x3x!x>
  }
}
