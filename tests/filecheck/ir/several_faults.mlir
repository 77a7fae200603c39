// RUN: qmlir-opt %s --split-input-file --verify-diagnostics
// RUN: not qmlir-opt %s --split-input-file 2>&1 | filecheck %s

// All faults of a text that follow from no other are told, each at its place, with its notes.

func.func @one(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{sizes 2 and 3 cannot be broadcast}}
  %0 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32> {origin = "first"}
  // Its operand has a type that may be wrong: what is said of it could follow.
  %1 = nn.add %0, %x : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  // expected-error @+1 {{sizes 3 and 2 cannot be broadcast}}
  %2 = nn.add %y, %x : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32> {origin = "third"}
  func.return
}
func.func @other(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  // expected-error @+1 {{expected [tensor<2xf32>], got []}}
  func.return
}
// CHECK:      several_faults.mlir:8:3: error: 'nn.add' op (first) sizes 2 and 3
// CHECK-NEXT: %0 = nn.add
// CHECK-NEXT: ^
// CHECK-NEXT: several_faults.mlir:12:3: error: 'nn.add' op (third) sizes 3 and 2
// CHECK:      several_faults.mlir:18:3: error: 'func.return' op

// -----

// A name that is defined twice, a function that is at fault itself, and the bodies of the others.
func.func @same() { // expected-note 2 {{see existing symbol definition here}}
  func.return
}
func.func @same() { // expected-error {{redefinition of symbol named 'same'}}
  func.return
}
func.func @same() { // expected-error {{redefinition of symbol named 'same'}}
  func.return
}
// CHECK: error: 'func.func' op redefinition of symbol named 'same'
// CHECK: note: 'func.func' op see existing symbol definition here
// CHECK-NEXT: func.func @same() { // expected-note

// -----

func.func @late(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %0 = nn.relu %1 : tensor<2xf32>
  %1 = nn.relu %x : tensor<2xf32> // expected-note {{defines the operand}}
  func.return %0 : tensor<2xf32>
}
func.func @later(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %2 = nn.abs %3 : tensor<2xf32>
  %3 = nn.abs %x : tensor<2xf32> // expected-note {{defines the operand}}
  func.return %2 : tensor<2xf32>
}
// CHECK: error: 'nn.relu' op operand #0 does not dominate this use
// CHECK: note: 'nn.relu' op defines the operand
// CHECK: error: 'nn.abs' op operand #0 does not dominate this use

// -----

func.func @undefined(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{value %y is used but not defined}}
  %0 = nn.add %x, %y : tensor<2xf32>
  %1 = nn.add %y, %0 : tensor<2xf32>
  // expected-error @+1 {{value %z is used but not defined}}
  func.return %z : tensor<2xf32>
}

// -----

func.func @types(%x: tensor<2xf32>) -> tensor<3xf32> {
  %0 = nn.relu %x : tensor<2xf32> // expected-note {{'nn.relu' op defines the operand}}
  // expected-error @+1 {{operand is used with type tensor<3xf32>, but it is defined with type tensor<2xf32>}}
  func.return %0 : tensor<3xf32>
}

// -----

// What is nested in an operation that is at fault is not looked at; the next is.
func.func @nest(%n: index, %x: tensor<2xf32>, %y: tensor<3xf32>) {
  %c = arith.constant 1 : index
  // expected-error @+1 {{'scf.for' op}}
  %0 = "scf.for"(%c, %n, %c, %x) ({
  ^bb0(%i: index):
    %1 = nn.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xf32>
    "scf.yield"(%x) : (tensor<2xf32>) -> ()
  }) : (index, index, index, tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{sizes 3 and 2 cannot be broadcast}}
  %2 = nn.add %y, %x : (tensor<3xf32>, tensor<2xf32>) -> tensor<3xf32>
  func.return
}
