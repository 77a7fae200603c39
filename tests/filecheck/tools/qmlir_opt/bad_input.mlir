// RUN: not qmlir-opt %t.nowhere 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not qmlir-opt %S 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not qmlir-opt %s -o %t.no/such/folder.mlir 2>&1 | filecheck %s --check-prefix=UNWRITABLE
// RUN: not qmlir-opt %S/Inputs/truncated.mlir -o %t.out 2>&1 | filecheck %s --check-prefix=TRUNCATED
// RUN: not test -e %t.out
// RUN: not qmlir-opt --no-such-flag 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not qmlir-opt --verion 2>&1 | filecheck %s --check-prefix=NEAR
// RUN: not qmlir-opt %s --inline-weights --elide-weights 2>&1 | filecheck %s --check-prefix=EXCLUDE
// RUN: qmlir-opt --help | filecheck %s --check-prefix=HELP
// RUN: qmlir-opt --version | filecheck %s --check-prefix=VERSION
// MISSING: error: cannot read '{{.*}}.nowhere': No such file or directory
// FOLDER: error: cannot read '{{.*}}': Is a directory
// UNWRITABLE: error: cannot write '{{.*}}folder.mlir': No such file or directory
// TRUNCATED: truncated.mlir:2:{{[0-9]+}}: error:
// FLAG: qmlir-opt: error: unrecognized arguments: --no-such-flag
// NEAR: unrecognized arguments: --verion; did you mean '--version'?
// EXCLUDE: qmlir-opt: error: --inline-weights and --elide-weights cannot be combined (see qmlir-opt --help)
// HELP: usage: qmlir-opt [options] [input]
// VERSION: qmlir-opt {{[0-9.]+}} (xdsl {{[0-9.]+}})
func.func private @f()
