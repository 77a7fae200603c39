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
