// RUN: not qmlir-opt %s -p 'quant-store-ports{inputs_as=u8}' 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not qmlir-opt %s -p 'quant-store-ports{inputs_as="f=i8"}' 2>&1 | filecheck %s --check-prefix=FLOAT
// RUN: not qmlir-opt %s -p 'quant-store-ports{inputs_as="n=i8"}' 2>&1 | filecheck %s --check-prefix=INTEGER
// RUN: not qmlir-opt %s -p 'quant-store-ports{outputs_as="z=i8"}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not qmlir-opt %s -p 'quant-store-ports{outputs_as="y=i9"}' 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not qmlir-opt %s -p 'quant-store-ports{outputs_as="g=i8"}' 2>&1 | filecheck %s --check-prefix=RETURNED

// OTHER: error: 'func.func' op input 'x' cannot be u8: it is quantized as i8; help: keep it in float, --inputs-as x=f32 (inputs_as={'x': 'f32'})
// FLOAT: error: 'func.func' op input 'f' cannot be i8: it is not quantized, but f32; help: keep it in float, --inputs-as f=f32 (inputs_as={'f': 'f32'})
// INTEGER: error: 'func.func' op input 'n' cannot be i8: its type is tensor<i64>, which is not f32
// NAME: error: 'func.func' op has no output 'z' (available: y, g)
// TYPE: error: outputs_as must be one of u8, i8, i16, u16, f32, or NAME=TYPE with one of them, but got 'y=i9'
// RETURNED: error: 'func.func' op output 'g' cannot be i8: it is not quantized, but f32
!x = !quant.uniform<i8:f32, 0.5:3>
func.func @main(%x: tensor<2xf32> {nn.name = "x"}, %f: tensor<2xf32> {nn.name = "f"}, %n: tensor<i64> {nn.name = "n"}) -> (tensor<2xf32> {nn.name = "y"}, tensor<2xf32> {nn.name = "g"}) {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!x>
  %1 = nn.relu %0 : (tensor<2x!x>) -> tensor<2x!x>
  %2 = quant.dcast %1 : tensor<2x!x> to tensor<2xf32>
  func.return %2, %f : tensor<2xf32>, tensor<2xf32>
}
