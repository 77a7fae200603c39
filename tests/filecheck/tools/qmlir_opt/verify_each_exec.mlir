// RUN: qmlir-opt %s --verify-each=exec -p canonicalize,cse,nn-decompose,nn-raise,dce | filecheck %s --check-prefix=RIGHT
// RUN: not qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p cse,wrong-relu,dce 2>&1 | filecheck %s --check-prefix=WRONG
// RUN: not qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p "func.func(rounded-relu)" 2>&1 | filecheck %s --check-prefix=ROUNDED
// RUN: qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p other-relu,cse | filecheck %s --check-prefix=OTHER
// RUN: not qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p scale-softmax 2>&1 | filecheck %s --check-prefix=BITS
// RUN: qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p rounded-softmax | filecheck %s --check-prefix=BOUND
// RUN: not qmlir-opt %s --verify-each=exec --load-plugin tests.support.wrong_pass:UNIVERSE -p lose-function 2>&1 | filecheck %s --check-prefix=LOST
// RUN: not qmlir-opt %s --verify-each=exec --exec-function=man -p cse 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not qmlir-opt %s --verify-each=exec "--exec-function=*" -p cse 2>&1 | filecheck %s --check-prefix=EVERY
// RUN: not qmlir-opt %s --verify-each=exec --exec-inputs=%t.nowhere.npz -p cse 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not qmlir-opt %s --verify-each=exec --exec-inputs=%s -p cse 2>&1 | filecheck %s --check-prefix=SUFFIX
// RUN: not qmlir-opt %s --exec-seed=3 -p cse 2>&1 | filecheck %s --check-prefix=USAGE

// The module runs before and after each pass; the first pass, output, element and operation that differ are named.

// RIGHT: nn.softmax
// WRONG: error: 'nn.abs' op (relu1) changes a value: in @main output 'y' at [{{[01], [0-9]}}] was {{[-0-9.e]+}}, is {{[-0-9.e]+}}; the first value that differs is 'relu1': at [{{[01], [0-9]}}] was 0.0, is {{[0-9.e]+}} (after pass 'wrong-relu', which keeps every bit)
// ROUNDED: (after pass 'rounded-relu', which keeps integers, and floats to 1e-05)
// OTHER: nn.abs
// BITS: error: 'nn.mul' op (softmax1) changes a value: in @main output 'y' at [{{[0-9], [0-9]}}] was {{.*}} (after pass 'scale-softmax', which keeps every bit)
// BOUND: nn.mul
// LOST: error: 'builtin.module' op no longer has a public function '@main' (after pass 'lose-function', which keeps every bit)
// NAME: error: unknown public function 'man'; did you mean 'main'? (available: main, text) (before pass 'cse')
// EVERY: cannot generate random values for input 'input0' of type tensor<2xcomplex<f32>> (before pass 'cse')
// FILE: error: cannot read '{{.*}}.nowhere.npz': No such file or directory
// SUFFIX: error: cannot read '{{.*}}.mlir': named inputs must be in an .npz file
// USAGE: qmlir-opt: error: --exec-seed requires --verify-each=exec (see qmlir-opt --help)

func.func @main(%x: tensor<?x4xf32> {nn.name = "x"}) -> (tensor<?x4xf32> {nn.name = "y"}) {
  %0 = nn.exp %x : tensor<?x4xf32> {origin = "exp1"}
  %1 = nn.neg %x : tensor<?x4xf32> {origin = "neg1"}
  %2 = nn.add %1, %x : tensor<?x4xf32> {origin = "add1"}
  %3 = nn.relu %x : tensor<?x4xf32> {origin = "relu1"}
  %4 = nn.softmax %3 : tensor<?x4xf32> {origin = "softmax1"}
  %5 = nn.add %4, %2 : tensor<?x4xf32> {origin = "add2"}
  func.return %5 : tensor<?x4xf32>
}

func.func @text(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
  func.return %x : tensor<2xcomplex<f32>>
}
