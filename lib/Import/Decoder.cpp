//===- Decoder.cpp - the program of a decoder-only model ------------------===//
//
// Written once for every family. Inside, hidden states are sequence-major,
// [S,B,H], so that shards and gathered chunks of the sequence are contiguous.
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Import/HuggingFace.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace sp;

static constexpr int64_t kIgnoreIndex = -100;

namespace {

class DecoderBuilder {
public:
  DecoderBuilder(MLIRContext &context, const DecoderConfig &config,
                 const ProgramOptions &options)
      : config(config), options(options), builder(&context),
        loc(builder.getUnknownLoc()), element(getElementType()),
        parameterElement(options.training && element.isBF16()
                             ? builder.getF32Type()
                             : element) {}

  OwningOpRef<ModuleOp> build();

private:
  Type getElementType();
  RankedTensorType tensor(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }
  RankedTensorType like(Value value, int64_t lastDim) {
    SmallVector<int64_t> shape(
        cast<RankedTensorType>(value.getType()).getShape());
    shape.back() = lastDim;
    return tensor(shape);
  }
  /// Ops are named after the module of the model that they come from.
  void enter(const Twine &name) {
    loc = NameLoc::get(builder.getStringAttr(name));
  }

  Value addArgument(Type type, StringRef attribute, const Twine &name);
  Value parameter(const Twine &name, ArrayRef<int64_t> shape) {
    return addArgument(RankedTensorType::get(shape, parameterElement),
                       kParamAttr, name);
  }
  /// A parameter in the type of the activations.
  Value rounded(Value parameter) {
    RankedTensorType type = tensorType(parameter);
    if (type.getElementType() == element)
      return parameter;
    return arith::TruncFOp::create(builder, loc, tensor(type.getShape()),
                                   parameter);
  }
  Value dropout(Value value);
  double getDropout() const { return options.training ? config.dropout : 0; }
  void addHidden(Value hidden, const Twine &name);

  Value linear(Value input, const Twine &name, int64_t outputs);
  Value norm(Value input, const Twine &name, int64_t size);
  Value heads(Value value, int64_t count);
  Value attention(Value hidden, const Twine &name);
  Value mlp(Value hidden, const Twine &name);
  Value block(Value hidden, int64_t index);
  Value loss(Value logits, Value labels);

  const DecoderConfig &config;
  const ProgramOptions &options;
  OpBuilder builder;
  Location loc;
  Type element, parameterElement;
  int64_t numOpIds = 0;
  func::FuncOp function;
  SmallVector<std::pair<StringRef, std::string>> argumentNames;
  /// The loss and the logits come before the hidden states.
  SmallVector<std::pair<std::string, Value>> results, hiddenResults;
  Value cos, sin;
};

} // namespace

Type DecoderBuilder::getElementType() {
  switch (options.dtype) {
  case DType::F64:
    return builder.getF64Type();
  case DType::BF16:
    return builder.getBF16Type();
  default:
    return builder.getF32Type();
  }
}

Value DecoderBuilder::addArgument(Type type, StringRef attribute,
                                  const Twine &name) {
  argumentNames.emplace_back(attribute, name.str());
  return function.getBody().front().addArgument(type, loc);
}

void DecoderBuilder::addHidden(Value hidden, const Twine &name) {
  if (!options.hidden)
    return;
  RankedTensorType type =
      tensor({options.batchSize, options.seqLen, config.hiddenSize});
  hiddenResults.emplace_back(name.str(),
                             BatchMajorOp::create(builder, loc, type, hidden));
}

Value DecoderBuilder::linear(Value input, const Twine &name, int64_t outputs) {
  enter(name);
  int64_t inputs = cast<RankedTensorType>(input.getType()).getShape().back();
  Value weight = parameter(name + ".weight", {outputs, inputs});
  return LinearOp::create(builder, loc, like(input, outputs), input,
                          rounded(weight), Value());
}

Value DecoderBuilder::dropout(Value value) {
  if (getDropout() == 0)
    return value;
  return DropoutOp::create(builder, loc, value.getType(), value,
                           builder.getF64FloatAttr(getDropout()),
                           builder.getI64IntegerAttr(numOpIds++), LayoutAttr());
}

