// RUN: qmlir-opt %s | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s --print-op-generic | qmlir-opt | filecheck %s
// RUN: qmlir-opt %s -o %t.mlir && qmlir-opt %t.mlir | filecheck %s

// Leaves have weights of every score; NaN goes the first way at some nodes.
// CHECK-LABEL: @dense
func.func @dense(%x: tensor<?x2xf32>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf32>, %c: tensor<3x2xi32>, %w: tensor<5x2xf32>, %m: tensor<3xi1>) -> tensor<?x2xf32> {
  // CHECK-NEXT: {{%.+}} = nn.tree_ensemble %x, %r, %f, %t, %c, %w, _, %m {count = 2, aggregate = "max"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>, tensor<3xi1>) -> tensor<?x2xf32> {origin = "trees"}
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w, _, %m {count = 2, aggregate = "max"} : (tensor<?x2xf32>, tensor<4xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<5x2xf32>, tensor<3xi1>) -> tensor<?x2xf32> {origin = "trees"}
  func.return %0 : tensor<?x2xf32>
}

// Each leaf says which of many scores its weight is for.
// CHECK-LABEL: @sparse
func.func @sparse(%x: tensor<1x2xf64>, %r: tensor<4xi32>, %f: tensor<3xi32>, %t: tensor<3xf64>, %c: tensor<3x2xi32>, %w: tensor<5x1xf64>, %s: tensor<5x1xi32>) -> tensor<1x9xf64> {
  // CHECK-NEXT: {{%.+}} = nn.tree_ensemble %x, %r, %f, %t, %c, %w, %s {count = 9} : (tensor<1x2xf64>, tensor<4xi32>, tensor<3xi32>, tensor<3xf64>, tensor<3x2xi32>, tensor<5x1xf64>, tensor<5x1xi32>) -> tensor<1x9xf64>
  %0 = nn.tree_ensemble %x, %r, %f, %t, %c, %w, %s {count = 9} : (tensor<1x2xf64>, tensor<4xi32>, tensor<3xi32>, tensor<3xf64>, tensor<3x2xi32>, tensor<5x1xf64>, tensor<5x1xi32>) -> tensor<1x9xf64>
  func.return %0 : tensor<1x9xf64>
}
