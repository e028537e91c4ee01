//===- RowKernelEmitter.cpp - CPU code for row kernels --------------------===//
//
// Writes vectors directly: a loop over rows, and in it one loop over columns
// for each generation of row reductions, then one that stores. A value that
// several loops need is computed again from the inputs, which are in L1 by
// then. Each op is emitted for several vectors in a row (interleaved), which is
// where the instruction-level parallelism comes from.
//
// The bits of a value depend on its own definition and the number of columns,
// and on nothing else: not on the other rows or on what else the kernel
// computes. So programs that split or fuse token-local work differently agree
// to the last bit. Hence no fast-math flags (contraction would round
// differently where an intermediate is stored, too), and one order for sums
// whatever the unrolling.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sp/Conversion/RowKernels.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sp;

namespace {

/// Lanes of a vector, whatever its element type.
constexpr int64_t kWidth = 16;
/// Vectors in a step of a column loop; with exp, which is a long chain of ops.
constexpr int64_t kUnroll = 4, kExpUnroll = 8;
/// A step's n-th vector is combined into accumulator n % kAccumulators. So the
/// order is the same for both sizes of step; what they leave takes the same
/// smaller ones.
constexpr int64_t kAccumulators = 4;
static_assert(kUnroll % kAccumulators == 0 && kExpUnroll % kAccumulators == 0);

/// How many columns one step of a column loop handles: `unroll` vectors of
/// `width` lanes; a width of 1 stands for scalars.
struct Step {
  int64_t width, unroll;
  int64_t columns() const { return width * unroll; }
};

/// Where an element is loaded or stored.
struct Access {
  Access(unsigned operand, Type element, AffineMap map);

  /// The number of the tensor among inputs and results.
  unsigned operand;
  /// In registers, too, a bf16 is its bits: LLVM would hold it as an f32 and
  /// call compiler-rt to store it.
  Type element;
  AffineExpr offset;
  /// Whether the offset depends on the column, and whether it is the column
  /// plus something: then columns are vectors in memory.
  bool perColumn, contiguous;
  /// Of what is contiguous: the address at column 0 of the current row.
  Value rowAddress;
};

/// A column value: one SSA value (a vector, or a scalar if the width is 1) for
/// each of the step's vectors.
using Columns = SmallVector<Value, 4>;

class Emitter {
public:
  Emitter(OpBuilder &builder, RowKernelOp kernel)
      : kernel(kernel), body(&kernel.getBody().front()),
        yield(cast<YieldOp>(body->getTerminator())),
        b(kernel.getLoc(), builder),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())) {}

  LLVM::LLVMFuncOp emit(StringRef name);