Value DecoderBuilder::norm(Value input, const Twine &name, int64_t size) {
  enter(name);
  Value weight = parameter(name + ".weight", {size});
  return RMSNormOp::create(builder, loc, input.getType(), input, weight,
                           builder.getF64FloatAttr(config.rmsNormEps));
}

/// [S,B,heads*D] -> [S,B,heads,D]
Value DecoderBuilder::heads(Value value, int64_t count) {
  RankedTensorType type =
      tensor({options.seqLen, options.batchSize, count, config.headDim});
  return tensor::ExpandShapeOp::create(
      builder, loc, type, value,
      ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
}

Value DecoderBuilder::attention(Value hidden, const Twine &name) {
  auto project = [&](StringRef what, int64_t count) {
    Value value =
        linear(hidden, name + "." + what + "_proj", count * config.headDim);
    return heads(value, count);
  };
  Value query = project("q", config.numHeads);
  Value key = project("k", config.numKVHeads);
  Value value = project("v", config.numKVHeads);
  if (config.qkNorm) {
    query = norm(query, name + ".q_norm", config.headDim);
    key = norm(key, name + ".k_norm", config.headDim);
  }
  enter(name);
  auto rotate = [&](Value value) {
    return RopeOp::create(builder, loc, value.getType(), value, cos, sin,
                          UnitAttr());
  };
  query = rotate(query);
  key = rotate(key);
  double scale = 1 / std::sqrt(static_cast<double>(config.headDim));
  FloatAttr probability;
  IntegerAttr opId;
  if (getDropout() > 0) {
    probability = builder.getF64FloatAttr(getDropout());
    opId = builder.getI64IntegerAttr(numOpIds++);
  }
  Value mixed =
      AttentionOp::create(builder, loc, query.getType(), query, key, value,
                          builder.getF64FloatAttr(scale), builder.getUnitAttr(),
                          probability, opId, LayoutAttr());
  RankedTensorType flat = tensor(
      {options.seqLen, options.batchSize, config.numHeads * config.headDim});
  Value joined = tensor::CollapseShapeOp::create(
      builder, loc, flat, mixed,
      ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
  return dropout(linear(joined, name + ".o_proj", config.hiddenSize));
}

Value DecoderBuilder::mlp(Value hidden, const Twine &name) {
  Value gate = linear(hidden, name + ".gate_proj", config.intermediateSize);
  Value up = linear(hidden, name + ".up_proj", config.intermediateSize);
  enter(name);
  Value activated = SwiGLUOp::create(builder, loc, gate.getType(), gate, up);
  return linear(activated, name + ".down_proj", config.hiddenSize);
}

Value DecoderBuilder::block(Value hidden, int64_t index) {
  std::string name = "model.layers." + std::to_string(index);
  auto residual = [&](Value value) {
    enter(name);
    hidden = arith::AddFOp::create(builder, loc, hidden, value);
  };
  Value normalised = norm(hidden, name + ".input_layernorm", config.hiddenSize);
  residual(attention(normalised, name + ".self_attn"));
  normalised =
      norm(hidden, name + ".post_attention_layernorm", config.hiddenSize);
  residual(mlp(normalised, name + ".mlp"));
  addHidden(hidden, "hidden." + Twine(index));
  return hidden;
}

/// The mean over the valid tokens; 0 if there is none.
Value DecoderBuilder::loss(Value logits, Value labels) {
  enter("loss");
  auto targetType = RankedTensorType::get({options.seqLen, options.batchSize},
                                          builder.getI64Type());
  IntegerAttr ignore = builder.getI64IntegerAttr(kIgnoreIndex);
  Value targets =
      ShiftLabelsOp::create(builder, loc, targetType, labels, ignore);
  Type scalar = options.dtype == DType::F64 ? Type(builder.getF64Type())
                                            : Type(builder.getF32Type());
  auto type = RankedTensorType::get({}, scalar);
  auto entropy =
      CrossEntropyOp::create(builder, loc, type, type, logits, targets, ignore);
  Value one = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, builder.getFloatAttr(scalar, 1.0)));
  Value count =
      arith::MaximumFOp::create(builder, loc, entropy.getCount(), one);
  return arith::DivFOp::create(builder, loc, entropy.getLossSum(), count);
}

