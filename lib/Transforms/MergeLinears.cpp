//===- MergeLinears.cpp - one contraction for linears of one operand ------===//
//
// The query, key and value projections of a value, and the gate and up ones,
// become one linear. Its weight has in each rank's part the parts of theirs:
//
//   weight  = collapse(pack(w1, w2, ...))    [n1,K], [n2,K] -> [T,r·K] -> [N,K]
//   y1, ... = unpack(expand(linear(x, weight)))   [..,N] -> [..,T,r] -> [..,n1]
//
// The parameters stay what they are: packing is a part of the program, so a
// checkpoint, an optimizer and a gradient see the original names and shapes.
// Backward too there is one linear where there were several, by the rules of
// these ops.
//
//===----------------------------------------------------------------------===//

#include "LayoutUtils.h"
#include "StraightLine.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace sp {
#define GEN_PASS_DEF_SPMERGELINEARS
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {

/// Linears of one operand that one can stand for, where the first of them is.
class Merger {
public:
  Merger(ArrayRef<LinearOp> linears, MeshOp mesh);

  void merge();

private:
  RankedTensorType getType(ArrayRef<int64_t> shape, Type like) const;
  /// The parameters in one, of `shape`.
  Value pack(ArrayRef<Value> parameters, ArrayRef<int64_t> shape);

  ArrayRef<LinearOp> linears;
  ImplicitLocOpBuilder b;
  /// The output features, and in how many pieces each weight has its own.
  int64_t features = 0, pieces;
};

struct MergeLinears : sp::impl::SPMergeLinearsBase<MergeLinears> {
  void runOnOperation() override;

private:
  void runOnBlock(Block &block, MeshOp mesh);
};

} // namespace

static Location fuseLocations(ArrayRef<LinearOp> linears) {
  auto locations = llvm::map_to_vector(
      linears, [](LinearOp linear) { return linear.getLoc(); });
  return FusedLoc::get(LinearOp(linears.front()).getContext(), locations);
}

/// One for each rank that has a part, and more than one of what may be sharded:
/// a reshape carries no shard of a dimension of 1.
static int64_t getNumPieces(LinearOp linear, MeshOp mesh) {
  for (const AxisEntry &entry : getLayoutEntries(linear.getWeight().getType()))
    if (entry.layout.isShard())
      return std::max<int64_t>(mesh.getAxisSize(entry.axis), 2);
  return 1;
}

Merger::Merger(ArrayRef<LinearOp> linears, MeshOp mesh)
    : linears(linears), b(fuseLocations(linears), LinearOp(linears.front())),
      pieces(getNumPieces(linears.front(), mesh)) {
  for (LinearOp linear : linears)
    features += shapeOf(linear.getWeight()).front();
}

RankedTensorType Merger::getType(ArrayRef<int64_t> shape, Type like) const {
  auto type = cast<RankedTensorType>(like);
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

/// `numDims` dimensions, of which `first` and the next are one.
static SmallVector<ReassociationIndices> joinDims(int64_t numDims,
                                                  int64_t first) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < numDims; ++dim) {
    if (dim != first + 1)
      groups.emplace_back();
    groups.back().push_back(dim);
  }
  return groups;
}

Value Merger::pack(ArrayRef<Value> parameters, ArrayRef<int64_t> shape) {
  Type like = parameters.front().getType();
  SmallVector<int64_t> rows{pieces, llvm::product_of(shape) / pieces};
  Value packed = PackOp::create(b, getType(rows, like), parameters);
  SmallVector<int64_t> split{pieces, shape.front() / pieces};
  llvm::append_range(split, shape.drop_front());
  if (split.size() > rows.size())
    packed = tensor::ExpandShapeOp::create(b, getType(split, like), packed,
                                           joinDims(split.size(), 1));
  return tensor::CollapseShapeOp::create(b, getType(shape, like), packed,
                                         joinDims(split.size(), 0));
}

void Merger::merge() {
  LinearOp first = linears.front();
  SmallVector<Value> weights, biases;
  SmallVector<Type> types;
  for (LinearOp linear : linears) {
    weights.push_back(linear.getWeight());
    if (Value bias = linear.getBias())
      biases.push_back(bias);
    types.push_back(linear.getType());
  }
  Value weight = pack(weights, {features, shapeOf(weights.front()).back()});
  Value bias = biases.empty() ? Value() : pack(biases, features);
  SmallVector<int64_t> shape(shapeOf(first.getResult()));
  int64_t last = shape.size() - 1;
  shape[last] = features;
  Value product = LinearOp::create(b, getType(shape, types.front()),
                                   first.getInput(), weight, bias);
  shape[last] = pieces;
  shape.push_back(features / pieces);
  Value rows = tensor::ExpandShapeOp::create(b, getType(shape, types.front()),
                                             product, joinDims(last + 2, last));
  auto unpacked = UnpackOp::create(b, types, rows);
  for (auto [linear, value] : llvm::zip(linears, unpacked.getResults())) {
    LinearOp(linear).getResult().replaceAllUsesWith(value);
    LinearOp(linear).erase();
  }
}

/// True if whatever shards the weight shards the output features.
static bool isColumnParallel(LinearOp linear) {
  return llvm::all_of(getLayoutEntries(linear.getWeight().getType()),
                      [](const AxisEntry &entry) {
                        return !entry.layout.isShard() ||
                               entry.layout == AxisLayout::shard(0);
                      });
}

/// True if the value is there before the op.
static bool isThere(Value value, Operation *op) {
  Operation *source = value.getDefiningOp();
  return !source || source->isBeforeInBlock(op);
}

/// True if the op's parameters are there before `first`, or are copied (cast,
/// ...) from what is; then moves that. What another linear makes stays: that
/// one may be `first`, or about to be merged there.
static bool bringParameters(LinearOp linear, Operation *first) {
  SmallVector<Operation *> moved;
  for (Value parameter : linear->getOperands().drop_front()) {
    if (isThere(parameter, first))
      continue;
    Operation *source = parameter.getDefiningOp();
    if (isa<LinearOp>(source) || !isPure(source) ||
        llvm::any_of(source->getOperands(),
                     [&](Value v) { return !isThere(v, first); }))
      return false;
    moved.push_back(source);
  }
  for (Operation *op : moved)
    op->moveBefore(first);
  return true;
}

void MergeLinears::runOnBlock(Block &block, MeshOp mesh) {
  // Of one operand, with parameters of one kind.
  using Key = std::tuple<Value, Type, Attribute, Type>;
  llvm::MapVector<Key, SmallVector<LinearOp>> groups;
  for (auto linear : block.getOps<LinearOp>()) {
    if (!isColumnParallel(linear) ||
        shapeOf(linear.getWeight()).front() % getNumPieces(linear, mesh))
      continue;
    RankedTensorType weight = tensorType(linear.getWeight());
    Type bias = linear.getBias()
                    ? tensorType(linear.getBias()).clone(ArrayRef<int64_t>{})
                    : Type();
    SmallVector<LinearOp> &group =
        groups[{linear.getInput(), weight.getElementType(),
                weight.getEncoding(), bias}];
    if (group.empty() || bringParameters(linear, group.front()))
      group.push_back(linear);
  }
  for (auto &[key, group] : groups)
    if (group.size() > 1) {
      Merger(group, mesh).merge();
      numMerged += group.size();
    }
}

void MergeLinears::runOnOperation() {
  ModuleOp module = getOperation();
  if (failed(verifyStraightLine(module, "sp-merge-linears", "C1")))
    return signalPassFailure();
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      runOnBlock(function.front(), MeshOp::lookup(module));
}
