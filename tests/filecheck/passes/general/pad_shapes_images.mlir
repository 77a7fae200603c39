// RUN: qmlir-opt %s -p 'pad-shapes{function=windows sizes="h=6","w=8"},pad-shapes{function=valid sizes="h=6"},pad-shapes{function=floats sizes="h=6"},pad-shapes{function=means sizes="h=4"},pad-shapes{function=joined sizes="h=4"},pad-shapes{function=pyramid sizes="h=6"},pad-shapes{function=sequence sizes="t=4"}' | filecheck %s

!x = !quant.uniform<i8:f32, 0.5:3>
!w = !quant.uniform<i8:f32, 0.25>
!relu = !quant.uniform<i8:f32, 0.5:-128>

// What a convolution reads beyond the size of the run is the zero point, by limits of bytes; of a zero point that is
// the least integer, one limit does. A maximum reads the least integer there. The second convolution begins where the
// stride puts it: its places are compared with the size of the input, and no size is computed in a run.
// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %x: tensor<1x2x6x8x!{{.*}}> {nn.name = "x"}, %[[H:[0-9]+]]: tensor<i64> {nn.name = "h"}, %[[W:[0-9]+]]: tensor<i64> {nn.name = "w"})
// CHECK:         nn.less %{{[0-9]+}}, %[[H]]
// CHECK:         nn.constant dense<{{\[\[}}0], [2], [4]]> : tensor<3x1xi64>
// CHECK-NEXT:    nn.less %{{[0-9]+}}, %[[H]]
// CHECK:         nn.constant dense<[0, 2, 4, 6]> : tensor<4xi64>
// CHECK-NEXT:    nn.less %{{[0-9]+}}, %[[W]]
// CHECK:         %[[BELOW:[0-9]+]] = nn.min %x, %{{[0-9]+}}
// CHECK-NEXT:    %[[FILLED:[0-9]+]] = nn.max %[[BELOW]], %{{[0-9]+}}
// CHECK-NEXT:    %[[CONV:[0-9]+]] = nn.conv %[[FILLED]], {{.*}} -> tensor<1x2x3x4x
// CHECK-NEXT:    %[[RELU:[0-9]+]] = nn.min %[[CONV]], %{{[0-9]+}}
// CHECK-NEXT:    nn.max_pool %[[RELU]]
func.func @windows(%x: tensor<1x2x?x?x!x> {nn.name = "x", nn.dims = ["", "", "h", "w"]}) -> tensor<1x2x?x?x!relu> {
  %w = nn.constant dense<1> : tensor<2x2x3x3xi8> -> tensor<2x2x3x3x!w>
  %0 = nn.conv %x, %w {strides = [2, 2], pads = [1, 1, 1, 1]} : (tensor<1x2x?x?x!x>, tensor<2x2x3x3x!w>) -> tensor<1x2x?x?x!relu>
  %1 = nn.max_pool %0 {kernel = [3, 3], pads = [1, 1, 1, 1]} : tensor<1x2x?x?x!relu>
  func.return %1 : tensor<1x2x?x?x!relu>
}