OwningOpRef<ModuleOp> DecoderBuilder::build() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  function = func::FuncOp::create(builder, loc, "forward",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());

  auto ids = RankedTensorType::get({options.batchSize, options.seqLen},
                                   builder.getI64Type());
  Value inputIds = addArgument(ids, kInputAttr, "input_ids");
  Value labels;
  if (options.loss)
    labels = addArgument(ids, kInputAttr, "labels");

  enter("model.rotary_emb");
  RankedTensorType table = tensor({options.seqLen, config.headDim / 2});
  auto rope = RopeTableOp::create(builder, loc, table, table,
                                  builder.getF64FloatAttr(config.ropeTheta));
  cos = rope.getCos();
  sin = rope.getSin();

  enter("model.embed_tokens");
  Value embedding = rounded(parameter("model.embed_tokens.weight",
                                      {config.vocabSize, config.hiddenSize}));
  Value hidden = EmbeddingOp::create(
      builder, loc,
      tensor({options.seqLen, options.batchSize, config.hiddenSize}), inputIds,
      embedding, LayoutAttr());
  hidden = dropout(hidden);
  addHidden(hidden, "hidden.embed");
  for (int64_t i = 0; i < config.numLayers; ++i)
    hidden = block(hidden, i);
  hidden = norm(hidden, "model.norm", config.hiddenSize);
  addHidden(hidden, "hidden.norm");

  if (options.loss || options.logits) {
    enter("lm_head");
    Value weight =
        config.tiedEmbeddings
            ? embedding
            : rounded(parameter("lm_head.weight",
                                {config.vocabSize, config.hiddenSize}));
    Value logits = LinearOp::create(
        builder, loc, like(hidden, config.vocabSize), hidden, weight, Value());
    RankedTensorType exit =
        tensor({options.batchSize, options.seqLen, config.vocabSize});
    Value exitLogits;
    if (options.logits)
      exitLogits = BatchMajorOp::create(builder, loc, exit, logits);
    if (options.loss)
      results.emplace_back("loss", loss(logits, labels));
    if (options.logits)
      results.emplace_back("logits", exitLogits);
  }
  llvm::append_range(results, hiddenResults);

  loc = function.getLoc();
  auto values = llvm::to_vector(llvm::make_second_range(results));
  func::ReturnOp::create(builder, loc, values);
  function.setFunctionType(
      builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                              ValueRange(values).getTypes()));
  auto named = [&](StringRef attribute, StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(attribute, builder.getStringAttr(name)));
  };
  function.setAllArgAttrs(llvm::map_to_vector(argumentNames, [&](auto &name) {
    return named(name.first, name.second);
  }));
  function.setAllResultAttrs(llvm::map_to_vector(
      results, [&](auto &result) { return named(kResultAttr, result.first); }));
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>>
sp::buildDecoderProgram(MLIRContext &context, const DecoderConfig &config,
                        const ProgramOptions &options) {
  if (options.batchSize < 1 || options.seqLen < 1)
    return llvm::createStringError(
        "batch size " + Twine(options.batchSize) + " and sequence length " +
        Twine(options.seqLen) + " must be at least 1");
  if (options.seqLen > config.maxPositions)
    return llvm::createStringError(
        "sequence length " + Twine(options.seqLen) +
        " exceeds max_position_embeddings = " + Twine(config.maxPositions));
  // Eight bytes for each element of the widest activation.
  int64_t widest =
      std::max({config.vocabSize, config.hiddenSize, config.intermediateSize,
                config.numHeads * config.headDim});
  if (!productFits({8, options.batchSize, options.seqLen, widest}))
    return llvm::createStringError(
        "batch size " + Twine(options.batchSize) + " times sequence length " +
        Twine(options.seqLen) + " times the widest activation " +
        Twine(widest) + " makes more bytes than 64 bits can count");
  if (!options.loss && !options.logits && !options.hidden)
    return llvm::createStringError("no output is asked for");
  context.loadDialect<SPDialect, arith::ArithDialect, func::FuncDialect,
                      tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module =
      DecoderBuilder(context, config, options).build();
  if (failed(verify(*module)))
    return llvm::createStringError("the imported program does not verify");
  return module;
}
