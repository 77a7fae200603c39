// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-partition
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{minimum=0}' 2>&1 | filecheck %s --check-prefix=MINIMUM
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{setup=-1}' 2>&1 | filecheck %s --check-prefix=SETUP

// MINIMUM: setup and intensity must be >= 0, and minimum must be >= 1
// SETUP: setup and intensity must be >= 0, and minimum must be >= 1

// expected-error@+1 {{'builtin.module' op requires target.specs; run quant-set-target first}}
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
