//===- RowKernelEmitter.cpp - CPU code for row kernels --------------------===//
//
// Writes vectors directly: a loop over rows, and in it one loop over columns for
// each generation of row reductions, then one that stores. A value that several
// loops need is computed again from the inputs, which are in L1 by then. Each op
// is emitted for several vectors in a row (interleaved), which is where the
// instruction-level parallelism comes from.
//
// A row's code depends only on its columns, so its bits are the same whichever
// rows are computed with it.
//
//===----------------------------------------------------------------------===//

#include "sp/Conversion/RowKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sp;

namespace {

/// How many columns one step of a column loop handles: `unroll` vectors of `width`.
struct Step {
  int64_t width, unroll;
  int64_t columns() const { return width * unroll; }
};

/// A column value: one SSA value (a vector, or a scalar if the width is 1) for
/// each of the step's vectors.
using Columns = SmallVector<Value, 4>;

class Emitter {
public:
  Emitter(OpBuilder &builder, RowKernelOp kernel)
      : kernel(kernel), body(&kernel.getBody().front()),
        b(kernel.getLoc(), builder), pointer(LLVM::LLVMPointerType::get(
                                         builder.getContext())) {}

  LLVM::LLVMFuncOp emit(StringRef name);

private:
  // What the body says, found once.
  void analyse();
  /// The number of reductions that come before a value, one after the other.
  unsigned generation(Value value) const { return generations.lookup(value); }
  bool isColumn(Value value) const { return columnValues.contains(value); }
  /// The column ops, in order, that `roots` need, without what is row-uniform.
  SmallVector<Operation *> getColumnSlice(ArrayRef<Value> roots,
                                          SetVector<Value> &loads);

  // Addresses.
  Value i64(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 64);
  }
  Value expand(AffineExpr expr, Value row);
  int64_t columnStride(AffineMap map) const;
  /// The address of (row, 0) of operand `index` through `map`.
  Value rowAddress(unsigned index, AffineMap map, Value row);
  Value address(Value base, Type element, Value offset) {
    return LLVM::GEPOp::create(b, pointer, element, base, ValueRange(offset));
  }

  // Code.
  void emitRow(Value row);
  /// A row-uniform value.
  Value uniform(Value value);
  Value combine(ReduceKind kind, Value x, Value y);
  Value identity(ReduceKind kind, Type type);
  /// One loop over all columns: `reductions`, then `stores`.
  void emitPass(ArrayRef<RowReduceOp> reductions, ArrayRef<unsigned> stores);
  /// The body of a step at column `col`; updates the accumulators.
  void emitStep(Step step, Value col, ArrayRef<RowReduceOp> reductions,
                ArrayRef<unsigned> stores,
                SmallVectorImpl<Columns> &accumulators);
  Columns emitColumnOp(Operation *op, Step step, Value col,
                       DenseMap<Value, Columns> &values);
  Columns operandColumns(Value value, Step step,
                         DenseMap<Value, Columns> &values);
  Value emitExp(Value x);

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
  ImplicitLocOpBuilder b;
  Type pointer;

  DenseMap<Value, unsigned> generations;
  DenseSet<Value> columnValues;
  SmallVector<AffineMap> inputMaps, outputMaps;
  int64_t width = 1, unroll = 1;

  /// Per function: the operands' pointers. Per row: the addresses of column 0 of
  /// inputs and stores, and row-uniform values.
  SmallVector<Value> pointers;
  SmallVector<Value> inputRows, outputRows;
  DenseMap<Value, Value> uniforms;
};

} // namespace

//===----------------------------------------------------------------------===//
// What the body says
//===----------------------------------------------------------------------===//

/// No NaN or infinity is assumed away: a loss that is NaN must stay NaN.
static constexpr arith::FastMathFlags kFastMath =
    arith::FastMathFlags::contract | arith::FastMathFlags::nsz;

