//===- MiniMind.cpp - the MiniMind family (model_type "minimind") ---------===//
//
// MiniMind-3's dense model: a pre-norm decoder with grouped-query attention,
// normalised queries and keys, rotate-half rope and SwiGLU, without biases.
//
// The keys, and the defaults of those that may be absent, are those of the
// class MiniMindConfig in MiniMind-3's model/model_minimind.py. Sizes that
// define the model (hidden_size, num_hidden_layers, num_attention_heads,
// intermediate_size, vocab_size) have defaults there too, but a saved
// configuration always has them: without them they are not guessed.
//
//===----------------------------------------------------------------------===//

#include "../ConfigReader.h"
#include "../Families.h"

using namespace sp;

DecoderConfig sp::readMiniMind(ConfigReader &reader) {
  // The older MiniMind-2 has the same model_type. Only its configurations have
  // these keys, whether `use_moe` is set or not.
  reader.refuse(
      {"n_routed_experts", "n_shared_experts", "scoring_func", "aux_loss_alpha",
       "seq_aux"},
      "a key of MiniMind-2, which does not normalise queries and keys "
      "and is not supported; supported is MiniMind-3");

  DecoderConfig config;
  config.hiddenSize = reader.size("hidden_size");
  config.numLayers = reader.size("num_hidden_layers");
  config.numHeads = reader.size("num_attention_heads");
  // An absent key is 4 (MiniMindConfig); null is all heads
  // (Attention.__init__).
  config.numKVHeads = reader.isNull("num_key_value_heads")
                          ? config.numHeads
                          : reader.size("num_key_value_heads", 4);
  config.headDim = reader.size("head_dim", config.hiddenSize / config.numHeads);
  config.intermediateSize = reader.size("intermediate_size");
  config.vocabSize = reader.size("vocab_size");
  config.maxPositions = reader.size("max_position_embeddings", 32768);
  config.rmsNormEps = reader.positive("rms_norm_eps", 1e-6);
  config.ropeTheta = reader.positive("rope_theta", 1e6);
  config.tiedEmbeddings = reader.flag("tie_word_embeddings", true);
  config.qkNorm = true;
  config.dropout = reader.probability("dropout", 0);

  reader.require("use_moe", false);
  reader.require("hidden_act", "silu");
  reader.require("inference_rope_scaling", false);
  reader.require("rope_scaling", nullptr);
  reader.require("use_sliding_window", false);
  reader.require("sliding_window", nullptr);
  reader.require("attention_bias", false);
  reader.require("mlp_bias", false);

  // Names, tokens, and what only generation reads. (MiniMind does not read
  // attention_dropout.)
  reader.ignore({"_name_or_path", "architectures", "auto_map", "model_type",
                 "dtype", "torch_dtype", "transformers_version", "bos_token_id",
                 "eos_token_id", "pad_token_id", "use_cache", "flash_attn",
                 "attention_dropout", "initializer_range"});
  // The options of the experts that a dense model does not have.
  reader.ignore({"num_experts", "num_experts_per_tok", "moe_intermediate_size",
                 "norm_topk_prob", "router_aux_loss_coef"});
  return config;
}