private:
  // What the body says, found once.
  void analyse();
  /// The number of reductions that come before a value, one after the other.
  unsigned generation(Value value) const { return generations.lookup(value); }
  bool isColumn(Value value) const { return columnValues.contains(value); }
  /// The column ops, in order, that `roots` need, and the inputs that they
  /// read.
  SmallVector<Operation *> getColumnSlice(ArrayRef<Value> roots,
                                          SetVector<Value> &arguments);

  // Memory.
  Value i64(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value expand(AffineExpr offset, Value column);
  Value address(const Access &access, Value column);
  Columns load(const Access &access, Step step, Value column);
  void store(const Access &access, Step step, Value column,
             const Columns &values);

  // Code.
  void emitRow();
  /// A row-uniform value.
  Value uniform(Value value);
  Value combine(ReduceKind kind, Value x, Value y);
  Value identity(ReduceKind kind, Type type);
  Value reduceLanes(ReduceKind kind, Value vector);
  /// What a loop over the columns is for: reductions' inputs, stored values.
  SmallVector<Value> getRoots(ArrayRef<RowReduceOp> reductions,
                              ArrayRef<unsigned> storeNumbers);
  /// One loop over all columns: `reductions`, then `stores`.
  void emitPass(ArrayRef<RowReduceOp> reductions, ArrayRef<unsigned> stores);
  /// The body of a step; updates the accumulators.
  void emitStep(Step step, Value column, ArrayRef<RowReduceOp> reductions,
                ArrayRef<unsigned> stores,
                MutableArrayRef<Columns> accumulators);
  SmallVector<Columns> emitColumnOp(Operation *op, Step step, Value column,
                                    DenseMap<Value, Columns> &values);
  Columns getColumns(Value value, Step step, DenseMap<Value, Columns> &values);
  SmallVector<Value> emitOp(Operation *op, ValueRange operands, int64_t width);
  Value emitExp(Value x);
  Value emitFromBF16(Value bits);
  Value emitRoundToBF16(Value x);
  Value emitRoundToOdd(Value x);

  Type widen(Type element, int64_t width) {
    return width == 1 ? element : VectorType::get({width}, element);
  }
  Value splat(Value scalar, int64_t width) {
    return width == 1 ? scalar
                      : Value(vector::BroadcastOp::create(
                            b, widen(scalar.getType(), width), scalar));
  }
  Value number(Type type, double value) {
    auto element = cast<FloatType>(getElementTypeOrSelf(type));
    Attribute attr = b.getFloatAttr(element, value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, attr);
    return arith::ConstantOp::create(b, cast<TypedAttr>(attr));
  }

  RowKernelOp kernel;
  Block *body;
  YieldOp yield;
  ImplicitLocOpBuilder b;
  Type pointer;

  DenseMap<Value, unsigned> generations;
  DenseSet<Value> columnValues;
  /// One for each body argument; one for each yielded value.
  SmallVector<Access> loads, stores;
  int64_t unroll = kUnroll;

  /// Per function: the operands' pointers. Per row: its number and its
  /// row-uniform values.
  SmallVector<Value> pointers;
  Value row;
  DenseMap<Value, Value> uniforms;
};

} // namespace

//===----------------------------------------------------------------------===//
// What the body says
//===----------------------------------------------------------------------===//

Access::Access(unsigned operand, Type element, AffineMap map)
    : operand(operand),
      element(element.isBF16() ? IntegerType::get(element.getContext(), 16)
                               : element),
      offset(map.getResult(0)), perColumn(map.isFunctionOfDim(1)) {
  AffineExpr row, column;
  bindDims(map.getContext(), row, column);
  AffineExpr atZero =
      offset.replace(column, getAffineConstantExpr(0, map.getContext()));
  contiguous = simplifyAffineExpr(offset - atZero, 2, 0) == column;
}

static bool isPolynomialExp(Operation *op) {
  return isa<math::ExpOp>(op) && op->getResult(0).getType().isF32();
}

void Emitter::analyse() {
  unsigned operand = 0;
  for (auto [argument, map] :
       llvm::zip(body->getArguments(),
                 kernel.getInputMaps().getAsValueRange<AffineMapAttr>())) {
    loads.emplace_back(operand++, argument.getType(), map);
    if (loads.back().perColumn)
      columnValues.insert(argument);
  }
  for (auto [value, map, result] :
       llvm::zip(yield.getValues(),
                 kernel.getOutputMaps().getAsValueRange<AffineMapAttr>(),
                 kernel.getOutputResults()))
    stores.emplace_back(operand + result, value.getType(), map);

  for (Operation &op : body->without_terminator()) {
    bool reduces = isa<RowReduceOp>(op);
    bool column = !reduces && (isa<ColIndexOp>(op) ||
                               llvm::any_of(op.getOperands(), [&](Value value) {
                                 return isColumn(value);
                               }));
    unsigned latest = 0;
    for (Value operand : op.getOperands())
      latest = std::max(latest, generation(operand));
    for (Value result : op.getResults()) {
      generations[result] = latest + reduces;
      if (column)
        columnValues.insert(result);
    }
    if (column && isPolynomialExp(&op))
      unroll = kExpUnroll;
  }
}

