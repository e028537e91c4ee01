//===- Layers.cpp - The parts that random programs are made of ------------===//

#include "Layers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

//===----------------------------------------------------------------------===//
// Token-local
//===----------------------------------------------------------------------===//

/// Every one keeps numbers of size 1 at size 1, and passes a gradient.
Value Layers::elementwise(Value x) {
  ImplicitLocOpBuilder &b = p.b;
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  auto constant = [&](double value) { return p.splat(shape, value); };
  auto ordered = [&](Value other) {
    return random.chance(0.5) ? std::pair(x, other) : std::pair(other, x);
  };
  return random.oneOf<Value>({
      [&] { return math::TanhOp::create(b, x); },
      [&] { return math::ErfOp::create(b, x); },
      [&] { return math::SinOp::create(b, x); },
      [&] { return math::AbsFOp::create(b, x); },
      [&] { return arith::NegFOp::create(b, x); },
      [&] { return math::ExpOp::create(b, math::TanhOp::create(b, x)); },
      [&] {
        return math::SqrtOp::create(b, p.add(constant(0.5), p.mul(x, x)));
      },
      [&] { return p.scale(x, -1.25); },
      [&] {
        auto [lhs, rhs] = ordered(constant(0.25));
        return p.add(lhs, rhs);
      },
      [&] {
        auto [lhs, rhs] = ordered(constant(0.75));
        return p.mul(lhs, rhs);
      },
      [&] {
        auto [lhs, rhs] = ordered(constant(0.5));
        return arith::SubFOp::create(b, lhs, rhs);
      },
      [&] {
        auto [lhs, rhs] = ordered(constant(-0.25));
        return arith::MaximumFOp::create(b, lhs, rhs);
      },
      [&] {
        Value positive =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, x, constant(0));
        return arith::SelectOp::create(b, positive, x, p.scale(x, 0.125));
      },
      [&] {
        Value divisor = p.add(constant(1), p.mul(x, x));
        return arith::DivFOp::create(b, x, divisor);
      },
      [&] { return math::TanhOp::create(b, p.mul(x, x)); },
      [&] { return p.add(x, math::CosOp::create(b, x)); },
      [&] { return p.mul(x, p.distinct(shape)); },
      [&] { return p.add(p.distinct(shape), x); },
      [&] { return p.like<SwiGLUOp>(x, x); },
      [&] {
        return p.generic(
            {x}, {}, [&](OpBuilder &in, Location loc, ValueRange e) -> Value {
              return math::TanhOp::create(in, loc, e[0]);
            });
      },
  });
}

Value Layers::tokenLocal(Value x) {
  for (int64_t i = random.below(3); i >= 0; --i)
    x = random.chance(0.25)   ? weighted(x)
        : random.chance(0.15) ? p.dropout(x)
                              : elementwise(x);
  return x;
}

Value Layers::weight(StringRef role, ArrayRef<int64_t> shape) {
  return random.chance(0.75) ? p.parameter(role, shape) : p.distinct(shape);
}

/// `x` times or plus a vector over the last dimension.
Value Layers::perFeature(Value x, StringRef role, bool adds) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  int64_t last = shape.size() - 1;
  Value vector = p.parameter(role, shape.back());
  auto apply = [&](Value whole) {
    return adds ? p.add(x, whole) : p.mul(whole, x);
  };
  return random.oneOf<Value>({
      [&] {
        return p.generic(
            {x, vector}, {{last}},
            [&](OpBuilder &in, Location loc, ValueRange e) -> Value {
              if (adds)
                return arith::AddFOp::create(in, loc, e[0], e[1]);
              return arith::MulFOp::create(in, loc, e[0], e[1]);
            });
      },
      [&] {
        return apply(p.make<BroadcastLeadingOp>(shape, vector,
                                                p.b.getI64IntegerAttr(last)));
      },
      [&] {
        SmallVector<int64_t> added =
            llvm::to_vector(llvm::seq<int64_t>(0, last));
        Value init = tensor::EmptyOp::create(p.b, p.type(shape), ValueRange());
        return apply(linalg::BroadcastOp::create(p.b, vector, init, added)
                         ->getResult(0));
      },
      [&] {
        if (adds)
          return p.like<BiasAddOp>(x, vector);
        return p.like<sp::MulOp>(
            x, p.make<BroadcastLeadingOp>(shape, vector,
                                          p.b.getI64IntegerAttr(last)));
      },
  });
}

Value Layers::weighted(Value x) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  SmallVector<int64_t> dims, extents;
  for (auto [dim, extent] : llvm::enumerate(shape))
    if (random.chance(0.5)) {
      dims.push_back(dim);
      extents.push_back(extent);
    }
  bool adds = random.chance(0.4);
  if (dims.empty())
    return perFeature(x, adds ? "shift" : "gain", adds);
  return p.generic({x, weight("weight", extents)}, {dims},
                   [&](OpBuilder &in, Location loc, ValueRange e) -> Value {
                     if (adds)
                       return arith::AddFOp::create(in, loc, e[1], e[0]);
                     return arith::MulFOp::create(in, loc, e[0], e[1]);
                   });
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> allButLast(ArrayRef<int64_t> shape) {
  return llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
}

