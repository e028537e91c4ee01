// RUN: sp-opt %s --split-input-file --verify-diagnostics

// The numbered constraints of the block ops; C-numbers are those of each op.

// embedding C1
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32>) {
  // expected-error @below {{result has shape [2, 8, 4], must be [8, 2, 4] (C1)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

func.func @f(%i: tensor<16xi64>, %t: tensor<10x4xf32>) {
  // expected-error @below {{ids has rank 1, must be 2 (C1)}}
  %0 = sp.embedding %i, %t : (tensor<16xi64>, tensor<10x4xf32>) -> tensor<16x1x4xf32>
  return
}

// -----

// embedding C2
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10x4xf32>) -> tensor<8x2x4xf64>
  return
}

// -----

// rms_norm C1
func.func @f(%x: tensor<3x8xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{weight has shape [3], must be [8] (C1)}}
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<3x8xf32>, tensor<3xf32>) -> tensor<3x8xf32>
  return
}

// -----

// rms_norm C2
func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<3x8xf32>, tensor<8xf64>) -> tensor<3x8xf32>
  return
}

// -----

// rms_norm C3
func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{must not be negative (C3)}}
  %0 = sp.rms_norm %x, %w eps -1.0e-05 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// linear C1
func.func @f(%x: tensor<3x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @below {{input has 8 features, but the weight has shape [8, 4] (C1)}}
  %0 = sp.linear %x, %w : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{bias has shape [8], must be [4] (C1)}}
  %0 = sp.linear %x, %w bias %b : (tensor<3x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<3x4xf32>
  return
}

// -----

// linear C2
func.func @f(%x: tensor<3x8xf32>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16' (C2)}}
  %0 = sp.linear %x, %w : (tensor<3x8xf32>, tensor<4x8xbf16>) -> tensor<3x4xf32>
  return
}

// -----

// bias_add C1
func.func @f(%x: tensor<3x8xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{bias has shape [3], must be [8] (C1)}}
  %0 = sp.bias_add %x, %b : (tensor<3x8xf32>, tensor<3xf32>) -> tensor<3x8xf32>
  return
}

// -----

// scale C1
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{result has shape [8, 3], must be [3, 8] (C1)}}
  %0 = sp.scale %x by 2.0 : (tensor<3x8xf32>) -> tensor<8x3xf32>
  return
}

// -----

// swiglu C1
func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{result has shape [3, 8], must be [3, 4] (C1)}}
  %0 = sp.swiglu %x, %y : (tensor<3x8xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  return
}

// -----

// dropout C2
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{must be in [0, 1) (C2)}}
  %0 = sp.dropout %x p 1.0 op_id 1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// dropout C4: the rank's place along the dimension would never be asked for
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{(C4) layout shards dimension 2 along `tp`, but the tensor has rank 2}}
  %0 = sp.dropout %x p 0.5 op_id 1 layout <tp = shard(2)> : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// dropout C3
func.func @f(%x: tensor<1x1x1x3x8xf32>) {
  // expected-error @below {{input has rank 5, must be at most 4 (C3)}}
  %0 = sp.dropout %x p 0.5 op_id 1 : (tensor<1x1x1x3x8xf32>) -> tensor<1x1x1x3x8xf32>
  return
}

// -----

// rope_table C1
func.func @f() {
  // expected-error @below {{results have types 'tensor<3x8xf32>' and 'tensor<3x4xf32>', must be equal (C1)}}
  %c, %s = sp.rope_table theta 1.0e+04 : tensor<3x8xf32>, tensor<3x4xf32>
  return
}

// -----

// rope_table C2
func.func @f() {
  // expected-error @below {{must be positive (C2)}}
  %c, %s = sp.rope_table theta 0.0 : tensor<3x8xf32>, tensor<3x8xf32>
  return
}

// -----

