// RUN: qmlir-opt --list-passes | filecheck %s
// CHECK: canonicalize  [qmlir]
// CHECK-NEXT: Canonicalizes a module: folds and simplifies operations, and erases unused ones.
// CHECK: option budget: int (default 64)
// CHECK: nn-decompose  [qmlir]
// CHECK: option keep: tuple[str, ...] (default ())
// CHECK: option level: str (required)
