// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s

func.func @qcast(%x: tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.02:-3>> {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32, 0.02:-3>>
  func.return %0 : tensor<2x4x!quant.uniform<i8:f32, 0.02:-3>>
}

func.func @dcast(%x: tensor<*x!quant.uniform<u8:f32, 0.02:128>>) -> tensor<*xf32> {
  %0 = quant.dcast %x : tensor<*x!quant.uniform<u8:f32, 0.02:128>> to tensor<*xf32>
  func.return %0 : tensor<*xf32>
}

func.func @scast(%x: tensor<?xi4>) -> tensor<?x!quant.uniform<i4:f32, 0.5>> {
  %0 = quant.scast %x {origin = "w"} : tensor<?xi4> to tensor<?x!quant.uniform<i4:f32, 0.5>>
  func.return %0 : tensor<?x!quant.uniform<i4:f32, 0.5>>
}

func.func @scalar(%x: f32) -> f32 {
  %0 = quant.qcast %x : f32 to !quant.any<i8:f32>
  %1 = quant.scast %0 : !quant.any<i8:f32> to i8
  %2 = quant.scast %1 : i8 to !quant.any<i8:f32>
  %3 = quant.dcast %2 : !quant.any<i8:f32> to f32
  func.return %3 : f32
}

func.func @per_axis(%x: tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3, 0.3}>> {
  %0 = quant.qcast %x : tensor<2x3xf32> to tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3, 0.3}>>
  func.return %0 : tensor<2x3x!quant.uniform<i8<-127:127>:f32:1, {0.1, 0.2:3, 0.3}>>
}

func.func @sub_channel(%x: tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:1, 0.2:2}, {0.3:3, 0.4:4}}>> {
  %0 = quant.qcast %x : tensor<2x4xf32> to tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:1, 0.2:2}, {0.3:3, 0.4:4}}>>
  func.return %0 : tensor<2x4x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.1:1, 0.2:2}, {0.3:3, 0.4:4}}>>
}


// CHECK: !q0 = !quant.uniform<i8:f32, 2.000000e-02:-3>
// CHECK-NEXT: !q1 = !quant.uniform<u8:f32, 2.000000e-02:128>
// CHECK-NEXT: !q2 = !quant.uniform<i4:f32, 5.000000e-01>
// CHECK-NEXT: !q3 = !quant.uniform<i8<-127:127>:f32:1, {1.000000e-01, 2.000000e-01:3, 3.000000e-01}>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32:{0:1, 1:2}, {{\{\{}}1.000000e-01:1, 2.000000e-01:2}, {3.000000e-01:3, 4.000000e-01:4}}>
// CHECK-LABEL: @qcast(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> tensor<2x4x!q0>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q0>
// CHECK-NEXT: func.return [[V1]] : tensor<2x4x!q0>
// CHECK-LABEL: @dcast(
// CHECK-SAME: [[V0:%.+]]: tensor<*x!q1>) -> tensor<*xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<*x!q1> to tensor<*xf32>
// CHECK-NEXT: func.return [[V1]] : tensor<*xf32>
// CHECK-LABEL: @scast(
// CHECK-SAME: [[V0:%.+]]: tensor<?xi4>) -> tensor<?x!q2>
// CHECK-NEXT: [[V1:%.+]] = quant.scast [[V0]] {origin = "w"} : tensor<?xi4> to tensor<?x!q2>
// CHECK-NEXT: func.return [[V1]] : tensor<?x!q2>
// CHECK-LABEL: @scalar(
// CHECK-SAME: [[V0:%.+]]: f32) -> f32
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : f32 to !quant.any<i8:f32>
// CHECK-NEXT: [[V2:%.+]] = quant.scast [[V1]] : !quant.any<i8:f32> to i8
// CHECK-NEXT: [[V3:%.+]] = quant.scast [[V2]] : i8 to !quant.any<i8:f32>
// CHECK-NEXT: [[V4:%.+]] = quant.dcast [[V3]] : !quant.any<i8:f32> to f32
// CHECK-NEXT: func.return [[V4]] : f32
// CHECK-LABEL: @per_axis(
// CHECK-SAME: [[V0:%.+]]: tensor<2x3xf32>) -> tensor<2x3x!q3>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x3xf32> to tensor<2x3x!q3>
// CHECK-NEXT: func.return [[V1]] : tensor<2x3x!q3>
// CHECK-LABEL: @sub_channel(
// CHECK-SAME: [[V0:%.+]]: tensor<2x4xf32>) -> tensor<2x4x!q4>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2x4xf32> to tensor<2x4x!q4>
// CHECK-NEXT: func.return [[V1]] : tensor<2x4x!q4>
