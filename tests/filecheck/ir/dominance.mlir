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
// -----
func.func @loop(%c: i1, %x: i32) -> i32 {
  cf.br ^head(%x : i32)
^head(%i: i32):
  cf.cond_br %c, ^body, ^exit
^body:
  // expected-note @+1 {{defines the operand}}
  %0 = arith.addi %i, %x : i32
  cf.br ^head(%0 : i32)
^exit:
  // expected-error @+1 {{'func.return' op operand #0 does not dominate this use}}
  func.return %0 : i32
}
// -----
func.func @loop_carried(%c: i1, %x: i32) -> i32 {
  cf.br ^head(%x : i32)
^exit:
  func.return %i : i32
^head(%i: i32):
  cf.cond_br %c, ^body, ^exit
^body:
  %0 = arith.addi %i, %x : i32
  cf.br ^head(%0 : i32)
}
// -----
func.func @no_path_leads_here(%x: i32) -> i32 {
  func.return %x : i32
^nowhere:
  %0 = arith.addi %1, %1 : i32
  %1 = arith.addi %x, %x : i32
  func.return %0 : i32
}
// -----
func.func @from_where_no_path_leads(%x: i32) -> i32 {
  cf.br ^end
^nowhere:
  // expected-note @+1 {{defines the operand}}
  %0 = arith.addi %x, %x : i32
  cf.br ^end
^end:
  // expected-error @+1 {{operand #0 does not dominate this use}}
  func.return %0 : i32
}
// -----
func.func @own_result(%x: i32) {
  // expected-note @+2 {{defines the operand}}
  // expected-error @+1 {{operand #1 does not dominate this use}}
  %0 = arith.addi %x, %0 : i32
  func.return
}
// -----
// A module's body is a graph: any order.
%0 = builtin.unrealized_conversion_cast %1 : i32 to i64
%1 = builtin.unrealized_conversion_cast %0 : i64 to i32
// -----
// expected-note @+1 {{required by region isolation constraints}}
func.func @isolated() {
  // expected-error @+1 {{'builtin.unrealized_conversion_cast' op using value defined outside the region}}
  %0 = builtin.unrealized_conversion_cast %outside : i32 to i64
  func.return
}
%outside = builtin.unrealized_conversion_cast to i32
