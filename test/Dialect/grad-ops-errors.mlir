// RUN: sp-opt %s --split-input-file --verify-diagnostics

func.func @linear_input_grad_shape(%g: tensor<8x5xf32>, %w: tensor<6x4xf32>) {
  // expected-error @below {{grad has shape [8, 5], must be [8, 6] (C1)}}
  %0 = sp.linear_input_grad %g, %w : (tensor<8x5xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @linear_weight_grad_shape(%g: tensor<8x5xf32>, %x: tensor<8x4xf32>) {
  // expected-error @below {{result has shape [4, 5], must be [5, 4] (C1)}}
  %0 = sp.linear_weight_grad %g, %x : (tensor<8x5xf32>, tensor<8x4xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @linear_weight_grad_type(%g: tensor<8x5xf32>, %x: tensor<8x4xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %0 = sp.linear_weight_grad %g, %x : (tensor<8x5xf32>, tensor<8x4xf32>) -> tensor<5x4xf64>
  return
}

// -----

func.func @sum_leading_count(%x: tensor<8x4xf32>) {
  // expected-error @below {{count is 3, but there are 2 dimensions (C1)}}
  %0 = sp.sum_leading %x count 3 : (tensor<8x4xf32>) -> tensor<f32>
  return
}

// -----

func.func @sum_leading_shape(%x: tensor<8x4xf32>) {
  // expected-error @below {{result has shape [8], must be [4] (C1)}}
  %0 = sp.sum_leading %x count 1 : (tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_leading_shape(%x: tensor<4xf32>) {
  // expected-error @below {{input has shape [4], must be [8] (C1)}}
  %0 = sp.broadcast_leading %x count 1 : (tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @mul_shape(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{result has shape [4], must be [5] (C1)}}
  %0 = sp.mul %x, %y : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rms_norm_grad_weight(%g: tensor<8x4xf32>, %x: tensor<8x4xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{weight has shape [8], must be [4] (C1)}}
  %0:2 = sp.rms_norm_grad %g, %x, %w eps 1.0e-06 : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

// An f32 weight beside bf16 data is fine, another mix is not.
func.func @rms_norm_grad_types(%g: tensor<8x4xbf16>, %x: tensor<8x4xbf16>, %w: tensor<4xf32>, %v: tensor<4xf64>) {
  %0:2 = sp.rms_norm_grad %g, %x, %w eps 1.0e-06 : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<4xf32>) -> (tensor<8x4xbf16>, tensor<4xf32>)
  // expected-error @below {{mixes element types 'bf16' and 'f64' (C2)}}
  %1:2 = sp.rms_norm_grad %g, %x, %v eps 1.0e-06 : (tensor<8x4xbf16>, tensor<8x4xbf16>, tensor<4xf64>) -> (tensor<8x4xbf16>, tensor<4xf64>)
  return
}

// -----

func.func @rms_norm_grad_eps(%x: tensor<8x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{eps is -1.000000e+00, must not be negative (C3)}}
  %0:2 = sp.rms_norm_grad %x, %x, %w eps -1.0 : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @attention_dropout(%x: tensor<8x2x4x6xf32>) {
  // expected-error @below {{dropout is 1.000000e+00, must be in [0, 1) (C4)}}
  %0 = sp.attention %x, %x, %x scale 0.5 dropout 1.0 op_id 0 : (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

func.func @attention_without_op_id(%x: tensor<8x2x4x6xf32>) {
  // expected-error @below {{needs both of `dropout` and `op_id`, or none (C4)}}
  %0 = "sp.attention"(%x, %x, %x) {scale = 0.5 : f64, dropout = 0.1 : f64} : (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

func.func @attention_grad_result(%x: tensor<8x2x4x6xf32>, %k: tensor<8x2x2x6xf32>) {
  // expected-error @below {{result has shape [8, 2, 4, 6], must be [8, 2, 2, 6] (C5)}}
  %0:3 = sp.attention_grad %x, %x, %k, %k scale 0.5 : (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x2x6xf32>, tensor<8x2x2x6xf32>) -> (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x2x6xf32>)
  return
}

// -----

func.func @embedding_grad_shape(%g: tensor<8x2x6xf32>, %ids: tensor<8x2xi64>) {
  // expected-error @below {{grad has shape [8, 2, 6], must be [2, 8, 6] (C1)}}
  %0 = sp.embedding_grad %g, %ids : (tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<9x6xf32>
  return
}

// -----

func.func @cross_entropy_grad_type(%g: tensor<bf16>, %l: tensor<8x2x7xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{grad has element type 'bf16', must be 'f32' (C2)}}
  %0 = sp.cross_entropy_grad %g, %l, %t ignore_index -100 : (tensor<bf16>, tensor<8x2x7xbf16>, tensor<8x2xi64>) -> tensor<8x2x7xbf16>
  return
}

// -----

func.func @pack_count(%x: tensor<4xf32>, %y: tensor<2x3xf32>) {
  // expected-error @below {{the vector has shape [9], must be [10] (C1)}}
  %0 = sp.pack %x, %y : (tensor<4xf32>, tensor<2x3xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @pack_rows(%x: tensor<4x3xf32>, %y: tensor<2x3xf32>) {
  // expected-error @below {{the rows has shape [2, 8], must be [2, 9] (C1)}}
  %0 = sp.pack %x, %y : (tensor<4x3xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @pack_pieces(%x: tensor<4x6xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{packs rows 'tensor<4x2x4xf32>', which 'tensor<4x3xf32>' cannot be cut into (C1)}}
  %0 = sp.pack %x, %y : (tensor<4x6xf32>, tensor<4x3xf32>) -> tensor<4x2x4xf32>
  return
}

// -----

func.func @pack_other_rows(%x: tensor<4x6xf32>, %y: tensor<2x6xf32>) {
  // expected-error @below {{packs rows 'tensor<4x2x4xf32>', which 'tensor<2x6xf32>' cannot be cut into (C1)}}
  %0 = sp.pack %x, %y : (tensor<4x6xf32>, tensor<2x6xf32>) -> tensor<4x2x4xf32>
  return
}

// -----

func.func @pack_scalar(%x: tensor<4x6xf32>, %y: tensor<f32>) {
  // expected-error @below {{packs rows 'tensor<1x25xf32>', which 'tensor<f32>' cannot be cut into (C1)}}
  %0 = sp.pack %x, %y : (tensor<4x6xf32>, tensor<f32>) -> tensor<1x25xf32>
  return
}

// -----

func.func @pack_into_scalar(%x: tensor<1xf32>) {
  // expected-error @below {{the vector has shape [], must be [1] (C1)}}
  %0 = sp.pack %x : (tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @pack_type(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{(C2)}}
  %0 = sp.pack %x, %y : (tensor<4xf32>, tensor<4xf64>) -> tensor<8xf32>
  return
}

// -----

func.func @unpack_nothing(%x: tensor<4xf32>) {
  // expected-error @below {{has nothing to pack (C1)}}
  "sp.unpack"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

func.func @sum_squares_type(%x: tensor<4xf32>) {
  // expected-error @below {{result is 'tensor<f32>', must be tensor<f64> (C1)}}
  %0 = sp.sum_squares %x : (tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @adamw_beta(%p: tensor<4xf32>, %s: tensor<f64>) {
  // expected-error @below {{beta2 is 1.000000e+00, must be in [0, 1) (C3)}}
  %0:3 = sp.adamw %p, %p, %p, %p scale %s lr %s corrections %s, %s betas 0.9, 1.0 eps 1.0e-08 decay 0.01 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_scalar(%p: tensor<4xf32>, %s: tensor<f64>, %w: tensor<f32>) {
  // expected-error @below {{operand is 'tensor<f32>', must be tensor<f64> (C1)}}
  %0:3 = sp.adamw %p, %p, %p, %p scale %s lr %w corrections %s, %s betas 0.9, 0.99 eps 1.0e-08 decay 0.01 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>, tensor<f32>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @adamw_moment(%p: tensor<4xf32>, %m: tensor<5xf32>, %s: tensor<f64>) {
  // expected-error @below {{operand or result has shape [5], must be [4] (C1)}}
  %0:3 = sp.adamw %p, %p, %m, %p scale %s lr %s corrections %s, %s betas 0.9, 0.99 eps 1.0e-08 decay 0.01 : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<4xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

// embedding_grad C4
func.func @f(%g: tensor<8x2x4xf32>, %i: tensor<2x8xi64>) {
  // expected-error @below {{(C4)}}
  %0 = sp.embedding_grad %g, %i layout <tp = shard(2)> : (tensor<8x2x4xf32>, tensor<2x8xi64>) -> tensor<10x4xf32>
  return
}

// -----

// cross_entropy_parts_grad C1
func.func @f(%g: tensor<2x2x8x2xf32>, %x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{grad has shape [2, 2, 8, 2], must be [2, 8, 2, 2] (C1)}}
  %0 = sp.cross_entropy_parts_grad %g, %x, %t ignore_index -100 : (tensor<2x2x8x2xf32>, tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<8x2x6xf32>
  return
}

// -----

// cross_entropy_parts_grad C2
func.func @f(%g: tensor<2x8x2x2xbf16>, %x: tensor<8x2x6xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{grad has element type 'bf16', must be 'f32' (C2)}}
  %0 = sp.cross_entropy_parts_grad %g, %x, %t ignore_index -100 : (tensor<2x8x2x2xbf16>, tensor<8x2x6xbf16>, tensor<8x2xi64>) -> tensor<8x2x6xbf16>
  return
}

// -----

// cross_entropy_parts_grad C4
func.func @f(%g: tensor<2x8x2x2xf32>, %x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has shape [8, 2, 3], must be [8, 2, 6] (C4)}}
  %0 = sp.cross_entropy_parts_grad %g, %x, %t ignore_index -100 : (tensor<2x8x2x2xf32>, tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<8x2x3xf32>
  return
}

// -----

// cross_entropy_parts_grad C4
func.func @f(%g: tensor<2x8x2x2xf32>, %x: tensor<8x2x6xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32' (C4)}}
  %0 = sp.cross_entropy_parts_grad %g, %x, %t ignore_index -100 : (tensor<2x8x2x2xf32>, tensor<8x2x6xbf16>, tensor<8x2xi64>) -> tensor<8x2x6xf32>
  return
}

// -----

// cross_entropy_join_grad C1
func.func @f(%g: tensor<8xf32>, %p: tensor<2x8x2x2xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{has shape [8], must be [] (C1)}}
  %0 = sp.cross_entropy_join_grad %g, %p, %t ignore_index -100 : (tensor<8xf32>, tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> tensor<2x8x2x2xf32>
  return
}

// -----

// cross_entropy_join_grad C1
func.func @f(%g: tensor<f32>, %p: tensor<2x8x2x2xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has shape [3, 8, 2, 2], must be [2, 8, 2, 2] (C1)}}
  %0 = sp.cross_entropy_join_grad %g, %p, %t ignore_index -100 : (tensor<f32>, tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> tensor<3x8x2x2xf32>
  return
}

// -----

// cross_entropy_join_grad C2
func.func @f(%g: tensor<f32>, %p: tensor<2x8x2x2xf64>, %t: tensor<8x2xi64>) {
  // expected-error @below {{mixes element types 'f64' and 'f32' (C2)}}
  %0 = sp.cross_entropy_join_grad %g, %p, %t ignore_index -100 : (tensor<f32>, tensor<2x8x2x2xf64>, tensor<8x2xi64>) -> tensor<2x8x2x2xf64>
  return
}

// -----

// cross_entropy_join_grad C2
func.func @f(%g: tensor<f32>, %p: tensor<2x8x2x2xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %0 = sp.cross_entropy_join_grad %g, %p, %t ignore_index -100 : (tensor<f32>, tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> tensor<2x8x2x2xf64>
  return
}
