// RUN: qmlir-opt %s --print-local-scope -p quant-assign-types | filecheck %s --check-prefix=FLAT
// RUN: qmlir-opt %s -p quant-assign-types | filecheck %s
// RUN: qmlir-opt %s --verify-diagnostics -p quant-assign-types

!x = !quant.calibrated<f32<-1.0:1.0>>
!above = !quant.calibrated<f32<0.5:25.5>>
!below = !quant.calibrated<f32<-25.5:-0.5>>
!near = !quant.calibrated<f32<0.01:25.5>>
!around = !quant.calibrated<f32<-12.5:13.0>>
!more = !quant.calibrated<f32<1.05:25.5>>
!turn = !quant.calibrated<f32<0.0:6.25>>
!turns = !quant.calibrated<f32<0.0:20.0>>
!deep = !quant.calibrated<f32<-20.0:6.2>>

// CHECK-DAG: [[ABOVE:!.+]] = !quant.uniform<i8<-127:127>:f32, 0.1{{0*[0-9]*}}:-128>
// CHECK-DAG: [[BELOW:!.+]] = !quant.uniform<i8<-128:126>:f32, 0.1{{0*[0-9]*}}:127>
// CHECK-DAG: [[MORE:!.+]] = !quant.uniform<i8<-118:127>:f32, 0.1{{0*[0-9]*}}:-128>

// The zero point of a divisor is outside the limits of its storage.
// CHECK-LABEL: @above(
// CHECK: nn.div {{.*}}[[ABOVE]]
func.func @above(%x: tensor<2x!x>, %y: tensor<2x!above>) -> tensor<2x!x> {
  %0 = nn.div %x, %y : (tensor<2x!x>, tensor<2x!above>) -> tensor<2x!x> {origin = "div1"}
  func.return %0 : tensor<2x!x>
}

// CHECK-LABEL: @below(
// CHECK: nn.reciprocal {{.*}}[[BELOW]]
func.func @below(%y: tensor<2x!below>) -> tensor<2x!x> {
  %0 = nn.reciprocal %y : (tensor<2x!below>) -> tensor<2x!x> {origin = "reciprocal1"}
  func.return %0 : tensor<2x!x>
}

// What is moved to become a divisor has the type of the divisor.
// CHECK-LABEL: @moved(
// CHECK: nn.reshape {{.*}}[[ABOVE]]
// CHECK: nn.div {{.*}}[[ABOVE]]
func.func @moved(%x: tensor<2x!x>, %y: tensor<2x1x!above>) -> tensor<2x!x> {
  %0 = nn.reshape %y : (tensor<2x1x!above>) -> tensor<2x!above> {origin = "reshape1"}
  %1 = nn.div %x, %0 : (tensor<2x!x>, tensor<2x!above>) -> tensor<2x!x> {origin = "div2"}
  func.return %1 : tensor<2x!x>
}

// The end belongs to the domain: 1 is the first number.
// CHECK-LABEL: @end(
// CHECK: nn.acosh {{.*}}[[MORE]]
func.func @end(%y: tensor<2x!more>) -> tensor<2x!x> {
  %0 = nn.acosh %y : (tensor<2x!more>) -> tensor<2x!x> {origin = "acosh1"}
  func.return %0 : tensor<2x!x>
}

// The numbers of a constant are known: its type may hold 0.
// CHECK-LABEL: @constant(
// CHECK: nn.div {{.*}} : (tensor<2x!{{.+}}>, tensor<2x!{{.+}}>) -> tensor<2x!
func.func @constant(%x: tensor<2x!x>) -> tensor<2x!x> {
  %c = nn.constant dense<[-2.0, 3.0]> : tensor<2xf32>
  %0 = nn.div %x, %c : (tensor<2x!x>, tensor<2xf32>) -> tensor<2x!x> {origin = "div3"}
  func.return %0 : tensor<2x!x>
}