void Emitter::analyse() {
  for (AffineMap map : kernel.getInputMaps().getAsValueRange<AffineMapAttr>())
    inputMaps.push_back(map);
  for (AffineMap map : kernel.getOutputMaps().getAsValueRange<AffineMapAttr>())
    outputMaps.push_back(map);
  for (auto [argument, map] : llvm::zip(body->getArguments(), inputMaps))
    if (map.isFunctionOfDim(1))
      columnValues.insert(argument);
  bool hasF64 = false, hasExp = false;
  for (Operation &op : body->without_terminator()) {
    unsigned latest = 0;
    bool column = isa<ColIndexOp>(op);
    for (Value operand : op.getOperands()) {
      latest = std::max(latest, generation(operand));
      column |= isColumn(operand);
    }
    bool reduces = isa<RowReduceOp>(op);
    for (Value result : op.getResults()) {
      generations[result] = latest + reduces;
      if (column && !reduces)
        columnValues.insert(result);
      hasF64 |= result.getType().isF64() && (column || reduces);
    }
    hasExp |= isa<math::ExpOp>(op) && column;
  }
  for (Value argument : body->getArguments())
    hasF64 |= argument.getType().isF64();

  // Vectors need columns side by side in everything that is read and written.
  bool contiguous = true;
  for (AffineMap map : llvm::concat<AffineMap>(inputMaps, outputMaps))
    if (map.isFunctionOfDim(1) && columnStride(map) != 1)
      contiguous = false;
  if (contiguous) {
    width = hasF64 ? 8 : 16;
    unroll = hasExp && !hasF64 ? 8 : 4;
  }
}

/// The coefficient of the column in a map; 0 if there is none. Maps are linear in
/// the column (it is the last dimension of what it runs over) or are not vectors.
int64_t Emitter::columnStride(AffineMap map) const {
  MLIRContext *context = map.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  AffineExpr one = getAffineConstantExpr(1, context);
  AffineExpr difference = simplifyAffineExpr(
      map.getResult(0).replaceDims({zero, one}) -
          map.getResult(0).replaceDims({zero, zero}),
      2, 0);
  auto constant = dyn_cast<AffineConstantExpr>(difference);
  return constant ? constant.getValue() : 0;
}

SmallVector<Operation *> Emitter::getColumnSlice(ArrayRef<Value> roots,
                                                 SetVector<Value> &loads) {
  SetVector<Value> needed;
  for (Value root : roots)
    if (isColumn(root))
      needed.insert(root);
  for (unsigned i = 0; i < needed.size(); ++i) {
    Operation *def = needed[i].getDefiningOp();
    if (!def) {
      loads.insert(needed[i]);
      continue;
    }
    for (Value operand : def->getOperands())
      if (isColumn(operand))
        needed.insert(operand);
  }
  SmallVector<Operation *> slice;
  for (Operation &op : body->without_terminator())
    if (op.getNumResults() && needed.contains(op.getResult(0)))
      slice.push_back(&op);
  return slice;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// An expression of the row, at column 0.
Value Emitter::expand(AffineExpr expr, Value row) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == 0 ? row : i64(0);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return i64(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = expand(binary.getLHS(), row), rhs = expand(binary.getRHS(), row);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(b, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(b, lhs, rhs);
  case AffineExprKind::FloorDiv: // Offsets are not negative.
    return arith::DivUIOp::create(b, lhs, rhs);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(b, lhs, rhs);
  default:
    llvm_unreachable("not in the maps that the op's verifier accepts");
  }
}

Value Emitter::rowAddress(unsigned index, AffineMap map, Value row) {
  Value operand = index < kernel.getInputs().size()
                      ? kernel.getInputs()[index]
                      : kernel.getResult(index - kernel.getInputs().size());
  Type element = cast<RankedTensorType>(operand.getType()).getElementType();
  return address(pointers[index], element, expand(map.getResult(0), row));
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Value Emitter::combine(ReduceKind kind, Value x, Value y) {
  if (kind == ReduceKind::Sum)
    return arith::AddFOp::create(b, x, y, kFastMath);
  return arith::MaximumFOp::create(b, x, y); // Propagates NaN.
}

Value Emitter::identity(ReduceKind kind, Type type) {
  return number(type, kind == ReduceKind::Sum
                          ? 0.0
                          : -std::numeric_limits<double>::infinity());
}

/// 2^x by a polynomial on [-1/2, 1/2] and an exponent; relative error below 1e-7.
/// Below -104 the result is 0 in f32 anyway, and the conversion to an integer must
/// stay in range; a NaN fails the comparison and goes through.
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
  fraction =
      math::FmaOp::create(b, x, number(type, 1.92596299112661746887e-8), fraction);
  Value p = number(type, 1.535336188319500e-4);
  for (double c : {1.339887440266574e-3, 9.618437357674640e-3,
                   5.550332471162809e-2, 2.402264791363012e-1,
                   6.931472028550421e-1, 1.0})
    p = fma(p, fraction, c);
  Type integer = widen(b.getI32Type(), isa<VectorType>(type) ? width : 1);
  Value exponent = arith::FPToSIOp::create(b, integer, whole);
  std::string intrinsic =
      isa<VectorType>(type)
          ? ("llvm.ldexp.v" + Twine(width) + "f32.v" + Twine(width) + "i32").str()
          : "llvm.ldexp.f32.i32";
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(intrinsic),
                                       ValueRange{p, exponent})
      .getResult(0);
}

