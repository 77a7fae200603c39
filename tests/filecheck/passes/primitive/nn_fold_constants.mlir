// RUN: qmlir-opt %s -p nn-fold-constants --elide-weights | filecheck %s

// CHECK-DAG: [[COLUMNS:!q[0-9]+]] = !quant.uniform<i8:f32:1, {5.000000e-01, 2.500000e-01}>
// CHECK-DAG: [[ROWS:!q[0-9]+]] = !quant.uniform<u8:f32:0, {5.000000e-01:1, 2.500000e-01:2}>
// CHECK-DAG: [[ONE:!q[0-9]+]] = !quant.uniform<i4:f32, 5.000000e-01>

// Weights that are integers times a scale keep both.
// CHECK-LABEL: @columns(
// CHECK-NEXT: [[W:%.+]] = nn.constant dense<{{.*}}> : tensor<2x2xi8> -> tensor<2x2x[[COLUMNS]]> {origin = "w"}
// CHECK-NEXT: [[REAL:%.+]] = quant.dcast [[W]] {origin = "w"} : tensor<2x2x[[COLUMNS]]> to tensor<2x2xf32>
// CHECK-NEXT: nn.matmul {{%.+}}, [[REAL]]
func.func @columns(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %codes = nn.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %scale = nn.constant dense<[[0.5, 0.25]]> : tensor<1x2xf32>
  %0 = nn.cast %codes : (tensor<2x2xi8>) -> tensor<2x2xf32> {origin = "c"}
  %1 = nn.mul %0, %scale : (tensor<2x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32> {origin = "w"}
  %2 = nn.matmul %x, %1 : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32> {origin = "y"}
  func.return %2 : tensor<1x2xf32>
}

// CHECK-LABEL: @rows_with_zero_points(
// CHECK-NEXT: nn.constant dense<{{.*}}> : tensor<2x2xui8> -> tensor<2x2x[[ROWS]]>
// CHECK-NEXT: quant.dcast
// CHECK-NEXT: func.return
func.func @rows_with_zero_points() -> tensor<2x2xf32> {
  %codes = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %points = nn.constant dense<[[1], [2]]> : tensor<2x1xui8>
  %scale = nn.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %0 = nn.cast %codes : (tensor<2x2xui8>) -> tensor<2x2xf32>
  %1 = nn.cast %points : (tensor<2x1xui8>) -> tensor<2x1xf32>
  %2 = nn.sub %0, %1 : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %3 = nn.mul %scale, %2 : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %3 : tensor<2x2xf32>
}

// CHECK-LABEL: @one_scale(
// CHECK-NEXT: nn.constant dense<[7, -8]> : tensor<2xi4> -> tensor<2x[[ONE]]>
// CHECK-NEXT: quant.dcast
func.func @one_scale() -> tensor<2xf32> {
  %codes = nn.constant dense<[7, -8]> : tensor<2xi4>
  %scale = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.cast %codes : (tensor<2xi4>) -> tensor<2xf32>
  %1 = nn.mul %0, %scale : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// No quantized type has a scale of 0.
// CHECK-LABEL: @scale_of_zero(
// CHECK-NEXT: nn.constant dense<[3.500000e+00, -0.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: func.return
func.func @scale_of_zero() -> tensor<2xf32> {
  %codes = nn.constant dense<[7, -8]> : tensor<2xi8>
  %scale = nn.constant dense<[0.5, 0.0]> : tensor<2xf32>
  %0 = nn.cast %codes : (tensor<2xi8>) -> tensor<2xf32>
  %1 = nn.mul %0, %scale : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// A transpose is computed if something else is computed of it.
// CHECK-LABEL: @of_any_size(
// CHECK-NEXT: [[NEGATED:%.+]] = nn.constant
// CHECK-NEXT: nn.matmul {{%.+}}, [[NEGATED]] : (tensor<1x64xf32>, tensor<64x32xf32>)
func.func @of_any_size(%x: tensor<1x64xf32>) -> tensor<1x32xf32> {
  %w = nn.constant dense<2.0> : tensor<32x64xf32>
  %t = nn.transpose %w {permutation = [1, 0]} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %0 = nn.neg %t : tensor<64x32xf32>
  %1 = nn.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return %1 : tensor<1x32xf32>
}

// Weights that a transpose only moves are a constant, unless another operation reads the constant, too.
// CHECK-LABEL: @moved_weights(
// CHECK-NEXT: [[MOVED:%.+]] = nn.constant
// CHECK-NEXT: nn.matmul {{%.+}}, [[MOVED]] : (tensor<1x64xf32>, tensor<64x32xf32>)
func.func @moved_weights(%x: tensor<1x64xf32>) -> tensor<1x32xf32> {
  %w = nn.constant dense<2.0> : tensor<32x64xf32>
  %t = nn.transpose %w {permutation = [1, 0]} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = nn.matmul %x, %t : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return %1 : tensor<1x32xf32>
}

// CHECK-LABEL: @moved_only(
// CHECK: nn.transpose
func.func @moved_only(%x: tensor<1x64xf32>, %i: tensor<1xi64>) -> (tensor<1x32xf32>, tensor<1x64xf32>) {
  %w = nn.constant dense<2.0> : tensor<32x64xf32>
  %t = nn.transpose %w {permutation = [1, 0]} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = nn.matmul %x, %t : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %2 = nn.gather %w, %i : (tensor<32x64xf32>, tensor<1xi64>) -> tensor<1x64xf32>
  func.return %1, %2 : tensor<1x32xf32>, tensor<1x64xf32>
}

// CHECK-LABEL: @moved_and_read(
// CHECK: nn.transpose
func.func @moved_and_read(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %w = nn.constant dense<2.0> : tensor<32x64xf32>
  %t = nn.transpose %w {permutation = [1, 0]} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %1 = nn.add %x, %t : tensor<64x32xf32>
  func.return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @would_grow(
// CHECK: nn.add
func.func @would_grow() -> tensor<64x64xf32> {
  %a = nn.constant dense<2.0> : tensor<64x1xf32>
  %b = nn.constant dense<2.0> : tensor<1x64xf32>
  %0 = nn.add %a, %b : (tensor<64x1xf32>, tensor<1x64xf32>) -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