SmallVector<Operation *> Emitter::getColumnSlice(ArrayRef<Value> roots,
                                                 SetVector<Value> &arguments) {
  SetVector<Value> needed;
  for (Value root : roots)
    if (isColumn(root))
      needed.insert(root);
  for (unsigned i = 0; i < needed.size(); ++i) {
    Operation *def = needed[i].getDefiningOp();
    if (!def) {
      arguments.insert(needed[i]);
      continue;
    }
    for (Value operand : def->getOperands())
      if (isColumn(operand))
        needed.insert(operand);
  }
  SmallVector<Operation *> slice;
  for (Operation &op : body->without_terminator())
    if (llvm::any_of(op.getResults(),
                     [&](Value result) { return needed.contains(result); }))
      slice.push_back(&op);
  return slice;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The value of `offset` at (row, column).
Value Emitter::expand(AffineExpr offset, Value column) {
  if (auto dim = dyn_cast<AffineDimExpr>(offset))
    return dim.getPosition() == 0 ? row : column;
  if (auto constant = dyn_cast<AffineConstantExpr>(offset))
    return i64(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(offset);
  Value lhs = expand(binary.getLHS(), column);
  Value rhs = expand(binary.getRHS(), column);
  switch (offset.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, lhs, rhs);
  case AffineExprKind::FloorDiv: // What is divided is not negative.
    return arith::DivUIOp::create(b, lhs, rhs);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, lhs, rhs);
  default:
    llvm_unreachable("not in the maps that the op's verifier accepts");
  }
}

Value Emitter::address(const Access &access, Value column) {
  if (access.rowAddress)
    return LLVM::GEPOp::create(b, pointer, access.element, access.rowAddress,
                               ValueRange(column));
  return LLVM::GEPOp::create(b, pointer, access.element,
                             pointers[access.operand],
                             ValueRange(expand(access.offset, column)));
}

static unsigned getByteWidth(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

Columns Emitter::load(const Access &access, Step step, Value column) {
  unsigned alignment = getByteWidth(access.element);
  auto loadAt = [&](int64_t columns, int64_t width) -> Value {
    Value first = arith::AddIOp::create(b, column, i64(columns));
    return LLVM::LoadOp::create(b, widen(access.element, width),
                                address(access, first), alignment);
  };
  Columns values;
  for (int64_t u = 0; u < step.unroll; ++u) {
    if (access.contiguous || step.width == 1) {
      values.push_back(loadAt(u * step.width, step.width));
      continue;
    }
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < step.width; ++lane)
      lanes.push_back(loadAt(u * step.width + lane, 1));
    values.push_back(vector::FromElementsOp::create(
        b, cast<VectorType>(widen(access.element, step.width)), lanes));
  }
  return values;
}