/// An op on scalars, on vectors of them.
static Operation *cloneWidened(ImplicitLocOpBuilder &b, Operation *op,
                               ValueRange operands, TypeRange types) {
  OperationState state(b.getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttributes(op->getAttrs());
  Operation *clone = b.create(state);
  if (auto fast = dyn_cast<arith::ArithFastMathInterface>(clone))
    clone->setAttr(fast.getFastMathAttrName(),
                   arith::FastMathFlagsAttr::get(b.getContext(), kFastMath));
  return clone;
}

Value Emitter::uniform(Value value) {
  if (Value known = uniforms.lookup(value))
    return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = LLVM::LoadOp::create(b, argument.getType(),
                                  inputRows[argument.getArgNumber()]);
  } else {
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(uniform(operand));
    if (isa<math::ExpOp>(op) && value.getType().isF32())
      result = emitExp(operands[0]);
    else if (isa<RowReduceOp>(op))
      llvm_unreachable("a reduction's value is known after its pass");
    else
      result = cloneWidened(b, op, operands, op->getResultTypes())
                   ->getResult(cast<OpResult>(value).getResultNumber());
  }
  return uniforms[value] = result;
}

Columns Emitter::operandColumns(Value value, Step step,
                                DenseMap<Value, Columns> &values) {
  if (isColumn(value))
    return values.lookup(value);
  return Columns(step.unroll, splat(uniforms.lookup(value), step.width));
}

Columns Emitter::emitColumnOp(Operation *op, Step step, Value col,
                              DenseMap<Value, Columns> &values) {
  Columns result;
  if (isa<ColIndexOp>(op)) {
    Type type = widen(b.getI64Type(), step.width);
    for (int64_t u = 0; u < step.unroll; ++u) {
      Value first = arith::AddIOp::create(b, col, i64(u * step.width));
      Value index = splat(first, step.width);
      if (step.width > 1) {
        SmallVector<int64_t> numbers =
            llvm::to_vector(llvm::seq<int64_t>(0, step.width));
        Value lanes = arith::ConstantOp::create(
            b, DenseElementsAttr::get(cast<ShapedType>(type),
                                      ArrayRef<int64_t>(numbers)));
        index = arith::AddIOp::create(b, index, lanes);
      }
      result.push_back(index);
    }
    return result;
  }
  SmallVector<Columns> operands;
  for (Value operand : op->getOperands())
    operands.push_back(operandColumns(operand, step, values));
  Type type = widen(op->getResult(0).getType(), step.width);
  bool exp = isa<math::ExpOp>(op) && op->getResult(0).getType().isF32();
  for (int64_t u = 0; u < step.unroll; ++u) {
    SmallVector<Value> own;
    for (const Columns &operand : operands)
      own.push_back(operand[u]);
    result.push_back(exp ? emitExp(own[0])
                         : cloneWidened(b, op, own, type)->getResult(0));
  }
  return result;
}

