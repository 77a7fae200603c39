// RUN: qmlir-opt %s -p quant-set-requantize | filecheck %s 

// CHECK: [[UP:#.+]] = #kernel.requantize<shift, up>
// CHECK: [[EVEN:#.+]] = #kernel.requantize<shift, even>

!x = !quant.uniform<i8:f32, 0.25>
!w = !quant.uniform<i8:f32, 0.5>
!a = !quant.uniform<i32:f32, 0.125>
!b = !quant.uniform<u8:f32, 0.03:7>
!third = !quant.uniform<i32:f32, 0.3>

// Without a mode the scales decide: powers of two throughout, parts included, and ratios that are.
// CHECK-LABEL: @by_scales(
// CHECK: nn.relu {{.*}}{requantize = [[UP]]}
// CHECK: nn.fully_connected {{.*}}requantize = [[UP]]}
// CHECK: nn.relu {{.*}} : (tensor<2x!{{.+}}>) -> tensor<2x!{{.+}}>{{$}}
// CHECK: nn.relu {{.*}} : tensor<2x!{{.+}}>{{$}}
// CHECK: nn.global_average_pool {{.*}} : (
// CHECK: nn.fully_connected {{[^r]*}} :
// CHECK: nn.relu {{.*}}{requantize = [[EVEN]]}
func.func @by_scales(%x: tensor<2x!x>, %m: tensor<2x4x!x>, %w: tensor<2x4x!w>, %c: tensor<2x!a>, %b: tensor<2x!b>, %i: tensor<1x2x3x4x!x>) -> tensor<2x!w> {
  %0 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!w>
  %1 = nn.fully_connected %m, %w, %c {components = {matmul = !a}} : (tensor<2x4x!x>, tensor<2x4x!w>, tensor<2x!a>) -> tensor<2x2x!x>
  %2 = nn.relu %x : (tensor<2x!x>) -> tensor<2x!b>
  %3 = nn.relu %b : tensor<2x!b>
  %4 = nn.global_average_pool %i : (tensor<1x2x3x4x!x>) -> tensor<1x2x1x1x!x>
  %5 = nn.fully_connected %m, %w, %c {components = {matmul = !third}} : (tensor<2x4x!x>, tensor<2x4x!w>, tensor<2x!a>) -> tensor<2x2x!x>
  %6 = nn.relu %x {requantize = #kernel.requantize<shift, even>} : (tensor<2x!x>) -> tensor<2x!w>
  func.return %0 : tensor<2x!w>
}

// A mean over a dynamic size divides by any number; windows without padding have as many elements at any size.
// CHECK-LABEL: @dynamic(
// CHECK: nn.global_average_pool {{%[a-z0-9]+}} : (
// CHECK: nn.reduce_mean {{%[a-z0-9]+}} {axes = [3]} : (
// CHECK: nn.reduce_mean {{%[a-z0-9]+}} {axes = [1], requantize = [[UP]]} : (
// CHECK: nn.average_pool {{%[a-z0-9]+}} {kernel = [2, 2], requantize = [[UP]]} : tensor<
// CHECK: nn.average_pool {{%[a-z0-9]+}} {kernel = [4, 4], pads = [1, 1, 1, 1]} : tensor<
// CHECK: nn.average_pool {{%[a-z0-9]+}} {kernel = [4, 4], pads = [1, 1, 1, 1], count_include_pad = true, requantize = [[UP]]} : tensor<
func.func @dynamic(%i: tensor<1x2x?x?x!x>) {
  %0 = nn.global_average_pool %i : (tensor<1x2x?x?x!x>) -> tensor<1x2x1x1x!x>
  %1 = nn.reduce_mean %i {axes = [3]} : (tensor<1x2x?x?x!x>) -> tensor<1x2x?x1x!x>
  %2 = nn.reduce_mean %i {axes = [1]} : (tensor<1x2x?x?x!x>) -> tensor<1x1x?x?x!x>
  %3 = nn.average_pool %i {kernel = [2, 2]} : (tensor<1x2x?x?x!x>) -> tensor<1x2x?x?x!x>
  %4 = nn.average_pool %i {kernel = [4, 4], pads = [1, 1, 1, 1]} : (tensor<1x2x?x?x!x>) -> tensor<1x2x?x?x!x>
  %5 = nn.average_pool %i {kernel = [4, 4], pads = [1, 1, 1, 1], count_include_pad = true} : (tensor<1x2x?x?x!x>) -> tensor<1x2x?x?x!x>
  func.return
}
