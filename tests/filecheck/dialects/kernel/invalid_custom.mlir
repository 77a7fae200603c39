// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{function must be spelled module:function, but got "mine.kernels"}}
  %0 = kernel.custom "mine.kernels" ins(%x : tensor<2xf32>) -> tensor<2xf32> computes {op = "nn.abs", operands = [tensor<2xf32>], results = [tensor<2xf32>]}
  func.return %0 : tensor<2xf32>
}
// -----
func.func @main(%x: tensor<2xf32>) {
  // expected-error @+1 {{must either return tensors or write to 'outs'}}
  kernel.custom "mine:abs" ins(%x : tensor<2xf32>) computes {op = "nn.abs", operands = [tensor<2xf32>], results = []}
  func.return
}
// -----
func.func @main(%x: tensor<2xf32>, %y: memref<2xf32>) {
  // expected-error @+1 {{operands and results must be all tensors or all memrefs}}
  kernel.custom "mine:abs" ins(%x : tensor<2xf32>) outs(%y : memref<2xf32>) computes {op = "nn.abs", operands = [tensor<2xf32>], results = [tensor<2xf32>]}
  func.return
}
// -----
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has 2 operands and results, but 'computes' lists 1 types}}
  %0 = kernel.custom "mine:abs" ins(%x : tensor<2xf32>) -> tensor<2xf32> computes {op = "nn.abs", results = [tensor<2xf32>]}
  func.return %0 : tensor<2xf32>
}
// -----
func.func @main(%x: tensor<2xi8>) -> tensor<2xi8> {
  // expected-error @+1 {{expected a value of type 'tensor<2x!quant.uniform<i4:f32, 5.000000e-01>>', but got 'tensor<2xi8>'}}
  %0 = kernel.custom "mine:abs" ins(%x : tensor<2xi8>) -> tensor<2xi8> computes {op = "nn.abs", operands = [tensor<2x!quant.uniform<i4:f32, 0.5>>], results = [tensor<2xi8>]}
  func.return %0 : tensor<2xi8>
}
// -----
func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  // expected-error @+1 {{type 'tensor<2xbf16>' in 'computes' has no array representation}}
  %0 = kernel.custom "mine:abs" ins(%x : tensor<2xbf16>) -> tensor<2xbf16> computes {op = "nn.abs", operands = [tensor<2xbf16>], results = [tensor<2xbf16>]}
  func.return %0 : tensor<2xbf16>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{function must be spelled module:function, but got "os:getcwd\0Aprint('run')\0Afrom os import getcwd"}}
  %0 = kernel.custom "os:getcwd\0Aprint('run')\0Afrom os import getcwd" ins(%x : tensor<4xf32>) -> tensor<4xf32> computes {op = "nn.relu", operands = [tensor<4xf32>], results = [tensor<4xf32>]}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{function must be spelled module:function, but got "os;print:getcwd"}}
  %0 = kernel.custom "os;print:getcwd" ins(%x : tensor<4xf32>) -> tensor<4xf32> computes {op = "nn.relu", operands = [tensor<4xf32>], results = [tensor<4xf32>]}
  func.return %0 : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{function must be spelled module:function, but got "a.lambda:pass"}}
  %0 = kernel.custom "a.lambda:pass" ins(%x : tensor<4xf32>) -> tensor<4xf32> computes {op = "nn.relu", operands = [tensor<4xf32>], results = [tensor<4xf32>]}
  func.return %0 : tensor<4xf32>
}
