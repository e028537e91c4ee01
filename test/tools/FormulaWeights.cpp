//===- FormulaWeights.cpp - Weights that need no file ---------------------===//

#include "FormulaWeights.h"

#include "sp/IO/Hash.h"

#include "llvm/ADT/STLExtras.h"

using namespace sp;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static Expected<int64_t> readSize(const llvm::json::Object &config,
                                  StringRef key) {
  std::optional<int64_t> size = config.getInteger(key);
  if (size && *size > 0)
    return *size;
  return llvm::createStringError("config.json: `" + key +
                                 "` must be a whole number > 0");
}

Expected<std::vector<TensorSpec>>
test::listMiniMindParameters(const llvm::json::Object &config) {
  if (config.getBoolean("use_moe").value_or(false))
    return llvm::createStringError(
        "config.json: `use_moe` is true, but only dense models have a formula");
  struct {
    StringRef key;
    int64_t value = 0;
  } sizes[] = {{"vocab_size"},          {"hidden_size"},
               {"num_hidden_layers"},   {"num_attention_heads"},
               {"num_key_value_heads"}, {"head_dim"},
               {"intermediate_size"}};
  for (auto &size : sizes) {
    Expected<int64_t> value = readSize(config, size.key);
    if (!value)
      return value.takeError();
    size.value = *value;
  }
  auto [vocab, hidden, layers, heads, kvHeads, headDim, intermediate] = sizes;
  int64_t queries = heads.value * headDim.value;
  int64_t keys = kvHeads.value * headDim.value;

  std::vector<TensorSpec> parameters;
  auto add = [&](const llvm::Twine &name, Shape shape) {
    parameters.push_back({name.str(), DType::F32, std::move(shape)});
  };
  add("model.embed_tokens.weight", {vocab.value, hidden.value});
  for (int64_t layer = 0; layer < layers.value; ++layer) {
    std::string prefix = "model.layers." + std::to_string(layer) + ".";
    add(prefix + "input_layernorm.weight", {hidden.value});
    add(prefix + "self_attn.q_proj.weight", {queries, hidden.value});
    add(prefix + "self_attn.k_proj.weight", {keys, hidden.value});
    add(prefix + "self_attn.v_proj.weight", {keys, hidden.value});
    add(prefix + "self_attn.o_proj.weight", {hidden.value, queries});
    add(prefix + "self_attn.q_norm.weight", {headDim.value});
    add(prefix + "self_attn.k_norm.weight", {headDim.value});
    add(prefix + "post_attention_layernorm.weight", {hidden.value});
    add(prefix + "mlp.gate_proj.weight", {intermediate.value, hidden.value});
    add(prefix + "mlp.up_proj.weight", {intermediate.value, hidden.value});
    add(prefix + "mlp.down_proj.weight", {hidden.value, intermediate.value});
  }
  add("model.norm.weight", {hidden.value});
  if (!config.getBoolean("tie_word_embeddings").value_or(false))
    add("lm_head.weight", {vocab.value, hidden.value});
  return parameters;
}

static float uniformFromHash(uint64_t hash, uint64_t index) {
  int32_t centred = int32_t(splitmix64(hash + index) >> 40) - (1 << 23);
  return float(centred) * 0x1p-23f;
}

float test::formulaUniform(StringRef name, uint64_t index) {
  return uniformFromHash(fnv1a64(name), index);
}

static std::optional<float> findScale(StringRef name) {
  // The manifest has no untied head; it is scaled as the other projections.
  static constexpr std::pair<StringRef, float> scales[] = {
      {"model.embed_tokens.weight", 0x1p-3f},
      {"q_proj.weight", 0x1p-4f},
      {"k_proj.weight", 0x1p-4f},
      {"v_proj.weight", 0x1p-4f},
      {"o_proj.weight", 0x1p-4f},
      {"gate_proj.weight", 0x1p-4f},
      {"up_proj.weight", 0x1p-4f},
      {"down_proj.weight", 0x1p-5f},
      {"lm_head.weight", 0x1p-4f}};
  for (auto [suffix, scale] : scales)
    if (name.ends_with(suffix))
      return scale;
  return std::nullopt;
}

Error test::fillFormulaWeights(const TensorSpec &parameter,
                               llvm::MutableArrayRef<float> values) {
  uint64_t hash = fnv1a64(parameter.name);
  if (parameter.shape.size() == 1) {
    for (auto [index, value] : llvm::enumerate(values))
      value = float(1.0 + 0.2 * double(uniformFromHash(hash, index)));
    return Error::success();
  }
  std::optional<float> scale = findScale(parameter.name);
  if (!scale)
    return llvm::createStringError("no formula for weight `" + parameter.name +
                                   "`");
  for (auto [index, value] : llvm::enumerate(values))
    value = uniformFromHash(hash, index) * *scale;
  return Error::success();
}
