// RUN: qmlir-opt %s --load-plugin tests.support.breaking_pass:BreakingPass --list-passes | filecheck %s
// RUN: not qmlir-opt %s --load-plugin nowhere 2>&1 | filecheck %s --check-prefix=FORM
// RUN: not qmlir-opt %s --load-plugin no.such.module:X 2>&1 | filecheck %s --check-prefix=MODULE
// RUN: not qmlir-opt %s --load-plugin tests.support.breaking_pass:ModulePass_ 2>&1 | filecheck %s --check-prefix=NAME
// CHECK: break-module  [tests.support.breaking_pass:BreakingPass]
// FORM: error: plug-in 'nowhere' is not of the form module:object
// MODULE: error: cannot load plug-in 'no.such.module:X'
// NAME: error: cannot load plug-in
func.func private @f()
