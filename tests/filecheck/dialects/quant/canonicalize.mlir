// RUN: qmlir-opt %s -p canonicalize | filecheck %s
// RUN: qmlir-opt %s -p canonicalize -o %t.once && qmlir-opt %t.once -p canonicalize | diff %t.once -

!q = !quant.uniform<i8:f32, 0.1:3>
!wide = !quant.uniform<i32:f32, 0.1:3>
!other = !quant.uniform<i8:f32, 0.2:3>

// Quantizing what was dequantized gives the stored values back: exact for 8 bits.
func.func @requantize(%x: tensor<2x!q>) -> tensor<2x!q> {
  %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!q>
  func.return %1 : tensor<2x!q>
}

// 32 bits do not survive f32: both casts stay.
func.func @too_wide(%x: tensor<2x!wide>) -> tensor<2x!wide> {
  %0 = quant.dcast %x : tensor<2x!wide> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!wide>
  func.return %1 : tensor<2x!wide>
}

// Another scale is a rescale.
func.func @rescale(%x: tensor<2x!q>) -> tensor<2x!other> {
  %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!other>
  func.return %1 : tensor<2x!other>
}

// The rounding of a quantization is never erased.
func.func @rounding_stays(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = quant.qcast %x : tensor<2xf32> to tensor<2x!q>
  %1 = quant.dcast %0 : tensor<2x!q> to tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

func.func @storage_pair(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = quant.scast %x : tensor<2xi8> to tensor<2x!q>
  %1 = quant.scast %0 : tensor<2x!q> to tensor<2xi8>
  func.return %1 : tensor<2xi8>
}

!fine = !quant.uniform<i16:f32, 0.05:-7>
!moved = !quant.uniform<u8:f32, 0.1:131>
!coarse = !quant.uniform<i8:f32, 0.3>
!half = !quant.uniform<i8:f32, 0.15:3>

// A type in between that holds every number goes, whatever follows.
func.func @rescaled_exactly(%x: tensor<2x!q>) -> (tensor<2xf32>, tensor<2x!coarse>) {
  %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!moved>
  %2 = quant.dcast %1 : tensor<2x!moved> to tensor<2xf32>
  %3 = quant.qcast %2 : tensor<2xf32> to tensor<2x!coarse>
  func.return %2, %3 : tensor<2xf32>, tensor<2x!coarse>
}

// So does one to which floats are not the same, where the same integers come of them in the end: 0.05 is half of 0.1 but
// for a bit.
func.func @there_and_back(%x: tensor<2x!q>) -> tensor<2x!q> {
  %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!fine>
  %2 = quant.dcast %1 : tensor<2x!fine> to tensor<2xf32>
  %3 = quant.qcast %2 : tensor<2xf32> to tensor<2x!q>
  func.return %3 : tensor<2x!q>
}

// What is rounded, or cut off, twice is not what is rounded once.
func.func @rescaled_with_loss(%x: tensor<2x!q>) -> (tensor<2x!q>, tensor<2x!half>) {
  %0 = quant.dcast %x : tensor<2x!q> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!coarse>
  %2 = quant.dcast %1 : tensor<2x!coarse> to tensor<2xf32>
  %3 = quant.qcast %2 : tensor<2xf32> to tensor<2x!q>
  %4 = quant.qcast %2 : tensor<2xf32> to tensor<2x!half>
  func.return %3, %4 : tensor<2x!q>, tensor<2x!half>
}

// 32 bits are not looked through.
func.func @rescaled_from_wide(%x: tensor<2x!wide>) -> tensor<2x!q> {
  %0 = quant.dcast %x : tensor<2x!wide> to tensor<2xf32>
  %1 = quant.qcast %0 : tensor<2xf32> to tensor<2x!fine>
  %2 = quant.dcast %1 : tensor<2x!fine> to tensor<2xf32>
  %3 = quant.qcast %2 : tensor<2xf32> to tensor<2x!q>
  func.return %3 : tensor<2x!q>
}

// CHECK: !q0 = !quant.uniform<i8:f32, 1.000000e-01:3>
// CHECK-NEXT: !q1 = !quant.uniform<i32:f32, 1.000000e-01:3>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 2.000000e-01:3>
// CHECK-NEXT: !q3 = !quant.uniform<i8:f32, 3.000000e-01>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f32, 1.500000e-01:3>
// CHECK-NEXT: !q5 = !quant.uniform<i16:f32, 5.000000e-02:-7>
// CHECK-LABEL: @requantize(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V0]] : tensor<2x!q0>
// CHECK-LABEL: @too_wide(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q1>) -> tensor<2x!q1>
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q1>
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q1>
// CHECK-LABEL: @rescale(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q2>
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q2>
// CHECK-NEXT: func.return [[V2]] : tensor<2x!q2>
// CHECK-LABEL: @rounding_stays(
// CHECK-SAME: [[V0:%.+]]: tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: [[V1:%.+]] = quant.qcast [[V0]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V2:%.+]] = quant.dcast [[V1]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: func.return [[V2]] : tensor<2xf32>
// CHECK-LABEL: @storage_pair(
// CHECK-SAME: [[V0:%.+]]: tensor<2xi8>) -> tensor<2xi8>
// CHECK-NEXT: func.return [[V0]] : tensor<2xi8>
// CHECK-LABEL: @rescaled_exactly(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2xf32>, tensor<2x!q3>)
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q3>
// CHECK-NEXT: func.return [[V1]], [[V2]] : tensor<2xf32>, tensor<2x!q3>
// CHECK-LABEL: @there_and_back(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> tensor<2x!q0>
// CHECK-NEXT: func.return [[V0]] : tensor<2x!q0>
// CHECK-LABEL: @rescaled_with_loss(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q0>) -> (tensor<2x!q0>, tensor<2x!q4>)
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q0> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q3>
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<2x!q3> to tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: [[V5:%.+]] = quant.qcast [[V3]] : tensor<2xf32> to tensor<2x!q4>
// CHECK-NEXT: func.return [[V4]], [[V5]] : tensor<2x!q0>, tensor<2x!q4>
// CHECK-LABEL: @rescaled_from_wide(
// CHECK-SAME: [[V0:%.+]]: tensor<2x!q1>) -> tensor<2x!q0>
// CHECK-NEXT: [[V1:%.+]] = quant.dcast [[V0]] : tensor<2x!q1> to tensor<2xf32>
// CHECK-NEXT: [[V2:%.+]] = quant.qcast [[V1]] : tensor<2xf32> to tensor<2x!q5>
// CHECK-NEXT: [[V3:%.+]] = quant.dcast [[V2]] : tensor<2x!q5> to tensor<2xf32>
// CHECK-NEXT: [[V4:%.+]] = quant.qcast [[V3]] : tensor<2xf32> to tensor<2x!q0>
// CHECK-NEXT: func.return [[V4]] : tensor<2x!q0>
