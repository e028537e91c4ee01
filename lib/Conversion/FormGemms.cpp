//===- FormGemms.cpp - linalg contractions become matrix products ---------===//
//
// A contraction's loops fall into four groups: its batch, the rows and the
// columns of its result, and what is summed over. If each tensor has its groups
// one behind the other, and their loops in one order, it is a batch of dense
// matrices; if not, it is transposed.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/LinalgReductions.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Dialect/UniformSources.h"

namespace sp {
#define GEN_PASS_DEF_SPFORMGEMMS
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

using Loops = SmallVector<int64_t>;

/// One contraction.
class GemmFormer {
public:
  explicit GemmFormer(linalg::LinalgOp op)
      : op(op), builder(op), extents(op.getStaticLoopRanges()) {}

  /// False if it is no matrix product.
  bool form();

private:
  /// Finds the groups; false if a loop belongs to none.
  bool classify();
  Loops getLoops(OpOperand &operand);
  int64_t getSize(ArrayRef<int64_t> loops);
  /// Whether `loops` is `first` followed by `second`, but for loops of one
  /// iteration, which are nowhere in memory.
  bool isInOrder(ArrayRef<int64_t> loops, ArrayRef<Loops> groups);
  /// `value`, whose dimensions are `from`, with dimensions `to`.
  Value transpose(Value value, ArrayRef<int64_t> from, ArrayRef<int64_t> to);
  /// An input as a matrix of batch, `outer` and `inner`, or transposed.
  Value getMatrix(OpOperand &operand, const Loops &outer, const Loops &inner,
                  bool &transposed);

  linalg::LinalgOp op;
  OpBuilder builder;
  Loops extents;
  OpOperand *lhs = nullptr, *rhs = nullptr;
  Loops result, batch, rows, columns, summed;
};

} // namespace

static Loops concat(ArrayRef<Loops> groups) {
  Loops all;
  for (const Loops &group : groups)
    llvm::append_range(all, group);
  return all;
}

Loops GemmFormer::getLoops(OpOperand &operand) {
  Loops loops;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
    loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  return loops;
}

int64_t GemmFormer::getSize(ArrayRef<int64_t> loops) {
  int64_t size = 1;
  for (int64_t loop : loops)
    size *= extents[loop];
  return size;
}

bool GemmFormer::isInOrder(ArrayRef<int64_t> loops, ArrayRef<Loops> groups) {
  auto isLong = [&](int64_t loop) { return extents[loop] != 1; };
  return llvm::equal(llvm::make_filter_range(loops, isLong),
                     llvm::make_filter_range(concat(groups), isLong));
}

bool GemmFormer::classify() {
  lhs = op.getDpsInputOperand(0);
  rhs = op.getDpsInputOperand(1);
  result = getLoops(*op.getDpsInitOperand(0));
  Loops left = getLoops(*lhs), right = getLoops(*rhs);
  // The result's rows are the left factor's.
  for (int64_t loop : result) {
    bool inLeft = llvm::is_contained(left, loop);
    if (inLeft == llvm::is_contained(right, loop) || extents[loop] == 1)
      continue;
    if (!inLeft) {
      std::swap(lhs, rhs);
      std::swap(left, right);
    }
    break;
  }
  for (int64_t loop : result) {
    bool inLeft = llvm::is_contained(left, loop);
    bool inRight = llvm::is_contained(right, loop);
    if (!inLeft && !inRight)
      return false;
    (inLeft && inRight ? batch : inLeft ? rows : columns).push_back(loop);
  }
  for (int64_t loop : left)
    if (!llvm::is_contained(result, loop))
      summed.push_back(loop);
  return llvm::all_of(
             summed,
             [&](int64_t loop) { return llvm::is_contained(right, loop); }) &&
         left.size() == batch.size() + rows.size() + summed.size() &&
         right.size() == batch.size() + columns.size() + summed.size();
}

Value GemmFormer::transpose(Value value, ArrayRef<int64_t> from,
                            ArrayRef<int64_t> to) {
  Loops shape;
  SmallVector<int64_t> permutation;
  for (int64_t loop : to) {
    shape.push_back(extents[loop]);
    permutation.push_back(llvm::find(from, loop) - from.begin());
  }
  Value init = tensor::EmptyOp::create(builder, op.getLoc(), shape,
                                       tensorType(value).getElementType());
  return linalg::TransposeOp::create(builder, op.getLoc(), value, init,
                                     permutation)
      ->getResult(0);
}

Value GemmFormer::getMatrix(OpOperand &operand, const Loops &outer,
                            const Loops &inner, bool &transposed) {
  Loops loops = getLoops(operand);
  transposed = !isInOrder(loops, {batch, outer, inner}) &&
               isInOrder(loops, {batch, inner, outer});
  if (transposed || isInOrder(loops, {batch, outer, inner}))
    return operand.get();
  return transpose(operand.get(), loops, concat({batch, outer, inner}));
}

bool GemmFormer::form() {
  if (!classify())
    return false;
  bool transposeLeft, transposeRight;
  Value left = getMatrix(*lhs, rows, summed, transposeLeft);
  Value right = getMatrix(*rhs, summed, columns, transposeRight);

  Loops canonical = concat({batch, rows, columns});
  bool inOrder = isInOrder(result, {batch, rows, columns});
  Value init = op.getDpsInitOperand(0)->get();
  Operation *source = init.getDefiningOp();
  if (isZeroSource(source))
    init = {};
  else if (!inOrder)
    init = transpose(init, result, canonical);
  RankedTensorType type = tensorType(op->getResult(0));
  if (!inOrder) {
    Loops shape;
    for (int64_t loop : canonical)
      shape.push_back(extents[loop]);
    type = RankedTensorType::get(shape, type.getElementType());
  }
  Value product =
      GemmOp::create(builder, op.getLoc(), type, left, right, init,
                     getSize(batch), getSize(rows), getSize(columns),
                     getSize(summed), transposeLeft, transposeRight);
  if (!inOrder)
    product = transpose(product, canonical, result);
  op->getResult(0).replaceAllUsesWith(product);
  op->erase();
  eraseUnusedSource(source);
  return true;
}

namespace {
struct FormGemms : sp::impl::SPFormGemmsBase<FormGemms> {
  void runOnOperation() override;
};
} // namespace

/// Whether the runtime multiplies such tensors.
static bool hasOneFloatType(linalg::LinalgOp op) {
  auto first = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  if (!first)
    return false;
  Type element = first.getElementType();
  return (element.isF32() || element.isF64() || element.isBF16()) &&
         llvm::all_of(op->getOperandTypes(), [&](Type type) {
           auto tensor = dyn_cast<RankedTensorType>(type);
           return tensor && tensor.hasStaticShape() &&
                  tensor.getElementType() == element;
         });
}

void FormGemms::runOnOperation() {
  SmallVector<linalg::LinalgOp> contractions;
  getOperation().walk([&](linalg::LinalgOp op) {
    if (op.hasPureTensorSemantics() && isContraction(op) && hasOneFloatType(op))
      contractions.push_back(op);
  });
  for (linalg::LinalgOp op : contractions) {
    for (Type type : op->getOperandTypes())
      if (cast<RankedTensorType>(type).getEncoding()) {
        op->emitOpError("works on ") << type << "; run sp-localize first (C1)";
        return signalPassFailure();
      }
    if (GemmFormer(op).form())
      ++numGemms;
  }
}
