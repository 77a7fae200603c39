// RUN: qmlir-opt %s | filecheck %s --check-prefix=ELIDED
// RUN: qmlir-opt %s 2>&1 | filecheck %s --check-prefix=WARNING
// RUN: qmlir-opt %s --elide-weights 2>&1 | filecheck %s --check-prefix=SILENT
// RUN: qmlir-opt %s --split-input-file -o %t.split.mlir && filecheck %s --input-file=%t.split.mlir --check-prefix=INLINE
// RUN: qmlir-opt %s --inline-weights | filecheck %s --check-prefix=INLINE
// RUN: qmlir-opt %s -o %t.model.mlir && filecheck %s --input-file=%t.model.mlir --check-prefix=SIDECAR
// RUN: qmlir-opt %t.model.mlir --inline-weights | filecheck %s --check-prefix=INLINE
// RUN: qmlir-opt %s --elide-weights -o %t.elided.mlir && filecheck %s --input-file=%t.elided.mlir --check-prefix=ELIDED
// RUN: qmlir-opt %t.elided.mlir | filecheck %s --check-prefix=ELIDED
// RUN: rm %t.model.safetensors && not qmlir-opt %t.model.mlir 2>&1 | filecheck %s --check-prefix=MISSING

// WARNING: warning: 2048 bytes of weights are left out of the text; -o FILE keeps them beside it
// SILENT-NOT: warning
// ELIDED: #w0 = #nn.weights<elided> : tensor<2048xi8>
// INLINE: #w0 = dense<7> : tensor<2048xi8>
// SIDECAR: #w0 = #nn.weights<"weights{{.*}}model.safetensors", "w0", "sha256:{{[0-9a-f]+}}"> : tensor<2048xi8>
// SIDECAR: nn.constant #w0
// MISSING: model.mlir:1:7: error: cannot read weights file {{.*}}model.safetensors': No such file or directory
func.func @main() -> tensor<2048xi8> {
  %0 = nn.constant dense<7> : tensor<2048xi8>
  func.return %0 : tensor<2048xi8>
}
