// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-partition
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{minimum=0}' 2>&1 | filecheck %s --check-prefix=MINIMUM
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{setup=-1}' 2>&1 | filecheck %s --check-prefix=SETUP

// MINIMUM: setup and intensity are 0 or more, and minimum is 1 or more
// SETUP: setup and intensity are 0 or more, and minimum is 1 or more

// expected-error@+1 {{'builtin.module' op says no target.specs to divide it among: quant-set-target puts them there}}
builtin.module {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    func.return %x : tensor<2xf32>
  }
}
// -----
// expected-error@+1 {{must be a list of #target.spec<…>}}
builtin.module attributes {target.specs = 3 : i32} {
  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
    func.return %x : tensor<2xf32>
  }
}
