//===- Layout.cpp - layouts along one mesh axis, and rules for ops --------===//

#include "sp/Dialect/Layout.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Operation.h"
#include "sp/Dialect/SPDialect.h"
#include "sp/Dialect/SPInterfaces.h"

using namespace mlir;
using namespace sp;

std::string AxisLayout::str() const {
  switch (kind) {
  case LayoutKind::Invariant:
    return "invariant";
  case LayoutKind::Replicate:
    return "replicate";
  case LayoutKind::Shard:
    return "shard(" + std::to_string(dim) + ")";
  case LayoutKind::Partial:
    return "partial";
  case LayoutKind::Mixed:
    return "mixed";
  }
  llvm_unreachable("all kinds handled");
}

llvm::hash_code sp::hash_value(const AxisEntry &entry) {
  return llvm::hash_combine(entry.axis.getAsOpaquePointer(),
                            static_cast<int>(entry.layout.kind),
                            entry.layout.dim);
}

ArrayRef<AxisEntry> sp::getLayoutEntries(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto layout = tensor ? dyn_cast_or_null<LayoutAttr>(tensor.getEncoding())
                       : LayoutAttr();
  return layout ? layout.getEntries() : ArrayRef<AxisEntry>();
}

AxisLayout sp::getAxisLayout(Type type, StringRef axis) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return AxisLayout::invariant();
  auto layout = dyn_cast_or_null<LayoutAttr>(tensor.getEncoding());
  return layout ? layout.getAxis(axis) : AxisLayout::invariant();
}

/// Replaces the entries of axes that are parts of one by the one's, if all parts
/// are alike.
static void joinParts(SmallVectorImpl<AxisEntry> &entries, StringAttr axis,
                      ArrayRef<StringAttr> parts) {
  auto isPart = [&](const AxisEntry &entry) {
    return llvm::is_contained(parts, entry.axis);
  };
  auto *first = llvm::find_if(entries, isPart);
  if (llvm::count_if(entries, isPart) != static_cast<int64_t>(parts.size()) ||
      llvm::any_of(entries, [&](const AxisEntry &entry) {
        return isPart(entry) && entry.layout != first->layout;
      }))
    return;
  first->axis = axis;
  llvm::erase_if(entries, isPart);
}

RankedTensorType sp::withAxisLayout(RankedTensorType type, StringAttr axis,
                                    AxisLayout layout,
                                    ArrayRef<StringAttr> meshAxes) {
  StringRef parent = getParentAxis(axis);
  SmallVector<StringAttr> parts;
  StringAttr whole;
  if (!parent.empty())
    for (StringAttr other : meshAxes) {
      if (other.getValue() == parent)
        whole = other;
      if (getParentAxis(other) == parent)
        parts.push_back(other);
    }

  SmallVector<AxisEntry> entries;
  for (const AxisEntry &entry : getLayoutEntries(type)) {
    if (entry.axis == axis || getParentAxis(entry.axis) == axis.getValue())
      continue;
    if (parent.empty() || entry.axis.getValue() != parent) {
      entries.push_back(entry);
      continue;
    }
    for (StringAttr part : parts)
      if (part != axis)
        entries.push_back({part, entry.layout});
  }
  if (!layout.isInvariant()) {
    auto order = [&](StringAttr name) {
      return llvm::find(meshAxes, name) - meshAxes.begin();
    };
    auto *position = llvm::find_if(entries, [&](const AxisEntry &entry) {
      return order(entry.axis) > order(axis);
    });
    entries.insert(position, AxisEntry{axis, layout});
  }
  if (whole)
    joinParts(entries, whole, parts);
  Attribute encoding;
  if (!entries.empty())
    encoding = LayoutAttr::get(axis.getContext(), entries);
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               encoding);
}

SmallVector<StringAttr> sp::getChangedAxes(Type from, Type to) {
  SmallVector<StringAttr> axes;
  for (Type type : {from, to})
    if (auto layout = dyn_cast_or_null<LayoutAttr>(
            cast<RankedTensorType>(type).getEncoding()))
      for (const AxisEntry &entry : layout.getEntries())
        if (getAxisLayout(from, entry.axis) != getAxisLayout(to, entry.axis) &&
            !llvm::is_contained(axes, entry.axis))
          axes.push_back(entry.axis);
  return axes;
}

