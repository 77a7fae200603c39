// RUN: qmlir-opt %s --irdl-file %S/Inputs/cmath.irdl.mlir | filecheck %s
// RUN: not qmlir-opt %s --irdl-file %s 2>&1 | filecheck %s --check-prefix=NONE
// CHECK: "tiny.twice"({{%.+}}) : (f32) -> f32
// NONE: error: Operation tiny.twice is not registered
func.func @main(%x: f32) -> f32 {
  %0 = "tiny.twice"(%x) : (f32) -> f32
  func.return %0 : f32
}
