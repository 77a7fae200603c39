// RUN: qmlir-opt %s --load-plugin tests.support.custom_kernels -p convert-nn-to-kernel,kernel-verify-custom --split-input-file --verify-diagnostics

func.func @another_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kernel.custom' op (square1) 'tests.support.custom_kernels:squares' does not compute 'soft.map': at [0] expected}}
  %0 = soft.map %x {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %e : f32
    %c = arith.constant 0.5 : f32
    %r = arith.addf %s, %c : f32
    soft.give %r : f32
  } {origin = "square1"} : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A function cannot be given what a region sees of its surroundings.
func.func @captured(%x: tensor<4xf32>, %c: f32) -> tensor<4xf32> {
  // expected-error @+1 {{'soft.map' op (square2)}}
  %0 = soft.map %x {
  ^bb0(%e: f32):
    %s = arith.mulf %e, %e : f32
    %d = arith.constant 0.25 : f32
    %r = arith.addf %s, %c : f32
    soft.give %r : f32
  } {origin = "square2"} : tensor<4xf32> -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

func.func @no_text(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kernel.custom' op implements 'soft.map', whose text cannot be parsed: }}
  %0 = kernel.custom "tests.support.custom_kernels:squares" ins(%x : tensor<4xf32>) -> tensor<4xf32>
    computes {op = "soft.map", operands = [tensor<4xf32>], results = [tensor<4xf32>], text = "soft.map"}
  func.return %0 : tensor<4xf32>
}

// -----

func.func @text_of_another(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'kernel.custom' op implements 'soft.map', but its text contains a different operation}}
  %0 = kernel.custom "tests.support.custom_kernels:squares" ins(%x : tensor<4xf32>) -> tensor<4xf32>
    computes {op = "soft.map", operands = [tensor<4xf32>], results = [tensor<4xf32>], text = "func.func @f() { func.return }"}
  func.return %0 : tensor<4xf32>
}
