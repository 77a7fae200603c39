// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx512-vnni}' | filecheck %s
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2 threads=2}' | filecheck %s --check-prefix=AVX2
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=avx2-vnni}' | filecheck %s --check-prefix=AVX2-VNNI
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=neon}' | filecheck %s --check-prefix=SHORT
// RUN: qmlir-opt %s -p 'kernel-assign-schedule{isa=generic}' | filecheck %s --check-prefix=SHORT

#id = affine_map<(d0) -> (d0)>

// Bytes that stay bytes fill a register.
func.func @bytes(%x: tensor<200000xi8>) -> tensor<200000xi8> {
  %0 = tensor.empty() : tensor<200000xi8>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<200000xi8>) outs(%0 : tensor<200000xi8>) {
  ^bb0(%a: i8, %o: i8):
    %2 = arith.maxsi %a, %a : i8
    linalg.yield %2 : i8
  } -> tensor<200000xi8>
  func.return %1 : tensor<200000xi8>
}

// The widest number decides, up to 32 bits: sums of f64 are two registers for each of f32.
func.func @sum(%x: tensor<64xf32>, %y: tensor<f64>) -> tensor<f64> {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<64xf32>) outs(%y : tensor<f64>) {
  ^bb0(%a: f32, %o: f64):
    %1 = arith.extf %a : f32 to f64
    %2 = arith.addf %o, %1 : f64
    linalg.yield %2 : f64
  } -> tensor<f64>
  func.return %0 : tensor<f64>
}

// A truth has a byte in memory and a bit in a register: such elements go one by one.
func.func @truths(%x: tensor<64xf32>) -> tensor<64xi1> {
  %0 = tensor.empty() : tensor<64xi1>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<64xf32>) outs(%0 : tensor<64xi1>) {
  ^bb0(%a: f32, %o: i1):
    %2 = arith.cmpf oeq, %a, %a : f32
    linalg.yield %2 : i1
  } -> tensor<64xi1>
  func.return %1 : tensor<64xi1>
}

// A sum of bytes: four of them a lane, where that is one instruction.
func.func @bytes_sum(%x: tensor<16x512xi8>, %o: tensor<16xi32>) -> tensor<16xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<16x512xi8>) outs(%o : tensor<16xi32>) {
  ^bb0(%a: i8, %b: i32):
    %1 = arith.extsi %a : i8 to i32
    %2 = arith.addi %b, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<16xi32>
  func.return %0 : tensor<16xi32>
}

// CHECK: #k0 = #kernel.target<isa = "avx512-vnni">
// CHECK-NEXT: #k1 = #kernel.schedule<variant = "lanes", lanes = 64>
// CHECK-NEXT: #k2 = #kernel.schedule<variant = "lanes", lanes = 16>
// CHECK-NEXT: #k3 = #kernel.schedule<variant = "lanes", lanes = 16, k_unroll = 4>
// CHECK-NEXT: builtin.module attributes {kernel.target = #k0} {
// CHECK-LABEL: @bytes(
// CHECK-SAME: [[V0:%.+]]: tensor<200000xi8>) -> tensor<200000xi8>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<200000xi8>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<200000xi8>) outs([[V1]] : tensor<200000xi8>) attrs =  {kernel.schedule = #k1} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// CHECK-NEXT: [[V5:%.+]] = arith.maxsi [[V3]], [[V3]] : i8
// CHECK-NEXT: linalg.yield [[V5]] : i8
// CHECK-NEXT: } -> tensor<200000xi8>
// CHECK-NEXT: func.return [[V2]] : tensor<200000xi8>
// CHECK-LABEL: @sum(
// CHECK-SAME: [[V0:%.+]]: tensor<64xf32>, [[V1:%.+]]: tensor<f64>) -> tensor<f64>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<f64>) attrs =  {kernel.schedule = #k2} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f64):
// CHECK-NEXT: [[V5:%.+]] = arith.extf [[V3]] : f32 to f64
// CHECK-NEXT: [[V6:%.+]] = arith.addf [[V4]], [[V5]] : f64
// CHECK-NEXT: linalg.yield [[V6]] : f64
// CHECK-NEXT: } -> tensor<f64>
// CHECK-NEXT: func.return [[V2]] : tensor<f64>
// CHECK-LABEL: @truths(
// CHECK-SAME: [[V0:%.+]]: tensor<64xf32>) -> tensor<64xi1>
// CHECK-NEXT: [[V1:%.+]] = tensor.empty() : tensor<64xi1>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<64xi1>) {
// CHECK-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: i1):
// CHECK-NEXT: [[V5:%.+]] = arith.cmpf oeq, [[V3]], [[V3]] : f32
// CHECK-NEXT: linalg.yield [[V5]] : i1
// CHECK-NEXT: } -> tensor<64xi1>
// CHECK-NEXT: func.return [[V2]] : tensor<64xi1>
// CHECK-LABEL: @bytes_sum(
// CHECK-SAME: [[V0:%.+]]: tensor<16x512xi8>, [[V1:%.+]]: tensor<16xi32>) -> tensor<16xi32>
// CHECK-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins([[V0]] : tensor<16x512xi8>) outs([[V1]] : tensor<16xi32>) attrs =  {kernel.schedule = #k3} {
// CHECK-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i32):
// CHECK-NEXT: [[V5:%.+]] = arith.extsi [[V3]] : i8 to i32
// CHECK-NEXT: [[V6:%.+]] = arith.addi [[V4]], [[V5]] : i32
// CHECK-NEXT: linalg.yield [[V6]] : i32
// CHECK-NEXT: } -> tensor<16xi32>
// CHECK-NEXT: func.return [[V2]] : tensor<16xi32>

