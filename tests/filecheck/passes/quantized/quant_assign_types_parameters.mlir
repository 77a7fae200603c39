// RUN: split-file %s %t
// RUN: qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/given.toml}' --print-local-scope | filecheck %s
// RUN: qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/share.toml}' --print-local-scope | filecheck %s --check-prefix=SHARE
// RUN: not qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/disagree.toml}' 2>&1 | filecheck %s --check-prefix=DISAGREE
// RUN: not qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/outside.toml}' 2>&1 | filecheck %s --check-prefix=OUTSIDE
// RUN: not qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/typo.toml}' 2>&1 | filecheck %s --check-prefix=TYPO
// RUN: qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/narrow.toml}' 2>&1 | filecheck %s --check-prefix=NARROW
// RUN: qmlir-opt %t/net.mlir -p 'quant-assign-types{recipe=%t/float.toml}' 2>&1 | filecheck %s --check-prefix=FLOAT
//--- net.mlir
!c = !quant.calibrated<f32<-1.0:1.0>>
func.func @main(%x: tensor<1x4x!c> {nn.name = "x"}) -> tensor<1x8x!c> {
  %0 = nn.tanh %x : tensor<1x4x!c> {origin = "tanh1"}
  %1 = nn.sin %x : tensor<1x4x!c> {origin = "sin1"}
  %2 = nn.concat %0, %1 {axis = 1} : (tensor<1x4x!c>, tensor<1x4x!c>) -> tensor<1x8x!c> {origin = "concat1"}
  func.return %2 : tensor<1x8x!c>
}
//--- given.toml
[[rule]]
origin = "concat1"
scale = 0.23
zero_point = -10
//--- share.toml
[[rule]]
values = ["x", "tanh1"]
share = true
range = [-1.5, 1.05]
//--- disagree.toml
[[rule]]
origin = "tanh1"
scale = 0.5
[[rule]]
origin = "concat1"
range = [-1, 1]
//--- outside.toml
[[rule]]
origin = "concat1"
slot = "output"
storage = "u8"
scale = 0.5
zero_point = -1
//--- typo.toml
[[rule]]
values = ["x", "tanhl"]
share = true
//--- narrow.toml
[[rule]]
values = ["x"]
range = [-0.5, 0.5]
//--- float.toml
[[rule]]
quantize = false
[[rule]]
origin = "sin1"
scale = 0.5
//--- checks
// CHECK: nn.tanh {{.*}} -> tensor<1x4x!quant.uniform<i8:f32, 0.23000000417232513:-10>>
// CHECK: nn.sin {{.*}} -> tensor<1x4x!quant.uniform<i8:f32, 0.23000000417232513:-10>>
// CHECK: nn.concat {{.*}} -> tensor<1x8x!quant.uniform<i8:f32, 0.23000000417232513:-10>>
// 2.55 / 255 is 0.01, and -128 + 1.5 / 0.01 is 22.
// SHARE: quant.qcast %x : tensor<1x4xf32> to tensor<1x4x!quant.uniform<i8:f32, 0.009999999776482582:22>>
// SHARE: nn.tanh {{.*}} tensor<1x4x!quant.uniform<i8:f32, 0.009999999776482582:22>>
// DISAGREE: error: 'nn.concat' op (concat1) shares one quantized type with 'nn.tanh' op (tanh1), but '{{.*}}disagree.toml', rule 1 (origin = 'tanh1') gives scale 0.5 and '{{.*}}disagree.toml', rule 2 (origin = 'concat1') gives range [-1, 1]; help: use the same parameters for both
// OUTSIDE: error: 'nn.concat' op (concat1) cannot have the parameters of '{{.*}}outside.toml', rule 1 (origin = 'concat1', slot = 'output'): zero point -1 is outside the limits [0, 255] of storage u8
// TYPO: error: '{{.*}}typo.toml', rule 1 (values = ['x', 'tanhl']): the model has no value 'tanhl'; did you mean 'tanh1'?
// NARROW: warning: 'nn.tanh' op (tanh1) saturates: '{{.*}}narrow.toml', rule 1 (values = ['x']) gives range [-0.5, 0.5], but 50% of the observed elements of the argument %x lie outside [-0.501961, 0.498039]
// FLOAT: warning: 'nn.sin' op (sin1) ignores scale 0.5, given by '{{.*}}float.toml', rule 2 (origin = 'sin1'): {{.+}}