// rope C1
func.func @f(%x: tensor<8x2x3x6xf32>, %c: tensor<8x6xf32>) {
  // expected-error @below {{cos has shape [8, 6], must be [8, 3] (C1)}}
  %0 = sp.rope %x, %c, %c : (tensor<8x2x3x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x2x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<8x2x3x5xf32>, %c: tensor<8x2xf32>) {
  // expected-error @below {{head dimension 5 is odd (C1)}}
  %0 = sp.rope %x, %c, %c : (tensor<8x2x3x5xf32>, tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2x3x5xf32>
  return
}

// -----

// attention C1
func.func @f(%q: tensor<8x2x4x6xf32>, %k: tensor<8x2x3x6xf32>) {
  // expected-error @below {{has 4 query heads, which 3 key/value heads do not divide (C1)}}
  %0 = sp.attention %q, %k, %k scale 1.0 causal : (tensor<8x2x4x6xf32>, tensor<8x2x3x6xf32>, tensor<8x2x3x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

func.func @f(%q: tensor<8x2x4x6xf32>, %k: tensor<8x2x2x6xf32>, %v: tensor<8x2x4x6xf32>) {
  // expected-error @below {{value has shape [8, 2, 4, 6], must be [8, 2, 2, 6] (C1)}}
  %0 = sp.attention %q, %k, %v scale 1.0 : (tensor<8x2x4x6xf32>, tensor<8x2x2x6xf32>, tensor<8x2x4x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

// shift_labels C1
func.func @f(%l: tensor<2x8xi64>) {
  // expected-error @below {{result has shape [2, 8], must be [8, 2] (C1)}}
  %0 = sp.shift_labels %l ignore_index -100 : (tensor<2x8xi64>) -> tensor<2x8xi64>
  return
}

// -----

// cross_entropy C1
func.func @f(%x: tensor<8x2x4xf32>, %t: tensor<2x8xi64>) {
  // expected-error @below {{targets has shape [2, 8], must be [8, 2] (C1)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<8x2x4xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// cross_entropy C2
func.func @f(%x: tensor<8x2x4xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has element type 'bf16', must be 'f32' (C2)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<8x2x4xbf16>, tensor<8x2xi64>) -> (tensor<bf16>, tensor<bf16>)
  return
}

// -----

// batch_major C1
func.func @f(%x: tensor<8x2x4xf32>) {
  // expected-error @below {{result has shape [8, 2, 4], must be [2, 8, 4] (C1)}}
  %0 = sp.batch_major %x : (tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----

// Shapes are static.
func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @below {{must be statically shaped tensor}}
  %0 = sp.scale %x by 2.0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

// collective C2
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{all_reduce has no dim (C2)}}
  %0 = sp.collective all_reduce %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{all_reduce changes the type from 'tensor<8x4xf32>' to 'tensor<4x4xf32>' (C2)}}
  %0 = sp.collective all_reduce %x over "tp" : tensor<8x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{all_gather needs a dim (C2)}}
  %0 = sp.collective all_gather %x over "tp" : tensor<8x4xf32> -> tensor<16x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 0 do not fit (C2)}}
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<12x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 1 do not fit (C2)}}
  %0 = sp.collective reduce_scatter %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x2xf32>
  return
}

// -----

// local_slice C1
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 0 do not fit (C1)}}
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<3x4xf32>
  return
}

// -----

// local_zero_pad C1
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dim 2 is not a dimension (C1)}}
  %0 = sp.local_zero_pad %x over "tp" dim 2 : tensor<8x4xf32> -> tensor<16x4xf32>
  return
}

// -----

// embedding C1
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10xf32>) {
  // expected-error @below {{table has rank 1, must be 2 (C1)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10xf32>) -> tensor<8x2x1xf32>
  return
}

// -----

func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32>) {
  // expected-error @below {{result has shape [8, 2, 5], must be [8, 2, 4] (C1)}}
  %0 = sp.embedding %i, %t : (tensor<2x8xi64>, tensor<10x4xf32>) -> tensor<8x2x5xf32>
  return
}

// -----

// Ids are i64.
func.func @f(%i: tensor<2x8xf32>, %t: tensor<10x4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 64-bit signless integer values}}
  %0 = sp.embedding %i, %t : (tensor<2x8xf32>, tensor<10x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----

// rms_norm C1
func.func @f(%x: tensor<f32>, %w: tensor<1xf32>) {
  // expected-error @below {{input has rank 0, must be at least 1 (C1)}}
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{result has shape [8, 8], must be [3, 8] (C1)}}
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return
}

