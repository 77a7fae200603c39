// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p strip-training

func.func @learned(%x: tensor<2xf32>, %s: tensor<f32>) -> tensor<2xf32> {
  // expected-error @+1 {{'calib.fake_quant' op (fc1) cannot be converted for inference: scale must be constant; insert the trained values first}}
  %0 = calib.fake_quant %x, %s {method = "lsq", origin = "fc1"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @half_learned(%x: tensor<2xf32>, %b: tensor<f32>) -> tensor<2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  // expected-error @+1 {{cannot be converted for inference: offset must be constant; insert the trained values first}}
  %0 = calib.fake_quant %x, %s, %b {method = "lsq_plus"} : tensor<2xf32>, tensor<f32>, tensor<f32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @below_zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = nn.constant dense<-0.5> : tensor<f32>
  // expected-error @+1 {{scales must be positive, but got -0.5}}
  %0 = calib.fake_quant %x, %s {method = "lsq"} : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @profiled(%x: tensor<2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  // expected-error @+1 {{already has a profiled range (!quant.calibrated<f32<-1.000000e+00:1.000000e+00>>); run strip-training before profiling}}
  %0 = calib.fake_quant %x, %s {method = "lsq"} : tensor<2x!quant.calibrated<f32<-1.0:1.0>>>, tensor<f32> -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
