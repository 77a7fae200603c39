// RUN: qmlir-opt %s -p quant-assign-types,cse | filecheck %s
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/residual_bytes.toml},cse' | filecheck %s --check-prefix=BYTES
// RUN: not qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/residual_slot.toml}' 2>&1 | filecheck %s --check-prefix=SLOT
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/residual_norms.toml},quant-propagate-types' | filecheck %s --check-prefix=FLOAT

// A rule keeps norms in float, for later passes too.
// FLOAT-LABEL: @norm_behind(
// FLOAT: nn.layer_norm {{.*}} -> tensor<4x8xf32> {origin = "ln1", nn.keep_float}

// SLOT: error: '{{.*}}residual_slot.toml', rule 1 (slot = 'weight'): residual is only for results, but the rule is for slot 'weight'
// BYTES-NOT: i16

// What norms of rows read, added up over layers, has 16 bits; products round it to their own slot before. A sum that no
// norm of rows reads keeps 8 bits, and so does the result of a norm that only products read.
!c = !quant.calibrated<f32<-1.27:1.27>>
!s = !quant.calibrated<f32<-8.0:8.0>>
!n = !quant.calibrated<f32<-3.0:3.0>>
func.func @norm_behind(%x: tensor<4x8x!c>) -> tensor<4x8x!n> {
  %w = nn.constant dense<0.5> : tensor<8x8xf32>
  %one = nn.constant dense<1.0> : tensor<8xf32>
  %0 = nn.matmul %x, %w : (tensor<4x8x!c>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "o"}
  %1 = nn.add %x, %0 : (tensor<4x8x!c>, tensor<4x8x!s>) -> tensor<4x8x!s> {origin = "sum1"}
  %2 = nn.layer_norm %1, %one : (tensor<4x8x!s>, tensor<8xf32>) -> tensor<4x8x!n> {origin = "ln1"}
  %3 = nn.matmul %2, %w : (tensor<4x8x!n>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "up"}
  %4 = nn.relu %3 : (tensor<4x8x!s>) -> tensor<4x8x!s> {origin = "relu"}
  %5 = nn.matmul %4, %w : (tensor<4x8x!s>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "down"}
  %6 = nn.add %2, %5 : (tensor<4x8x!n>, tensor<4x8x!s>) -> tensor<4x8x!s> {origin = "sum2"}
  %7 = nn.layer_norm %6, %one : (tensor<4x8x!s>, tensor<8xf32>) -> tensor<4x8x!n> {origin = "ln2"}
  func.return %7 : tensor<4x8x!n>
}
func.func @norm_before(%x: tensor<4x8x!c>) -> tensor<4x8x!s> {
  %w = nn.constant dense<0.5> : tensor<8x8xf32>
  %one = nn.constant dense<1.0> : tensor<8xf32>
  %0 = nn.rms_norm %x, %one : (tensor<4x8x!c>, tensor<8xf32>) -> tensor<4x8x!n> {origin = "ln1"}
  %1 = nn.matmul %0, %w : (tensor<4x8x!n>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "o"}
  %2 = nn.add %x, %1 : (tensor<4x8x!c>, tensor<4x8x!s>) -> tensor<4x8x!s> {origin = "sum1"}
  %3 = nn.rms_norm %2, %one : (tensor<4x8x!s>, tensor<8xf32>) -> tensor<4x8x!n> {origin = "ln2"}
  %4 = nn.matmul %3, %w : (tensor<4x8x!n>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "down"}
  %5 = nn.add %2, %4 : (tensor<4x8x!s>, tensor<4x8x!s>) -> tensor<4x8x!s> {origin = "sum2"}
  func.return %5 : tensor<4x8x!s>
}
func.func @no_stream(%x: tensor<4x8x!c>) -> tensor<4x8x!n> {
  %w = nn.constant dense<0.5> : tensor<8x8xf32>
  %one = nn.constant dense<1.0> : tensor<8xf32>
  %0 = nn.matmul %x, %w : (tensor<4x8x!c>, tensor<8x8xf32>) -> tensor<4x8x!s> {origin = "fc"}
  %1 = nn.add %0, %one : (tensor<4x8x!s>, tensor<8xf32>) -> tensor<4x8x!s> {origin = "bias"}
  %2 = nn.layer_norm %1, %one : (tensor<4x8x!s>, tensor<8xf32>) -> tensor<4x8x!n> {origin = "ln"}
  %3 = nn.add %2, %x : (tensor<4x8x!n>, tensor<4x8x!c>) -> tensor<4x8x!n> {origin = "sum"}
  func.return %3 : tensor<4x8x!n>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 0.009960784576833248>
// CHECK-NEXT: !q1 = !quant.uniform<i8<-127:127>:f32, 0.003937007859349251>
// CHECK-NEXT: !q2 = !quant.uniform<i32:f32, 3.9215687138494104e-05>
// CHECK-NEXT: !q3 = !quant.uniform<i16:f32, 0.00024414435029029846>
// CHECK-NEXT: !q4 = !quant.uniform<i16:f32, 9.155413135886192e-05>
// CHECK-NEXT: !q5 = !quant.uniform<i8:f32, 0.0235294122248888>
// CHECK-NEXT: !q6 = !quant.uniform<i8:f32, 0.062745101749897>
// CHECK-NEXT: !q7 = !quant.uniform<i32:f32, 0.00024702795781195164>
// CHECK-NEXT: !q8 = !quant.uniform<i32:f32, 9.263548417948186e-05>
// CHECK-LABEL: @norm_behind(
// CHECK-SAME: [[V0:%.+]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<4x8xf32> to tensor<4x8x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<127> : tensor<8x8xi8> -> tensor<8x8x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.matmul [[V1]], [[V2]] : (tensor<4x8x!q0>, tensor<8x8x!q1>) -> tensor<4x8x!q2> {origin = "o"}
// CHECK-NEXT: [[V5:%.+]] = nn.add [[V1]], [[V4]] : (tensor<4x8x!q0>, tensor<4x8x!q2>) -> tensor<4x8x!q3> {origin = "sum1"}
// CHECK-NEXT: [[V6:%.+]] = nn.layer_norm [[V5]], [[V3]] : (tensor<4x8x!q3>, tensor<8xf32>) -> tensor<4x8x!q4> {origin = "ln1"}
// CHECK-NEXT: [[V7:%.+]] = quant.dcast [[V6]] {origin = "ln1"} : tensor<4x8x!q4> to tensor<4x8xf32>
// CHECK-NEXT: [[V8:%.+]] = quant.qcast [[V7]] {origin = "ln1"} : tensor<4x8xf32> to tensor<4x8x!q5>
// CHECK-NEXT: [[V9:%.+]] = nn.matmul [[V8]], [[V2]] : (tensor<4x8x!q5>, tensor<8x8x!q1>) -> tensor<4x8x!q6> {origin = "up"}
// CHECK-NEXT: [[V10:%.+]] = nn.relu [[V9]] : tensor<4x8x!q6> {origin = "relu"}
// CHECK-NEXT: [[V11:%.+]] = nn.matmul [[V10]], [[V2]] : (tensor<4x8x!q6>, tensor<8x8x!q1>) -> tensor<4x8x!q7> {origin = "down"}
// CHECK-NEXT: [[V12:%.+]] = nn.add [[V6]], [[V11]] : (tensor<4x8x!q4>, tensor<4x8x!q7>) -> tensor<4x8x!q3> {origin = "sum2"}
// CHECK-NEXT: [[V13:%.+]] = quant.dcast [[V12]] {origin = "sum2"} : tensor<4x8x!q3> to tensor<4x8xf32>
// CHECK-NEXT: [[V14:%.+]] = nn.layer_norm [[V13]], [[V3]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {origin = "ln2"}
// CHECK-NEXT: func.return [[V14]] : tensor<4x8xf32>
// CHECK-LABEL: @norm_before(
// CHECK-SAME: [[V0:%.+]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<4x8xf32> to tensor<4x8x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<127> : tensor<8x8xi8> -> tensor<8x8x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.rms_norm [[V0]], [[V3]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {origin = "ln1"}
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V4]] {origin = "ln1"} : tensor<4x8xf32> to tensor<4x8x!q5>
// CHECK-NEXT: [[V6:%.+]] = nn.matmul [[V5]], [[V2]] : (tensor<4x8x!q5>, tensor<8x8x!q1>) -> tensor<4x8x!q8> {origin = "o"}
// CHECK-NEXT: [[V7:%.+]] = nn.add [[V1]], [[V6]] : (tensor<4x8x!q0>, tensor<4x8x!q8>) -> tensor<4x8x!q3> {origin = "sum1"}
// CHECK-NEXT: [[V8:%.+]] = nn.rms_norm [[V7]], [[V3]] : (tensor<4x8x!q3>, tensor<8xf32>) -> tensor<4x8x!q5> {origin = "ln2"}
// CHECK-NEXT: [[V9:%.+]] = nn.matmul [[V8]], [[V2]] : (tensor<4x8x!q5>, tensor<8x8x!q1>) -> tensor<4x8x!q8> {origin = "down"}
// CHECK-NEXT: [[V10:%.+]] = nn.add [[V7]], [[V9]] : (tensor<4x8x!q3>, tensor<4x8x!q8>) -> tensor<4x8x!q6> {origin = "sum2"}
// CHECK-NEXT: [[V11:%.+]] = quant.dcast [[V10]] {origin = "sum2"} : tensor<4x8x!q6> to tensor<4x8xf32>
// CHECK-NEXT: func.return [[V11]] : tensor<4x8xf32>
// CHECK-LABEL: @no_stream(
// CHECK-SAME: [[V0:%.+]]: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<4x8xf32> to tensor<4x8x!q0>
// CHECK-NEXT: [[V2:%.+]] = nn.constant dense<127> : tensor<8x8xi8> -> tensor<8x8x!q1>
// CHECK-NEXT: [[V3:%.+]] = nn.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: [[V4:%.+]] = nn.constant dense<25500> : tensor<8xi32> -> tensor<8x!q2>
// CHECK-NEXT: [[V5:%.+]] = nn.matmul [[V1]], [[V2]] : (tensor<4x8x!q0>, tensor<8x8x!q1>) -> tensor<4x8x!q2> {origin = "fc"}
// CHECK-NEXT: [[V6:%.+]] = nn.add [[V5]], [[V4]] : (tensor<4x8x!q2>, tensor<8x!q2>) -> tensor<4x8x!q6> {origin = "bias"}
// CHECK-NEXT: [[V7:%.+]] = nn.layer_norm [[V6]], [[V3]] : (tensor<4x8x!q6>, tensor<8xf32>) -> tensor<4x8x!q5> {origin = "ln"}
// CHECK-NEXT: [[V8:%.+]] = nn.add [[V7]], [[V1]] : (tensor<4x8x!q5>, tensor<4x8x!q0>) -> tensor<4x8x!q5> {origin = "sum"}
// CHECK-NEXT: [[V9:%.+]] = quant.dcast [[V8]] {origin = "sum"} : tensor<4x8x!q5> to tensor<4x8xf32>
// CHECK-NEXT: func.return [[V9]] : tensor<4x8xf32>
