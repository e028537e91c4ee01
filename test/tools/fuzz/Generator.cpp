//===- Generator.cpp - Random unsharded programs --------------------------===//

#include "Generator.h"
#include "Layers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

namespace {

class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed)
      : random(seed), p(context), sizes(chooseSizes()),
        layers(p, random, sizes) {}

  OwningOpRef<ModuleOp> generate();

private:
  Sizes chooseSizes();
  RankedTensorType tokenType() {
    return RankedTensorType::get({sizes.batch, sizes.seq}, p.b.getI64Type());
  }
  Value enter();
  Value sublayer(Value x);
  void addBlock();
  /// `state` with what a sublayer made of it.
  Value connect(Value state, Value made);
  /// The last hidden state, or one of those before.
  Value someState(double chanceOfLast);
  void addLoss();
  Value logits(Value state);
  Value crossEntropy(Value logits);

  Random random;
  ProgramBuilder p;
  Sizes sizes;
  Layers layers;
  /// All of [S,B,H]; the last one is the newest.
  SmallVector<Value> states;
  /// If there is one, of [V,H].
  Value embedding;
};

} // namespace

Sizes Generator::chooseSizes() {
  Sizes sizes;
  sizes.divides = random.chance(0.85);
  sizes.seq = 4 * random.pick<int64_t>({1, 1, 2, 3});
  if (!sizes.divides && random.chance(0.6))
    sizes.seq += random.pick<int64_t>({1, 2});
  sizes.batch = 1 + random.below(3);
  sizes.hidden = 3 + random.below(10);
  sizes.vocab = 5 + random.below(8);
  if (sizes.divides) // The head, too.
    sizes.vocab = llvm::alignTo(sizes.vocab, 4);
  return sizes;
}

Value Generator::enter() {
  SmallVector<int64_t> shape = {sizes.seq, sizes.batch, sizes.hidden};
  Value state = random.oneOf<Value>({
      [&] {
        embedding = p.parameter("embedding", {sizes.vocab, sizes.hidden});
        Value ids = p.input("input_ids", tokenType());
        return p.make<EmbeddingOp>(shape, ids, embedding, sp::LayoutAttr());
      },
      [&] {
        Value hidden = p.parameter("hidden", shape);
        return random.chance(0.7)
                   ? p.add(hidden, p.input("features", p.type(shape)))
                   : hidden;
      },
      [&] { return p.input("features", p.type(shape)); },
  });
  if (random.chance(0.3))
    state = layers.weighted(state);
  return random.chance(0.2) ? p.dropout(state) : state;
}

Value Generator::someState(double chanceOfLast) {
  return random.chance(chanceOfLast) ? states.back()
                                     : states[random.below(states.size())];
}

Value Generator::sublayer(Value x) {
  auto other = [&] {
    return random.chance(0.85) ? x : layers.maybeNorm(someState(0.5));
  };
  // What most models are made of comes more often.
  switch (random.below(12)) {
  case 0:
  case 1:
  case 2:
    return layers.attention(x, other());
  case 3:
  case 4:
  case 5:
    return layers.mlp(x, other());
  case 6:
    return layers.reshaped(x, [&](Value y) { return layers.mlp(y, y); });
  case 7: { // Side by side.
    Value attention = layers.attention(x, other());
    return p.add(attention, layers.mlp(x, other()));
  }
  case 8:
    return layers.pool(x);
  case 9:
    return layers.reshaped(x, [&](Value y) { return layers.tokenLocal(y); });
  case 10:
    return layers.wholeLinear(x);
  default:
    return layers.tokenLocal(x);
  }
}

Value Generator::connect(Value state, Value made) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(made);
  if (random.chance(0.2))
    made = p.dropout(made);
  Value scaled = random.oneOf<Value>({
      [&] { return made; },
      [&] { return made; },
      [&] { return p.mul(made, p.splat(shape, 0.5)); },
      [&] { return p.scale(made, 0.5); },
      [&] { return layers.weighted(made); },
  });
  if (random.chance(0.1))
    return scaled;
  return random.chance(0.5) ? p.add(state, scaled) : p.add(scaled, state);
}