Value Layers::rmsNormByOps(Value x) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  Value mean = p.scale(p.sumLast(p.mul(x, x)), 1. / shape.back());
  Value shifted = p.add(mean, p.splat(shape.drop_back(), 1e-2));
  Value inverse = math::RsqrtOp::create(p.b, shifted);
  return p.generic({x, inverse}, {allButLast(shape)},
                   [](OpBuilder &in, Location loc, ValueRange e) -> Value {
                     return arith::MulFOp::create(in, loc, e[0], e[1]);
                   });
}

Value Layers::layerNormByOps(Value x) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  SmallVector<int64_t> rows = allButLast(shape);
  Value mean = p.scale(p.sumLast(x), 1. / shape.back());
  Value centred =
      p.generic({x, mean}, {rows},
                [](OpBuilder &in, Location loc, ValueRange e) -> Value {
                  return arith::SubFOp::create(in, loc, e[0], e[1]);
                });
  Value squares = p.sumLast(p.mul(centred, centred));
  Value variance = p.mul(
      squares, p.splat(rows.empty() ? ArrayRef<int64_t>() : shape.drop_back(),
                       1. / shape.back()));
  return p.generic({centred, variance}, {rows},
                   [](OpBuilder &in, Location loc, ValueRange e) -> Value {
                     Value eps = arith::ConstantOp::create(
                         in, loc, in.getF64FloatAttr(0.1));
                     Value shifted = arith::AddFOp::create(in, loc, e[1], eps);
                     Value root = math::SqrtOp::create(in, loc, shifted);
                     return arith::DivFOp::create(in, loc, e[0], root);
                   });
}

Value Layers::norm(Value x, bool mayShift) {
  int64_t last = ProgramBuilder::shape(x).back();
  return random.oneOf<Value>({
      [&] {
        return p.like<RMSNormOp>(x, p.parameter("norm", last), p.number(1e-2));
      },
      [&] {
        return p.like<RMSNormOp>(x, p.parameter("norm", last), p.number(1e-5));
      },
      [&] { return perFeature(rmsNormByOps(x), "norm", /*adds=*/false); },
      [&] {
        Value scaled = perFeature(layerNormByOps(x), "norm", /*adds=*/false);
        return mayShift && random.chance(0.7)
                   ? perFeature(scaled, "norm.shift", /*adds=*/true)
                   : scaled;
      },
  });
}

Value Layers::maybeNorm(Value x) { return random.chance(0.75) ? norm(x) : x; }

//===----------------------------------------------------------------------===//
// With linears
//===----------------------------------------------------------------------===//

int64_t Layers::innerSize() {
  int64_t size = 4 * (1 + random.below(4));
  return sizes.divides || random.chance(0.6) ? size
                                             : size + 1 + random.below(3);
}

Value Layers::activation(Value x) {
  ImplicitLocOpBuilder &b = p.b;
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  return random.oneOf<Value>({
      [&] { return math::TanhOp::create(b, x); },
      [&] { return arith::MaximumFOp::create(b, x, p.splat(shape, 0)); },
      [&] { // GELU
        Value erf = math::ErfOp::create(b, p.scale(x, 0.70710678));
        Value shifted = p.add(erf, p.splat(shape, 1));
        return p.mul(p.mul(x, p.splat(shape, 0.5)), shifted);
      },
      [&] { return tokenLocal(x); },
  });
}

Value Layers::mlp(Value x, Value other) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  isSequenceMajor &= shape.size() == 1 || shape.front() == sizes.seq ||
                     shape.front() == sizes.seq * sizes.batch;
  int64_t inner = innerSize();
  int64_t outputs = shape.back();
  Value first = p.linear(x, "first", inner, random.chance(0.4));
  Value middle = random.oneOf<Value>({
      [&] { return activation(first); },
      [&] {
        Value up = p.linear(other, "up", inner, random.chance(0.4));
        return p.like<SwiGLUOp>(first, up);
      },
      [&] {
        Value up = p.linear(other, "up", inner, random.chance(0.4));
        return p.mul(activation(first), up);
      },
      [&] { return p.add(activation(first), first); },
      [&] {
        Value again = p.linear(activation(first), "between", inner, false);
        return random.chance(0.5) ? p.add(again, first) : again;
      },
  });
  // What is needed whole, too, or by nobody else.
  if (random.chance(0.05))
    p.result("inner" + std::to_string(numInner++), middle);
  if (random.chance(0.2))
    middle = p.dropout(middle);
  return p.linear(middle, "second", outputs, random.chance(0.4));
}