static unsigned getByteWidth(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

void Emitter::emitStep(Step step, Value col, ArrayRef<RowReduceOp> reductions,
                       ArrayRef<unsigned> stores,
                       SmallVectorImpl<Columns> &accumulators) {
  auto yield = cast<YieldOp>(body->getTerminator());
  SmallVector<Value> roots;
  for (RowReduceOp reduction : reductions)
    roots.push_back(reduction.getInput());
  for (unsigned store : stores)
    roots.push_back(yield.getValues()[store]);
  SetVector<Value> loads;
  SmallVector<Operation *> slice = getColumnSlice(roots, loads);

  auto at = [&](Value base, AffineMap map, Type element, int64_t u) {
    Value column = arith::AddIOp::create(b, col, i64(u * step.width));
    if (int64_t stride = columnStride(map); stride != 1)
      column = arith::MulIOp::create(b, column, i64(stride));
    return address(base, element, column);
  };
  DenseMap<Value, Columns> values;
  for (Value load : loads) {
    unsigned number = cast<BlockArgument>(load).getArgNumber();
    Type element = load.getType();
    Columns &columns = values[load];
    for (int64_t u = 0; u < step.unroll; ++u)
      columns.push_back(LLVM::LoadOp::create(
          b, widen(element, step.width),
          at(inputRows[number], inputMaps[number], element, u),
          getByteWidth(element)));
  }
  for (Operation *op : slice)
    values[op->getResult(0)] = emitColumnOp(op, step, col, values);
  for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
    RowReduceOp reduction = reductions[number];
    Columns input = operandColumns(reduction.getInput(), step, values);
    for (int64_t u = 0; u < step.unroll; ++u)
      accumulator[u] = combine(reduction.getKind(), accumulator[u], input[u]);
  }
  for (unsigned store : stores) {
    Value value = yield.getValues()[store];
    Columns columns = operandColumns(value, step, values);
    for (int64_t u = 0; u < step.unroll; ++u)
      LLVM::StoreOp::create(
          b, columns[u],
          at(outputRows[store], outputMaps[store], value.getType(), u),
          getByteWidth(value.getType()));
  }
}

void Emitter::emitPass(ArrayRef<RowReduceOp> reductions,
                       ArrayRef<unsigned> stores) {
  // Row-uniform operands of the loop are computed before it.
  auto yield = cast<YieldOp>(body->getTerminator());
  SmallVector<Value> roots;
  for (RowReduceOp reduction : reductions)
    roots.push_back(reduction.getInput());
  for (unsigned store : stores)
    roots.push_back(yield.getValues()[store]);
  SetVector<Value> loads;
  for (Operation *op : getColumnSlice(roots, loads))
    for (Value operand : op->getOperands())
      if (!isColumn(operand))
        uniform(operand);
  for (Value root : roots)
    if (!isColumn(root))
      uniform(root);

  int64_t cols = kernel.getCols();
  // Per reduction: the row's value so far, from the parts that are done.
  SmallVector<Value> totals(reductions.size());
  int64_t done = 0;
  // `count` columns in steps; accumulators are vectors across the steps.
  auto run = [&](Step step, int64_t count) {
    int64_t trips = count / step.columns();
    if (trips == 0)
      return;
    SmallVector<Value> initial;
    for (RowReduceOp reduction : reductions)
      initial.append(step.unroll, identity(reduction.getKind(),
                                           widen(reduction.getType(), step.width)));
    auto split = [&](ValueRange flat) {
      SmallVector<Columns> accumulators;
      for (unsigned i = 0; i < reductions.size(); ++i)
        accumulators.emplace_back(
            llvm::to_vector<4>(flat.slice(i * step.unroll, step.unroll)));
      return accumulators;
    };
    SmallVector<Columns> accumulators;
    if (trips == 1) {
      accumulators = split(initial);
      emitStep(step, i64(done), reductions, stores, accumulators);
    } else {
      auto loop = scf::ForOp::create(b, i64(done),
                                     i64(done + trips * step.columns()),
                                     i64(step.columns()), initial);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        SmallVector<Columns> inner = split(loop.getRegionIterArgs());
        emitStep(step, loop.getInductionVar(), reductions, stores, inner);
        SmallVector<Value> flat;
        for (const Columns &accumulator : inner)
          llvm::append_range(flat, accumulator);
        // With no results the builder has made a terminator already.
        if (!reductions.empty())
          scf::YieldOp::create(b, flat);
      }
      accumulators = split(loop.getResults());
    }
    for (auto [number, accumulator] : llvm::enumerate(accumulators)) {
      RowReduceOp reduction = reductions[number];
      // A tree over the vectors, then one over the lanes.
      while (accumulator.size() > 1) {
        Columns half;
        for (unsigned i = 0; i < accumulator.size(); i += 2)
          half.push_back(combine(reduction.getKind(), accumulator[i],
                                 accumulator[i + 1]));
        accumulator = half;
      }
      Value part = accumulator.front();
      if (step.width > 1)
        part = reduction.getKind() == ReduceKind::Sum
                   ? vector::ReductionOp::create(
                         b, vector::CombiningKind::ADD, part,
                         kFastMath | arith::FastMathFlags::reassoc)
                   : vector::ReductionOp::create(
                         b, vector::CombiningKind::MAXIMUMF, part);
      Value &total = totals[number];
      total = total ? combine(reduction.getKind(), total, part) : part;
    }
    done += trips * step.columns();
  };
  run({width, unroll}, cols - done);
  if (unroll > 1)
    run({width, 1}, cols - done);
  if (width > 1)
    run({1, 1}, cols - done);
  for (auto [number, total] : llvm::enumerate(totals))
    uniforms[RowReduceOp(reductions[number]).getResult()] = total;
}

