// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni},kernel-split-rows{isa=avx512-vnni}' -o %t.twice && qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' | diff %t.twice -
// RUN: qmlir-opt %s --elide-weights -p 'kernel-split-rows{isa=avx512-vnni}' --verify-each=exec -o %t.checked

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>

// The mask chooses among bytes, and the least number of the row is not computed: what is masked is left out by the
// choice of 0. What the largest byte and another one give comes from a table.
// CHECK-LABEL: @masked(
// CHECK: linalg.generic {{.*}} ins(%{{.+}} : tensor<512xi1>)
// CHECK: arith.extui %{{.+}} : i1 to i8
// CHECK: [[L:%.+]] = linalg.generic {{.*}}"reduction"
// CHECK: arith.cmpi ne
// CHECK: arith.select %{{.+}}, %{{.+}}, %{{.+}} : i8
// CHECK-NEXT: arith.maxsi %{{.+}}, %{{.+}} : i8
// CHECK-NOT: row_max
// CHECK-NOT: arith.negf
// CHECK: kernel.join
// CHECK-NEXT: arith.select %{{.+}}, %{{.+}}, %{{.+}} : f32
// CHECK: func.return
func.func @masked(%x: tensor<128x512xi8>, %k: tensor<512xi1>) -> tensor<128x512xf32> {
  %0 = tensor.empty() : tensor<128x512xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %k : tensor<128x512xi8>, tensor<512xi1>) outs(%0 : tensor<128x512xf32>) {
  ^bb0(%a: i8, %keep: i1, %o: f32):
    %none = arith.constant 0.0 : f32
    %w = arith.sitofp %a : i8 to f32
    %n = arith.negf %w : f32
    %l = kernel.row_max %n {dims = array<i64: 1>} : f32
    %least = arith.negf %l : f32
    %s = arith.select %keep, %w, %least : f32
    %m = kernel.row_max %s {dims = array<i64: 1>} : f32
    %d = arith.subf %s, %m : f32
    %e = math.exp %d : f32
    %f = math.cosh %e : f32
    %y = arith.select %keep, %f, %none : f32
    linalg.yield %y : f32
  } -> tensor<128x512xf32>
  func.return %1 : tensor<128x512xf32>
}

// Not where a masked number counts: what comes of it is an element of the result.
// CHECK-LABEL: @counted(
// CHECK: arith.negf
// CHECK-NOT: arith.select {{.*}} : i8
// CHECK: func.return
func.func @counted(%x: tensor<128x512xi8>, %k: tensor<512xi1>) -> tensor<128x512xf32> {
  %0 = tensor.empty() : tensor<128x512xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %k : tensor<128x512xi8>, tensor<512xi1>) outs(%0 : tensor<128x512xf32>) {
  ^bb0(%a: i8, %keep: i1, %o: f32):
    %w = arith.sitofp %a : i8 to f32
    %n = arith.negf %w : f32
    %l = kernel.row_max %n {dims = array<i64: 1>} : f32
    %least = arith.negf %l : f32
    %s = arith.select %keep, %w, %least : f32
    %m = kernel.row_max %s {dims = array<i64: 1>} : f32
    %d = arith.subf %s, %m : f32
    linalg.yield %d : f32
  } -> tensor<128x512xf32>
  func.return %1 : tensor<128x512xf32>
}
