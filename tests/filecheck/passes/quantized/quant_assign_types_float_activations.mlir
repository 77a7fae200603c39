// RUN: qmlir-opt %s -p 'quant-assign-types{activations=f32 weights=i4 granularity=block:2},cse,dce' | filecheck %s
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/float_activations.toml},cse,dce' | filecheck %s --check-prefix=PART
// RUN: not qmlir-opt %s -p 'quant-assign-types{activations=f16}' 2>&1 | filecheck %s --check-prefix=HALF
// RUN: not qmlir-opt %s -p 'quant-assign-types{weights=f32}' 2>&1 | filecheck %s --check-prefix=WEIGHTS

// HALF: error: the options for slot 'input': activations in f16 are not supported: operations in float compute in f32; use f32
// WEIGHTS: error: the options for slot 'weight': storage f32 is only for slots 'input' and 'output', but got 'weight'; help: --exclude, or quantize = false in a recipe, keeps an operation and its weights in float

// Weights are integers, which casts make floats of; nothing else is quantized, and no range is needed.
// CHECK: [[W:!q[0-9]*]] = !quant.uniform<i4:f32:{0:2, 1:1},
// CHECK-LABEL: @main(
// CHECK: [[CODES:%.+]] = nn.constant {{.*}} -> tensor<4x2x[[W]]>
// CHECK-NEXT: [[REAL:%.+]] = quant.dcast [[CODES]] {{.*}}: tensor<4x2x[[W]]> to tensor<4x2xf32>
// CHECK: nn.matmul %x, [[REAL]] : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> {origin = "one"}
// CHECK-NOT: quant.qcast

// A rule for one operation: the others compute on integers, and it isn't fused with the casts around it.
// PART-LABEL: @main(
// PART: nn.matmul {{%.+}}, {{%.+}} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32> {{{.*}}nn.keep_float
// PART: nn.matmul {{%.+}}, {{%.+}} : (tensor<3x2x!q{{[0-9]+}}>, tensor<2x2x!q{{[0-9]+}}>) -> tensor<3x2x!q{{[0-9]+}}> {origin = "two"}

!x = !quant.calibrated<f32<-1.0:1.0>>
func.func @main(%x: tensor<3x4x!x>) -> tensor<3x2x!x> {
  %w = nn.constant dense<[[1.0, 0.5], [0.25, -1.0], [0.5, 0.5], [-0.5, 1.0]]> : tensor<4x2xf32>
  %v = nn.constant dense<[[1.0, 0.5], [0.25, -1.0]]> : tensor<2x2xf32>
  %0 = nn.matmul %x, %w : (tensor<3x4x!x>, tensor<4x2xf32>) -> tensor<3x2x!x> {origin = "one"}
  %1 = nn.matmul %0, %v : (tensor<3x2x!x>, tensor<2x2xf32>) -> tensor<3x2x!x> {origin = "two"}
  func.return %1 : tensor<3x2x!x>
}
