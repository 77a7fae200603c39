// RUN: qmlir-opt %s --split-input-file --verify-diagnostics -p quant-partition
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{min_ops=0}' 2>&1 | filecheck %s --check-prefix=MINIMUM
// RUN: not qmlir-opt %s --split-input-file -p 'quant-partition{transfer_bytes=-1}' 2>&1 | filecheck %s --check-prefix=SETUP

// MINIMUM: transfer_bytes and intensity must be >= 0, and min_ops must be >= 1
// SETUP: transfer_bytes and intensity must be >= 0, and min_ops must be >= 1

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
