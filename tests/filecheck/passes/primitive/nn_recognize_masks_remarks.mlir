// RUN: qmlir-opt %s -p nn-recognize-masks --verify-diagnostics

func.func @remarks(%s: tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, %keep: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %near = nn.constant dense<-40.0> : tensor<f32>
  %far = nn.constant dense<-65504.0> : tensor<f32>
  %m = nn.where %keep, %zero, %near : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32> {origin = "m"}
  %n = nn.where %keep, %zero, %far : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32> {origin = "n"}
  %0 = nn.add %s, %m : (tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.add %s, %n : (tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, tensor<4xf32>) -> tensor<4xf32>
  %c = nn.where %keep, %s, %near : (tensor<4xi1>, tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, tensor<f32>) -> tensor<4xf32> {origin = "c"}
  // expected-remark @+1 {{is masked by 'nn.where' op (m); the masked elements get -40 in the softmax and are excluded from calibration ranges}}
  %2 = nn.softmax %0 : tensor<4xf32>
  // expected-remark @+1 {{treats the mask 'nn.where' op (c) as data: scores differ by up to 40, so adding -40 does not make each probability 0}}
  %4 = nn.softmax %c : tensor<4xf32>
  // expected-remark @+1 {{is masked by 'nn.where' op (n); the masked elements have probability 0 and are excluded from calibration ranges}}
  %3 = nn.softmax %1 : tensor<4xf32>
  func.return %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Four times e^-20 is less than 2^-24; 65536 times, as many as a dynamic row may have, it is not.
func.func @lengths(%s: tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, %keep: tensor<4xi1>, %t: tensor<?x!quant.calibrated<f32<-20.0:20.0>>>, %these: tensor<?xi1>) -> (tensor<4xf32>, tensor<?xf32>) {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-60.0> : tensor<f32>
  %m = nn.where %keep, %zero, %fill : (tensor<4xi1>, tensor<f32>, tensor<f32>) -> tensor<4xf32> {origin = "m"}
  %n = nn.where %these, %zero, %fill : (tensor<?xi1>, tensor<f32>, tensor<f32>) -> tensor<?xf32> {origin = "n"}
  %0 = nn.add %s, %m : (tensor<4x!quant.calibrated<f32<-20.0:20.0>>>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.add %t, %n : (tensor<?x!quant.calibrated<f32<-20.0:20.0>>>, tensor<?xf32>) -> tensor<?xf32>
  // expected-remark @+1 {{is masked by 'nn.where' op (m); the masked elements have probability 0}}
  %2 = nn.softmax %0 : tensor<4xf32>
  // expected-remark @+1 {{is masked by 'nn.where' op (n); the masked elements get -60 in the softmax}}
  %3 = nn.softmax %1 : tensor<?xf32>
  func.return %2, %3 : tensor<4xf32>, tensor<?xf32>
}