// Closer to 0 than half a step.
// CHECK-LABEL: @near(
// CHECK: nn.div {{.*}} : tensor<2xf32>
func.func @near(%x: tensor<2x!x>, %y: tensor<2x!near>) -> tensor<2x!x> {
  // expected-warning @+1 {{'nn.div' op (div4) not quantized: it requires x != 0, but i8 with scale 0.1 cannot represent [0.01, 25.5] there}}
  %0 = nn.div %x, %y : (tensor<2x!x>, tensor<2x!near>) -> tensor<2x!x> {origin = "div4"}
  func.return %0 : tensor<2x!x>
}

// CHECK-LABEL: @around(
// CHECK: nn.reciprocal {{.*}} : tensor<2xf32>
func.func @around(%y: tensor<2x!around>) -> tensor<2x!x> {
  // expected-warning @+1 {{'nn.reciprocal' op (reciprocal2) not quantized: it requires x != 0, but i8}}
  %0 = nn.reciprocal %y : (tensor<2x!around>) -> tensor<2x!x> {origin = "reciprocal2"}
  func.return %0 : tensor<2x!x>
}

// CHECK-LABEL: @constant_near(
// CHECK: nn.div {{.*}} : tensor<2xf32>
func.func @constant_near(%x: tensor<2x!x>) -> tensor<2x!x> {
  %c = nn.constant dense<[0.01, 25.5]> : tensor<2xf32>
  // expected-warning @+1 {{'nn.div' op (div5) not quantized: it requires x != 0, but}}
  %0 = nn.div %x, %c : (tensor<2x!x>, tensor<2xf32>) -> tensor<2x!x> {origin = "div5"}
  func.return %0 : tensor<2x!x>
}

// Both users of one value: the type is what the stricter one takes.
// CHECK-LABEL: @two_users(
// CHECK: nn.sqrt {{.*}}[[ABOVE]]
// CHECK: nn.log {{.*}}[[ABOVE]]
func.func @two_users(%y: tensor<2x!above>) -> (tensor<2x!x>, tensor<2x!x>) {
  %0 = nn.sqrt %y : (tensor<2x!above>) -> tensor<2x!x> {origin = "sqrt1"}
  %1 = nn.log %y : (tensor<2x!above>) -> tensor<2x!x> {origin = "log1"}
  func.return %0, %1 : tensor<2x!x>, tensor<2x!x>
}

// What only computes such an operand would round it: a sum with 0.01 stays in float, too, and what it adds to. A value
// that others take, too, is quantized.
// CHECK-LABEL: @computed(
// CHECK: nn.neg {{.*}} : tensor<2x!
// CHECK: nn.neg {{.*}} : tensor<2xf32>
// CHECK: nn.add {{.*}} -> tensor<2xf32>
// CHECK: nn.div {{.*}} : tensor<2xf32>
// CHECK: nn.relu {{.*}} : tensor<2x!
func.func @computed(%x: tensor<2x!x>, %y: tensor<2x!around>) -> (tensor<2x!x>, tensor<2x!around>) {
  %c = nn.constant dense<0.01> : tensor<f32>
  %0 = nn.neg %y : tensor<2x!around> {origin = "neg1"}
  %1 = nn.neg %0 : (tensor<2x!around>) -> tensor<2x!near> {origin = "neg2"}
  %2 = nn.add %1, %c : (tensor<2x!near>, tensor<f32>) -> tensor<2x!near> {origin = "add1"}
  // expected-warning @+1 {{'nn.div' op (div6) not quantized}}
  %3 = nn.div %x, %2 : (tensor<2x!x>, tensor<2x!near>) -> tensor<2x!x> {origin = "div6"}
  %4 = nn.relu %0 : tensor<2x!around> {origin = "relu1"}
  func.return %3, %4 : tensor<2x!x>, tensor<2x!around>
}