void Emitter::store(const Access &access, Step step, Value column,
                    const Columns &values) {
  unsigned alignment = getByteWidth(access.element);
  auto storeAt = [&](int64_t columns, Value value) {
    Value first = arith::AddIOp::create(b, column, i64(columns));
    LLVM::StoreOp::create(b, value, address(access, first), alignment);
  };
  for (int64_t u = 0; u < step.unroll; ++u) {
    if (access.contiguous || step.width == 1) {
      storeAt(u * step.width, values[u]);
      continue;
    }
    for (int64_t lane = 0; lane < step.width; ++lane)
      storeAt(u * step.width + lane,
              vector::ExtractOp::create(b, values[u], lane));
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// 2^x by a polynomial on [-1/2, 1/2] and an exponent; relative error below
/// 1e-7. Below -104 the result is 0 in f32 anyway, and the conversion to an
/// integer must stay in range; a NaN fails the comparison and goes through.
Value Emitter::emitExp(Value x) {
  Type type = x.getType();
  auto fma = [&](Value p, Value f, double c) -> Value {
    return math::FmaOp::create(b, p, f, number(type, c));
  };
  auto clamp = [&](arith::CmpFPredicate beyond, double bound) {
    Value limit = number(type, bound);
    Value outside = arith::CmpFOp::create(b, beyond, x, limit);
    x = arith::SelectOp::create(b, outside, limit, x);
  };
  clamp(arith::CmpFPredicate::OLT, -104.0);
  clamp(arith::CmpFPredicate::OGT, 89.0); // Infinity by overflow, not by NaN.
  Value scaled = arith::MulFOp::create(b, x, number(type, 1.4426950408889634));
  Value whole = math::RoundEvenOp::create(b, scaled);
  Value negated = arith::NegFOp::create(b, whole);
  // log2(e) in two parts, so that the fraction keeps its low bits.
  Value fraction =
      math::FmaOp::create(b, x, number(type, 1.44269502162933349609), negated);
  fraction = math::FmaOp::create(b, x, number(type, 1.92596299112661746887e-8),
                                 fraction);
  Value p = number(type, 1.535336188319500e-4);
  for (double c :
       {1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
        2.402264791363012e-1, 6.931472028550421e-1, 1.0})
    p = fma(p, fraction, c);
  bool isVector = isa<VectorType>(type);
  Type integer = widen(b.getI32Type(), isVector ? kWidth : 1);
  Value exponent = arith::FPToSIOp::create(b, integer, whole);
  std::string intrinsic =
      isVector
          ? ("llvm.ldexp.v" + Twine(kWidth) + "f32.v" + Twine(kWidth) + "i32")
                .str()
          : "llvm.ldexp.f32.i32";
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(intrinsic),
                                       ValueRange{p, exponent})
      .getResult(0);
}

/// f32 of the bits of a bf16.
Value Emitter::emitFromBF16(Value bits) {
  bool isVector = isa<VectorType>(bits.getType());
  int64_t width =
      isVector ? cast<VectorType>(bits.getType()).getNumElements() : 1;
  Type i32 = widen(b.getI32Type(), width);
  Value wide = arith::ExtUIOp::create(b, i32, bits);
  Value high = arith::ShLIOp::create(
      b, wide,
      splat(arith::ConstantOp::create(b, b.getI32IntegerAttr(16)), width));
  return arith::BitcastOp::create(b, widen(b.getF32Type(), width), high);
}

/// The bits of a bf16 of an f32, to nearest, ties to even; a NaN stays one.
/// LLVM would call compiler-rt, or use an instruction that takes subnormals for
/// 0, by the CPU.
Value Emitter::emitRoundToBF16(Value x) {
  auto like = [&](Type element) {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type i32 = like(b.getI32Type()), i16 = like(b.getI16Type());
  auto integer = [&](int64_t value) -> Value {
    TypedAttr attr = b.getI32IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(i32))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  };
  Value bits = arith::BitcastOp::create(b, i32, x);
  Value high = arith::ShRUIOp::create(b, bits, integer(16));
  Value isOdd = arith::AndIOp::create(b, high, integer(1));
  Value increment = arith::AddIOp::create(b, isOdd, integer(0x7fff));
  Value rounded = arith::ShRUIOp::create(
      b, arith::AddIOp::create(b, bits, increment), integer(16));
  // The increment would carry a NaN's payload into the exponent and sign.
  Value quiet = arith::OrIOp::create(b, high, integer(0x40));
  Value isNaN = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value result = arith::SelectOp::create(b, isNaN, quiet, rounded);
  return arith::TruncIOp::create(b, i16, result);
}

/// f32 of an f64, such that rounding it again gives what one rounding would:
/// an inexact value becomes the odd one of its neighbours (Boldo and Melquiond,
/// IEEE Transactions on Computers 57(4), 2008).
Value Emitter::emitRoundToOdd(Value x) {
  auto like = [&](Type element) {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type f32 = like(b.getF32Type()), i32 = like(b.getI32Type());
  TypedAttr one = b.getI32IntegerAttr(1);
  if (auto vector = dyn_cast<VectorType>(i32))
    one = DenseElementsAttr::get(vector, Attribute(one));
  Value oneValue = arith::ConstantOp::create(b, one);
  Value near = arith::TruncFOp::create(b, f32, x);
  Value back = arith::ExtFOp::create(b, x.getType(), near);
  Value bits = arith::BitcastOp::create(b, i32, near);
  Value isBeyond = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT,
                                         math::AbsFOp::create(b, back),
                                         math::AbsFOp::create(b, x));
  Value towardZero = arith::SelectOp::create(
      b, isBeyond, arith::SubIOp::create(b, bits, oneValue), bits);
  Value odd = arith::OrIOp::create(b, towardZero, oneValue);
  Value isExact = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, back, x);
  return arith::BitcastOp::create(
      b, f32, arith::SelectOp::create(b, isExact, bits, odd));
}

