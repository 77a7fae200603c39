// RUN: qmlir-opt --split-input-file --verify-roundtrip %s | filecheck %s

// Bytes of resources are kept, and printed under their key.
func.func @f() -> (tensor<2xf32>, tensor<1xf32>, tensor<1xf32>) {
  %a = arith.constant dense_resource<some> : tensor<2xf32>
  %b = arith.constant dense_resource<other> : tensor<1xf32>
  %c = arith.constant dense_resource<elided> : tensor<1xf32>
  return %a, %b, %c : tensor<2xf32>, tensor<1xf32>, tensor<1xf32>
}
{-#
  dialect_resources: {
    builtin: {
      some: "0x040000000000803F00000040",
      other: "0x0400000000000040"
    }
  }
#-}
// CHECK:      dense_resource<some> : tensor<2xf32>
// CHECK-NEXT: dense_resource<other> : tensor<1xf32>
// CHECK-NEXT: dense_resource<elided> : tensor<1xf32>
// CHECK:      dialect_resources: {
// CHECK-NEXT:   builtin: {
// CHECK-NEXT:     other: "0x0400000000000040",
// CHECK-SAME:     some: "0x040000000000803F00000040"

// -----

// Another text has other bytes under a key of the first one.
func.func @f() -> tensor<2xf32> {
  %a = arith.constant dense_resource<some> : tensor<2xf32>
  return %a : tensor<2xf32>
}
{-# dialect_resources: { builtin: { some: "0x04000000000080BF000000C0" } } #-}
// CHECK:      dense_resource<some_0> : tensor<2xf32>
// CHECK:      some_0: "0x04000000000080BF000000C0"
