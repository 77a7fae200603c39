// RUN: qmlir-opt %s -p symbol-dce | filecheck %s

// Private functions that call each other and are called by nobody alive.
func.func private @ping(%x: f32) -> f32 {
  %0 = func.call @pong(%x) : (f32) -> f32
  func.return %0 : f32
}
func.func private @pong(%x: f32) -> f32 {
  %0 = func.call @ping(%x) : (f32) -> f32
  func.return %0 : f32
}
func.func private @used(%x: f32) -> f32 {
  func.return %x : f32
}
func.func @main(%x: f32) -> f32 {
  %0 = func.call @used(%x) : (f32) -> f32
  func.return %0 : f32
}

// CHECK-LABEL: @used(
// CHECK-SAME: [[V0:%.+]]: f32) -> f32
// CHECK-NEXT: func.return [[V0]] : f32
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: f32) -> f32
// CHECK-NEXT: [[V1:%.+]] = func.call @used([[V0]]) : (f32) -> f32
// CHECK-NEXT: func.return [[V1]] : f32
