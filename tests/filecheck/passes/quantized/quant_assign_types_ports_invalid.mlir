// RUN: not qmlir-opt %s -p 'quant-assign-types{outputs_as="z=i8"}' 2>&1 | filecheck %s --check-prefix=FLOAT
// RUN: not qmlir-opt %s -p 'quant-assign-types{inputs_as="m=i8"}' 2>&1 | filecheck %s --check-prefix=READER
// RUN: not qmlir-opt %s -p 'quant-assign-types{inputs_as="x=u8" outputs_as="y=i8"}' 2>&1 | filecheck %s --check-prefix=SHARED
// RUN: not qmlir-opt %s -p 'quant-assign-types{inputs_as="idle=i8"}' 2>&1 | filecheck %s --check-prefix=IDLE

// FLOAT: error: 'func.func' op output 'z' cannot be i8: 'nn.exp' op (exp) computes it in float
// READER: error: 'func.func' op input 'm' cannot be i8: 'nn.exp' op (exp) reads it in float
// SHARED: error: input 'x' and output 'y' share one type, so they cannot be u8 and i8; help: ask for the same type
// IDLE: error: 'func.func' op input 'idle' cannot be i8: no operation reads it
func.func @main(%x: tensor<2x!quant.calibrated<f32<0.0:1.0>>> {nn.name = "x"}, %m: tensor<2xf32> {nn.name = "m"}, %idle: tensor<2xf32> {nn.name = "idle"}) -> (tensor<2x1x!quant.calibrated<f32<0.0:1.0>>> {nn.name = "y"}, tensor<2xf32> {nn.name = "z"}) {
  %0 = nn.reshape %x : (tensor<2x!quant.calibrated<f32<0.0:1.0>>>) -> tensor<2x1x!quant.calibrated<f32<0.0:1.0>>> {origin = "flat"}
  %1 = nn.exp %m : tensor<2xf32> {origin = "exp"}
  func.return %0, %1 : tensor<2x1x!quant.calibrated<f32<0.0:1.0>>>, tensor<2xf32>
}
