// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --inline-weights | qmlir-opt --inline-weights -o %t.mlir && qmlir-opt %s --inline-weights | diff %t.mlir -

// Every float comes back with its bits: NaN, infinities, 2^24 + 1 in f64, signed zeros, subnormals.
func.func @floats() {
  // CHECK: nn.constant dense<"0x0000C07F0000807F000080FF"> : tensor<3xf32>
  %0 = nn.constant dense<[0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  // CHECK: nn.constant dense<[16777217.0, -0.000000e+00, 4.940656e-324]> : tensor<3xf64>
  %1 = nn.constant dense<[16777217.0, -0.0, 4.9406564584124654e-324]> : tensor<3xf64>
  // CHECK: nn.constant dense<[1.0e-45, 0.1, 1.6777216e+07]> : tensor<3xf32>
  %2 = nn.constant dense<[1.4e-45, 0.1, 16777217.0]> : tensor<3xf32>
  // CHECK: nn.constant dense<"0x0000C07F"> : tensor<f32>
  %3 = nn.constant dense<0x7FC00000> : tensor<f32>
  // CHECK: nn.constant dense<[0.10009765625, 3.390625e+00]> : tensor<2xbf16>
  %4 = nn.constant dense<[0.1, 3.39]> : tensor<2xbf16>
  // CHECK: arith.constant 0x7FC00000 : f32
  %5 = arith.constant 0x7FC00000 : f32
  // CHECK: arith.constant 16777217.0 : f64
  %6 = arith.constant 16777217.0 : f64
  func.return
}

func.func @integers() {
  // CHECK: nn.constant dense<[true, false]> : tensor<2xi1>
  %0 = nn.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: nn.constant dense<[-8, 7]> : tensor<2xi4>
  %1 = nn.constant dense<[-8, 7]> : tensor<2xi4>
  // CHECK: nn.constant dense<[0, 255]> : tensor<2xui8>
  %2 = nn.constant dense<[0, 255]> : tensor<2xui8>
  // CHECK: nn.constant dense<> : tensor<0xf32>
  %3 = nn.constant dense<> : tensor<0xf32>
  func.return
}

// Names of any language stay text.
// CHECK: nn.relu {{.*}} {origin = "caf\C3\A9/out:0"}
func.func @strings(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32> {origin = "caf\C3\A9/out:0"}
  func.return %0 : tensor<2xf32>
}
