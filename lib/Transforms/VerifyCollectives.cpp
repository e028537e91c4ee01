//===- VerifyCollectives.cpp - later passes preserve the collectives ------===//
//
// After localisation no type says what a rank holds. What is left to check is
// that the program still runs the collectives that were verified, in order and
// on the same data: each record names what reaches the collective, at the
// granularity of arguments and other collectives, so that fusing or splitting
// local work changes nothing and rewiring does.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SparseBitVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/xxhash.h"

namespace sp {
#define GEN_PASS_DEF_SPVERIFYCOLLECTIVES
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
/// The arguments and collectives that reach each value without another
/// collective in between. Bit i is argument i, then come the collectives. What
/// travels packed in one vector is told apart again behind it.
class Origins {
public:
  explicit Origins(func::FuncOp function)
      : numArguments(function.getNumArguments()) {
    for (BlockArgument argument : function.getArguments())
      set(argument, argument.getArgNumber());
  }

  /// A collective's result, or one of the tensors in a packed vector: by itself.
  void addOwn(Value result) { set(result, numArguments + numOwn++); }
  /// The results of local work are reached by what reaches its operands.
  void addLocal(Operation *op);
  /// Forgets values whose last reader is `op`: only what is live is kept.
  void dropOperands(Operation *op);
  /// "[a0 c3]", or how many and a digest where a list would be long: a residual
  /// stream is reached by every layer before.
  std::string str(Value value) const;

private:
  void set(Value value, unsigned bit) { origins[value].set(bit); }

  unsigned numArguments, numOwn = 0;
  DenseMap<Value, llvm::SparseBitVector<>> origins;
  DenseMap<Value, unsigned> readers;
};
} // namespace

/// The arguments of `body` that `roots` are computed from; what they read from
/// outside goes to `outside`.
static SmallVector<BlockArgument> getArgumentsOf(Block &body,
                                                 ArrayRef<Value> roots,
                                                 SmallVector<Value> &outside) {
  llvm::SetVector<Value> needed(roots.begin(), roots.end());
  SmallVector<BlockArgument> arguments;
  for (unsigned i = 0; i < needed.size(); ++i) {
    Value value = needed[i];
    auto argument = dyn_cast<BlockArgument>(value);
    if (value.getParentBlock() != &body)
      outside.push_back(value);
    else if (argument)
      arguments.push_back(argument);
    else
      needed.insert(value.getDefiningOp()->operand_begin(),
                    value.getDefiningOp()->operand_end());
  }
  return arguments;
}

/// The values that a result depends on. Of ops that become kernels it must be
/// what their kernels say.
static SmallVector<Value> getInputsOf(Operation *op, unsigned result) {
  SmallVector<Value> inputs, roots;
  if (auto kernel = dyn_cast<RowKernelOp>(op)) {
    Block &body = kernel.getBody().front();
    for (auto [value, target] : llvm::zip(body.getTerminator()->getOperands(),
                                          kernel.getOutputResults()))
      if (target == static_cast<int64_t>(result))
        roots.push_back(value);
    for (BlockArgument argument : getArgumentsOf(body, roots, inputs))
      inputs.push_back(kernel.getInputs()[argument.getArgNumber()]);
    return inputs;
  }
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    Block &body = op->getRegion(0).front();
    roots.push_back(body.getTerminator()->getOperand(result));
    for (BlockArgument argument : getArgumentsOf(body, roots, inputs))
      inputs.push_back(linalgOp.getMatchingOpOperand(argument)->get());
    return inputs;
  }
  auto iface = dyn_cast<LayoutOpInterface>(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (!iface || iface.dependsOn(result, i))
      inputs.push_back(operand);
  return inputs;
}

void Origins::addLocal(Operation *op) {
  for (OpResult result : op->getResults()) {
    llvm::SparseBitVector<> joined;
    for (Value input : getInputsOf(op, result.getResultNumber()))
      if (auto it = origins.find(input); it != origins.end())
        joined |= it->second;
    origins[result] = std::move(joined);
  }
}

void Origins::dropOperands(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto [it, inserted] = readers.try_emplace(operand, 0);
    if (inserted)
      it->second = llvm::range_size(operand.getUses());
    if (--it->second == 0)
      origins.erase(operand);
  }
}

std::string Origins::str(Value value) const {
  SmallVector<uint32_t> bits;
  if (auto it = origins.find(value); it != origins.end())
    for (unsigned bit : it->second)
      bits.push_back(bit);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  if (bits.size() > 8) {
    ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(bits.data()),
                            bits.size() * sizeof(uint32_t));
    os << bits.size() << " values, "
       << llvm::format_hex(llvm::xxh3_64bits(bytes), 18);
  } else {
    llvm::interleave(
        bits, os,
        [&](unsigned bit) {
          if (bit < numArguments)
            os << "a" << bit;
          else
            os << "c" << bit - numArguments;
        },
        " ");
  }
  os << "]";
  return text;
}

/// One line per collective and per packed vector, and one per function result.
static SmallVector<std::string> getRecord(func::FuncOp function) {
  Origins origins(function);
  SmallVector<std::string> record;
  for (Operation &op : function.getBody().front()) {
    std::string line;
    llvm::raw_string_ostream os(line);
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      os << stringifyCollectiveKind(collective.getKind()) << " "
         << collective.getAxis();
      if (collective.getDim())
        os << " dim " << *collective.getDim();
      os << " " << collective.getInput().getType() << " from "
         << origins.str(collective.getInput());
      record.push_back(line);
      origins.addOwn(collective.getResult());
    } else if (auto pack = dyn_cast<PackOp>(op)) {
      os << "pack";
      for (Value input : pack.getInputs())
        os << " " << origins.str(input);
      record.push_back(line);
      origins.addLocal(&op);
    } else if (auto unpack = dyn_cast<UnpackOp>(op)) {
      for (Value output : unpack.getOutputs())
        origins.addOwn(output);
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      for (Value value : ret.getOperands()) {
        line.clear();
        os << "return " << value.getType() << " from " << origins.str(value);
        record.push_back(line);
      }
    } else {
      origins.addLocal(&op);
    }
    origins.dropOperands(&op);
  }
  return record;
}

void sp::recordCollectives(func::FuncOp function) {
  Builder builder(function.getContext());
  SmallVector<Attribute> lines;
  for (const std::string &line : getRecord(function))
    lines.push_back(builder.getStringAttr(line));
  function->setAttr(kCollectivesAttr, builder.getArrayAttr(lines));
}

LogicalResult sp::verifyCollectives(func::FuncOp function) {
  auto recorded = function->getAttrOfType<ArrayAttr>(kCollectivesAttr);
  if (!recorded || function.isDeclaration())
    return success();
  SmallVector<std::string> actual = getRecord(function);
  auto line = [&](unsigned i) {
    auto text = dyn_cast<StringAttr>(recorded[i]);
    return text ? text.getValue() : StringRef("<not a string>");
  };
  for (unsigned i = 0, e = std::max<size_t>(actual.size(), recorded.size());
       i < e; ++i) {
    StringRef was = i < recorded.size() ? line(i) : "nothing";
    StringRef is = i < actual.size() ? StringRef(actual[i]) : "nothing";
    if (was != is)
      return emitError(function.getLoc())
             << "the collectives differ from what was recorded: #" << i
             << " was `" << was << "`, now is `" << is << "` (C1)";
  }
  return success();
}

namespace {
struct VerifyCollectives
    : sp::impl::SPVerifyCollectivesBase<VerifyCollectives> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyCollectives(function)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