// Windows that never reach beyond the end of an axis read no padding, nor do kernels of one element.
// CHECK-LABEL: func.func @valid(
// CHECK-SAME:    %x: tensor<1x2x6x8xf32> {nn.name = "x"}) -> tensor<1x2x2x3xf32>
// CHECK-NOT:     nn.where
// CHECK:         return
func.func @valid(%x: tensor<1x2x?x8xf32> {nn.name = "x", nn.dims = ["", "", "h", ""]}) -> tensor<1x2x?x3xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x3x3xf32>
  %one = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %0 = nn.conv %x, %one : (tensor<1x2x?x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x?x8xf32>
  %1 = nn.conv %0, %w {strides = [2, 2], pads = [1, 0, 0, 0]} : (tensor<1x2x?x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x?x3xf32>
  %2 = nn.average_pool %1 {kernel = [2, 1]} : tensor<1x2x?x3xf32>
  func.return %2 : tensor<1x2x?x3xf32>
}

// A float may be NaN, which no limit takes away: it is chosen. A mean is divided by the elements of the run.
// CHECK-LABEL: func.func @floats(
// CHECK:         %[[X:[0-9]+]] = nn.where %{{[0-9]+}}, %x, %{{[0-9]+}}
// CHECK-NEXT:    %[[SUM:[0-9]+]] = nn.reduce_sum %[[X]] {axes = [2, 3]
// CHECK:         nn.div %[[SUM]]
func.func @floats(%x: tensor<1x2x?x8xf32> {nn.name = "x", nn.dims = ["", "", "h", ""]}) -> tensor<1x2x1x1xf32> {
  %0 = nn.global_average_pool %x : (tensor<1x2x?x8xf32>) -> tensor<1x2x1x1xf32>
  func.return %0 : tensor<1x2x1x1xf32>
}

// The last windows of a mean that leaves padding out have fewer elements: as many as there are in the run.
// CHECK-LABEL: func.func @means(
// CHECK-SAME:    %x: tensor<1x2x4xf32> {nn.name = "x"}, %[[H:[0-9]+]]: tensor<i64> {nn.name = "h"})
// CHECK:         %[[THERE:[0-9]+]] = nn.less %{{[0-9]+}}, %[[H]] : (tensor<4x3xi64>, tensor<i64>) -> tensor<4x3xi1>
// CHECK-NEXT:    %[[ONES:[0-9]+]] = nn.cast %[[THERE]]
// CHECK-NEXT:    nn.reduce_sum %[[ONES]] {axes = [1]
// CHECK:         %[[WINDOWS:[0-9]+]] = nn.concat {{.*}} -> tensor<1x2x4x3xf32>
// CHECK-NEXT:    %[[SUM:[0-9]+]] = nn.reduce_sum %[[WINDOWS]] {axes = [3]
// CHECK:         nn.div %[[SUM]]
func.func @means(%x: tensor<1x2x?xf32> {nn.name = "x", nn.dims = ["", "", "h"]}) -> tensor<1x2x?xf32> {
  %0 = nn.average_pool %x {kernel = [3], pads = [1, 1]} : tensor<1x2x?xf32>
  func.return %0 : tensor<1x2x?xf32>
}

// What is joined after padding moves to the end of the run, and what is cut off at the end is padding.
// CHECK-LABEL: func.func @joined(
// CHECK-SAME:    %[[H:[0-9]+]]: tensor<i64> {nn.name = "h"}) -> tensor<5x2xf32>
// CHECK:         nn.sub %{{[0-9]+}}, %[[H]]
// CHECK:         %[[PLACES:[0-9]+]] = nn.min
// CHECK:         %[[JOINED:[0-9]+]] = nn.concat %x, %{{[0-9]+}} {axis = 0} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
// CHECK-NEXT:    %[[MOVED:[0-9]+]] = nn.gather %[[JOINED]], %[[PLACES]]
// CHECK-NEXT:    nn.slice %[[MOVED]] {starts = [0], ends = [-1]}
func.func @joined(%x: tensor<?x2xf32> {nn.name = "x", nn.dims = ["h", ""]}) -> tensor<?x2xf32> {
  %0 = nn.constant dense<1.0> : tensor<2x2xf32>
  %1 = nn.concat %x, %0 {axis = 0} : (tensor<?x2xf32>, tensor<2x2xf32>) -> tensor<?x2xf32>
  %2 = nn.slice %1 {starts = [0], ends = [-1]} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  func.return %2 : tensor<?x2xf32>
}

// Half the size and twice that are the size only where it is even: a condition of the run, which the capacity fulfils.
// CHECK-LABEL: func.func @pyramid(
// CHECK-SAME:    %x: tensor<1x1x6xf32>
// CHECK:         nn.resize %{{[0-9]+}} {{.*}} -> tensor<1x1x6xf32>
// CHECK-NEXT:    nn.add
func.func @pyramid(%x: tensor<1x1x?xf32> {nn.name = "x", nn.dims = ["", "", "h"]}) -> tensor<1x1x?xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %0 = nn.conv %x, %w {strides = [2]} : (tensor<1x1x?xf32>, tensor<1x1x1xf32>) -> tensor<1x1x?xf32>
  %1 = nn.resize %0 {scales = array<f32: 1.0, 1.0, 2.0>, mode = "linear"} : (tensor<1x1x?xf32>) -> tensor<1x1x?xf32>
  %2 = nn.add %1, %x : tensor<1x1x?xf32>
  func.return %2 : tensor<1x1x?xf32>
}

// A layer without lengths gets the size of the run as the length of each sequence.
// CHECK-LABEL: func.func @sequence(
// CHECK-SAME:    %x: tensor<4x2x1xf32> {nn.name = "x"}, %[[T:[0-9]+]]: tensor<i64> {nn.name = "t"})
// CHECK:         %[[ENDS:[0-9]+]] = nn.cast %{{[0-9]+}} : (tensor<2xi64>) -> tensor<2xi32>
// CHECK:         nn.rnn %x, %w, %w, _, %[[ENDS]] 
func.func @sequence(%x: tensor<?x2x1xf32> {nn.name = "x", nn.dims = ["t", "", ""]}) -> tensor<?x1x2x1xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x1xf32>
  %0, %1 = nn.rnn %x, %w, %w {hidden_size = 1, direction = "reverse"} : (tensor<?x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<?x1x2x1xf32>, tensor<1x2x1xf32>)
  func.return %0 : tensor<?x1x2x1xf32>
}
