// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p kernel-outline

func.func @tensors(%x: tensor<4xi8>, %v: i8) -> tensor<4xi8> {
  // expected-error @+1 {{'linalg.fill' op must not have results; run kernel-bufferize first}}
  %0 = linalg.fill ins(%v : i8) outs(%x : tensor<4xi8>) -> tensor<4xi8>
  func.return %0 : tensor<4xi8>
}