/// The scalar `op` on vectors of `width` lanes, without its fast-math flags.
SmallVector<Value> Emitter::emitOp(Operation *op, ValueRange operands,
                                   int64_t width) {
  if (isPolynomialExp(op))
    return {emitExp(operands[0])};
  if (isa<arith::TruncFOp>(op) && op->getResult(0).getType().isBF16()) {
    Value x = operands[0];
    if (getElementTypeOrSelf(x).isF64())
      x = emitRoundToOdd(x);
    return {emitRoundToBF16(x)};
  }
  if (isa<arith::ExtFOp>(op) && op->getOperand(0).getType().isBF16()) {
    Value x = emitFromBF16(operands[0]);
    if (op->getResult(0).getType().isF64())
      x = arith::ExtFOp::create(b, widen(b.getF64Type(), width), x);
    return {x};
  }
  SmallVector<Value> inputs, results;
  for (auto [operand, original] : llvm::zip(operands, op->getOperands()))
    inputs.push_back(original.getType().isBF16()
                         ? arith::BitcastOp::create(
                               b, widen(original.getType(), width), operand)
                         : operand);
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(inputs);
  for (Type type : op->getResultTypes())
    state.addTypes(widen(type, width));
  state.addAttributes(op->getAttrs());
  Operation *clone = b.create(state);
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(clone))
    clone->setAttr(fast.getFastMathAttrName(),
                   arith::FastMathFlagsAttr::get(b.getContext(),
                                                 arith::FastMathFlags::none));
  for (Value result : clone->getResults())
    results.push_back(
        getElementTypeOrSelf(result).isBF16()
            ? arith::BitcastOp::create(b, widen(b.getI16Type(), width), result)
            : result);
  return results;
}

