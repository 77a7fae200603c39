// RUN: qmlir-opt %s -p math-expand,cse | filecheck %s

// f64 says which two numbers of f32 the root lies between; near their middle, integers do.
// CHECK-LABEL: @root(
// CHECK-SAME: [[V0:%.+]]: i64) -> f32
// CHECK-NEXT: [[V1:%.+]] = arith.sitofp [[V0]] : i64 to f64
// CHECK-NEXT: [[V2:%.+]] = math.sqrt [[V1]] : f64
// CHECK-NEXT: [[V3:%.+]] = arith.constant 1.000000e+00 : f64
// CHECK-NEXT: [[V4:%.+]] = arith.divf [[V3]], [[V2]] : f64
// CHECK-NEXT: [[V5:%.+]] = arith.bitcast [[V4]] : f64 to i64
// CHECK-NEXT: [[V6:%.+]] = arith.constant 536870911 : i64
// CHECK-NEXT: [[V7:%.+]] = arith.andi [[V5]], [[V6]] : i64
// CHECK-NEXT: [[V8:%.+]] = arith.constant 268435456 : i64
// CHECK-NEXT: [[V9:%.+]] = arith.subi [[V7]], [[V8]] : i64
// CHECK-NEXT: [[V10:%.+]] = arith.constant 28 : i64
// CHECK-NEXT: [[V11:%.+]] = arith.shrsi [[V5]], [[V10]] : i64
// CHECK-NEXT: [[V12:%.+]] = arith.constant 16777215 : i64
// CHECK-NEXT: [[V13:%.+]] = arith.andi [[V11]], [[V12]] : i64
// CHECK-NEXT: [[V14:%.+]] = arith.constant 16777217 : i64
// CHECK-NEXT: [[V15:%.+]] = arith.ori [[V13]], [[V14]] : i64
// CHECK-NEXT: [[V16:%.+]] = arith.constant 52 : i64
// CHECK-NEXT: [[V17:%.+]] = arith.shrsi [[V5]], [[V16]] : i64
// CHECK-NEXT: [[V18:%.+]] = arith.constant 1 : i64
// CHECK-NEXT: [[V19:%.+]] = arith.shli [[V17]], [[V18]] : i64
// CHECK-NEXT: [[V20:%.+]] = arith.constant 2094 : i64
// CHECK-NEXT: [[V21:%.+]] = arith.subi [[V20]], [[V19]] : i64
// CHECK-NEXT: [[V22:%.+]] = arith.constant 63 : i64
// CHECK-NEXT: [[V23:%.+]] = arith.cmpi sgt, [[V21]], [[V22]] : i64
// CHECK-NEXT: [[V24:%.+]] = arith.andi [[V21]], [[V22]] : i64
// CHECK-NEXT: [[V25:%.+]] = arith.shli [[V18]], [[V24]] : i64
// CHECK-NEXT: [[V26:%.+]] = arith.constant 0 : i64
// CHECK-NEXT: [[V27:%.+]] = arith.select [[V23]], [[V26]], [[V25]] : i64
// CHECK-NEXT: [[V28:%.+]] = arith.muli [[V0]], [[V15]] : i64
// CHECK-NEXT: [[V29:%.+]] = arith.muli [[V28]], [[V15]] : i64
// CHECK-NEXT: [[V30:%.+]] = arith.subi [[V29]], [[V27]] : i64
// CHECK-NEXT: [[V31:%.+]] = arith.cmpi slt, [[V30]], [[V26]] : i64
// CHECK-NEXT: [[V32:%.+]] = arith.constant -4 : i64
// CHECK-NEXT: [[V33:%.+]] = arith.cmpi sgt, [[V9]], [[V32]] : i64
// CHECK-NEXT: [[V34:%.+]] = arith.constant 4 : i64
// CHECK-NEXT: [[V35:%.+]] = arith.cmpi slt, [[V9]], [[V34]] : i64
// CHECK-NEXT: [[V36:%.+]] = arith.andi [[V33]], [[V35]] : i1
// CHECK-NEXT: [[V37:%.+]] = arith.andi [[V36]], [[V31]] : i1
// CHECK-NEXT: [[V38:%.+]] = arith.constant 3 : i64
// CHECK-NEXT: [[V39:%.+]] = arith.cmpi sgt, [[V9]], [[V38]] : i64
// CHECK-NEXT: [[V40:%.+]] = arith.ori [[V37]], [[V39]] : i1
// CHECK-NEXT: [[V41:%.+]] = arith.subi [[V5]], [[V7]] : i64
// CHECK-NEXT: [[V42:%.+]] = arith.constant 536870912 : i64
// CHECK-NEXT: [[V43:%.+]] = arith.select [[V40]], [[V42]], [[V26]] : i64
// CHECK-NEXT: [[V44:%.+]] = arith.addi [[V41]], [[V43]] : i64
// CHECK-NEXT: [[V45:%.+]] = arith.bitcast [[V44]] : i64 to f64
// CHECK-NEXT: [[V46:%.+]] = arith.truncf [[V45]] : f64 to f32
// CHECK-NEXT: func.return [[V46]] : f32
func.func @root(%x: i64) -> f32 {
  %0 = kernel.reciprocal_root %x
  func.return %0 : f32
}
