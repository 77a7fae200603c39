// RUN: qmlir-opt --list-passes | filecheck %s
// CHECK: canonicalize  [qmlir]
// CHECK-NEXT: Canonicalizes operations: folds, simplifies, and erases unused ones.
// CHECK: option budget: int (default 64)
// CHECK: nn-decompose  [qmlir]
// CHECK: option keep: tuple[str, ...] (default ())
// CHECK: option level: str (required)
