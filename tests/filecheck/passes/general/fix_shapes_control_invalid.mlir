// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p 'fix-shapes{shapes="x=2x3"}'

func.func @main(%x: tensor<?x3xf32> {nn.name = "x"}) -> tensor<?x3xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %many = arith.constant 4 : index
  // expected-error @+1 {{'scf.for' op (twice) passes tensor<4x3xf32> to the next iteration as tensor<2x3xf32>, but its shape must not change}}
  %0 = scf.for %i = %zero to %many step %one iter_args(%state = %x) -> (tensor<?x3xf32>) {
    %1 = nn.concat %state, %state {axis = 0} : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
    scf.yield %1 : tensor<?x3xf32>
  } {origin = "twice"}
  func.return %0 : tensor<?x3xf32>
}
