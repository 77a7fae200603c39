// RUN: qmlir-opt %s -p 'kernel-split-tables{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-split-tables{isa=avx512-vnni},kernel-split-tables{isa=avx512-vnni}' -o %t.twice && qmlir-opt %s -p 'kernel-split-tables{isa=avx512-vnni}' | diff %t.twice -
// RUN: qmlir-opt %s -p 'kernel-split-tables{isa=avx512-vnni}' --verify-each=exec -o %t.checked

#id = affine_map<(d0) -> (d0)>

// Climbing by one in each group of 256, and falling.
func.func @climbs(%x: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %c = arith.constant 1.0e+02 : f32
    %d = arith.divf %f, %c : f32
    %q = math.sqrt %d : f32
    %one = arith.constant 1.0 : f32
    %m = arith.minimumf %q, %one : f32
    %r = arith.fptosi %m : f32 to i8
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

func.func @falls(%x: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %c = arith.constant 1.0e+02 : f32
    %d = arith.divf %f, %c : f32
    %q = math.sqrt %d : f32
    %one = arith.constant 1.0 : f32
    %m = arith.minimumf %q, %one : f32
    %n = arith.negf %m : f32
    %r = arith.fptosi %n : f32 to i8
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// A table that is there, and the same everywhere: no limits.
func.func @level(%x: tensor<8xi16>) -> tensor<8xi8> {
  %t = arith.constant dense<7> : tensor<65536xi8>
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %i = arith.index_cast %a : i16 to index
    %c = arith.constant -32768 : index
    %j = arith.subi %i, %c : index
    %r = tensor.extract %t[%j] : tensor<65536xi8>
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

// Seven limits are few for the epilogue of a contraction, where only a part of the body depends on the number.
func.func @epilogue(%x: tensor<1x4xi8>, %w: tensor<16x4xi8>) -> tensor<1x16xi32> {
  %0 = kernel.matmul ins(%x, %w : tensor<1x4xi8>, tensor<16x4xi8>) -> tensor<1x16xi32> {
  ^bb0(%sum: i32):
    %a = arith.trunci %sum : i32 to i16
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %c = arith.constant 4.0 : f32
    %d = arith.divf %f, %c : f32
    %q = math.sqrt %d : f32
    %e = arith.fptosi %q : f32 to i8
    %g = arith.extsi %e : i8 to i32
    %r = arith.addi %g, %sum : i32
    kernel.yield %r : i32
  }
  func.return %0 : tensor<1x16xi32>
}

// Left alone: elsewhere seven limits are many; groups that go up and down; no slow operations; two numbers; what is
// no byte.
func.func @many(%x: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %c = arith.constant 4.0 : f32
    %d = arith.divf %f, %c : f32
    %q = math.sqrt %d : f32
    %r = arith.fptosi %q : f32 to i8

    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

func.func @up_and_down(%x: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %half = arith.constant 1.28e+02 : f32
    %g = arith.subf %f, %half : f32
    %h = math.absf %g : f32
    %c = arith.constant 1.0e+02 : f32
    %d = arith.divf %h, %c : f32
    %q = math.sqrt %d : f32
    %r = arith.fptosi %q : f32 to i8
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

func.func @cheap(%x: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi8>) attrs = {origin = "s"} {
  ^bb0(%a: i16, %o: i8):
    %eight = arith.constant 8 : i16
    %s = arith.shrsi %a, %eight : i16
    %r = arith.trunci %s : i16 to i8
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

func.func @two(%x: tensor<8xi16>, %y: tensor<8xi16>) -> tensor<8xi8> {
  %0 = tensor.empty() : tensor<8xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %y : tensor<8xi16>, tensor<8xi16>) outs(%0 : tensor<8xi8>) {
  ^bb0(%u: i16, %v: i16, %o: i8):
    %mask = arith.constant 255 : i16
    %low = arith.andi %u, %mask : i16
    %other = arith.andi %v, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %g = arith.sitofp %other : i16 to f32
    %h = arith.addf %f, %g : f32
    %c = arith.constant 1.0e+02 : f32
    %d = arith.divf %h, %c : f32
    %q = math.sqrt %d : f32
    %r = arith.fptosi %q : f32 to i8
    linalg.yield %r : i8
  } -> tensor<8xi8>
  func.return %1 : tensor<8xi8>
}

func.func @wide(%x: tensor<8xi16>) -> tensor<8xi16> {
  %0 = tensor.empty() : tensor<8xi16>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<8xi16>) outs(%0 : tensor<8xi16>) {
  ^bb0(%a: i16, %o: i16):
    %mask = arith.constant 255 : i16
    %low = arith.andi %a, %mask : i16
    %f = arith.sitofp %low : i16 to f32
    %c = arith.constant 1.0e+02 : f32
    %d = arith.divf %f, %c : f32
    %q = math.sqrt %d : f32
    %r = arith.fptosi %q : f32 to i16
    linalg.yield %r : i16
  } -> tensor<8xi16>
  func.return %1 : tensor<8xi16>
}

// CHECK: #w0 = dense<0> : tensor<256xi8>
// CHECK-NEXT: #w1 = dense<99> : tensor<256xi8>
// CHECK-NEXT: #w2 = dense<7> : tensor<256xi8>
// CHECK-NEXT: #w3 = dense<3> : tensor<256xi8>
// CHECK-NEXT: #w4 = dense<15> : tensor<256xi8>
// CHECK-NEXT: #w5 = dense<35> : tensor<256xi8>
// CHECK-NEXT: #w6 = dense<63> : tensor<256xi8>
// CHECK-NEXT: #w7 = dense<-113> : tensor<256xi8>
// CHECK-NEXT: #w8 = dense<-61> : tensor<256xi8>
// CHECK-LABEL: @climbs(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} #w1
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i16, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V5]] : i16 to i8
// CHECK-NEXT: [[V8:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V9:%.+]] = arith.shrsi [[V5]], [[V8]] : i16
// CHECK-NEXT: [[V10:%.+]] = arith.trunci [[V9]] : i16 to i8
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V10]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V13:%.+]] = arith.subi [[V11]], [[V12]] : index
// CHECK-NEXT: [[V14:%.+]] = tensor.extract [[V2]][[[V13]]] : tensor<256xi8>
// CHECK-NEXT: [[V15:%.+]] = tensor.extract [[V3]][[[V13]]] : tensor<256xi8>
// CHECK-NEXT: [[V16:%.+]] = arith.cmpi ugt, [[V7]], [[V15]] : i8
// CHECK-NEXT: [[V17:%.+]] = arith.extsi [[V16]] : i1 to i8
// CHECK-NEXT: [[V18:%.+]] = arith.subi [[V14]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<8xi8>
// CHECK-LABEL: @falls(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant {origin = "s"} #w1
// CHECK-NEXT: [[V4:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V5:%.+]]: i16, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V5]] : i16 to i8
// CHECK-NEXT: [[V8:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V9:%.+]] = arith.shrsi [[V5]], [[V8]] : i16
// CHECK-NEXT: [[V10:%.+]] = arith.trunci [[V9]] : i16 to i8
// CHECK-NEXT: [[V11:%.+]] = arith.index_cast [[V10]] : i8 to index
// CHECK-NEXT: [[V12:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V13:%.+]] = arith.subi [[V11]], [[V12]] : index
// CHECK-NEXT: [[V14:%.+]] = tensor.extract [[V2]][[[V13]]] : tensor<256xi8>
// CHECK-NEXT: [[V15:%.+]] = tensor.extract [[V3]][[[V13]]] : tensor<256xi8>
// CHECK-NEXT: [[V16:%.+]] = arith.cmpi ugt, [[V7]], [[V15]] : i8
// CHECK-NEXT: [[V17:%.+]] = arith.extsi [[V16]] : i1 to i8
// CHECK-NEXT: [[V18:%.+]] = arith.addi [[V14]], [[V17]] : i8
// CHECK-NEXT: linalg.yield [[V18]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V4]] : tensor<8xi8>
// CHECK-LABEL: @level(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = arith.constant {origin = "s"} #w2
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i16, [[V5:%.+]]: i8):
// CHECK-NEXT: [[V6:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V7:%.+]] = arith.shrsi [[V4]], [[V6]] : i16
// CHECK-NEXT: [[V8:%.+]] = arith.trunci [[V7]] : i16 to i8
// CHECK-NEXT: [[V9:%.+]] = arith.index_cast [[V8]] : i8 to index
// CHECK-NEXT: [[V10:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V11:%.+]] = arith.subi [[V9]], [[V10]] : index
// CHECK-NEXT: [[V12:%.+]] = tensor.extract [[V2]][[[V11]]] : tensor<256xi8>
// CHECK-NEXT: linalg.yield [[V12]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<8xi8>
// CHECK-LABEL: @epilogue(
// CHECK-SAME: [[V0:%.+]]: tensor<1x4xi8>, [[V1:%.+]]: tensor<16x4xi8>) -> tensor<1x16xi32>
// CHECK-NEXT: [[V2:%.+]] = arith.constant #w0
// CHECK-NEXT: [[V3:%.+]] = arith.constant #w3
// CHECK-NEXT: [[V4:%.+]] = arith.constant #w4
// CHECK-NEXT: [[V5:%.+]] = arith.constant #w5
// CHECK-NEXT: [[V6:%.+]] = arith.constant #w6
// CHECK-NEXT: [[V7:%.+]] = arith.constant #w1
// CHECK-NEXT: [[V8:%.+]] = arith.constant #w7
// CHECK-NEXT: [[V9:%.+]] = arith.constant #w8
// CHECK-NEXT: [[V10:%.+]] = kernel.matmul ins([[V0]], [[V1]] : tensor<1x4xi8>, tensor<16x4xi8>) -> tensor<1x16xi32> {
// CHECK-NEXT: ^bb0([[V11:%.+]]: i32):
// CHECK-NEXT: [[V12:%.+]] = arith.trunci [[V11]] : i32 to i16
// CHECK-NEXT: [[V13:%.+]] = arith.trunci [[V12]] : i16 to i8
// CHECK-NEXT: [[V14:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V15:%.+]] = arith.shrsi [[V12]], [[V14]] : i16
// CHECK-NEXT: [[V16:%.+]] = arith.trunci [[V15]] : i16 to i8
// CHECK-NEXT: [[V17:%.+]] = arith.index_cast [[V16]] : i8 to index
// CHECK-NEXT: [[V18:%.+]] = arith.constant -128 : index
// CHECK-NEXT: [[V19:%.+]] = arith.subi [[V17]], [[V18]] : index
// CHECK-NEXT: [[V20:%.+]] = tensor.extract [[V2]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V21:%.+]] = tensor.extract [[V3]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V22:%.+]] = arith.cmpi ugt, [[V13]], [[V21]] : i8
// CHECK-NEXT: [[V23:%.+]] = arith.extsi [[V22]] : i1 to i8
// CHECK-NEXT: [[V24:%.+]] = arith.subi [[V20]], [[V23]] : i8
// CHECK-NEXT: [[V25:%.+]] = tensor.extract [[V4]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V26:%.+]] = arith.cmpi ugt, [[V13]], [[V25]] : i8
// CHECK-NEXT: [[V27:%.+]] = arith.extsi [[V26]] : i1 to i8
// CHECK-NEXT: [[V28:%.+]] = arith.subi [[V24]], [[V27]] : i8
// CHECK-NEXT: [[V29:%.+]] = tensor.extract [[V5]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V30:%.+]] = arith.cmpi ugt, [[V13]], [[V29]] : i8
// CHECK-NEXT: [[V31:%.+]] = arith.extsi [[V30]] : i1 to i8
// CHECK-NEXT: [[V32:%.+]] = arith.subi [[V28]], [[V31]] : i8
// CHECK-NEXT: [[V33:%.+]] = tensor.extract [[V6]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V34:%.+]] = arith.cmpi ugt, [[V13]], [[V33]] : i8
// CHECK-NEXT: [[V35:%.+]] = arith.extsi [[V34]] : i1 to i8
// CHECK-NEXT: [[V36:%.+]] = arith.subi [[V32]], [[V35]] : i8
// CHECK-NEXT: [[V37:%.+]] = tensor.extract [[V7]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V38:%.+]] = arith.cmpi ugt, [[V13]], [[V37]] : i8
// CHECK-NEXT: [[V39:%.+]] = arith.extsi [[V38]] : i1 to i8
// CHECK-NEXT: [[V40:%.+]] = arith.subi [[V36]], [[V39]] : i8
// CHECK-NEXT: [[V41:%.+]] = tensor.extract [[V8]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V42:%.+]] = arith.cmpi ugt, [[V13]], [[V41]] : i8
// CHECK-NEXT: [[V43:%.+]] = arith.extsi [[V42]] : i1 to i8
// CHECK-NEXT: [[V44:%.+]] = arith.subi [[V40]], [[V43]] : i8
// CHECK-NEXT: [[V45:%.+]] = tensor.extract [[V9]][[[V19]]] : tensor<256xi8>
// CHECK-NEXT: [[V46:%.+]] = arith.cmpi ugt, [[V13]], [[V45]] : i8
// CHECK-NEXT: [[V47:%.+]] = arith.extsi [[V46]] : i1 to i8
// CHECK-NEXT: [[V48:%.+]] = arith.subi [[V44]], [[V47]] : i8
// CHECK-NEXT: [[V49:%.+]] = arith.extsi [[V48]] : i8 to i32
// CHECK-NEXT: [[V50:%.+]] = arith.addi [[V49]], [[V11]] : i32
// CHECK-NEXT: kernel.yield [[V50]] : i32
// CHECK: func.return [[V10]] : tensor<1x16xi32>
// CHECK-LABEL: @many(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i16, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 255 : i16
// CHECK-NEXT: [[V6:%.+]] = arith.andi [[V3]], [[V5]] : i16
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V6]] : i16 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 4.000000e+00 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.divf [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = math.sqrt [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.fptosi [[V10]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V11]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
// CHECK-LABEL: @up_and_down(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i16, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 255 : i16
// CHECK-NEXT: [[V6:%.+]] = arith.andi [[V3]], [[V5]] : i16
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V6]] : i16 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 1.280000e+02 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.subf [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = math.absf [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.constant 1.000000e+02 : f32
// CHECK-NEXT: [[V12:%.+]] = arith.divf [[V10]], [[V11]] : f32
// CHECK-NEXT: [[V13:%.+]] = math.sqrt [[V12]] : f32
// CHECK-NEXT: [[V14:%.+]] = arith.fptosi [[V13]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V14]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
// CHECK-LABEL: @cheap(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi8>) attrs =  {origin = "s"} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i16, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 8 : i16
// CHECK-NEXT: [[V6:%.+]] = arith.shrsi [[V3]], [[V5]] : i16
// CHECK-NEXT: [[V7:%.+]] = arith.trunci [[V6]] : i16 to i8
// CHECK-NEXT: linalg.yield [[V7]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi8>
// CHECK-LABEL: @two(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>, [[V1:%.+]]: tensor<8xi16>) -> tensor<8xi8>
// CHECK-NEXT: [[V2:%.+]] = tensor.empty() : tensor<8xi8>
// CHECK-NEXT: [[V3:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]], [[V1]] : tensor<8xi16>, tensor<8xi16>) outs([[V2]] : tensor<8xi8>) {
// CHECK-NEXT: ^bb0([[V4:%.+]]: i16, [[V5:%.+]]: i16, [[V6:%.+]]: i8):
// CHECK-NEXT: [[V7:%.+]] = arith.constant 255 : i16
// CHECK-NEXT: [[V8:%.+]] = arith.andi [[V4]], [[V7]] : i16
// CHECK-NEXT: [[V9:%.+]] = arith.andi [[V5]], [[V7]] : i16
// CHECK-NEXT: [[V10:%.+]] = arith.sitofp [[V8]] : i16 to f32
// CHECK-NEXT: [[V11:%.+]] = arith.sitofp [[V9]] : i16 to f32
// CHECK-NEXT: [[V12:%.+]] = arith.addf [[V10]], [[V11]] : f32
// CHECK-NEXT: [[V13:%.+]] = arith.constant 1.000000e+02 : f32
// CHECK-NEXT: [[V14:%.+]] = arith.divf [[V12]], [[V13]] : f32
// CHECK-NEXT: [[V15:%.+]] = math.sqrt [[V14]] : f32
// CHECK-NEXT: [[V16:%.+]] = arith.fptosi [[V15]] : f32 to i8
// CHECK-NEXT: linalg.yield [[V16]] : i8
// CHECK-NEXT: } -> tensor<8xi8>
// CHECK-NEXT: func.return [[V3]] : tensor<8xi8>
// CHECK-LABEL: @wide(
// CHECK-SAME: [[V0:%.+]]: tensor<8xi16>) -> tensor<8xi16>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<8xi16>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<8xi16>) outs([[V1]] : tensor<8xi16>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i16, [[V4:%.+]]: i16):
// CHECK-NEXT: [[V5:%.+]] = arith.constant 255 : i16
// CHECK-NEXT: [[V6:%.+]] = arith.andi [[V3]], [[V5]] : i16
// CHECK-NEXT: [[V7:%.+]] = arith.sitofp [[V6]] : i16 to f32
// CHECK-NEXT: [[V8:%.+]] = arith.constant 1.000000e+02 : f32
// CHECK-NEXT: [[V9:%.+]] = arith.divf [[V7]], [[V8]] : f32
// CHECK-NEXT: [[V10:%.+]] = math.sqrt [[V9]] : f32
// CHECK-NEXT: [[V11:%.+]] = arith.fptosi [[V10]] : f32 to i16
// CHECK-NEXT: linalg.yield [[V11]] : i16
// CHECK-NEXT: } -> tensor<8xi16>
// CHECK-NEXT: func.return [[V2]] : tensor<8xi16>
