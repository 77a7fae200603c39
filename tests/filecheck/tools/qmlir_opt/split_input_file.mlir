// RUN: qmlir-opt %s --split-input-file | filecheck %s
// RUN: not qmlir-opt %s 2>&1 | filecheck %s --check-prefix=WHOLE

// A marker inside a string splits nothing.
func.func @one() attributes {text = "// -----"} {
  func.return
}
// -----
!t = !quant.any<i8:f32>
func.func private @two(!t)
// -----
!t = !quant.any<u8:f32>
func.func private @three(!t)

// CHECK: @one() attributes {text = "// -----"}
// CHECK: // -----
// CHECK: @two(!quant.any<i8:f32>)
// CHECK: // -----
// CHECK: @three(!quant.any<u8:f32>)
// WHOLE: split_input_file.mlir:12:4: error: re-declaration of alias '!t'