bool sp::hasLayout(Type type) {
  return type.walk([](LayoutAttr) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// LayoutRule
//===----------------------------------------------------------------------===//

std::string sp::leadingDims(int64_t n, char first) {
  std::string letters;
  for (int64_t i = 0; i < n; ++i)
    letters.push_back(static_cast<char>(first + i));
  return letters;
}

LayoutRule LayoutRule::get(ArrayRef<std::string> operands,
                           ArrayRef<std::string> results, StringRef reduction,
                           StringRef blocked) {
  LayoutRule rule;
  SmallVector<char> letters;
  auto dims = [&](StringRef spec) {
    SmallVector<int64_t> factors;
    for (char letter : spec) {
      if (blocked.contains(letter)) {
        factors.push_back(kBlocked);
        continue;
      }
      auto *it = llvm::find(letters, letter);
      factors.push_back(it - letters.begin());
      if (it == letters.end()) {
        letters.push_back(letter);
        rule.isReduction.push_back(reduction.contains(letter));
      }
    }
    return factors;
  };
  for (const std::string &spec : operands)
    rule.operands.push_back(dims(spec));
  for (const std::string &spec : results)
    rule.results.push_back(dims(spec));
  return rule;
}

LayoutRule LayoutRule::elementwise(Operation *op) {
  auto specs = [](TypeRange types) {
    SmallVector<std::string> specs;
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      specs.push_back(tensor ? leadingDims(tensor.getRank()) : "");
    }
    return specs;
  };
  return get(specs(op->getOperandTypes()), specs(op->getResultTypes()));
}

static int64_t findDim(ArrayRef<int64_t> factors, int64_t factor) {
  auto *it = llvm::find(factors, factor);
  return it == factors.end() ? -1 : it - factors.begin();
}

int64_t LayoutRule::operandDim(unsigned operand, int64_t factor) const {
  return findDim(operands[operand], factor);
}

int64_t LayoutRule::resultDim(unsigned result, int64_t factor) const {
  return findDim(results[result], factor);
}

//===----------------------------------------------------------------------===//
// The interface's default methods
//===----------------------------------------------------------------------===//

#include "sp/Dialect/SPInterfaces.cpp.inc"

/// An error that starts with the operand's number, so that one of two equal
/// values can be told from the other.
static InFlightDiagnostic operandError(Operation *op, unsigned operand,
                                       StringRef axis, AxisLayout layout) {
  InFlightDiagnostic diag = op->emitOpError("operand #")
                            << operand << " is " << layout.str() << " along `"
                            << axis << "`";
  diag.attachNote(op->getOperand(operand).getLoc())
      << "operand #" << operand << " has type "
      << op->getOperand(operand).getType();
  return diag;
}

LogicalResult
sp::detail::inferLayoutsByRule(Operation *op, StringRef axis,
                               ArrayRef<AxisLayout> operands,
                               SmallVectorImpl<AxisLayout> &results) {
  auto iface = cast<LayoutOpInterface>(op);
  auto isTensor = [&](unsigned i) {
    return isa<RankedTensorType>(op->getOperand(i).getType());
  };

  // Scalars are invariant and mix with everything.
  int firstInvariant = -1, firstOther = -1, firstShard = -1;
  llvm::SmallBitVector partials(operands.size());
  for (auto [i, layout] : llvm::enumerate(operands)) {
    if (!isTensor(i))
      continue;
    int &first = layout.isInvariant() ? firstInvariant : firstOther;
    if (first < 0)
      first = i;
    if (layout.isShard() && firstShard < 0)
      firstShard = i;
    if (layout.isPartial())
      partials.set(i);
  }

  if (firstOther < 0) {
    results.assign(op->getNumResults(), AxisLayout::invariant());
    return success();
  }
  if (firstInvariant >= 0)
    return operandError(op, firstInvariant, axis, operands[firstInvariant])
           << ", but operand #" << firstOther << " is "
           << operands[firstOther].str()
           << "; change the layout of one (`sp.copy` or `sp.slice` on the "
              "invariant one)";

  if (partials.any()) {
    unsigned partial = partials.find_first();
    if (firstShard >= 0)
      return operandError(op, partial, axis, operands[partial])
             << ", which does not mix with operand #" << firstShard << " ("
             << operands[firstShard].str()
             << "); reduce it first (`sp.reduce_scatter` or `sp.all_reduce`)";
    if (!iface.isLinearIn(partials))
      return operandError(op, partial, axis, operands[partial])
             << ", but the op is not linear in its partial operands; reduce "
                "first (`sp.all_reduce` or `sp.reduce_scatter`)";
    results.assign(op->getNumResults(), AxisLayout::partial());
    return success();
  }

  if (firstShard < 0) {
    results.assign(op->getNumResults(), AxisLayout::replicate());
    return success();
  }

  LayoutRule rule = iface.getLayoutRule();
  int64_t factor = rule.operands[firstShard][operands[firstShard].dim];
  if (factor == LayoutRule::kBlocked)
    return operandError(op, firstShard, axis, operands[firstShard])
           << ", but the op needs that whole dimension; gather it first "
              "(`sp.all_gather`)";
  for (auto [i, layout] : llvm::enumerate(operands)) {
    if (!isTensor(i))
      continue;
    int64_t dim = rule.operandDim(i, factor);
    AxisLayout wanted =
        dim < 0 ? AxisLayout::replicate() : AxisLayout::shard(dim);
    if (layout != wanted)
      return operandError(op, i, axis, layout)
             << ", but must be " << wanted.str() << " because operand #"
             << firstShard << " is " << operands[firstShard].str();
  }
  results.clear();
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
    int64_t dim = rule.resultDim(i, factor);
    if (dim >= 0)
      results.push_back(AxisLayout::shard(dim));
    else if (rule.isReduction[factor])
      results.push_back(AxisLayout::partial());
    else // Each rank would keep what its own part left there.
      return operandError(op, firstShard, axis, operands[firstShard])
             << ", but result #" << i
             << " has no such dimension and is no sum over it; gather the "
                "operand first (`sp.all_gather`)";
  }
  return success();
}

LogicalResult
sp::detail::verifyLayoutsByInference(Operation *op, StringRef axis,
                                     ArrayRef<AxisLayout> operands,
                                     ArrayRef<AxisLayout> results) {
  SmallVector<AxisLayout> inferred;
  if (failed(
          cast<LayoutOpInterface>(op).inferLayouts(axis, operands, inferred)))
    return failure();
  for (auto [i, want, got] : llvm::enumerate(inferred, results))
    if (want != got)
      return op->emitOpError("result #")
             << i << " is " << want.str() << " along `" << axis
             << "`, but its type says " << got.str();
  return success();
}