// AVX2: #k0 = #kernel.target<isa = "avx2", threads = 2>
// AVX2-NEXT: #k1 = #kernel.schedule<variant = "lanes", lanes = 32, threads = true>
// AVX2-NEXT: #k2 = #kernel.schedule<variant = "lanes", lanes = 8>
// AVX2-NEXT: builtin.module attributes {kernel.target = #k0} {
// AVX2-LABEL: @bytes(
// AVX2-SAME: [[V0:%.+]]: tensor<200000xi8>) -> tensor<200000xi8>
// AVX2-NEXT: [[V1:%.+]] = tensor.empty() : tensor<200000xi8>
// AVX2-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<200000xi8>) outs([[V1]] : tensor<200000xi8>) attrs =  {kernel.schedule = #k1} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: i8, [[V4:%.+]]: i8):
// AVX2-NEXT: [[V5:%.+]] = arith.maxsi [[V3]], [[V3]] : i8
// AVX2-NEXT: linalg.yield [[V5]] : i8
// AVX2-NEXT: } -> tensor<200000xi8>
// AVX2-NEXT: func.return [[V2]] : tensor<200000xi8>
// AVX2-LABEL: @sum(
// AVX2-SAME: [[V0:%.+]]: tensor<64xf32>, [[V1:%.+]]: tensor<f64>) -> tensor<f64>
// AVX2-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<f64>) attrs =  {kernel.schedule = #k2} {
// AVX2-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: f64):
// AVX2-NEXT: [[V5:%.+]] = arith.extf [[V3]] : f32 to f64
// AVX2-NEXT: [[V6:%.+]] = arith.addf [[V4]], [[V5]] : f64
// AVX2-NEXT: linalg.yield [[V6]] : f64
// AVX2-NEXT: } -> tensor<f64>
// AVX2-NEXT: func.return [[V2]] : tensor<f64>
// AVX2-LABEL: @truths(
// AVX2-SAME: [[V0:%.+]]: tensor<64xf32>) -> tensor<64xi1>
// AVX2-NEXT: [[V1:%.+]] = tensor.empty() : tensor<64xi1>
// AVX2-NEXT: [[V2:%.+]] = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins([[V0]] : tensor<64xf32>) outs([[V1]] : tensor<64xi1>) {
// AVX2-NEXT: ^bb0([[V3:%.+]]: f32, [[V4:%.+]]: i1):
// AVX2-NEXT: [[V5:%.+]] = arith.cmpf oeq, [[V3]], [[V3]] : f32
// AVX2-NEXT: linalg.yield [[V5]] : i1
// AVX2-NEXT: } -> tensor<64xi1>
// AVX2-NEXT: func.return [[V2]] : tensor<64xi1>

// Registers of 256 and of 128 bits; without a product of four bytes there is no third schedule.
// AVX2-VNNI: #kernel.schedule<variant = "lanes", lanes = 32>
// AVX2-VNNI-NEXT: #kernel.schedule<variant = "lanes", lanes = 8>
// AVX2-VNNI-NEXT: #kernel.schedule<variant = "lanes", lanes = 8, k_unroll = 4>
// SHORT: #kernel.schedule<variant = "lanes", lanes = 16>
// SHORT-NEXT: #kernel.schedule<variant = "lanes", lanes = 4>
// SHORT-NEXT: builtin.module