void Generator::addBlock() {
  for (int64_t i = random.below(3); i >= 0; --i) {
    Value state = states.back();
    Value x = random.chance(0.9) ? state : someState(0);
    bool isPreNorm = random.chance(0.7);
    if (isPreNorm)
      x = layers.maybeNorm(x);
    Value made = sublayer(x);
    if (random.chance(0.15)) // Both before and after.
      made = layers.norm(made);
    Value residual = random.chance(0.85) ? state : someState(0);
    Value next = connect(residual, made);
    states.push_back(isPreNorm ? next : layers.maybeNorm(next));
  }
}

Value Generator::logits(Value state) {
  Value weight = embedding && random.chance(0.5)
                     ? embedding
                     : p.parameter("head", {sizes.vocab, sizes.hidden});
  return p.make<LinearOp>({sizes.seq, sizes.batch, sizes.vocab}, state, weight,
                          Value());
}

Value Generator::crossEntropy(Value logits) {
  auto tokens =
      RankedTensorType::get({sizes.seq, sizes.batch}, p.b.getI64Type());
  IntegerAttr ignored = p.b.getI64IntegerAttr(-100);
  Value targets = ShiftLabelsOp::create(
      p.b, tokens, p.input("labels", tokenType()), ignored);
  auto entropy = CrossEntropyOp::create(p.b, p.type({}), p.type({}), logits,
                                        targets, ignored);
  Value count =
      arith::MaximumFOp::create(p.b, entropy.getCount(), p.splat({}, 1));
  return arith::DivFOp::create(p.b, entropy.getLossSum(), count);
}

void Generator::addLoss() {
  Value last = layers.maybeNorm(states.back());
  Value exit;
  Value loss = random.oneOf<Value>({
      [&] { return crossEntropy(exit = logits(last)); },
      [&] { return layers.sumOfSquares(exit = logits(last)); },
      [&] { return layers.sumOfSquares(layers.weighted(last)); },
  });
  auto addTerm = [&](Value term) {
    loss = random.chance(0.5) ? p.add(loss, term) : p.add(term, loss);
  };
  // The mean over the sequence of some hidden state.
  if (random.chance(0.3)) {
    Value mean = p.scale(p.sumLeading(someState(0.3), 1), 1. / sizes.seq);
    addTerm(layers.sumOfSquares(math::TanhOp::create(p.b, mean)));
  }
  if (random.chance(0.2))
    addTerm(layers.sumOfSquares(someState(0.3)));
  // A branch that no rank needs to share.
  if (random.chance(0.2) || !p.hasParameters()) {
    Value side = p.parameter("side", {3, sizes.hidden});
    addTerm(layers.sumOfSquares(layers.wholeLinear(layers.maybeNorm(side))));
  }
  p.result("loss", loss);
  if (exit && random.chance(0.3))
    p.result("logits",
             p.make<BatchMajorOp>({sizes.batch, sizes.seq, sizes.vocab}, exit));
  if (random.chance(0.3))
    p.result("hidden", last);
  if (random.chance(0.2))
    p.result("some_state", someState(0));
}

OwningOpRef<ModuleOp> Generator::generate() {
  states.push_back(enter());
  for (int64_t i = random.below(3); i >= 0; --i)
    addBlock();
  addLoss();
  if (layers.divides())
    p.mark(kDividesAttr);
  OwningOpRef<ModuleOp> module = p.finish();
  if (failed(verify(*module)))
    module = {};
  return module;
}

OwningOpRef<ModuleOp> test::generateProgram(MLIRContext &context,
                                            uint64_t seed) {
  return Generator(context, seed).generate();
}
