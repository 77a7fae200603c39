// RUN: qmlir-opt %s | filecheck %s

// Every spelling of storage, and what prints for it.
func.func private @storage(!quant.any<i8>, !quant.any<u8:f32>, !quant.any<si8:f32>, !quant.any<ui4:f16>, !quant.any<i32>)
// The limits of the storage type itself are left out.
func.func private @limits(!quant.any<i8<-128:127>>, !quant.any<i8<-127:127>>, !quant.any<u4<1:14>>, !quant.any<i2<-1:1>>)
// Floats print so that no bit is lost.
func.func private @exact(!quant.uniform<i8:f32, 0.10000000149011612>, !quant.uniform<i8:f32, 0x3FF0000000000000>, !quant.uniform<i8:f32, 1.0e-40>)
func.func private @expressed(!quant.uniform<i8:bf16, 0.5>, !quant.uniform<i8:f64, 0.5:-128>, !quant.uniform<u1:f32, 0.5:1>)
func.func private @calibrated(!quant.calibrated<f32<-0.998:1.2321>>, !quant.calibrated<f16<0.0:6.0>>)
// Upstream prints the zero points of unsigned blocks as the signed numbers of their bits: 200 of u8 as -56.
func.func private @unsigned_blocks(!quant.uniform<u8:f32:{0:1}, {0.5:-56, 0.5:200, 0.5:-128, 0.5:127}>)
// An alias as storage, and nested lists of channels, as upstream reads them.
!byte = i8
func.func private @alias(!quant.any<!byte>)
func.func private @nested(!quant.uniform<i8:f32:0, {{0.5, 0.25}, {1.0:1, 2.0}}>)
// Floats of 8 bits and fewer as storage have no zero point.
func.func private @floats(!quant.uniform<f8E4M3FN:f32, 0.5>, !quant.uniform<f8E5M2:f16:1, {0.5, 0.25}>, !quant.uniform<f4E2M1FN:bf16:{0:2}, {{0.5}, {0.25:0}}>)
// Upstream stores a block size in 64 bits.
func.func private @largest_block(!quant.uniform<i8:f32:{0:9223372036854775807}, {0.25}>)

// CHECK: !q0 = !quant.uniform<i8:f32, 0.10000000149011612>
// CHECK-NEXT: !q1 = !quant.uniform<i8:f32, 1.000000e+00>
// CHECK-NEXT: !q2 = !quant.uniform<i8:f32, 1.000000e-40>
// CHECK-NEXT: !q3 = !quant.uniform<i8:bf16, 5.000000e-01>
// CHECK-NEXT: !q4 = !quant.uniform<i8:f64, 5.000000e-01:-128>
// CHECK-NEXT: !q5 = !quant.uniform<u1:f32, 5.000000e-01:1>
// CHECK-NEXT: !q6 = !quant.calibrated<f32<-9.980000e-01:1.232100e+00>>
// CHECK-NEXT: !q7 = !quant.calibrated<f16<0.000000e+00:6.000000e+00>>
// CHECK-NEXT: !q8 = !quant.uniform<u8:f32:{0:1}, {5.000000e-01:200, 5.000000e-01:200, 5.000000e-01:128, 5.000000e-01:127}>
// CHECK-NEXT: !q9 = !quant.uniform<i8:f32:0, {5.000000e-01, 2.500000e-01, 1.000000e+00:1, 2.000000e+00}>
// CHECK-NEXT: !q10 = !quant.uniform<f8E4M3FN:f32, 5.000000e-01>
// CHECK-NEXT: !q11 = !quant.uniform<f8E5M2:f16:1, {5.000000e-01, 2.500000e-01}>
// CHECK-NEXT: !q12 = !quant.uniform<f4E2M1FN:bf16:{0:2}, {{\{\{}}5.000000e-01}, {2.500000e-01}}>
// CHECK-NEXT: !q13 = !quant.uniform<i8:f32:{0:9223372036854775807}, {2.500000e-01}>
// CHECK-LABEL: @storage(
// CHECK-SAME: !quant.any<i8>, !quant.any<u8:f32>, !quant.any<i8:f32>, !quant.any<u4:f16>, !quant.any<i32>) -> ()
// CHECK-LABEL: @limits(
// CHECK-SAME: !quant.any<i8>, !quant.any<i8<-127:127>>, !quant.any<u4<1:14>>, !quant.any<i2<-1:1>>) -> ()
// CHECK-LABEL: @exact(
// CHECK-SAME: !q0, !q1, !q2) -> ()
// CHECK-LABEL: @expressed(
// CHECK-SAME: !q3, !q4, !q5) -> ()
// CHECK-LABEL: @calibrated(
// CHECK-SAME: !q6, !q7) -> ()
// CHECK-LABEL: @unsigned_blocks(
// CHECK-SAME: !q8) -> ()
// CHECK-LABEL: @alias(
// CHECK-SAME: !quant.any<i8>) -> ()
// CHECK-LABEL: @nested(
// CHECK-SAME: !q9) -> ()
// CHECK-LABEL: @floats(
// CHECK-SAME: !q10, !q11, !q12) -> ()
// CHECK-LABEL: @largest_block(
// CHECK-SAME: !q13) -> ()