// -----

// rms_norm C2
func.func @f(%x: tensor<3x8xbf16>, %w: tensor<8xbf16>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32' (C2)}}
  %0 = sp.rms_norm %x, %w eps 1.0e-05 : (tensor<3x8xbf16>, tensor<8xbf16>) -> tensor<3x8xf32>
  return
}

// -----

// rms_norm C3: a NaN is not at least 0
func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{must not be negative (C3)}}
  %0 = sp.rms_norm %x, %w eps 0x7FF8000000000000 : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// linear C1
func.func @f(%x: tensor<f32>, %w: tensor<4x1xf32>) {
  // expected-error @below {{input has rank 0, must be at least 1 (C1)}}
  %0 = sp.linear %x, %w : (tensor<f32>, tensor<4x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{weight has rank 1, must be 2 (C1)}}
  %0 = sp.linear %x, %w : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @below {{result has shape [3, 8], must be [3, 4] (C1)}}
  %0 = sp.linear %x, %w : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// linear C2
func.func @f(%x: tensor<3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %0 = sp.linear %x, %w bias %b : (tensor<3x8xf32>, tensor<4x8xf32>, tensor<4xf64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @f(%x: tensor<3x8xbf16>, %w: tensor<4x8xbf16>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32' (C2)}}
  %0 = sp.linear %x, %w : (tensor<3x8xbf16>, tensor<4x8xbf16>) -> tensor<3x4xf32>
  return
}

// -----

// bias_add C1
func.func @f(%x: tensor<f32>, %b: tensor<1xf32>) {
  // expected-error @below {{input has rank 0, must be at least 1 (C1)}}
  %0 = sp.bias_add %x, %b : (tensor<f32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<3x8xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{result has shape [8, 3], must be [3, 8] (C1)}}
  %0 = sp.bias_add %x, %b : (tensor<3x8xf32>, tensor<8xf32>) -> tensor<8x3xf32>
  return
}

// -----

// bias_add C2
func.func @f(%x: tensor<3x8xf32>, %b: tensor<8xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16' (C2)}}
  %0 = sp.bias_add %x, %b : (tensor<3x8xf32>, tensor<8xbf16>) -> tensor<3x8xf32>
  return
}

// -----

// scale C1
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C1)}}
  %0 = sp.scale %x by 2.0 : (tensor<3x8xf32>) -> tensor<3x8xf64>
  return
}

// -----

// swiglu C1
func.func @f(%x: tensor<3x8xf32>, %y: tensor<3x8xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16' (C1)}}
  %0 = sp.swiglu %x, %y : (tensor<3x8xf32>, tensor<3x8xbf16>) -> tensor<3x8xf32>
  return
}

// -----

// dropout C1
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{result has shape [3, 4], must be [3, 8] (C1)}}
  %0 = sp.dropout %x p 0.5 op_id 1 : (tensor<3x8xf32>) -> tensor<3x4xf32>
  return
}

// -----

