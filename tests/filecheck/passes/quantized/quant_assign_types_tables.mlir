// RUN: qmlir-opt %s -p 'quant-assign-types{weights=i4 granularity=block:1024 weight_scheme=asymmetric},cse,dce' | filecheck %s
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/tables_few.toml},cse,dce' | filecheck %s --check-prefix=FEW
// RUN: qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/tables_wide.toml},cse,dce' | filecheck %s --check-prefix=WIDE
// RUN: not qmlir-opt %s -p 'quant-assign-types{recipe=%S/Inputs/tables_slot.toml}' 2>&1 | filecheck %s --check-prefix=SLOT

// SLOT: error: '{{.*}}tables_slot.toml', rule 1 (slot = 'output'): embedding is only for weights, but the rule is for slot 'output'

// A large table whose rows go into 16 bits has 8, and a scale for each row; so has the product that reads it, whatever
// other weights have. A table of few elements has the type of its rows.
// CHECK-DAG: [[ROWS:!q[0-9]+]] = !quant.uniform<i8<-127:127>:f32:0, {0.003937
// CHECK-DAG: [[STREAM:!q[0-9]+]] = !quant.uniform<i16:f32, 3.051
// CHECK-DAG: [[BLOCKS:!q[0-9]+]] = !quant.uniform<i4:f32:{0:1024, 1:1},
// CHECK-LABEL: @stream(
// CHECK: [[TABLE:%.+]] = nn.constant {{.*}} -> tensor<8x2048x[[ROWS]]>
// CHECK: nn.gather [[TABLE]], {{%.+}} : (tensor<8x2048x[[ROWS]]>, tensor<3xi64>) -> tensor<3x2048x[[STREAM]]>
// CHECK: nn.gather {{%.+}}, {{%.+}} : (tensor<4x2048x[[STREAM]]>, tensor<3xi64>) -> tensor<3x2048x[[STREAM]]>
// CHECK: nn.matmul {{%.+}}, {{%.+}} : (tensor<3x2048x{{!q[0-9]+}}>, tensor<2048x2x[[BLOCKS]]>)
// CHECK: nn.matmul {{%.+}}, [[TABLE]] {transpose_b = true} : (tensor<3x2048x{{!q[0-9]+}}>, tensor<8x2048x[[ROWS]]>)

// Other bits, by a rule: blocks along rows.
// FEW-DAG: [[FOURS:!q[0-9]+]] = !quant.uniform<i4:f32:{0:1, 1:1024},
// FEW: nn.gather {{%.+}}, {{%.+}} : (tensor<8x2048x[[FOURS]]>, tensor<3xi64>) -> tensor<3x2048x{{!q[0-9]+}}>
// FEW: nn.matmul {{%.+}}, {{%.+}} {transpose_b = true} : (tensor<3x2048x{{!q[0-9]+}}>, tensor<8x2048x[[FOURS]]>)

// With as many bits as its rows have, a table has their type, and nothing is rescaled.
// WIDE-DAG: [[SAME:!q[0-9]+]] = !quant.uniform<i16:f32, 3.051
// WIDE: nn.gather {{%.+}}, {{%.+}} : (tensor<8x2048x[[SAME]]>, tensor<3xi64>) -> tensor<3x2048x[[SAME]]>

!x = !quant.calibrated<f32<-1.0:1.0>>
!s = !quant.calibrated<f32<-2.0:2.0>>
!l = !quant.calibrated<f32<-9.0:9.0>>
func.func @stream(%tokens: tensor<3xi64>, %places: tensor<3xi64>) -> (tensor<3x2x!l>, tensor<3x8x!l>) {
  %table = nn.constant dense<0.5> : tensor<8x2048xf32>
  %few = nn.constant dense<1.0> : tensor<4x2048xf32>
  %scale = nn.constant dense<1.0> : tensor<2048xf32>
  %w = nn.constant dense<1.5> : tensor<2048x2xf32>
  %0 = nn.gather %table, %tokens : (tensor<8x2048xf32>, tensor<3xi64>) -> tensor<3x2048x!x> {origin = "tokens"}
  %1 = nn.gather %few, %places : (tensor<4x2048xf32>, tensor<3xi64>) -> tensor<3x2048x!x> {origin = "places"}
  %2 = nn.add %0, %1 : (tensor<3x2048x!x>, tensor<3x2048x!x>) -> tensor<3x2048x!s> {origin = "sum"}
  %3 = nn.rms_norm %2, %scale : (tensor<3x2048x!s>, tensor<2048xf32>) -> tensor<3x2048x!s> {origin = "norm"}
  %4 = nn.matmul %3, %w : (tensor<3x2048x!s>, tensor<2048x2xf32>) -> tensor<3x2x!l> {origin = "fc"}
  %5 = nn.matmul %3, %table {transpose_b = true} : (tensor<3x2048x!s>, tensor<8x2048xf32>) -> tensor<3x8x!l> {origin = "head"}
  func.return %4, %5 : tensor<3x2x!l>, tensor<3x8x!l>
}

// Rows that have 8 bits have them in the table: they are moved.
// CHECK-LABEL: @bytes(
// CHECK: nn.gather {{%.+}}, {{%.+}} : (tensor<8x2048x[[BYTES:!q[0-9]+]]>, tensor<3xi64>) -> tensor<3x2048x[[BYTES]]>
func.func @bytes(%tokens: tensor<3xi64>) -> tensor<3x2x!l> {
  %table = nn.constant dense<0.75> : tensor<8x2048xf32>
  %w = nn.constant dense<1.5> : tensor<2048x2xf32>
  %0 = nn.gather %table, %tokens : (tensor<8x2048xf32>, tensor<3xi64>) -> tensor<3x2048x!x> {origin = "tokens"}
  %1 = nn.matmul %0, %w : (tensor<3x2048x!x>, tensor<2048x2xf32>) -> tensor<3x2x!l> {origin = "fc"}
  func.return %1 : tensor<3x2x!l>
}
