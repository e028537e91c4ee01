// The ops of backward passes and of optimizers. Each is an einsum or a token-local
// op like those of the forward pass: which of its results is a partial sum, and so
// needs a collective, follows from the same layout rules.
#ifndef SP_DIALECT_SPGRADOPS_TD
#define SP_DIALECT_SPGRADOPS_TD

//===----------------------------------------------------------------------===//
// Adjoints of the ops of a Transformer block
//===----------------------------------------------------------------------===//

def SP_LinearInputGradOp : SP_ComputeOp<"linear_input_grad", ["isLinearIn"]> {
  let summary = "the adjoint of `linear` in its input";
  let description = [{
    `result[..., k] = sum_n grad[..., n] * weight[n, k]`. Shapes: grad [...,N], weight
    [N,K], result [...,K]. Of a column-parallel linear the result is partial.

    Constraints:
    - (C1) the shapes are as above.
    - (C2) all element types are equal.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$weight);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $weight attr-dict `:` functional-type(operands, results)";
}

def SP_LinearWeightGradOp : SP_ComputeOp<"linear_weight_grad", ["isLinearIn"]> {
  let summary = "the adjoint of `linear` in its weight: a sum over tokens";
  let description = [{
    `result[n, k] = sum over the leading dimensions of grad[..., n] * input[..., k]`.
    Shapes: grad [...,N], input [...,K], result [N,K].

    Constraints:
    - (C1) the shapes are as above.
    - (C2) all element types are equal.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$input);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$grad `,` $input attr-dict `:` functional-type(operands, results)";
}

def SP_RMSNormGradOp : SP_ComputeOp<"rms_norm_grad", ["isLinearIn", "dependsOn"]> {
  let summary = "the adjoint of `rms_norm`";
  let description = [{
    With r = 1 / sqrt(mean(x^2) + eps), n = x r and g = grad * weight:
    `input_grad = r (g - n mean(g n))`, the means over the last dimension, and
    `weight_grad = sum over the leading dimensions of grad * n` (Zhang and Sennrich,
    arXiv:1910.07467, section 4). Shapes: grad, input, input_grad [...,H], weight,
    weight_grad [H]. On a shard of the tokens weight_grad is partial.

    Constraints:
    - (C1) the shapes are as above.
    - (C2) grad, input and input_grad have the same element type, weight and
      weight_grad too; the two are equal, but a weight of bf16 data may be f32.
    - (C3) `eps` is not negative.
    - (C4) the last dimension must not be sharded.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$input,
                       SP_FloatTensor:$weight, F64Attr:$eps);
  let results = (outs SP_FloatTensor:$input_grad, SP_FloatTensor:$weight_grad);
  let assemblyFormat = [{
    $grad `,` $input `,` $weight `eps` $eps attr-dict `:` functional-type(operands, results)
  }];
}

def SP_SwiGLUGradOp : SP_ComputeOp<"swiglu_grad", ["isLinearIn", "dependsOn"]> {
  let summary = "the adjoint of `swiglu`";
  let description = [{
    With s = 1 / (1 + exp(-gate)): `gate_grad = grad * up * s * (1 + gate * (1 - s))`,
    `up_grad = grad * gate * s`.

    Constraints:
    - (C1) operands and results have the same shape and element type.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$gate, SP_FloatTensor:$up);
  let results = (outs SP_FloatTensor:$gate_grad, SP_FloatTensor:$up_grad);
  let assemblyFormat = "$grad `,` $gate `,` $up attr-dict `:` functional-type(operands, results)";
}

def SP_AttentionGradOp : SP_ComputeOp<"attention_grad", ["isLinearIn", "inferLayouts"]> {
  let summary = "the adjoint of `attention`, which recomputes its softmax";
  let description = [{
    With P = softmax(q k^T * scale + mask), M the dropout's factors and dP = (grad v^T) M:
    `v_grad = (P M)^T grad`, `q_grad = scale dS k`, `k_grad = scale dS^T q`, where
    dS = P (dP - rowsum(P dP)) (Dao et al., arXiv:2205.14135, appendix B.2). The
    gradients of a key/value head are sums over the query heads that read it.

    Constraints: those of `attention`, for grad as for its result, and
    - (C5) each result has the type of its operand.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$query, SP_FloatTensor:$key,
                       SP_FloatTensor:$value, F64Attr:$scale, UnitAttr:$causal,
                       OptionalAttr<F64Attr>:$dropout, OptionalAttr<I64Attr>:$op_id,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$query_grad, SP_FloatTensor:$key_grad,
                      SP_FloatTensor:$value_grad);
  let assemblyFormat = [{
    $grad `,` $query `,` $key `,` $value `scale` $scale (`causal` $causal^)?
    (`dropout` $dropout^ `op_id` $op_id)? (`layout` $layout^)? attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_EmbeddingGradOp : SP_ComputeOp<"embedding_grad", ["isLinearIn", "inferLayouts"]> {
  let summary = "the adjoint of `embedding` in its table";
  let description = [{
    `result[v, :] = sum over (s, b) with ids[b, s] = v of grad[s, b, :]`. Shapes: grad
    [S,B,H], ids [B,S], result [V,H]. `sp-localize` records the result's layout in
    `layout`, so that a rank knows which rows it has.

    Constraints:
    - (C1) the shapes are as above.
    - (C2) grad and result have the same element type.
    - (C3) of replicate operands, which every rank has, the result may be a shard of
      the vocabulary; else the vocabulary is whole.
    - (C4) `layout` shards dimensions that the result has.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_IndexTensor:$ids,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $ids (`layout` $layout^)? attr-dict `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyGradOp : SP_ComputeOp<"cross_entropy_grad", ["isLinearIn"]> {
  let summary = "the adjoint of `cross_entropy` in its logits";
  let description = [{
    `result[s, b, v] = grad * (softmax(logits[s, b, :])[v] - (v == targets[s, b]))`
    where targets[s, b] != ignore_index, else 0. Shapes: grad [], the cotangent of
    loss_sum; logits and result [S,B,V], targets [S,B].

    Constraints:
    - (C1) the shapes are as above.
    - (C2) grad is f64 for f64 logits, else f32; result has the logits' type.
    - (C3) the vocabulary must not be sharded.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$logits,
                       SP_IndexTensor:$targets, I64Attr:$ignore_index);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $logits `,` $targets `ignore_index` $ignore_index attr-dict
    `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyPartsGradOp : SP_ComputeOp<"cross_entropy_parts_grad", ["isLinearIn"]> {
  let summary = "the adjoint of `cross_entropy_parts` in its logits";
  let description = [{
    With p the part of v, `result[s, b, v] = grad[p, s, b, 0] * exp(logits[s, b, v] -
    log(sum over w in part p of exp(logits[s, b, w]))) + grad[p, s, b, 1] *
    (v == targets[s, b])`. Shapes: grad [P,S,B,2], logits and result [S,B,V], targets
    [S,B].

    Constraints: those of `cross_entropy_parts`, for grad as for its result, and
    - (C4) result has the logits' shape and element type.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$logits,
                       SP_IndexTensor:$targets, I64Attr:$ignore_index,
                       OptionalAttr<SP_LayoutAttr>:$layout);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $logits `,` $targets `ignore_index` $ignore_index (`layout` $layout^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def SP_CrossEntropyJoinGradOp : SP_ComputeOp<"cross_entropy_join_grad", ["isLinearIn"]> {
  let summary = "the adjoint of `cross_entropy_join` in the parts";
  let description = [{
    Where targets[s, b] != ignore_index, `result[p, s, b, 0] = grad * exp(parts[p, s,
    b, 0] - log(sum_q exp(parts[q, s, b, 0])))` and `result[p, s, b, 1] = -grad`, else
    0. Shapes: grad [], the cotangent of loss_sum; parts and result [P,S,B,2], targets
    [S,B].

    Constraints:
    - (C1) the shapes are as above.
    - (C2) grad, parts and result have the same element type, f32 or f64.
    - (C3) the parts must not be sharded.
  }];
  let arguments = (ins SP_FloatTensor:$grad, SP_FloatTensor:$parts,
                       SP_IndexTensor:$targets, I64Attr:$ignore_index);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = [{
    $grad `,` $parts `,` $targets `ignore_index` $ignore_index attr-dict
    `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Gradient synchronisation
//===----------------------------------------------------------------------===//

def SP_PackOp : SP_DifferentiableOp<"pack", ["isLinearIn"]> {
  let summary = "tensors one after another in one vector, or in rows";
  let description = [{
    So that one collective, or one contraction, serves them all. A result of type
    `[d0, ..., P, r]` has in each of its rows, of r elements, a piece of every input, as
    the inputs are `[d0, ..., n, ...]` with n cut into P pieces. A rank that has a shard
    of the inputs has one of the result.

    Constraints:
    - (C1) there is at least one input; the result has as many elements as all inputs
      together; its dimensions but the last two are the inputs' first, and the last but
      one divides the next of each input.
    - (C2) all element types are equal.
    - (C3) only the result's dimensions but the last, and the inputs' first ones that
      they are, may be sharded.
  }];
  let arguments = (ins Variadic<SP_FloatTensor>:$inputs);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
}

def SP_UnpackOp : SP_DifferentiableOp<"unpack", ["isLinearIn"]> {
  let summary = "the tensors in what `pack` made";
  let description = [{
    Constraints:
    - (C1) as those of `pack`, with inputs and result exchanged.
    - (C2) all element types are equal.
    - (C3) as those of `pack`.
  }];
  let arguments = (ins SP_FloatTensor:$input);
  let results = (outs Variadic<SP_FloatTensor>:$outputs);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

def SP_SumSquaresOp : SP_ComputeOp<"sum_squares"> {
  let summary = "the sum of the squares of all elements";
  let description = [{
    Accumulated in f64. Of a sharded tensor the result is partial: the sum over the
    ranks counts every element once.

    Constraints:
    - (C1) the result is a tensor<f64>.
  }];
  let arguments = (ins SP_FloatTensor:$input);
  let results = (outs SP_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def SP_AdamWOp : SP_ComputeOp<"adamw", ["dependsOn"]> {
  let summary = "one step of AdamW on one parameter";
  let description = [{
    Decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101, algorithm 2), in
    the order of PyTorch's AdamW. With g = grad * grad_scale:

    ```
    p = param - learning_rate * weight_decay * param
    m = beta1 * exp_avg + (1 - beta1) * g
    v = beta2 * exp_avg_sq + (1 - beta2) * g^2
    p = p - learning_rate / bias_correction1 * m / (sqrt(v) / sqrt(bias_correction2) + eps)
    ```

    bias_correction1 is 1 - beta1^t and bias_correction2 is 1 - beta2^t for the t-th
    step, t = 1, 2, ... Shapes: param, grad, exp_avg, exp_avg_sq and the results are
    equal; the other operands are tensor<f64>.

    Constraints:
    - (C1) the shapes are as above.
    - (C2) param, grad, the moments and the results have the same element type.
    - (C3) 0 <= beta1, beta2 < 1, eps >= 0, weight_decay >= 0.
  }];
  let arguments = (ins SP_FloatTensor:$param, SP_FloatTensor:$grad,
                       SP_FloatTensor:$exp_avg, SP_FloatTensor:$exp_avg_sq,
                       SP_FloatTensor:$grad_scale, SP_FloatTensor:$learning_rate,
                       SP_FloatTensor:$bias_correction1, SP_FloatTensor:$bias_correction2,
                       F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay);
  let results = (outs SP_FloatTensor:$new_param, SP_FloatTensor:$new_exp_avg,
                      SP_FloatTensor:$new_exp_avg_sq);
  let assemblyFormat = [{
    $param `,` $grad `,` $exp_avg `,` $exp_avg_sq `scale` $grad_scale `lr` $learning_rate
    `corrections` $bias_correction1 `,` $bias_correction2 `betas` $beta1 `,` $beta2
    `eps` $eps `decay` $weight_decay attr-dict `:` functional-type(operands, results)
  }];
}

#endif // SP_DIALECT_SPGRADOPS_TD
