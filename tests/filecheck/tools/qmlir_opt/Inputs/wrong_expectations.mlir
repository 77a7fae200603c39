func.func @unexpected(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}
// -----
// expected-error @+1 {{never said}}
func.func @fine() { // expected-warning {{never said either}}
  func.return
}
