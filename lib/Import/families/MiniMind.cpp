//===- MiniMind.cpp - the MiniMind family (model_type "minimind") ---------===//
//
// MiniMind-3's dense model: a pre-norm decoder with grouped-query attention,
// normalised queries and keys, rotate-half rope and SwiGLU, without biases. The
// defaults are those of its MiniMindConfig.
//
//===----------------------------------------------------------------------===//

#include "../ConfigReader.h"
#include "../Families.h"

using namespace sp;

DecoderConfig sp::readMiniMind(ConfigReader &reader) {
  DecoderConfig config;
  config.hiddenSize = reader.size("hidden_size");
  config.numLayers = reader.size("num_hidden_layers");
  config.numHeads = reader.size("num_attention_heads");
  config.numKVHeads = reader.size("num_key_value_heads", config.numHeads);
  config.headDim = reader.size("head_dim", config.hiddenSize / config.numHeads);
  config.intermediateSize = reader.size("intermediate_size");
  config.vocabSize = reader.size("vocab_size");
  config.maxPositions = reader.size("max_position_embeddings", 32768);
  config.rmsNormEps = reader.positive("rms_norm_eps", 1e-6);
  config.ropeTheta = reader.positive("rope_theta", 1e6);
  config.tiedEmbeddings = reader.flag("tie_word_embeddings", true);
  config.qkNorm = true;

  if (config.numHeads % config.numKVHeads)
    reader.fail("num_key_value_heads",
                "which does not divide num_attention_heads = " +
                    llvm::Twine(config.numHeads));
  if (config.headDim % 2 || config.headDim < 2)
    reader.fail("head_dim", "must be even, for the rotary embedding (here " +
                                llvm::Twine(config.headDim) + ")");

  reader.require("use_moe", false);
  reader.require("hidden_act", "silu");
  reader.require("inference_rope_scaling", false);
  reader.require("rope_scaling", nullptr);
  reader.require("use_sliding_window", false);
  reader.require("sliding_window", nullptr);
  reader.require("attention_bias", false);
  reader.require("mlp_bias", false);

  // Names, tokens, and what only training reads.
  reader.ignore({"architectures", "auto_map", "model_type", "dtype",
                 "torch_dtype", "transformers_version", "bos_token_id",
                 "eos_token_id", "pad_token_id", "use_cache", "flash_attn",
                 "dropout", "attention_dropout", "initializer_range"});
  // The options of the experts that a dense model does not have.
  reader.ignore({"num_experts", "num_experts_per_tok", "moe_intermediate_size",
                 "norm_topk_prob", "router_aux_loss_coef", "n_routed_experts",
                 "n_shared_experts", "scoring_func", "aux_loss_alpha",
                 "seq_aux"});
  return config;
}
