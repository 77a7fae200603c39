// RUN: qmlir-opt %s --split-input-file --verify-diagnostics

func.func @before_definition(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{operand #1 does not dominate this use}}
  %0 = nn.add %x, %1 : tensor<2xf32>
  // expected-note @+1 {{defines the operand}}
  %1 = nn.relu %x : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
// -----
func.func @branches(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^left, ^right
^left:
  // expected-note @+1 {{defines the operand}}
  %0 = arith.addi %x, %x : i32
  cf.br ^join
^right:
  cf.br ^join
^join:
  // expected-error @+1 {{operand #0 does not dominate this use}}
  func.return %0 : i32
}
// -----
func.func @dominated(%c: i1, %x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  cf.cond_br %c, ^left, ^join
^left:
  %1 = arith.addi %0, %x : i32
  cf.br ^join
^join:
  func.return %0 : i32
}
// -----
func.func @nested(%c: i1, %x: i32) -> i32 {
  %0 = scf.if %c -> (i32) {
    %1 = arith.addi %x, %x : i32
    scf.yield %1 : i32
  } else {
    scf.yield %x : i32
  }
  func.return %0 : i32
}
