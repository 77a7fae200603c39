// RUN: qmlir run %s

// By hand: leaves follow the three nodes, and the second tree begins at node 1. Rows reach the leaves (0, 1), (0, 2),
// (3, 2), (0, 1) and (3, 2): node 0 alone sends NaN the first way.
func.func @leaves() {
  %x = nn.constant dense<[[0.0, 0.0], [1.0, 5.0], [0.5, 3.0], [0x7FC00000, 1.0], [0.0, 0x7FC00000]]> : tensor<5x2xf32>
  %roots = nn.constant dense<[0, 1]> : tensor<2xi32>
  %features = nn.constant dense<[0, 1, 1]> : tensor<3xi32>
  %thresholds = nn.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf32>
  %children = nn.constant dense<[[2, 3], [4, 5], [3, 6]]> : tensor<3x2xi32>
  %missing = nn.constant dense<[1, 0, 0]> : tensor<3xi1>
  %weights = nn.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [0.5, 0.25]]> : tensor<4x2xf32>
  %sum = nn.tree_ensemble %x, %roots, %features, %thresholds, %children, %weights, _, %missing {count = 2} : (tensor<5x2xf32>, tensor<2xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4x2xf32>, tensor<3xi1>) -> tensor<5x2xf32>
  %a = nn.constant dense<[[4.0, 6.0], [6.0, 8.0], [5.5, 6.25], [4.0, 6.0], [5.5, 6.25]]> : tensor<5x2xf32>
  check.expect_eq %sum, %a : tensor<5x2xf32>
  %min = nn.tree_ensemble %x, %roots, %features, %thresholds, %children, %weights, _, %missing {count = 2, aggregate = "min"} : (tensor<5x2xf32>, tensor<2xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4x2xf32>, tensor<3xi1>) -> tensor<5x2xf32>
  %b = nn.constant dense<[[1.0, 2.0], [1.0, 2.0], [0.5, 0.25], [1.0, 2.0], [0.5, 0.25]]> : tensor<5x2xf32>
  check.expect_eq %min, %b : tensor<5x2xf32>
  func.return
}

// Weights of a leaf are for the scores that it names: 2^24 takes no 1 any more, so the order of trees is seen.
func.func @targets() {
  %x = nn.constant dense<[[0.0, 0.0], [1.0, 5.0]]> : tensor<2x2xf32>
  %roots = nn.constant dense<[0, 1]> : tensor<2xi32>
  %features = nn.constant dense<[0, 1, 1]> : tensor<3xi32>
  %thresholds = nn.constant dense<[0.5, 1.0, 2.0]> : tensor<3xf32>
  %children = nn.constant dense<[[2, 3], [4, 5], [3, 6]]> : tensor<3x2xi32>
  %weights = nn.constant dense<[[16777216.0], [1.0], [1.0], [7.0]]> : tensor<4x1xf32>
  %targets = nn.constant dense<[[2], [2], [0], [1]]> : tensor<4x1xi32>
  %sum = nn.tree_ensemble %x, %roots, %features, %thresholds, %children, %weights, %targets {count = 3} : (tensor<2x2xf32>, tensor<2xi32>, tensor<3xi32>, tensor<3xf32>, tensor<3x2xi32>, tensor<4x1xf32>, tensor<4x1xi32>) -> tensor<2x3xf32>
  %a = nn.constant dense<[[0.0, 0.0, 16777216.0], [1.0, 0.0, 16777216.0]]> : tensor<2x3xf32>
  check.expect_eq %sum, %a : tensor<2x3xf32>
  func.return
}