// Sums of products stay quantized whatever they are for.
// CHECK-LABEL: @summed(
// CHECK: nn.matmul {{.*}} -> tensor<1x2x!
// CHECK: nn.div {{.*}} : tensor<1x2xf32>
func.func @summed(%x: tensor<1x2x!x>) -> tensor<1x2x!x> {
  %w = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = nn.matmul %x, %w : (tensor<1x2x!x>, tensor<2x2xf32>) -> tensor<1x2x!around> {origin = "matmul1"}
  // expected-warning @+1 {{'nn.div' op (div7) not quantized}}
  %1 = nn.div %x, %0 : (tensor<1x2x!x>, tensor<1x2x!around>) -> tensor<1x2x!x> {origin = "div7"}
  func.return %1 : tensor<1x2x!x>
}

// One turn has 8 bits.
// CHECK-LABEL: @turn(
// CHECK: nn.sin {{.*}} : (tensor<2x!{{.+}}>) -> tensor<2x!
func.func @turn(%y: tensor<2x!turn>) -> tensor<2x!x> {
  %0 = nn.sin %y : (tensor<2x!turn>) -> tensor<2x!x> {origin = "sin1"}
  func.return %0 : tensor<2x!x>
}

// An angle of several turns has not: each position by each frequency, which sums nothing, is computed in float.
// CHECK-LABEL: @turns(
// CHECK: nn.matmul {{.*}} -> tensor<2x2xf32>
// CHECK: nn.cos {{.*}} : tensor<2x2xf32>
func.func @turns(%positions: tensor<2x1x!turns>) -> tensor<2x2x!x> {
  %w = nn.constant dense<[[1.0, 0.1]]> : tensor<1x2xf32>
  %0 = nn.matmul %positions, %w : (tensor<2x1x!turns>, tensor<1x2xf32>) -> tensor<2x2x!turns> {origin = "matmul2"}
  // expected-warning @+1 {{'nn.cos' op (cos1) not quantized: it requires a scale <= 0.0312, but i8 for [0, 20] has scale 0.0784}}
  %1 = nn.cos %0 : (tensor<2x2x!turns>) -> tensor<2x2x!x> {origin = "cos1"}
  func.return %1 : tensor<2x2x!x>
}

// Below -4 a GELU gives 0 to 8 bits: its operand has the scale (6.2 + 4) / 255. Not so where another one reads it, or
// the result has more bits.
// FLAT-LABEL: @flat(
// FLAT: nn.add {{.*}} -> tensor<2x!quant.uniform<i8:f32, 0.03999999910593033:-28>> {origin = "alone"}
// FLAT: nn.add {{.*}} -> tensor<2x!quant.uniform<i8:f32, 0.1027451{{[0-9]*}}:67>> {origin = "shared"}
// FLAT: nn.add {{.*}} -> tensor<2x!quant.uniform<i8:f32, 0.1027451{{[0-9]*}}:67>> {origin = "wide"}
func.func @flat(%x: tensor<2x!x>) -> (tensor<2x!x>, tensor<2x!x>, tensor<2x!x>, tensor<2x!x>) {
  %0 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!deep> {origin = "alone"}
  %1 = nn.gelu %0 : (tensor<2x!deep>) -> tensor<2x!x> {origin = "gelu1"}
  %2 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!deep> {origin = "shared"}
  %3 = nn.gelu %2 : (tensor<2x!deep>) -> tensor<2x!x> {origin = "gelu2"}
  %4 = nn.abs %2 : (tensor<2x!deep>) -> tensor<2x!x> {origin = "abs1"}
  %5 = nn.add %x, %x : (tensor<2x!x>, tensor<2x!x>) -> tensor<2x!deep> {origin = "wide"}
  %6 = nn.gelu %5 : (tensor<2x!deep>) -> tensor<2x!x> {origin = "lstm1", role = "gate/sum"}
  func.return %1, %3, %4, %6 : tensor<2x!x>, tensor<2x!x>, tensor<2x!x>, tensor<2x!x>
}
