// RUN: not qmlir-opt %t.nowhere 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not qmlir-opt %S 2>&1 | filecheck %s --check-prefix=FOLDER
// RUN: not qmlir-opt %s -o %t.no/such/folder.mlir 2>&1 | filecheck %s --check-prefix=UNWRITABLE
// RUN: not qmlir-opt %S/Inputs/truncated.mlir -o %t.out 2>&1 | filecheck %s --check-prefix=TRUNCATED
// RUN: not test -e %t.out
// RUN: not qmlir-opt --no-such-flag 2>&1 | filecheck %s --check-prefix=FLAG
// MISSING: error: cannot read '{{.*}}.nowhere': No such file or directory
// FOLDER: error: cannot read '{{.*}}': Is a directory
// UNWRITABLE: error: cannot write '{{.*}}folder.mlir': No such file or directory
// TRUNCATED: truncated.mlir:2:{{[0-9]+}}: error:
// FLAG: unrecognized arguments: --no-such-flag
func.func private @f()