Value Layers::attention(Value x, Value other) {
  int64_t kvHeads = 4 * (1 + random.below(2));
  int64_t heads = kvHeads * (1 + random.below(2));
  if (random.chance(0.3)) // Fewer key/value heads than ranks.
    kvHeads = random.pick<int64_t>({1, 2}),
    heads = random.pick<int64_t>({4, 8});
  else if (!sizes.divides && random.chance(0.3))
    kvHeads = random.pick<int64_t>({1, 2}), heads = kvHeads * 2;
  int64_t size = 2 + random.below(5);
  bool hasRope = size % 2 == 0 && random.chance(0.5);
  bool hasQKNorm = random.chance(0.4);
  auto project = [&](Value from, StringRef role, int64_t count, bool bias) {
    return p.reshape(p.linear(from, role, count * size, bias),
                     {sizes.seq, sizes.batch, count, size}, {{0}, {1}, {2, 3}});
  };
  Value query = project(x, "query", heads, random.chance(0.3));
  // What is added to all keys alike changes nothing: its gradient would be 0.
  Value key = project(other, "key", kvHeads,
                      (hasRope || hasQKNorm) && random.chance(0.3));
  Value value = random.chance(0.1)
                    ? key
                    : project(other, "value", kvHeads, random.chance(0.3));
  if (hasQKNorm) {
    query = norm(query);
    key = norm(key, /*mayShift=*/hasRope);
  }
  if (hasRope) {
    RankedTensorType table = p.type({sizes.seq, size / 2});
    auto tables = RopeTableOp::create(p.b, table, table, p.number(100));
    auto rotate = [&](Value from) {
      return p.like<RopeOp>(from, tables.getCos(), tables.getSin(), UnitAttr());
    };
    query = rotate(query);
    key = rotate(key);
  }
  FloatAttr dropout;
  IntegerAttr opId;
  if (random.chance(0.2)) {
    dropout = p.number(0.25);
    opId = p.opId();
  }
  UnitAttr causal = random.chance(0.7) ? p.b.getUnitAttr() : UnitAttr();
  Value mixed = p.like<AttentionOp>(query, key, value, p.number(1.5), causal,
                                    dropout, opId, LayoutAttr());
  if (random.chance(0.2))
    mixed = elementwise(mixed);
  Value joined = p.reshape(mixed, {sizes.seq, sizes.batch, heads * size},
                           {{0}, {1}, {2, 3}});
  return p.linear(joined, "output", ProgramBuilder::shape(x).back(),
                  random.chance(0.3));
}

Value Layers::wholeLinear(Value x) {
  int64_t size = ProgramBuilder::shape(x).back();
  if (random.chance(0.6))
    return p.linear(x, "whole", size, random.chance(0.4));
  Value weight = p.parameter("weight", {size, size});
  if (random.chance(0.5)) // Computed.
    weight = math::TanhOp::create(p.b, weight);
  Value once = p.like<LinearOp>(x, weight, Value());
  if (random.chance(0.5)) // Read twice.
    return p.like<LinearOp>(math::TanhOp::create(p.b, once), weight, Value());
  return once;
}

//===----------------------------------------------------------------------===//
// Over tokens
//===----------------------------------------------------------------------===//

Value Layers::pool(Value x) {
  ArrayRef<int64_t> shape = ProgramBuilder::shape(x);
  int64_t count = random.pick<int64_t>({1, 2});
  int64_t tokens = llvm::product_of(shape.take_front(count));
  Value mean = p.scale(p.sumLeading(x, count), 1. / tokens);
  if (random.chance(0.5))
    mean = math::TanhOp::create(p.b, mean);
  if (random.chance(0.4))
    mean = random.chance(0.5) ? wholeLinear(mean) : mlp(mean, mean);
  Value all =
      p.make<BroadcastLeadingOp>(shape, mean, p.b.getI64IntegerAttr(count));
  return random.chance(0.5) ? p.add(all, x) : p.mul(all, x);
}

Value Layers::reshaped(Value x, function_ref<Value(Value)> layer) {
  int64_t seq = sizes.seq, batch = sizes.batch;
  int64_t hidden = ProgramBuilder::shape(x).back();
  return random.oneOf<Value>({
      [&] {
        SmallVector<ReassociationIndices> groups = {{0, 1}, {2}};
        Value flat = p.reshape(x, {seq * batch, hidden}, groups);
        return p.reshape(layer(flat), {seq, batch, hidden}, groups);
      },
      [&] {
        SmallVector<ReassociationIndices> groups = {{0}, {1}, {2, 3}};
        Value split = p.reshape(x, {seq, batch, 1, hidden}, groups);
        return p.reshape(layer(split), {seq, batch, hidden}, groups);
      },
      [&] {
        SmallVector<int64_t> perm = {1, 0, 2};
        return p.transpose(layer(p.transpose(x, perm)), perm);
      },
      [&] {
        Value swapped = p.make<BatchMajorOp>({batch, seq, hidden}, x);
        return p.make<BatchMajorOp>({seq, batch, hidden}, layer(swapped));
      },
  });
}

Value Layers::sumOfSquares(Value x) {
  double scale = 1. / llvm::product_of(ProgramBuilder::shape(x));
  return p.scale(p.sum(p.mul(x, x)), scale);
}
