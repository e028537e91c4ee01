//===- SPDialect.cpp - the dialect, its layout attribute, the mesh --------===//

#include "sp/Dialect/SPDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sp;

#include "sp/Dialect/SPDialect.cpp.inc"
#include "sp/Dialect/SPEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "sp/Dialect/SPAttrs.cpp.inc"

void SPDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "sp/Dialect/SPAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "sp/Dialect/SPOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

AxisLayout LayoutAttr::getAxis(StringRef axis) const {
  StringRef parent = getParentAxis(axis);
  AxisLayout found;
  for (const AxisEntry &entry : getEntries()) {
    if (entry.axis.getValue() == axis)
      return entry.layout;
    if (!parent.empty() && entry.axis.getValue() == parent)
      return entry.layout;
    if (getParentAxis(entry.axis) == axis)
      found = AxisLayout::mixed();
  }
  return found;
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<";
  llvm::interleaveComma(getEntries(), printer, [&](const AxisEntry &entry) {
    printer.printKeywordOrString(entry.axis.getValue());
    printer << " = " << entry.layout.str();
  });
  printer << ">";
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SmallVector<AxisEntry> entries;
  SMLoc loc = parser.getCurrentLocation();
  auto parseEntry = [&]() -> ParseResult {
    std::string axis;
    StringRef state;
    if (parser.parseKeywordOrString(&axis) || parser.parseEqual())
      return failure();
    SMLoc stateLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&state))
      return failure();
    AxisLayout layout;
    if (state == "replicate") {
      layout = AxisLayout::replicate();
    } else if (state == "partial") {
      layout = AxisLayout::partial();
    } else if (state == "shard") {
      int64_t dim;
      if (parser.parseLParen() || parser.parseInteger(dim) ||
          parser.parseRParen())
        return failure();
      layout = AxisLayout::shard(dim);
    } else {
      return parser.emitError(stateLoc, "expected `replicate`, `shard(d)` or "
                                        "`partial`, found `")
             << state << "`";
    }
    entries.push_back({StringAttr::get(parser.getContext(), axis), layout});
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseEntry))
    return {};
  return parser.getChecked<LayoutAttr>(loc, parser.getContext(), entries);
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<AxisEntry> entries) {
  if (entries.empty())
    return emitError() << "a layout names at least one axis; an invariant "
                          "tensor has no encoding";
  llvm::StringSet<> names;
  for (auto [i, entry] : llvm::enumerate(entries)) {
    if (entry.axis.empty())
      return emitError() << "a mesh axis needs a name";
    if (!names.insert(entry.axis.getValue()).second)
      return emitError() << "mesh axis `" << entry.axis.getValue()
                         << "` is named twice";
    if (StringRef parent = getParentAxis(entry.axis);
        !parent.empty() &&
        llvm::any_of(entries, [&](const AxisEntry &other) {
          return other.axis.getValue() == parent;
        }))
      return emitError() << "mesh axis `" << parent << "` and its part `"
                         << entry.axis.getValue() << "` are both named";
    if (entry.layout.isInvariant())
      return emitError() << "mesh axis `" << entry.axis.getValue()
                         << "` is invariant and must not be named";
    if (!entry.layout.isShard())
      continue;
    if (entry.layout.dim < 0)
      return emitError() << "shard dimension " << entry.layout.dim
                         << " is negative";
    for (const AxisEntry &other : entries.drop_front(i + 1))
      if (other.layout == entry.layout)
        return emitError() << "dimension " << entry.layout.dim
                           << " is sharded by both `" << entry.axis.getValue()
                           << "` and `" << other.axis.getValue() << "`";
  }
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                           function_ref<InFlightDiagnostic()> emitError) const {
  for (const AxisEntry &entry : getEntries())
    if (entry.layout.isShard() &&
        entry.layout.dim >= static_cast<int64_t>(shape.size()))
      return emitError() << "layout shards dimension " << entry.layout.dim
                         << " along `" << entry.axis.getValue()
                         << "`, but the tensor has rank " << shape.size();
  return success();
}

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

