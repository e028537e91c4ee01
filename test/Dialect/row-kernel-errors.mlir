// RUN: sp-opt %s --split-input-file --verify-diagnostics

// C1: a body argument per input, of its element type
func.func @arguments(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{has 1 inputs, 1 input maps and 0 body arguments (C1)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf32> {
    %c = arith.constant 0.0 : f32
    sp.yield %c : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C1
func.func @argument_type(%x: tensor<4x8xf32>) -> tensor<4x8xf64> {
  // expected-error @below {{body argument has type 'f64' for an input of 'tensor<4x8xf32>' (C1)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf64> {
  ^bb0(%a: f64):
    sp.yield %a : f64
  }
  return %0 : tensor<4x8xf64>
}

// -----

// C1: one element past the end, in the last row only
func.func @out_of_bounds(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{leaves 'tensor<4x8xf32>' for 4 rows and 8 columns (C1)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c + 1)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf32> {
  ^bb0(%a: f32):
    sp.yield %a : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C1: a remainder grows and falls; its bound is the divisor's
func.func @remainder(%x: tensor<5xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{leaves 'tensor<5xf32>' for 4 rows and 8 columns (C1)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<5xf32>) maps [affine_map<(r, c) -> (c mod 6)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf32> {
  ^bb0(%a: f32):
    sp.yield %a : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C2
func.func @outputs(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{yields 1 values, but has 2 output maps and 1 output results (C2)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r * 8 + c)>, affine_map<(r, c) -> (c)>] to [0] : tensor<4x8xf32> {
  ^bb0(%a: f32):
    sp.yield %a : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C2
func.func @result_number(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{stores to result #1 of 1 (C2)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [1] : tensor<4x8xf32> {
  ^bb0(%a: f32):
    sp.yield %a : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C3
func.func @body(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{body has `vector.broadcast`, which is not a scalar op (C3)}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r * 8 + c)>] to [0] : tensor<4x8xf32> {
  ^bb0(%a: f32):
    %v = vector.broadcast %a : f32 to vector<4xf32>
    sp.yield %a : f32
  }
  return %0 : tensor<4x8xf32>
}

// -----

// C4
func.func @column_value_stored_once(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  // expected-error @below {{stores a value that differs from column to column through map}}
  %0 = sp.row_kernel rows 4 cols 8 ins(%x : tensor<4x8xf32>) maps [affine_map<(r, c) -> (r * 8 + c)>] outs [affine_map<(r, c) -> (r)>] to [0] : tensor<4xf32> {
  ^bb0(%a: f32):
    sp.yield %a : f32
  }
  return %0 : tensor<4xf32>
}
