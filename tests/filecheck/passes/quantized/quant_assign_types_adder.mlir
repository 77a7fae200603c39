// RUN: qmlir-opt %s --verify-diagnostics -p quant-assign-types
// RUN: qmlir-opt %s -p quant-assign-types | filecheck %s

// The accumulator of an adder of 16 bits is the exact sum, s_x * s_w, with a bias of that scale; a product that the
// adder is not proven to hold goes to the next target, which adds in 32 bits.
!x = !quant.calibrated<f32<-1.27:1.27>>
!p = !quant.calibrated<f32<-40.0:40.0>>
builtin.module attributes {target.specs = [#target.spec<"mac", supports = [
    {op = "nn.matmul", input = {storages = [i8], schemes = [symmetric]}, weight = {storages = [i4<-7:7>]}, accumulator = {storages = [i16]}, adder = i16},
    {op = "nn.add", bias = {storages = [i16], scales = [sum]}, adder = i16}]>, #target.spec<"cpu", supports = [{op = "*"}]>]} {
  func.func @main(%x: tensor<1x36x!x>, %y: tensor<1x37x!x>) -> (tensor<1x1x!p>, tensor<1x1x!p>) {
    %w = nn.constant dense<0.7> : tensor<1x36xf32>
    %v = nn.constant dense<0.7> : tensor<1x37xf32>
    %b = nn.constant dense<0.5> : tensor<1xf32>
    %0 = nn.matmul %x, %w {transpose_b = true} : (tensor<1x36x!x>, tensor<1x36xf32>) -> tensor<1x1x!p> {origin = "fc1", role = "matmul"}
    %1 = nn.add %0, %b : (tensor<1x1x!p>, tensor<1xf32>) -> tensor<1x1x!p> {origin = "fc1", role = "bias_add"}
    // expected-remark@+1 {{'nn.matmul' op (fc2/matmul) is assigned to target 'cpu': target 'mac' does not support it: sums in [-33152, 32893], which overflow its i16 adder}}
    %2 = nn.matmul %y, %v {transpose_b = true} : (tensor<1x37x!x>, tensor<1x37xf32>) -> tensor<1x1x!p> {origin = "fc2", role = "matmul"}
    // expected-remark@+1 {{'nn.add' op (fc2/bias_add) is assigned to target 'cpu': target 'mac' does not support it: sums in [-32266, 33269]}}
    %3 = nn.add %2, %b : (tensor<1x1x!p>, tensor<1xf32>) -> tensor<1x1x!p> {origin = "fc2", role = "bias_add"}
    func.return %1, %3 : tensor<1x1x!p>, tensor<1x1x!p>
  }
}
// CHECK: #t0 = #target.spec<"mac", supports = [{op = "nn.matmul", input = {storages = [i8], schemes = [symmetric]}, weight = {storages = [i4<-7:7>]}, accumulator = {storages = [i16]}, adder = i16}, {op = "nn.add", bias = {storages = [i16], scales = [sum]}, adder = i16}]>
// CHECK-NEXT: #t1 = #target.spec<"cpu", supports = [{op = "*"}]>
// CHECK-NEXT: !q0 = !quant.uniform<i8:f32, 0.009960784576833248>
// CHECK-NEXT: !q1 = !quant.uniform<i4<-7:7>:f32, 0.10000000149011612>
// CHECK-NEXT: !q2 = !quant.uniform<i8<-127:127>:f32, 0.005511811003088951>
// CHECK-NEXT: !q3 = !quant.uniform<i32:f32, 5.490196053870022e-05>
// CHECK-NEXT: !q4 = !quant.uniform<i16:f32, 0.0009960784809663892>
// CHECK-NEXT: !q5 = !quant.uniform<i8:f32, 0.3137255012989044>
// CHECK-NEXT: builtin.module attributes {target.specs = [#t0, #t1]} {
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: tensor<1x36xf32>, [[V1:%.+]]: tensor<1x37xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>)
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V0]] : tensor<1x36xf32> to tensor<1x36x!q0>
// CHECK-NEXT: [[V3:%.+]] = quant.qcast [[V1]] : tensor<1x37xf32> to tensor<1x37x!q0>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<7> : tensor<1x36xi4> -> tensor<1x36x!q1>
// CHECK-NEXT: [[V5:%.+]] = nn.constant dense<127> : tensor<1x37xi8> -> tensor<1x37x!q2>
// CHECK-NEXT: [[V6:%.+]] = nn.constant dense<[9107]> : tensor<1xi32> -> tensor<1x!q3>
// CHECK-NEXT: [[V7:%.+]] = nn.constant dense<[502]> : tensor<1xi16> -> tensor<1x!q4>
// CHECK-NEXT: [[V8:%.+]] = nn.matmul [[V2]], [[V4]] {transpose_b = true} : (tensor<1x36x!q0>, tensor<1x36x!q1>) -> tensor<1x1x!q4> {origin = "fc1", role = "matmul"}
// CHECK-NEXT: [[V9:%.+]] = nn.add [[V8]], [[V7]] : (tensor<1x1x!q4>, tensor<1x!q4>) -> tensor<1x1x!q5> {origin = "fc1", role = "bias_add"}
// CHECK-NEXT: [[V10:%.+]] = quant.dcast [[V9]] {origin = "fc1", role = "bias_add"} : tensor<1x1x!q5> to tensor<1x1xf32>
// CHECK-NEXT: [[V11:%.+]] = nn.matmul [[V3]], [[V5]] {transpose_b = true} : (tensor<1x37x!q0>, tensor<1x37x!q2>) -> tensor<1x1x!q3> {origin = "fc2", role = "matmul"}
// CHECK-NEXT: [[V12:%.+]] = nn.add [[V11]], [[V6]] : (tensor<1x1x!q3>, tensor<1x!q3>) -> tensor<1x1x!q5> {origin = "fc2", role = "bias_add"}
// CHECK-NEXT: [[V13:%.+]] = quant.dcast [[V12]] {origin = "fc2", role = "bias_add"} : tensor<1x1x!q5> to tensor<1x1xf32>
// CHECK-NEXT: func.return [[V10]], [[V13]] : tensor<1x1xf32>, tensor<1x1xf32>