// dropout C2
func.func @f(%x: tensor<3x8xf32>) {
  // expected-error @below {{must be in [0, 1) (C2)}}
  %0 = sp.dropout %x p -0.1 op_id 1 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

// rope_table C1
func.func @f() {
  // expected-error @below {{result has rank 1, must be 2 (C1)}}
  %c, %s = sp.rope_table theta 1.0e+04 : tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// rope_table C2
func.func @f() {
  // expected-error @below {{must be positive (C2)}}
  %c, %s = sp.rope_table theta -1.0 : tensor<3x8xf32>, tensor<3x8xf32>
  return
}

// -----

// rope C1
func.func @f(%x: tensor<8x2x6xf32>, %c: tensor<8x3xf32>) {
  // expected-error @below {{input has rank 3, must be 4 (C1)}}
  %0 = sp.rope %x, %c, %c : (tensor<8x2x6xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x2x6xf32>
  return
}

// -----

func.func @f(%x: tensor<8x2x3x6xf32>, %c: tensor<8x3xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{sin has shape [2, 3], must be [8, 3] (C1)}}
  %0 = sp.rope %x, %c, %s : (tensor<8x2x3x6xf32>, tensor<8x3xf32>, tensor<2x3xf32>) -> tensor<8x2x3x6xf32>
  return
}

// -----

func.func @f(%x: tensor<8x2x3x6xf32>, %c: tensor<8x3xf32>) {
  // expected-error @below {{result has shape [2, 8, 3, 6], must be [8, 2, 3, 6] (C1)}}
  %0 = sp.rope %x, %c, %c : (tensor<8x2x3x6xf32>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<2x8x3x6xf32>
  return
}

// -----

// rope C2
func.func @f(%x: tensor<8x2x3x6xbf16>, %c: tensor<8x3xf32>) {
  // expected-error @below {{mixes element types 'bf16' and 'f32' (C2)}}
  %0 = sp.rope %x, %c, %c : (tensor<8x2x3x6xbf16>, tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x2x3x6xbf16>
  return
}

// -----

// attention C1
func.func @f(%q: tensor<8x2x4x6xf32>, %k: tensor<8x8x6xf32>) {
  // expected-error @below {{key has rank 3, must be 4 (C1)}}
  %0 = sp.attention %q, %k, %k scale 1.0 : (tensor<8x2x4x6xf32>, tensor<8x8x6xf32>, tensor<8x8x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

func.func @f(%q: tensor<8x2x4x6xf32>, %k: tensor<7x2x4x6xf32>) {
  // expected-error @below {{key has shape [7, 2, 4, 6], must be [8, 2, 4, 6] (C1)}}
  %0 = sp.attention %q, %k, %k scale 1.0 : (tensor<8x2x4x6xf32>, tensor<7x2x4x6xf32>, tensor<7x2x4x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

func.func @f(%q: tensor<8x2x4x6xf32>) {
  // expected-error @below {{result has shape [8, 2, 2, 6], must be [8, 2, 4, 6] (C1)}}
  %0 = sp.attention %q, %q, %q scale 1.0 : (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>) -> tensor<8x2x2x6xf32>
  return
}

// -----

func.func @f(%q: tensor<8x2x4x6xf32>, %k: tensor<8x2x0x6xf32>) {
  // expected-error @below {{has 4 query heads, which 0 key/value heads do not divide (C1)}}
  %0 = sp.attention %q, %k, %k scale 1.0 : (tensor<8x2x4x6xf32>, tensor<8x2x0x6xf32>, tensor<8x2x0x6xf32>) -> tensor<8x2x4x6xf32>
  return
}

// -----

// attention C2
func.func @f(%q: tensor<8x2x4x6xf32>, %v: tensor<8x2x4x6xbf16>) {
  // expected-error @below {{mixes element types 'f32' and 'bf16' (C2)}}
  %0 = sp.attention %q, %q, %v scale 1.0 : (tensor<8x2x4x6xf32>, tensor<8x2x4x6xf32>, tensor<8x2x4x6xbf16>) -> tensor<8x2x4x6xf32>
  return
}

// -----

// shift_labels C1
func.func @f(%l: tensor<16xi64>) {
  // expected-error @below {{labels has rank 1, must be 2 (C1)}}
  %0 = sp.shift_labels %l ignore_index -100 : (tensor<16xi64>) -> tensor<16xi64>
  return
}

// -----

// cross_entropy C1
func.func @f(%x: tensor<16x4xf32>, %t: tensor<16xi64>) {
  // expected-error @below {{logits has rank 2, must be 3 (C1)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<16x4xf32>, tensor<16xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<8x2x4xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{loss_sum has shape [1], must be [] (C1)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<8x2x4xf32>, tensor<8x2xi64>) -> (tensor<1xf32>, tensor<f32>)
  return
}

// -----

func.func @f(%x: tensor<8x2x4xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{count has shape [8], must be [] (C1)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<8x2x4xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// -----

// cross_entropy C2
func.func @f(%x: tensor<8x2x4xf64>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has element type 'f32', must be 'f64' (C2)}}
  %0:2 = sp.cross_entropy %x, %t ignore_index -100 : (tensor<8x2x4xf64>, tensor<8x2xi64>) -> (tensor<f64>, tensor<f32>)
  return
}

// -----

// batch_major C1
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{input has rank 1, must be at least 2 (C1)}}
  %0 = sp.batch_major %x : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<8x2x4xf32>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C1)}}
  %0 = sp.batch_major %x : (tensor<8x2x4xf32>) -> tensor<2x8x4xf64>
  return
}

// -----

// Element types are f32, f64 and bf16.
func.func @f(%x: tensor<3x8xf16>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 32-bit float or 64-bit float or bfloat16 type values, but got 'tensor<3x8xf16>'}}
  %0 = sp.scale %x by 2.0 : (tensor<3x8xf16>) -> tensor<3x8xf16>
  return
}

// -----

// collective C2
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{reduce_scatter needs a dim (C2)}}
  %0 = sp.collective reduce_scatter %x over "tp" : tensor<8x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dim 2 is not a dimension (C2)}}
  %0 = sp.collective all_gather %x over "tp" dim 2 : tensor<8x4xf32> -> tensor<16x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{dim -1 is not a dimension (C2)}}
  %0 = sp.collective all_gather %x over "tp" dim -1 : tensor<8x4xf32> -> tensor<8x8xf32>
  return
}

