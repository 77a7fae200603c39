// RUN: qmlir-opt %s --print-debuginfo -o %t.mlir && filecheck %s --input-file %t.mlir
// RUN: qmlir-opt %t.mlir --mlir-print-debuginfo | diff %t.mlir -
// RUN: qmlir-opt %s --print-debuginfo --print-op-generic | qmlir-opt --print-debuginfo | diff %t.mlir -

// What upstream's mlir-opt prints: aliases before and after their uses, every kind of location. Of a range its start is
// kept, for xDSL has none.
// CHECK: func.func @f(%arg0: i32 loc("up.mlir":1:14)) -> i32 {
// CHECK-NEXT: arith.addi %arg0, %arg0 : i32 loc("up.mlir":1:37)
// CHECK-NEXT: arith.muli %{{.+}}, %arg0 {origin = "sum"} : i32 loc(callsite("up.mlir":1:37 at "outer"("up.mlir":1:14)))
// CHECK-NEXT: func.return %{{.+}} : i32 loc(fused<"inlined">["up.mlir":1:37, unknown])
// CHECK-NEXT: } loc("up.mlir":1:1)
// CHECK: func.func @generic(%x: tensor<4xf32> loc("x"), %y: tensor<f32> loc(unknown))
// CHECK: ^bb0(%a: f32 loc("a"), %o: f32 loc("o"), %p: f32 loc("up.mlir":1:1)):
// CHECK: } -> (tensor<4xf32>, tensor<4xf32>) loc("up.mlir":0:0)
// CHECK: (%in: f32 loc("in"), %acc: f32 loc(unknown)) {
// CHECK: } loc("up.mlir":0:0)
#loc2 = loc("up.mlir":1:14)
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: i32 loc("up.mlir":1:14)) -> i32 {
    %0 = arith.addi %arg0, %arg0 : i32 loc(#loc3)
    %1 = "arith.muli"(%0, %arg0) {origin = "sum"} : (i32, i32) -> i32 loc(#loc5)
    return %1 : i32 loc(#loc6)
  } loc(#loc1)
  func.func @generic(%x: tensor<4xf32> loc("x"), %y: tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
    %0:2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
        ins(%x : tensor<4xf32>) outs(%x, %x : tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: f32 loc("a"), %o: f32 loc("o"), %p: f32 loc(#loc1)):
      linalg.yield %a, %o : f32, f32
    } -> (tensor<4xf32>, tensor<4xf32>) loc(#loc)
    %1 = linalg.reduce ins(%0#0 : tensor<4xf32>) outs(%y : tensor<f32>) dimensions = [0]
      (%in: f32 loc("in"), %acc: f32) {
        %s = arith.addf %in, %acc : f32
        linalg.yield %s : f32
      }
    return %0#0, %0#1, %1 : tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
} loc(#loc)
#loc = loc("up.mlir":0:0)
#loc1 = loc("up.mlir":1:1 to 2:3)
#loc3 = loc("up.mlir":1:37 to :41)
#loc4 = loc("outer"(#loc2))
#loc5 = loc(callsite(#loc3 at #loc4))
#loc6 = loc(fused<"inlined">[#loc3, unknown])
