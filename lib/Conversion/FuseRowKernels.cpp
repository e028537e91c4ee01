//===- FuseRowKernels.cpp - one pass over a row for a chain of kernels ----===//
//
// A kernel that reads, at its own row and column, what another one stores there
// takes over the other's body: the value between them stays in a register. It
// is used as it would have been stored, rounded to its type, and the emitter
// makes a value's bits independent of what surrounds it, so results do not
// change by a bit.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/SetVector.h"

namespace sp {
#define GEN_PASS_DEF_SPFUSEROWKERNELS
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

static Block &getBody(RowKernelOp kernel) { return kernel.getBody().front(); }

static ValueRange getYielded(RowKernelOp kernel) {
  return cast<YieldOp>(getBody(kernel).getTerminator()).getValues();
}

//===----------------------------------------------------------------------===//
// What may be fused
//===----------------------------------------------------------------------===//

/// The value of the producer's body that is at `map`'s offset in `result`; null
/// if that is not one value of the same row and column.
static Value getStoredValue(OpResult result, AffineMap map) {
  auto producer = cast<RowKernelOp>(result.getOwner());
  Value stored;
  for (auto [value, storedMap, target] :
       llvm::zip(getYielded(producer),
                 producer.getOutputMaps().getAsValueRange<AffineMapAttr>(),
                 producer.getOutputResults())) {
    if (target != static_cast<int64_t>(result.getResultNumber()))
      continue;
    if (stored || storedMap != map)
      return {};
    stored = value;
  }
  // A kernel stores all elements of its results. If there are as many as
  // stores, no two rows or columns share one.
  int64_t stores = producer.getRows();
  if (map.isFunctionOfDim(1))
    stores *= producer.getCols();
  auto type = cast<RankedTensorType>(result.getType());
  return type.getNumElements() == stores ? stored : Value();
}

/// Whether the body has functions that cost more than the memory traffic that
/// fusion saves, when each loop over the columns of a row repeats them.
static bool isExpensive(RowKernelOp kernel) {
  return llvm::any_of(getBody(kernel), [](Operation &op) {
    return op.getName().getDialectNamespace() == "math" &&
           !isa<math::SqrtOp, math::FmaOp, math::AbsFOp>(op);
  });
}

static bool hasReductions(RowKernelOp kernel) {
  return !getBody(kernel).getOps<RowReduceOp>().empty();
}

static bool canFuse(RowKernelOp producer, RowKernelOp consumer) {
  if (producer->getBlock() != consumer->getBlock() ||
      producer.getRows() != consumer.getRows() ||
      producer.getCols() != consumer.getCols())
    return false;
  if (hasReductions(consumer) && isExpensive(producer))
    return false;
  for (auto [input, map] :
       llvm::zip(consumer.getInputs(),
                 consumer.getInputMaps().getAsValueRange<AffineMapAttr>()))
    if (input.getDefiningOp() == producer &&
        !getStoredValue(cast<OpResult>(input), map))
      return false;
  // The two run where the consumer is.
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    Operation *inBlock = consumer->getBlock()->findAncestorOpInBlock(*user);
    return inBlock == consumer ||
           (inBlock && consumer->isBeforeInBlock(inBlock));
  });
}

//===----------------------------------------------------------------------===//
// Fusing
//===----------------------------------------------------------------------===//

