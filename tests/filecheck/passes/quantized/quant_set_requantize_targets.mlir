// RUN: qmlir-opt %s -p quant-set-requantize | filecheck %s
// RUN: qmlir-opt %s --pass-statistics -p quant-set-requantize 2>&1 | filecheck %s --check-prefix=STATISTICS

// STATISTICS: quant-set-requantize: 5 operations set

!x = !quant.uniform<i8:f32, 0.25>
!y = !quant.uniform<i8:f32, 0.5>
!z = !quant.uniform<i8:f32, 0.3>

// Each operation takes the first mode, of the first target that computes it, which expresses its scales.
#dsp = #target.spec<"dsp", supports = [{op = "nn.relu"}, {op = "nn.add", requantize = [shift:up, single_round]}], requantize = [shift:even]>
#host = #target.spec<"host", supports = [{op = "nn.relu"}, {op = "nn.mul"}], requantize = [double_round, f32]>
#rest = #target.spec<"rest", supports = [{op = "nn.clip"}, {op = "nn.sigmoid", requantize = [qlinear]}]>
builtin.module attributes {target.specs = [#dsp, #host, #rest]} {
  func.func @main(%x: tensor<2x!x>, %z: tensor<2x!z>) -> (tensor<2x!y>, tensor<2x!z>, tensor<2x!y>, tensor<2x!z>, tensor<2x!y>, tensor<2x!y>, tensor<2x!y>, tensor<2x!x>) {
    %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!y>
    %1 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!z>
    %2 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!y>
    %3 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!z>
    %4 = nn.mul %x, %z : (tensor<2x!x>, tensor<2x!z>) -> tensor<2x!y>
    %5 = nn.clip %x {minimum = 0.0, maximum = 1.0, requantize = #kernel.requantize<single_round>} : (tensor<2x!x>) -> tensor<2x!y>
    %6 = nn.sub %x, %x {requantize = #kernel.requantize<single_round>} : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!y>
    %7 = nn.sigmoid %x {requantize = #kernel.requantize<qlinear>} : tensor<2x!x>
    func.return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<2x!y>, tensor<2x!z>, tensor<2x!y>, tensor<2x!z>, tensor<2x!y>, tensor<2x!y>, tensor<2x!y>, tensor<2x!x>
  }
}

// CHECK: #t0 = #target.spec<"dsp", supports = [{op = "nn.relu"}, {op = "nn.add", requantize = [shift:up, single_round]}], requantize = [shift:even]>
// CHECK-NEXT: #t1 = #target.spec<"host", supports = [{op = "nn.relu"}, {op = "nn.mul"}], requantize = [double_round, f32]>
// CHECK-NEXT: #t2 = #target.spec<"rest", supports = [{op = "nn.clip"}, {op = "nn.sigmoid", requantize = [qlinear]}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 2.500000e-01>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 3.000000e-01>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 5.000000e-01>
// CHECK-NEXT: #k0 = #kernel.requantize<shift, even>
// CHECK-NEXT: #k1 = #kernel.requantize<double_round>
// CHECK-NEXT: #k2 = #kernel.requantize<shift, up>
// CHECK-NEXT: #k3 = #kernel.requantize<single_round>
// CHECK-NEXT: #k4 = #kernel.requantize<qlinear>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1, #t2]} {
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>, [[V1:%.+]]: tensor<2x!q1>) -> (tensor<2x!q2>, tensor<2x!q1>, tensor<2x!q2>, tensor<2x!q1>, tensor<2x!q2>, tensor<2x!q2>, tensor<2x!q2>, tensor<2x!q0>)
// CHECK-NEXT: [[V2:%.+]] = nn.relu [[V0]] {requantize = #k0} : (tensor<2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V3:%.+]] = nn.relu [[V0]] {requantize = #k1} : (tensor<2x!q0>) -> tensor<2x!q1>
// CHECK-NEXT: [[V4:%.+]] = nn.add [[V0]], [[V0]] {requantize = #k2} : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V0]], [[V0]] {requantize = #k3} : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q1>
// CHECK-NEXT: [[V6:%.+]] = nn.mul [[V0]], [[V1]] {requantize = #k1} : (tensor<2x!q0>, tensor<2x!q1>) -> tensor<2x!q2>
// CHECK-NEXT: [[V7:%.+]] = nn.clip [[V0]] {minimum = 0.0, maximum = 1.0, requantize = #k3} : (tensor<2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V8:%.+]] = nn.sub [[V0]], [[V0]] {requantize = #k3} : (tensor<2x!q0>, tensor<2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V9:%.+]] = nn.sigmoid [[V0]] {requantize = #k4} : tensor<2x!q0>
// CHECK-NEXT: func.return [[V2]], [[V3]], [[V4]], [[V5]], [[V6]], [[V7]], [[V8]], [[V9]] : tensor<2x!q2>, tensor<2x!q1>, tensor<2x!q2>, tensor<2x!q1>, tensor<2x!q2>, tensor<2x!q2>, tensor<2x!q2>, tensor<2x!q0>
