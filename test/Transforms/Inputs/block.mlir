// One decoder block, S=16 B=2 H=64, 4 heads of 16, 2 key/value heads, 160 intermediate.
func.func @block(%h: tensor<16x2x64xf32> {sp.input = "h"},
    %ln1: tensor<64xf32> {sp.param = "input_layernorm.weight"},
    %wq: tensor<64x64xf32> {sp.param = "q_proj.weight"},
    %wk: tensor<32x64xf32> {sp.param = "k_proj.weight"},
    %wv: tensor<32x64xf32> {sp.param = "v_proj.weight"},
    %qn: tensor<16xf32> {sp.param = "q_norm.weight"},
    %kn: tensor<16xf32> {sp.param = "k_norm.weight"},
    %wo: tensor<64x64xf32> {sp.param = "o_proj.weight"},
    %ln2: tensor<64xf32> {sp.param = "post_attention_layernorm.weight"},
    %wg: tensor<160x64xf32> {sp.param = "gate_proj.weight"},
    %wu: tensor<160x64xf32> {sp.param = "up_proj.weight"},
    %wd: tensor<64x160xf32> {sp.param = "down_proj.weight"})
    -> (tensor<16x2x64xf32> {sp.result = "y"}) {
  %cos, %sin = sp.rope_table theta 1.0e+06 : tensor<16x8xf32>, tensor<16x8xf32>
  %n1 = sp.rms_norm %h, %ln1 eps 1.0e-06 : (tensor<16x2x64xf32>, tensor<64xf32>) -> tensor<16x2x64xf32>
  %q = sp.linear %n1, %wq : (tensor<16x2x64xf32>, tensor<64x64xf32>) -> tensor<16x2x64xf32>
  %k = sp.linear %n1, %wk : (tensor<16x2x64xf32>, tensor<32x64xf32>) -> tensor<16x2x32xf32>
  %v = sp.linear %n1, %wv : (tensor<16x2x64xf32>, tensor<32x64xf32>) -> tensor<16x2x32xf32>
  %qh = tensor.expand_shape %q [[0], [1], [2, 3]] output_shape [16, 2, 4, 16] : tensor<16x2x64xf32> into tensor<16x2x4x16xf32>
  %kh = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [16, 2, 2, 16] : tensor<16x2x32xf32> into tensor<16x2x2x16xf32>
  %vh = tensor.expand_shape %v [[0], [1], [2, 3]] output_shape [16, 2, 2, 16] : tensor<16x2x32xf32> into tensor<16x2x2x16xf32>
  %qq = sp.rms_norm %qh, %qn eps 1.0e-06 : (tensor<16x2x4x16xf32>, tensor<16xf32>) -> tensor<16x2x4x16xf32>
  %kk = sp.rms_norm %kh, %kn eps 1.0e-06 : (tensor<16x2x2x16xf32>, tensor<16xf32>) -> tensor<16x2x2x16xf32>
  %qr = sp.rope %qq, %cos, %sin : (tensor<16x2x4x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x2x4x16xf32>
  %kr = sp.rope %kk, %cos, %sin : (tensor<16x2x2x16xf32>, tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x2x2x16xf32>
  %a = sp.attention %qr, %kr, %vh scale 2.5e-01 causal : (tensor<16x2x4x16xf32>, tensor<16x2x2x16xf32>, tensor<16x2x2x16xf32>) -> tensor<16x2x4x16xf32>
  %ac = tensor.collapse_shape %a [[0], [1], [2, 3]] : tensor<16x2x4x16xf32> into tensor<16x2x64xf32>
  %o = sp.linear %ac, %wo : (tensor<16x2x64xf32>, tensor<64x64xf32>) -> tensor<16x2x64xf32>
  %h1 = arith.addf %h, %o : tensor<16x2x64xf32>
  %n2 = sp.rms_norm %h1, %ln2 eps 1.0e-06 : (tensor<16x2x64xf32>, tensor<64xf32>) -> tensor<16x2x64xf32>
  %g = sp.linear %n2, %wg : (tensor<16x2x64xf32>, tensor<160x64xf32>) -> tensor<16x2x160xf32>
  %u = sp.linear %n2, %wu : (tensor<16x2x64xf32>, tensor<160x64xf32>) -> tensor<16x2x160xf32>
  %s = sp.swiglu %g, %u : (tensor<16x2x160xf32>, tensor<16x2x160xf32>) -> tensor<16x2x160xf32>
  %d = sp.linear %s, %wd : (tensor<16x2x160xf32>, tensor<64x160xf32>) -> tensor<16x2x64xf32>
  %y = arith.addf %h1, %d : tensor<16x2x64xf32>
  return %y : tensor<16x2x64xf32>
}
