// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-set-requantize

!x = !quant.uniform<i8:f32, 0.25>
!z = !quant.uniform<i8:f32, 0.3>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.relu"}], requantize = [shift:even]>]} {
  func.func @ratio(%x: tensor<2x!x>) -> tensor<2x!z> {
    // expected-error @+1 {{'nn.relu' op (r) cannot requantize in mode 'shift': }}
    %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!z> {origin = "r"}
    func.return %0 : tensor<2x!z>
  }
}
