// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'quant-assign-types{recipe=%S/Inputs/wide_output.toml}'

// A rule that asks for what the first target has not is a remark where another one has it, and otherwise an error.
!x = !quant.calibrated<f32<-1.0:1.0>>
#dsp = #target.spec<"dsp", supports = [{op = "nn.mul", output = {storages = [i8, i4]}}]>
builtin.module attributes {target.specs = [#dsp, #target.spec<"host", supports = [{op = "*"}]>]} {
  func.func @left_to_another(%x: tensor<2x!x>) -> tensor<2x!x> {
    // expected-remark @+1 {{'nn.mul' op (mul) is assigned to target 'host': its rules ask for output storage i16 (by}}
    %0 = nn.mul %x, %x : tensor<2x!x> {origin = "mul"}
    func.return %0 : tensor<2x!x>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
builtin.module attributes {target.specs = [#target.spec<"dsp", supports = [{op = "nn.mul", output = {storages = [i8, i4]}}]>]} {
  func.func @nobody(%x: tensor<2x!x>) -> tensor<2x!x> {
    // expected-error @+1 {{wide_output.toml', rule 1 (origin = 'mul', slot = 'output')), but target 'dsp' supports i8, i4}}
    %0 = nn.mul %x, %x : tensor<2x!x> {origin = "mul"}
    func.return %0 : tensor<2x!x>
  }
}
// -----
!x = !quant.calibrated<f32<-1.0:1.0>>
#dsp = #target.spec<"dsp", supports = [{op = "nn.mul", output = {storages = [i8]}}]>
builtin.module attributes {target.specs = [#dsp, #target.spec<"npu", supports = [{op = "nn.mul", output = {storages = [u8]}}]>]} {
  func.func @none_of_two(%x: tensor<2x!x>) -> tensor<2x!x> {
    // expected-error @+1 {{wide_output.toml', rule 1 (origin = 'mul', slot = 'output')), but target 'dsp' supports i8, and no other target supports that}}
    %0 = nn.mul %x, %x : tensor<2x!x> {origin = "mul"}
    func.return %0 : tensor<2x!x>
  }
}