Value Emitter::uniform(Value value) {
  if (Value known = uniforms.lookup(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const Access &access = loads[argument.getArgNumber()];
    return uniforms[value] = load(access, {1, 1}, i64(0)).front();
  }
  Operation *op = value.getDefiningOp();
  assert(!isa<RowReduceOp>(op) && "a reduction is known after its pass");
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(uniform(operand));
  for (auto [result, scalar] :
       llvm::zip(op->getResults(), emitOp(op, operands, 1)))
    uniforms[result] = scalar;
  return uniforms.lookup(value);
}

Columns Emitter::getColumns(Value value, Step step,
                            DenseMap<Value, Columns> &values) {
  if (isColumn(value))
    return values.lookup(value);
  return Columns(step.unroll, splat(uniforms.lookup(value), step.width));
}

SmallVector<Columns> Emitter::emitColumnOp(Operation *op, Step step,
                                           Value column,
                                           DenseMap<Value, Columns> &values) {
  SmallVector<Columns> operands, results(op->getNumResults());
  for (Value operand : op->getOperands())
    operands.push_back(getColumns(operand, step, values));
  for (int64_t u = 0; u < step.unroll; ++u) {
    if (isa<ColIndexOp>(op)) {
      Value index = splat(arith::AddIOp::create(b, column, i64(u * step.width)),
                          step.width);
      if (step.width > 1)
        index = arith::AddIOp::create(
            b, index,
            arith::ConstantOp::create(
                b, b.getI64VectorAttr(
                       llvm::to_vector(llvm::seq<int64_t>(0, step.width)))));
      results[0].push_back(index);
      continue;
    }
    SmallVector<Value> own;
    for (const Columns &operand : operands)
      own.push_back(operand[u]);
    for (auto [result, value] : llvm::zip(results, emitOp(op, own, step.width)))
      result.push_back(value);
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Value Emitter::combine(ReduceKind kind, Value x, Value y) {
  if (kind == ReduceKind::Sum)
    return arith::AddFOp::create(b, x, y);
  return arith::MaximumFOp::create(b, x, y); // Propagates NaN.
}

/// -0 + x is x for every x, so LLVM can fold it.
Value Emitter::identity(ReduceKind kind, Type type) {
  return number(type, kind == ReduceKind::Sum
                          ? -0.0
                          : -std::numeric_limits<double>::infinity());
}

/// A tree, written out: a vector reduction would be a serial chain, or would
/// need permission to reassociate, with an order of LLVM's choice.
Value Emitter::reduceLanes(ReduceKind kind, Value vector) {
  for (int64_t half = kWidth / 2; half >= 1; half /= 2) {
    auto lanes = [&](int64_t from) -> Value {
      return vector::ShuffleOp::create(
          b, vector, vector,
          llvm::to_vector(llvm::seq<int64_t>(from, from + half)));
    };
    vector = combine(kind, lanes(0), lanes(half));
  }
  return vector::ExtractOp::create(b, vector, 0);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::getRoots(ArrayRef<RowReduceOp> reductions,
                                     ArrayRef<unsigned> storeNumbers) {
  SmallVector<Value> roots;
  for (RowReduceOp reduction : reductions)
    roots.push_back(reduction.getInput());
  for (unsigned number : storeNumbers)
    roots.push_back(yield.getValues()[number]);
  return roots;
}

void Emitter::emitStep(Step step, Value column,
                       ArrayRef<RowReduceOp> reductions,
                       ArrayRef<unsigned> storeNumbers,
                       MutableArrayRef<Columns> accumulators) {
  SmallVector<Value> roots = getRoots(reductions, storeNumbers);
  SetVector<Value> arguments;
  SmallVector<Operation *> slice = getColumnSlice(roots, arguments);

  DenseMap<Value, Columns> values;
  for (Value argument : arguments)
    values[argument] =
        load(loads[cast<BlockArgument>(argument).getArgNumber()], step, column);
  for (Operation *op : slice)
    for (auto [result, columns] :
         llvm::zip(op->getResults(), emitColumnOp(op, step, column, values)))
      values[result] = columns;
  for (auto [reduction, accumulator] : llvm::zip(reductions, accumulators)) {
    RowReduceOp op = reduction;
    for (auto [u, value] :
         llvm::enumerate(getColumns(op.getInput(), step, values))) {
      Value &own = accumulator[u % accumulator.size()];
      own = combine(op.getKind(), own, value);
    }
  }
  for (unsigned number : storeNumbers)
    store(stores[number], step, column,
          getColumns(yield.getValues()[number], step, values));
}

void Emitter::emitPass(ArrayRef<RowReduceOp> reductions,
                       ArrayRef<unsigned> storeNumbers) {
  // Row-uniform operands of the loop are computed before it.
  SmallVector<Value> roots = getRoots(reductions, storeNumbers);
  SetVector<Value> arguments;
  for (Operation *op : getColumnSlice(roots, arguments))
    llvm::append_range(roots, op->getOperands());
  for (Value root : roots)
    if (!isColumn(root))
      uniform(root);

  int64_t cols = kernel.getCols(), done = 0;
  // As many steps as still fit; a single one needs no loop.
  auto run = [&](Step step, MutableArrayRef<Columns> accumulators) {
    int64_t trips = (cols - done) / step.columns();
    Value begin = i64(done);
    done += trips * step.columns();
    if (trips == 1)
      return emitStep(step, begin, reductions, storeNumbers, accumulators);
    if (trips == 0)
      return;
    SmallVector<Value> flat;
    for (const Columns &accumulator : accumulators)
      llvm::append_range(flat, accumulator);
    auto assign = [&](ValueRange values) {
      for (Columns &accumulator : accumulators) {
        llvm::copy(values.take_front(accumulator.size()), accumulator.begin());
        values = values.drop_front(accumulator.size());
      }
    };
    auto loop =
        scf::ForOp::create(b, begin, i64(done), i64(step.columns()), flat);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      assign(loop.getRegionIterArgs());
      emitStep(step, loop.getInductionVar(), reductions, storeNumbers,
               accumulators);
      flat.clear();
      for (const Columns &accumulator : accumulators)
        llvm::append_range(flat, accumulator);
      // With no results the builder has made a terminator already.
      if (!flat.empty())
        scf::YieldOp::create(b, flat);
    }
    assign(loop.getResults());
  };
  auto initial = [&](int64_t width, int64_t count) {
    SmallVector<Columns> accumulators;
    for (RowReduceOp reduction : reductions)
      accumulators.emplace_back(
          count,
          identity(reduction.getKind(), widen(reduction.getType(), width)));
    return accumulators;
  };

  // Steps of half the size take what a larger one leaves; the last columns are
  // scalars.
  SmallVector<Columns> vectors =
      initial(kWidth, std::min(cols / kWidth, kAccumulators));
  for (int64_t vectorsPerStep = unroll; vectorsPerStep >= 1;
       vectorsPerStep /= 2)
    run({kWidth, vectorsPerStep}, vectors);
  SmallVector<Columns> scalars = initial(1, 1);
  run({1, 1}, scalars);

  for (auto [number, reduction] : llvm::enumerate(reductions)) {
    RowReduceOp op = reduction;
    ReduceKind kind = op.getKind();
    Value total = scalars[number].front();
    // Neighbours first.
    Columns &parts = vectors[number];
    while (parts.size() > 1) {
      Columns pairs;
      for (unsigned i = 0; i + 1 < parts.size(); i += 2)
        pairs.push_back(combine(kind, parts[i], parts[i + 1]));
      if (parts.size() % 2)
        pairs.push_back(parts.back());
      parts = pairs;
    }
    if (!parts.empty())
      total = combine(kind, reduceLanes(kind, parts.front()), total);
    uniforms[op.getResult()] = total;
  }
}

void Emitter::emitRow() {
  for (Access &access : llvm::concat<Access>(loads, stores))
    if (access.contiguous)
      access.rowAddress = address(access, i64(0));

  unsigned last = 0;
  for (auto reduction : body->getOps<RowReduceOp>())
    last = std::max(last, generation(reduction.getResult()));
  for (unsigned number = 1; number <= last; ++number) {
    SmallVector<RowReduceOp> reductions;
    for (auto reduction : body->getOps<RowReduceOp>())
      if (generation(reduction.getResult()) == number)
        reductions.push_back(reduction);
    emitPass(reductions, {});
  }

  SmallVector<unsigned> perColumn;
  for (auto [number, access] : llvm::enumerate(stores)) {
    if (access.perColumn)
      perColumn.push_back(number);
    else
      store(access, {1, 1}, i64(0), {uniform(yield.getValues()[number])});
  }
  if (!perColumn.empty())
    emitPass({}, perColumn);
}

LLVM::LLVMFuncOp Emitter::emit(StringRef name) {
  analyse();
  Type i64Type = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64Type, i64Type});
  auto function =
      LLVM::LLVMFuncOp::create(b, name, type, LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  unsigned count = kernel.getInputs().size() + kernel.getNumResults();
  for (unsigned i = 0; i < count; ++i)
    pointers.push_back(LLVM::LoadOp::create(
        b, pointer,
        LLVM::GEPOp::create(b, pointer, pointer, entry->getArgument(0),
                            ValueRange(i64(i)))));
  auto rows = scf::ForOp::create(b, entry->getArgument(1),
                                 entry->getArgument(2), i64(1));
  LLVM::ReturnOp::create(b, ValueRange());
  b.setInsertionPointToStart(rows.getBody());
  row = rows.getInductionVar();
  emitRow();
  return function;
}

LLVM::LLVMFuncOp sp::emitCpuRowKernel(OpBuilder &builder, RowKernelOp kernel,
                                      StringRef name) {
  return Emitter(builder, kernel).emit(name);
}