/// Replaces the two by one kernel where the consumer is.
static RowKernelOp fuse(RowKernelOp producer, RowKernelOp consumer) {
  // What it reads: both kernels' inputs, without what goes between them.
  llvm::SetVector<std::pair<Value, AffineMap>> inputs;
  for (RowKernelOp kernel : {producer, consumer})
    for (auto [input, map] :
         llvm::zip(kernel.getInputs(),
                   kernel.getInputMaps().getAsValueRange<AffineMapAttr>()))
      if (input.getDefiningOp() != producer)
        inputs.insert({input, map});

  // What it stores: what the producer's other users need, and the consumer's.
  SmallVector<OpResult> results;
  for (OpResult result : producer->getResults())
    if (llvm::any_of(result.getUsers(),
                     [&](Operation *user) { return user != consumer; }))
      results.push_back(result);
  llvm::append_range(results, consumer->getResults());
  SmallVector<Value> stored;
  SmallVector<AffineMap> outputMaps;
  SmallVector<int64_t> outputResults;
  for (auto [number, result] : llvm::enumerate(results)) {
    auto kernel = cast<RowKernelOp>(result.getOwner());
    for (auto [value, map, target] :
         llvm::zip(getYielded(kernel),
                   kernel.getOutputMaps().getAsValueRange<AffineMapAttr>(),
                   kernel.getOutputResults())) {
      if (target != static_cast<int64_t>(result.getResultNumber()))
        continue;
      stored.push_back(value);
      outputMaps.push_back(map);
      outputResults.push_back(number);
    }
  }

  OpBuilder builder(consumer);
  Location loc = builder.getFusedLoc({producer.getLoc(), consumer.getLoc()});
  auto fused = RowKernelOp::create(
      builder, loc,
      llvm::map_to_vector(results,
                          [](OpResult result) { return result.getType(); }),
      llvm::map_to_vector(inputs,
                          [](const auto &input) { return input.first; }),
      consumer.getRows(), consumer.getCols(),
      builder.getAffineMapArrayAttr(llvm::map_to_vector(
          inputs, [](const auto &input) { return input.second; })),
      builder.getAffineMapArrayAttr(outputMaps),
      builder.getDenseI64ArrayAttr(outputResults));

  Block &body = fused.getBody().emplaceBlock();
  for (auto [input, map] : inputs)
    body.addArgument(getElementTypeOrSelf(input), input.getLoc());
  builder.setInsertionPointToEnd(&body);
  IRMapping mapping;
  for (RowKernelOp kernel : {producer, consumer}) {
    for (auto [argument, input, map] :
         llvm::zip(getBody(kernel).getArguments(), kernel.getInputs(),
                   kernel.getInputMaps().getAsValueRange<AffineMapAttr>())) {
      auto own = llvm::find(inputs, std::pair(input, map));
      mapping.map(argument, own != inputs.end()
                                ? Value(body.getArgument(own - inputs.begin()))
                                : mapping.lookup(getStoredValue(
                                      cast<OpResult>(input), map)));
    }
    for (Operation &op : getBody(kernel).without_terminator())
      builder.clone(op, mapping);
  }
  YieldOp::create(builder, loc, llvm::map_to_vector(stored, [&](Value value) {
                    return mapping.lookup(value);
                  }));

  for (auto [old, result] : llvm::zip(results, fused->getResults()))
    old.replaceAllUsesWith(result);
  consumer.erase();
  producer.erase();
  return fused;
}

/// Fuses the producers of `kernel`'s inputs into it, and theirs in turn.
static unsigned fuseProducers(RowKernelOp kernel) {
  unsigned count = 0;
  for (unsigned i = 0; i < kernel.getInputs().size();) {
    auto producer = kernel.getInputs()[i].getDefiningOp<RowKernelOp>();
    if (producer && canFuse(producer, kernel)) {
      kernel = fuse(producer, kernel);
      ++count;
      i = 0;
    } else {
      ++i;
    }
  }
  return count;
}

namespace {
struct FuseRowKernels : sp::impl::SPFuseRowKernelsBase<FuseRowKernels> {
  void runOnOperation() override {
    // A kernel is visited after those that it reads, which take in their own
    // producers first.
    SmallVector<RowKernelOp> kernels;
    getOperation().walk([&](RowKernelOp kernel) { kernels.push_back(kernel); });
    for (RowKernelOp kernel : kernels)
      numFused += fuseProducers(kernel);
  }
};
} // namespace
