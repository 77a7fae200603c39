// RUN: qmlir-opt %s -p kernel-plan-memory | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-plan-memory{plan_file="%t.txt"}' 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: filecheck %s --input-file %t.txt --check-prefix=PLAN
// RUN: qmlir-opt %s -p 'kernel-plan-memory{plan_file="%t.svg"}'
// RUN: filecheck %s --input-file %t.svg --check-prefix=SVG
// RUN: not qmlir-opt %s -p 'kernel-plan-memory{plan_file="%t.png"}' 2>&1 | filecheck %s --check-prefix=KIND

// %a ends where %b is made, by a kernel that allows it: both have one place. %c needs %b, and is used in a loop, which
// runs while %d is there; %d lies in the place that %b has left. Nothing uses %unused.
// CHECK-LABEL: @kernel(
// CHECK-SAME: [[V0:%.+]]: memref<100xi8>, [[V1:%.+]]: memref<100xi8> {kernel.may_overwrite = array<i64: 0>})
// CHECK-NEXT: func.return
func.func private @kernel(%x: memref<100xi8>, %y: memref<100xi8> {kernel.may_overwrite = array<i64: 0>}) {
  func.return
}
// CHECK-LABEL: @whole(
// CHECK-SAME: [[V0:%.+]]: memref<100xi8>, [[V1:%.+]]: memref<100xi8>)
// CHECK-NEXT: func.return
func.func private @whole(%x: memref<100xi8>, %y: memref<100xi8>) {
  func.return
}
// CHECK-LABEL: @row(
// CHECK-SAME: [[V0:%.+]]: memref<10xi8, strided<[1], offset: ?>>)
// CHECK-NEXT: func.return
func.func private @row(%x: memref<10xi8, strided<[1], offset: ?>>) {
  func.return
}
// CHECK-LABEL: @main(
// CHECK-SAME: [[V0:%.+]]: memref<100xi8>, [[V1:%.+]]: memref<100xi8> {nn.result})
// CHECK-NEXT: [[V2:%.+]] = memref.alloc() {alignment = 64 : i64} : memref<320xi8>
// CHECK-NEXT: [[V3:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V4:%.+]] = arith.constant 128 : index
// CHECK-NEXT: [[V5:%.+]] = arith.constant 0 : index
// CHECK-NEXT: [[V6:%.+]] = arith.constant 1 : index
// CHECK-NEXT: [[V7:%.+]] = arith.constant 10 : index
// CHECK-NEXT: [[V8:%.+]] = memref.view [[V2]][[[V3]]][] : memref<320xi8> to memref<100xi8>
// CHECK-NEXT: func.call @kernel([[V0]], [[V8]]) {origin = "first"} : (memref<100xi8>, memref<100xi8>) -> ()
// CHECK-NEXT: [[V9:%.+]] = memref.view [[V2]][[[V3]]][] : memref<320xi8> to memref<100xi8>
// CHECK-NEXT: func.call @kernel([[V8]], [[V9]]) : (memref<100xi8>, memref<100xi8>) -> ()
// CHECK-NEXT: [[V10:%.+]] = memref.view [[V2]][[[V4]]][] : memref<320xi8> to memref<100xi8>
// CHECK-NEXT: func.call @whole([[V9]], [[V10]]) : (memref<100xi8>, memref<100xi8>) -> ()
// CHECK-NEXT: [[V11:%.+]] = memref.view [[V2]][[[V3]]][] : memref<320xi8> to memref<100xi8>
// CHECK-NEXT: func.call @whole([[V10]], [[V11]]) : (memref<100xi8>, memref<100xi8>) -> ()
// CHECK-NEXT: scf.for [[V12:%.+]] = [[V5]] to [[V7]] step [[V6]] {
// CHECK-NEXT: [[V13:%.+]] = memref.subview [[V10]][[[V12]]] [10] [1] : memref<100xi8> to memref<10xi8, strided<[1], offset: ?>>
// CHECK-NEXT: func.call @row([[V13]]) : (memref<10xi8, strided<[1], offset: ?>>) -> ()
// CHECK: func.call @whole([[V11]], [[V1]]) : (memref<100xi8>, memref<100xi8>) -> ()
// CHECK-NEXT: func.return
func.func @main(%x: memref<100xi8>, %y: memref<100xi8> {nn.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %unused = memref.alloc() {alignment = 64 : i64} : memref<1000xi8>
  %a = memref.alloc() {alignment = 64 : i64} : memref<100xi8>
  func.call @kernel(%x, %a) {origin = "first"} : (memref<100xi8>, memref<100xi8>) -> ()
  %b = memref.alloc() {alignment = 64 : i64} : memref<100xi8>
  func.call @kernel(%a, %b) : (memref<100xi8>, memref<100xi8>) -> ()
  %c = memref.alloc() {alignment = 64 : i64} : memref<100xi8>
  func.call @whole(%b, %c) : (memref<100xi8>, memref<100xi8>) -> ()
  %d = memref.alloc() {alignment = 64 : i64} : memref<100xi8>
  func.call @whole(%c, %d) : (memref<100xi8>, memref<100xi8>) -> ()
  scf.for %i = %c0 to %c10 step %c1 {
    %part = memref.subview %c[%i] [10] [1] : memref<100xi8> to memref<10xi8, strided<[1], offset: ?>>
    func.call @row(%part) : (memref<10xi8, strided<[1], offset: ?>>) -> ()
  }
  func.call @whole(%d, %y) : (memref<100xi8>, memref<100xi8>) -> ()
  func.return
}
// REMARK: remark: 'func.func' op @main needs an arena of 256 bytes for buffers of 512 bytes; at most 256 live at one time
// KIND: error: cannot draw a memory plan as '{{.*}}kernel_plan_memory.mlir.tmp.png': the file name must end in .svg or .txt
// PLAN: @main: 256 bytes for 3 buffers
// PLAN: A 0 100 0-2 a 100 i8, b 100 i8
// PLAN-NEXT: B 128 100 2-4 c 100 i8
// PLAN-NEXT: C 0 100 3-5 d 100 i8
// SVG: <svg xmlns
// SVG-NEXT: <text {{.*}}>@main
// SVG: <title>a 100 i8, b 100 i8: 100 bytes at 0, steps 0 to 2</title>
// SVG: <title>@kernel (first)</title>