// -----

// A gather does not shrink, a scatter does not grow.
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 0 do not fit (C2)}}
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 0 do not fit (C2)}}
  %0 = sp.collective reduce_scatter %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xf32>
  return
}

// -----

// local_slice C1
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 1 do not fit (C1)}}
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{element types or ranks differ (C1)}}
  %0 = sp.local_slice %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x4xf64>
  return
}

// -----

// local_zero_pad C1
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{extents of dimension 0 do not fit (C1)}}
  %0 = sp.local_zero_pad %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<12x4xf32>
  return
}

// -----

func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{element types or ranks differ (C1)}}
  %0 = sp.local_zero_pad %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<16xf32>
  return
}

// -----

// Targets are i64.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 64-bit signless integer values}}
  %0 = sp.check_targets %x vocab 10 ignore_index -100 : tensor<8xf32>
  return
}

// -----

// collective C1: equal element types
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{element types or ranks differ (C1)}}
  %0 = sp.collective all_gather %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<16x4xbf16>
  return
}

// -----

// collective C1: equal ranks
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @below {{element types or ranks differ (C1)}}
  %0 = sp.collective reduce_scatter %x over "tp" dim 0 : tensor<8x4xf32> -> tensor<4x4x1xf32>
  return
}

// -----

// embedding C3
func.func @f(%i: tensor<2x8xi64>, %t: tensor<10x4xf32>) {
  // expected-error @below {{(C3)}}
  %0 = sp.embedding %i, %t layout <tp = shard(2)> : (tensor<2x8xi64>, tensor<10x4xf32>) -> tensor<8x2x4xf32>
  return
}

// -----

// cross_entropy_parts C1
func.func @f(%x: tensor<16x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{logits has rank 2, must be 3 (C1)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<16x6xf32>, tensor<8x2xi64>) -> tensor<2x8x2x2xf32>
  return
}

// -----

// cross_entropy_parts C1
func.func @f(%x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has rank 3, must be 4 (C1)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<2x8x4xf32>
  return
}

// -----

// cross_entropy_parts C1
func.func @f(%x: tensor<8x2x6xf32>, %t: tensor<2x8xi64>) {
  // expected-error @below {{targets has shape [2, 8], must be [8, 2] (C1)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<8x2x6xf32>, tensor<2x8xi64>) -> tensor<2x8x2x2xf32>
  return
}

// -----

// cross_entropy_parts C1
func.func @f(%x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has shape [2, 2, 8, 2], must be [2, 8, 2, 2] (C1)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<2x2x8x2xf32>
  return
}

// -----