/// `<tp = 2, dp = 4>`
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &names,
                                 DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> axisNames;
  SmallVector<int64_t> axisSizes;
  Builder &builder = parser.getBuilder();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(axisSizes.emplace_back()))
      return failure();
    axisNames.push_back(builder.getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return failure();
  names = builder.getArrayAttr(axisNames);
  sizes = builder.getDenseI64ArrayAttr(axisSizes);
  return success();
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr names,
                          DenseI64ArrayAttr sizes) {
  printer << "<";
  llvm::interleaveComma(
      llvm::zip(names.getAsValueRange<StringAttr>(), sizes.asArrayRef()),
      printer, [&](auto axis) {
        printer.printKeywordOrString(std::get<0>(axis));
        printer << " = " << std::get<1>(axis);
      });
  printer << ">";
}

/// C3 of a mesh.
static LogicalResult verifySubAxes(MeshOp mesh) {
  StringRef axis;
  int64_t whole = 1, product = 1;
  bool isSplit = false;
  auto checkProduct = [&]() -> LogicalResult {
    if (isSplit && product != whole)
      return mesh.emitOpError("axis `") << axis << "` has size " << whole
                                   << ", but the sizes of its parts multiply to "
                                   << product << " (C3)";
    return success();
  };
  for (auto [name, size] : llvm::zip(
           mesh.getAxisNames().getAsValueRange<StringAttr>(), mesh.getAxisSizes())) {
    StringRef parent = getParentAxis(name);
    if (parent.empty()) {
      if (failed(checkProduct()))
        return failure();
      axis = name;
      whole = size;
      product = 1;
      isSplit = false;
      continue;
    }
    if (parent != axis)
      return mesh.emitOpError("axis `") << name << "` does not follow `" << parent
                                   << "`, of which it is a part (C3)";
    isSplit = true;
    product *= size;
  }
  return checkProduct();
}

LogicalResult MeshOp::verify() {
  if (getAxisNames().size() != getAxisSizes().size())
    return emitOpError("has ") << getAxisNames().size() << " axis names and "
                               << getAxisSizes().size() << " axis sizes";
  if (getAxisNames().empty())
    return emitOpError("needs at least one axis (C1)");
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip(
           getAxisNames().getAsValueRange<StringAttr>(), getAxisSizes())) {
    if (name.empty())
      return emitOpError("has an axis without a name (C1)");
    if (size < 1)
      return emitOpError("axis `")
             << name << "` has size " << size << ", must be at least 1 (C1)";
    if (!seen.insert(name).second)
      return emitOpError("axis `") << name << "` is named twice (C2)";
  }
  return verifySubAxes(*this);
}

MeshOp MeshOp::lookup(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}

int64_t MeshOp::getAxisIndex(StringRef axis) {
  for (auto [i, name] :
       llvm::enumerate(getAxisNames().getAsValueRange<StringAttr>()))
    if (name == axis)
      return i;
  return -1;
}

int64_t MeshOp::getAxisSize(StringRef axis) {
  int64_t index = getAxisIndex(axis);
  return index < 0 ? 0 : getAxisSizes()[index];
}

SmallVector<StringAttr> MeshOp::getAxes() {
  return llvm::to_vector(getAxisNames().getAsRange<StringAttr>());
}

SmallVector<StringAttr> MeshOp::getLeafAxes() {
  SmallVector<StringAttr> axes = getAxes(), leaves;
  for (StringAttr axis : axes)
    if (llvm::none_of(axes, [&](StringAttr other) {
          return getParentAxis(other) == axis.getValue();
        }))
      leaves.push_back(axis);
  return leaves;
}

int64_t MeshOp::getAxisStride(StringRef axis) {
  // Major to minor: what comes after an axis, and is no part of it, varies
  // faster; within an axis its parts do likewise.
  StringRef parent = getParentAxis(axis);
  int64_t stride = 1;
  SmallVector<StringAttr> axes = getAxes();
  for (StringAttr other : llvm::reverse(axes)) {
    if (other.getValue() == axis)
      break;
    StringRef otherParent = getParentAxis(other);
    if (otherParent.empty() ? other.getValue() != parent
                            : otherParent == parent)
      stride *= getAxisSize(other);
  }
  return stride;
}

#define GET_OP_CLASSES
#include "sp/Dialect/SPOps.cpp.inc"
