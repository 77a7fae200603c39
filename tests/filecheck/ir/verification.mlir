// RUN: qmlir-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

func.func @no_terminator(%x: i32) {
  // expected-error @+1 {{'arith.addi' op (sum) is the last operation of its block and must be a terminator}}
  %0 = arith.addi %x, %x {origin = "sum"} : i32
}
// -----
func.func @terminator_in_front(%x: i32) {
  // expected-error @+1 {{'func.return' op must be the last operation of its block}}
  "func.return"() : () -> ()
  func.return
}
// -----
func.func @successors_in_front() {
  // expected-error @+1 {{'model.branch' op has successors and must be the last operation of its block}}
  "model.branch"()[^end] : () -> ()
  cf.br ^end
^end:
  func.return
}
// -----
// expected-error @+1 {{'func.func' op must not have an empty block: expected at least a terminator}}
func.func @empty_block() {
  func.return
^end:
}
// -----
func.func @entry_with_predecessor() {
  cf.br ^next
^next:
  cf.br ^next
}
// -----
"func.func"() <{function_type = () -> (), sym_name = "branch_to_entry"}> ({
^entry:
  // expected-error @+1 {{'cf.br' op branches to the entry block of its region, which may not have predecessors}}
  cf.br ^entry
}) : () -> ()
// -----
// expected-note @+1 {{see existing symbol definition here}}
func.func private @symbol()
// expected-error @+1 {{'func.func' op redefinition of symbol named 'symbol'}}
func.func private @symbol()
// -----
builtin.module @a {
  func.func private @symbol_of_another_table()
}
builtin.module @b {
  func.func private @symbol_of_another_table()
}
// -----
func.func @own_rules(%x: tensor<2xf32>) {
  // expected-error @+1 {{'calib.observe' op (fc1) key must not be empty}}
  %0 = calib.observe %x "" {origin = "fc1"} : tensor<2xf32>
  func.return
}
// -----
func.func @structure_before_own_rules(%x: tensor<2xf32>) {
  %0 = calib.observe %x "" : tensor<2xf32>
  // expected-error @+1 {{must be a terminator}}
  %1 = nn.relu %x : tensor<2xf32>
}
// -----
// Of an operation that is not registered nothing is known: its region may be a graph, and end as it likes.
"model.graph"() ({
  %0 = "model.op"(%1) : (i32) -> i32
  %1 = "model.op"(%0) : (i32) -> i32
}) : () -> ()
// -----
// expected-error @+1 {{'func.func' op must have unique output names, but 2 are named 'y'}}
func.func @outputs_of_one_name(%x: i32) -> (i32 {nn.name = "y"}, i32 {nn.name = "y"}) {
  func.return %x, %x : i32, i32
}
// -----
// expected-error @+1 {{'func.func' op must have unique input names, but 2 are named 'input1'}}
func.func @inputs_of_one_name(%x: i32 {nn.name = "input1"}, %input1: i32) {
  func.return
}
// -----
// expected-error @+1 {{'func.func' op must have attributes for all its 2 arguments, but got 1}}
"func.func"() ({
^bb0(%x: i32, %y: i32):
  func.return
}) {sym_name = "attributes_of_one", function_type = (i32, i32) -> (), arg_attrs = [{}]} : () -> ()

// -----

// Text writes properties and attributes in one place.
func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{has 'alpha' both as a property and as an attribute, which the text cannot distinguish}}
  %0 = "nn.leaky_relu"(%x) <{alpha = 1.000000e-01 : f64}> {alpha = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0 : tensor<2xf32>
}

// -----

func.func private @callee(%x: f32, %y: i32) -> f32
func.func @calls(%x: f32, %y: i32) {
  // expected-error @+1 {{'func.call' op '@missing' does not reference a valid function}}
  %0 = func.call @missing(%x) : (f32) -> f32
  // expected-error @+1 {{'func.call' op must have 2 operands, as callee @callee has, but got 1}}
  %1 = func.call @callee(%x) : (f32) -> f32
  // expected-error @+1 {{'func.call' op must have operand number 1 of type i32, but got f32}}
  %2 = func.call @callee(%x, %x) : (f32, f32) -> f32
  // expected-error @+1 {{'func.call' op must have 1 results, as callee @callee has, but got 0}}
  func.call @callee(%x, %y) : (f32, i32) -> ()
  // expected-error @+1 {{'func.call' op must have result number 0 of type f32, but got i32}}
  %3 = func.call @callee(%x, %y) : (f32, i32) -> i32
  func.return
}
