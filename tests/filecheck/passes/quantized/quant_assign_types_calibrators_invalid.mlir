// RUN: qmlir-opt %s --load-plugin tests.support.contributing --split-input-file --verify-diagnostics -p 'quant-assign-types{recipe=%S/Inputs/backwards.toml}'

// A calibrator of a package gives what is not a range: the error is at the operation, and names the package.
func.func @main(%x: tensor<1x2x!quant.calibrated<f32<-1.0:1.0>>>) -> tensor<1x2x!quant.calibrated<f32<-2.0:6.0>>> {
  %w = nn.constant dense<[[1.0, -1.0], [0.5, 0.25]]> : tensor<2x2xf32> {origin = "fc1.weight"}
  // expected-error-re @+1 {{'nn.fully_connected' op (fc1) cannot compute quantization parameters for its weights: calibrator 'backwards' of package 'tests.support.contributing': returned the range [1.0, -1.0], but it must be ascending and within [-1.0, 1.0], the observed range extended to 0 ({{.*}}contributing.py:{{[0-9]+}})}}
  %0 = nn.fully_connected %x, %w : (tensor<1x2x!quant.calibrated<f32<-1.0:1.0>>>, tensor<2x2xf32>) -> tensor<1x2x!quant.calibrated<f32<-2.0:6.0>>> {origin = "fc1"}
  func.return %0 : tensor<1x2x!quant.calibrated<f32<-2.0:6.0>>>
}
