//===- LinalgReductions.cpp - what linalg ops with reductions compute -----===//

#include "sp/Dialect/LinalgReductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sp;

bool LinalgReduction::isSum() const {
  return isa<arith::AddFOp, arith::AddIOp>(combiner);
}

std::optional<LinalgReduction> sp::getReduction(linalg::LinalgOp op,
                                                unsigned result) {
  Block &body = op->getRegion(0).front();
  // `linalg.map` has no argument for its init, and no reductions.
  if (op.getNumReductionLoops() == 0)
    return std::nullopt;
  BlockArgument soFar =
      op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  Operation *combiner =
      body.getTerminator()->getOperand(result).getDefiningOp();
  if (!combiner || combiner->getBlock() != &body || !soFar.hasOneUse() ||
      *soFar.user_begin() != combiner || combiner->getNumOperands() != 2 ||
      combiner->getNumResults() != 1 || !combiner->getResult(0).hasOneUse())
    return std::nullopt;
  unsigned other = combiner->getOperand(0) == soFar ? 1 : 0;
  return LinalgReduction{combiner, combiner->getOperand(other)};
}

bool sp::isSum(linalg::LinalgOp op) {
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
    auto reduction = getReduction(op, i);
    if (!reduction || !reduction->isSum())
      return false;
  }
  return op->getNumResults() > 0;
}

bool sp::isContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || !isSum(op) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return false;
  Operation *product = getReduction(op, 0)->element.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product))
    return false;
  // Inputs may be widened first.
  auto getInput = [](Value value) {
    while (Operation *cast = value.getDefiningOp()) {
      if (!isa<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(cast))
        break;
      value = cast->getOperand(0);
    }
    return dyn_cast<BlockArgument>(value);
  };
  BlockArgument lhs = getInput(product->getOperand(0));
  BlockArgument rhs = getInput(product->getOperand(1));
  Block *body = &op->getRegion(0).front();
  return lhs && rhs && lhs.getOwner() == body && rhs.getOwner() == body &&
         lhs.getArgNumber() + rhs.getArgNumber() == 1;
}
