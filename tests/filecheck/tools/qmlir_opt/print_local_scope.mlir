// RUN: qmlir-opt %s | filecheck %s --check-prefix=ALIASES
// RUN: qmlir-opt %s --mlir-print-local-scope | filecheck %s --check-prefix=LOCAL
// RUN: qmlir-opt %s --print-local-scope | qmlir-opt --verify-roundtrip | filecheck %s --check-prefix=ALIASES
// RUN: qmlir-opt %s -p 'func.func(dce)' --mlir-print-local-scope --mlir-print-ir-module-scope --mlir-print-ir-after-all 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: qmlir-opt %s -p 'func.func(dce)' --print-ir-after-all 2>&1 | filecheck %s --check-prefix=PART

//      ALIASES: !q0 = !quant.uniform<i8:f32, 5.000000e-01:3>
//      ALIASES: func.func @main(%x: tensor<2x!q0>)
//    LOCAL-NOT: !q0
//        LOCAL: func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 5.000000e-01:3>>)

//     DUMP-NOT: !q0
//         DUMP: // -----// IR dump after dce ('func.func' operation: @main) //----- //
//    DUMP-NEXT: builtin.module {
//    DUMP-NEXT: func.func @main
//         DUMP: func.func @other
//         DUMP: // -----// IR dump after dce ('func.func' operation: @other) //----- //
//    DUMP-NEXT: builtin.module {
//    DUMP-NEXT: func.func @main

//         PART: // -----// IR dump after dce //----- //
//    PART-NEXT: !q0 =
//    PART-NEXT: func.func @main
//     PART-NOT: @other
//         PART: // -----// IR dump after dce //----- //
//    PART-NEXT: func.func @other

func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:3>> {
  func.return %x : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
}
func.func @other() {
  func.return
}
