// RUN: qmlir-opt %s --split-input-file -p quant-expand-floats 2>&1 | filecheck %s
// RUN: qmlir-opt %s --split-input-file -p 'quant-expand-floats{integers_only}' | filecheck %s --check-prefix=ONLY

// CHECK: remark: 'func.func' op has 1 constant that is stored as f8E4M3FN; requantizing as f32

// All values of f4E2M1FN, in blocks as MX formats have them: twice of each is an integer.
// CHECK: !q0 = !quant.uniform<i5<-12:12>:f32:{0:8, 1:1}, {{\{\{}}2.500000e-01, 4.000000e+00}}>
// CHECK: [[W:%.+]] = nn.constant dense<{{\[\[}}0, -12], [1, -8], [2, -6], [3, -4], [4, -3], [6, -2], [8, -1], [12, 0]]> : tensor<8x2xi5> -> tensor<8x2x!q0> {origin = "w"}
// CHECK-NEXT: [[R:%.+]] = quant.dcast [[W]] {origin = "dq"} : tensor<8x2x!q0> to tensor<8x2xf32>
// CHECK-NEXT: nn.matmul {{%.+}}, [[R]]
!w = !quant.uniform<f4E2M1FN:f32:{0:8, 1:1}, {{0.5, 8.0}}>
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x2xf32> {
  %w = nn.constant dense<[[0.0, -6.0], [0.5, -4.0], [1.0, -3.0], [1.5, -2.0], [2.0, -1.5], [3.0, -1.0], [4.0, -0.5], [6.0, -0.0]]> : tensor<8x2xf4E2M1FN> -> tensor<8x2x!w> {origin = "w"}
  %0 = quant.dcast %w {origin = "dq"} : tensor<8x2x!w> to tensor<8x2xf32>
  %1 = nn.matmul %x, %0 : (tensor<1x8xf32>, tensor<8x2xf32>) -> tensor<1x2xf32> {origin = "fc"}
  func.return %1 : tensor<1x2xf32>
}

// -----

// Eighths of f6E2M3FN. No 8 bits hold the steps of f8E4M3FN: floats, with a remark that names what was stored.
// CHECK: !q0 = !quant.uniform<i7<-60:60>:f32, 1.250000e-01>
// CHECK: nn.constant dense<[1, -60]> : tensor<2xi7> -> tensor<2x!q0>
// CHECK: nn.constant dense<[2.240000e+02, -9.765625e-04]> : tensor<2xf32> {origin = "w"}
// ONLY: nn.constant dense<[4.480000e+02, -1.953125e-03]> : tensor<2xf8E4M3FN>
!a = !quant.uniform<f6E2M3FN:f32, 1.0>
!b = !quant.uniform<f8E4M3FN:f32, 0.5>
func.func @main() -> (tensor<2xf32>, tensor<2xf32>) {
  %a = nn.constant dense<[0.125, -7.5]> : tensor<2xf6E2M3FN> -> tensor<2x!a>
  %0 = quant.dcast %a : tensor<2x!a> to tensor<2xf32>
  %b = nn.constant dense<[448.0, -0.001953125]> : tensor<2xf8E4M3FN> -> tensor<2x!b> {origin = "w"}
  %1 = quant.dcast %b {origin = "dq"} : tensor<2x!b> to tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
