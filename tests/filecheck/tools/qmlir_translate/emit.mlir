// RUN: qmlir-translate --load-plugin tests.support.targets:CONTRIBUTION --emit toy %s | filecheck %s
// RUN: not qmlir-translate --load-plugin tests.support.targets:CONTRIBUTION --emit bytes %s 2>&1 | filecheck %s --check-prefix=BYTES
// RUN: not qmlir-translate --load-plugin tests.support.targets:CONTRIBUTION --emit silent %s 2>&1 | filecheck %s --check-prefix=SILENT
// RUN: not qmlir-translate --load-plugin tests.support.targets:CONTRIBUTION --emit toys %s 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: main: nn.relu nn.relu func.return
// BYTES: error: target 'bytes' emits binary data; use -o FILE.txt
// SILENT: error: target 'silent' emits nothing
// UNKNOWN: error: unknown target 'toys'; did you mean 'toy'? (available:
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = nn.relu %x : tensor<2xf32>
  %1 = nn.relu %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
