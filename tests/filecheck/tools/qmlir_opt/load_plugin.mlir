// RUN: qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass --list-passes | filecheck %s
// CHECK: break-module  [tests.support.breaking_pass:BreakingPass]

// RUN: qmlir-opt %s --load-plugin tests.support.contributing --list-packages | filecheck %s --check-prefix=MODULE
// MODULE:      tests.support.contributing
// MODULE-NEXT:     dialects: extra
// MODULE-NEXT:     passes: no-tanh
// MODULE-NEXT:     patterns: nn.canonicalize
// MODULE-NEXT:     evaluators: extra
// MODULE-NEXT:     stages: compile.lower.before
// MODULE-NEXT:     calibrators: half

// RUN: qmlir-opt %s --load-plugin tests.support.contributing --list-pipelines | filecheck %s --check-prefix=PIPELINES
// PIPELINES:      compile: a module of static shapes
// PIPELINES-NEXT:     compile.lower.before: no-tanh  [tests.support.contributing]
// PIPELINES-NEXT:   lower: canonicalize

// RUN: qmlir-opt %s --load-plugin tests.support.contributing -p canonicalize | filecheck %s --check-prefix=PATTERN
// PATTERN: nn.tanh %x
// RUN: qmlir-opt %s -p canonicalize | filecheck %s --check-prefix=WITHOUT
// WITHOUT: nn.sigmoid %x

// RUN: qmlir-opt %s --load-plugin %S/../../../support/breaking_pass.py:BreakingPass --list-passes | filecheck %s --check-prefix=FILE
// FILE: break-module  [{{.*}}breaking_pass.py:BreakingPass]

// RUN: not qmlir-opt %s --load-plugin tests.support.contributing --load-plugin tests.support.contributing:RAISES -p canonicalize 2>&1 | filecheck %s --check-prefix=RAISES
// RAISES: load_plugin.mlir:{{[0-9]+}}:3: error: 'nn.tanh' op (b) pattern 'DividesByZero' failed: ZeroDivisionError: division by zero (in package 'tests.support.contributing', {{.*}}contributing.py:{{[0-9]+}})

// RUN: not qmlir-opt %s --load-plugin tests.support.contributing -p canonicalize,no-tanh 2>&1 | filecheck %s --check-prefix=PASS
// PASS: error: 'builtin.module' op pass 'no-tanh' failed: ValueError: a tanh (in package 'tests.support.contributing', {{.*}}contributing.py:{{[0-9]+}})

// RUN: not qmlir-opt %s --load-plugin nowhere 2>&1 | filecheck %s --check-prefix=BARE
// BARE: error: cannot load plug-in 'nowhere': No module named 'nowhere'
// RUN: not qmlir-opt %s --load-plugin no.such.module:X 2>&1 | filecheck %s --check-prefix=NO-MODULE
// NO-MODULE: error: cannot load plug-in 'no.such.module:X': No module named 'no'
// RUN: not qmlir-opt %s --load-plugin no/such/file.py 2>&1 | filecheck %s --check-prefix=NO-FILE
// NO-FILE: error: cannot load plug-in 'no/such/file.py': FileNotFoundError: [Errno 2] No such file or directory: '{{.*}}no/such/file.py'
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:ModulePass_ 2>&1 | filecheck %s --check-prefix=NAME
// NAME: error: cannot load plug-in 'tests.support.breaking_pass:ModulePass_': module 'tests.support.breaking_pass' has no attribute 'ModulePass_'
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass 2>&1 | filecheck %s --check-prefix=NEITHER
// NEITHER: error: plug-in 'tests.support.breaking_pass' defines neither UNIVERSE nor CONTRIBUTION
// RUN: not qmlir-opt %s --load-plugin tests.support.contributing:NOTHING 2>&1 | filecheck %s --check-prefix=KIND
// KIND: error: plug-in 'tests.support.contributing:NOTHING' must be a Universe, a Contribution, a dialect or a pass
// RUN: not qmlir-opt %s --load-plugin tests.support.contributing:OLD 2>&1 | filecheck %s --check-prefix=OLD
// OLD: error: plug-in 'tests.support.contributing:OLD' is incompatible: it was built for qmlir 0.0, which is incompatible with 0.1 ({{.*}}); update the package
// RUN: not qmlir-opt %s --load-plugin tests.support.contributing:NEW 2>&1 | filecheck %s --check-prefix=NEW
// NEW: error: plug-in 'tests.support.contributing:NEW' is incompatible: it was built for qmlir 99.0, but this is {{[0-9.]+}}; update qmlir

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.sigmoid %x : tensor<4xf32> {origin = "a"}
  %1 = nn.sigmoid %0 : tensor<4xf32> {origin = "b"}
  func.return %1 : tensor<4xf32>
}
