// RUN: sp-opt %s --pass-pipeline="builtin.module(func.func(sp-form-row-kernels,sp-plan-memory))" | FileCheck %s

// New values are written over the old ones: the parameter is argument 0, the moments are
// 2 and 3. The gradient's buffer is free as well, but nothing is to be copied.
// CHECK-LABEL: func.func @update
// CHECK:         sp.row_kernel {{.*}}sp.offsets = array<i64: -1, -3, -4>
func.func @update(%p: tensor<8x4xf32> {sp.param = "w"}, %x: tensor<8x4xf32> {sp.input = "x"},
    %m: tensor<8x4xf32> {sp.state = "m"}, %v: tensor<8x4xf32> {sp.state = "v"}, %s: tensor<f64> {sp.input = "s"})
    -> (tensor<8x4xf32> {sp.param = "w"}, tensor<8x4xf32> {sp.state = "m"}, tensor<8x4xf32> {sp.state = "v"}) {
  %w = arith.constant dense<1.0> : tensor<4x4xf32>
  %g = sp.linear %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %n:3 = sp.adamw %p, %g, %m, %v scale %s lr %s corrections %s, %s betas 0.9, 0.99 eps 1.0e-08 decay 0.01
      : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
      -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  return %n#0, %n#1, %n#2 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// An old value that is still read, or returned, keeps its place.
// CHECK-LABEL: func.func @old_value_is_read
// CHECK:         sp.row_kernel {{.*}}sp.offsets = array<i64: 0>
func.func @old_value_is_read(%p: tensor<8x4xf32> {sp.param = "w"}, %x: tensor<8x4xf32> {sp.input = "x"})
    -> (tensor<8x4xf32> {sp.param = "w"}, tensor<8x4xf32> {sp.result = "old"}) {
  %n = arith.addf %p, %x : tensor<8x4xf32>
  return %n, %p : tensor<8x4xf32>, tensor<8x4xf32>
}