void Emitter::emitRow(Value row) {
  unsigned numInputs = kernel.getInputs().size();
  for (auto [i, map] : llvm::enumerate(inputMaps))
    inputRows.push_back(rowAddress(i, map, row));
  for (auto [map, result] :
       llvm::zip(outputMaps, kernel.getOutputResults()))
    outputRows.push_back(rowAddress(numInputs + result, map, row));

  auto yield = cast<YieldOp>(body->getTerminator());
  unsigned last = 0;
  for (Operation &op : body->without_terminator())
    if (isa<RowReduceOp>(op))
      last = std::max(last, generation(op.getResult(0)));
  for (unsigned number = 1; number <= last; ++number) {
    SmallVector<RowReduceOp> reductions;
    for (auto reduction : body->getOps<RowReduceOp>())
      if (generation(reduction.getResult()) == number)
        reductions.push_back(reduction);
    emitPass(reductions, {});
  }
  SmallVector<unsigned> stores;
  for (auto [i, map] : llvm::enumerate(outputMaps)) {
    if (map.isFunctionOfDim(1)) {
      stores.push_back(i);
      continue;
    }
    Value value = yield.getValues()[i];
    LLVM::StoreOp::create(b, uniform(value), outputRows[i],
                          getByteWidth(value.getType()));
  }
  if (!stores.empty())
    emitPass({}, stores);
}

LLVM::LLVMFuncOp Emitter::emit(StringRef name) {
  analyse();
  Type i64Type = b.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64Type, i64Type});
  auto function = LLVM::LLVMFuncOp::create(b, name, type,
                                           LLVM::Linkage::Internal);
  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  unsigned count = kernel.getInputs().size() + kernel.getNumResults();
  for (unsigned i = 0; i < count; ++i)
    pointers.push_back(LLVM::LoadOp::create(
        b, pointer, address(entry->getArgument(0), pointer, i64(i))));
  auto rows = scf::ForOp::create(b, entry->getArgument(1), entry->getArgument(2),
                                 i64(1));
  LLVM::ReturnOp::create(b, ValueRange());
  b.setInsertionPointToStart(rows.getBody());
  emitRow(rows.getInductionVar());
  return function;
}

LLVM::LLVMFuncOp sp::emitCpuRowKernel(OpBuilder &builder, RowKernelOp kernel,
                                      StringRef name) {
  return Emitter(builder, kernel).emit(name);
}