// cross_entropy_parts C1
func.func @f(%x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{has a vocabulary of 6, which 4 parts do not divide (C1)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<4x8x2x2xf32>
  return
}

// -----

// cross_entropy_parts C2
func.func @f(%x: tensor<8x2x6xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{result has element type 'bf16', must be 'f32' (C2)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 : (tensor<8x2x6xbf16>, tensor<8x2xi64>) -> tensor<2x8x2x2xbf16>
  return
}

// -----

// cross_entropy_parts C3
func.func @f(%x: tensor<8x2x6xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{(C3)}}
  %0 = sp.cross_entropy_parts %x, %t ignore_index -100 layout <tp = shard(3)> : (tensor<8x2x6xf32>, tensor<8x2xi64>) -> tensor<2x8x2x2xf32>
  return
}

// -----

// cross_entropy_join C1
func.func @f(%p: tensor<2x8x2xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{parts has rank 3, must be 4 (C1)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// cross_entropy_join C1
func.func @f(%p: tensor<2x8x2x3xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{parts has shape [2, 8, 2, 3], must be [2, 8, 2, 2] (C1)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2x3xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// cross_entropy_join C1
func.func @f(%p: tensor<2x8x2x2xf32>, %t: tensor<2x8xi64>) {
  // expected-error @below {{targets has shape [2, 8], must be [8, 2] (C1)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2x2xf32>, tensor<2x8xi64>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// cross_entropy_join C1
func.func @f(%p: tensor<2x8x2x2xf32>, %t: tensor<8x2xi64>) {
  // expected-error @below {{has shape [8], must be [] (C1)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2x2xf32>, tensor<8x2xi64>) -> (tensor<f32>, tensor<8xf32>)
  return
}

// -----

// cross_entropy_join C2
func.func @f(%p: tensor<2x8x2x2xf64>, %t: tensor<8x2xi64>) {
  // expected-error @below {{mixes element types 'f64' and 'f32' (C2)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2x2xf64>, tensor<8x2xi64>) -> (tensor<f64>, tensor<f32>)
  return
}

// -----

// cross_entropy_join C2
func.func @f(%p: tensor<2x8x2x2xbf16>, %t: tensor<8x2xi64>) {
  // expected-error @below {{parts have element type 'bf16', must be f32 or f64 (C2)}}
  %0:2 = sp.cross_entropy_join %p, %t ignore_index -100 : (tensor<2x8x2x2xbf16>, tensor<8x2xi64>) -> (tensor<bf16>, tensor<bf16>)
  return
}

// -----

// part_targets C1
func.func @f(%t: tensor<8x2xi64>) {
  // expected-error @below {{must have one dimension more than}}
  %0 = sp.part_targets %t vocab 6 ignore_index -100 : tensor<8x2xi64> -> tensor<8x2xi64>
  return
}

// -----

// part_targets C1
func.func @f(%t: tensor<8x2xi64>) {
  // expected-error @below {{vocab is 6, which 4 parts do not divide (C1)}}
  %0 = sp.part_targets %t vocab 6 ignore_index -100 : tensor<8x2xi64> -> tensor<8x2x4xi64>
  return
}

// -----

// gemm C1
func.func @elements(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>) {
  // expected-error @below {{rhs has 32 elements, must have 40 (C1)}}
  %c = sp.gemm %a, %b batch 1 m 6 n 5 k 8 : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

// gemm C1
func.func @init(%a: tensor<6x8xf32>, %b: tensor<8x4xf32>, %i: tensor<4x6xf32>) {
  // expected-error @below {{init is 'tensor<4x6xf32>', must be 'tensor<6x4xf32>' (C1)}}
  %c = sp.gemm %a, %b plus %i batch 1 m 6 n 4 k 8 : (tensor<6x8xf32>, tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<6x4xf32>
  return
}

// -----

// gemm C2
func.func @types(%a: tensor<6x8xf32>, %b: tensor<8x4xf64>) {
  // expected-error @below {{mixes element types 'f32' and 'f64' (C2)}}
  %c = sp.gemm %a, %b batch 1 m 6 n 4 k 8 : (tensor<6x8xf32>, tensor<8x4xf64>) -> tensor<6x4xf32>
  return
}
