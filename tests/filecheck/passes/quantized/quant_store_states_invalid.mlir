// RUN: not qmlir-opt %s -p 'quant-store-states{states="h=h_next"}' 2>&1 | filecheck %s --check-prefix=TYPES
// RUN: not qmlir-opt %s -p 'quant-store-states{states="f=h_next"}' 2>&1 | filecheck %s --check-prefix=FLOAT
// RUN: not qmlir-opt %s -p 'quant-store-states{states="hh=h_next"}' 2>&1 | filecheck %s --check-prefix=INPUT
// RUN: not qmlir-opt %s -p 'quant-store-states{states="h=h_nxt"}' 2>&1 | filecheck %s --check-prefix=OUTPUT
// RUN: not qmlir-opt %s -p 'quant-store-states{states="h=h_next","f=h_next"}' 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not qmlir-opt %s -p 'quant-store-states{states="h*=h_next"}' 2>&1 | filecheck %s --check-prefix=STAR
// RUN: not qmlir-opt %s -p 'quant-store-states{states=h}' 2>&1 | filecheck %s --check-prefix=PAIR

// TYPES: error: 'func.func' op state must have one type, but input 'h' is 'tensor<2x!quant.uniform<i8:f32, 5.000000e-01>>' and output 'h_next' is 'tensor<2x!quant.uniform<i8:f32, 2.500000e-01>>'
// FLOAT: error: 'func.func' op state must have one type, but input 'f' is 'tensor<2xf32>' and output 'h_next' is 'tensor<2x!quant.uniform<i8:f32, 2.500000e-01>>'
// INPUT: error: 'func.func' op has no input 'hh' to use as a state; did you mean 'h'?
// OUTPUT: error: 'func.func' op has no output 'h_nxt' for state 'h'; did you mean 'h_next'?
// TWICE: error: 'func.func' op state 'f=h_next' reuses a name of another state
// STAR: error: state must be spelled input=output or past_*=present_*, but got 'h*=h_next'
// PAIR: error: state must be spelled input=output or past_*=present_*, but got 'h'
func.func @main(%h: tensor<2xf32> {nn.name = "h"}, %f: tensor<2xf32> {nn.name = "f"}) -> (tensor<2xf32> {nn.name = "h_next"}, tensor<2xf32> {nn.name = "g"}) {
  %0 = quant.qcast %h : tensor<2xf32> to tensor<2x!quant.uniform<i8:f32, 0.5>>
  %1 = nn.relu %0 : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.25>>
  %2 = quant.dcast %1 : tensor<2x!quant.uniform<i8:f32, 0.25>> to tensor<2xf32>
  func.return %2, %f : tensor<2xf32>, tensor<2xf32>
}
