// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=litert_reference}' | filecheck %s
// RUN: qmlir-opt %s -p 'quant-set-requantize{mode=litert_reference},quant-set-requantize{mode=f32}' | filecheck %s --check-prefix=BACK

!x = !quant.uniform<i8:f32, 0.75:-3>
!y = !quant.uniform<i8:f32, 0.375:7>

// Casts from floats round as LiteRT does; an average pool keeps the type of its operand, and a rescale follows.
// CHECK-LABEL: @main(
// CHECK: [[X:%.+]] = nn.clip %x {requantize = [[M:#.+]]} : (tensor<1x1x2x2xf32>) -> tensor<1x1x2x2x!
// CHECK: [[P:%.+]] = nn.average_pool [[X]] {kernel = [2, 2], requantize = [[M]]} : (tensor<1x1x2x2x[[T:!.+]]>) -> tensor<1x1x1x1x[[T]]>
// CHECK: [[C:%.+]] = nn.clip [[P]] {requantize = [[M]]} : (tensor<1x1x1x1x[[T]]>) -> tensor<1x1x1x1x!
// CHECK: [[S:%.+]] = nn.hard_swish [[C]] {requantize = [[M]]}
// CHECK: [[E:%.+]] = nn.exp [[S]] : tensor<1x1x1x1x!
// BACK-LABEL: @main(
// BACK: quant.qcast
// BACK-NOT: litert
func.func @main(%x: tensor<1x1x2x2xf32>) -> tensor<1x1x1x1x!y> {
  %0 = quant.qcast %x : tensor<1x1x2x2xf32> to tensor<1x1x2x2x!x>
  %1 = nn.average_pool %0 {kernel = [2, 2]} : (tensor<1x1x2x2x!x>) -> tensor<1x1x1x1x!y>
  %2 = nn.hard_swish %1 : tensor<1x1x1x1x!y>
  %3 = nn.exp %2 : tensor<1x1x1x1x!y>
  func.return %3 : tensor<1x1x1x1x!y>
}
