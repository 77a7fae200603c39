// Without @main, every public function without arguments runs, in order; an expectation that fails ends the run and says where.
// RUN: split-file %s %t
// RUN: qmlir run %t/passes.mlir | filecheck %s --check-prefix=PASSES
// RUN: not qmlir run %t/fails.mlir 2>&1 | filecheck %s --check-prefix=FAILS
// RUN: qmlir run %t/passes.mlir --function helper | filecheck %s --check-prefix=HELPER
// RUN: qmlir run %t/fails.mlir --function passes
// RUN: not qmlir run %t/none.mlir 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not qmlir run %t/none.mlir --function nothing 2>&1 | filecheck %s --check-prefix=NOTHING
// RUN: not qmlir run %t/none.mlir --function needs 2>&1 | filecheck %s --check-prefix=NEEDS
// RUN: not qmlir run %t/gone.mlir 2>&1 | filecheck %s --check-prefix=GONE
// RUN: not qmlir run %t/passes.mlir --engine abacus 2>&1 | filecheck %s --check-prefix=ENGINE
// RUN: cat %t/passes.mlir | qmlir run - | filecheck %s --check-prefix=PASSES

// PASSES: sum: 2 float32
// PASSES-NEXT: [3., 5.]
// PASSES-NEXT: output1: scalar bool
// PASSES-NEXT: True

// HELPER: output0: scalar int64
// HELPER-NEXT: 3

// FAILS: fails.mlir:10:3: error: 'check.expect_eq' op failed at [1]: expected 6.0, but got 5.0 (1 of 2 elements differ)

// NONE: error: the module has neither '@main' nor a function without arguments; choose one with --function
// NOTHING: error: unknown function 'nothing' (available: needs)
// NEEDS: error: no value for input 'input0'
// GONE: error: cannot read '{{.*}}gone.mlir': No such file or directory
// ENGINE: invalid choice: 'abacus'

//--- passes.mlir
func.func @first() {
  func.return
}

func.func private @helper() -> index {
  %index = arith.constant 3 : index
  func.return %index : index
}

func.func @second() -> (tensor<2xf32> {nn.name = "sum"}, tensor<i1>) {
  %a = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %sum = nn.add %a, %b : tensor<2xf32>
  %one = nn.constant dense<1> : tensor<i32>
  %true = nn.equal %one, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  func.return %sum, %true : tensor<2xf32>, tensor<i1>
}
//--- fails.mlir
func.func @passes() {
  func.return
}

func.func @fails() {
  %a = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %sum = nn.add %a, %b : tensor<2xf32>
  %expected = nn.constant dense<[3.0, 6.0]> : tensor<2xf32>
  check.expect_eq %sum, %expected : tensor<2xf32>
  func.return
}
//--- none.mlir
func.func @needs(%x: tensor<2xf32>) {
  func.return
}
