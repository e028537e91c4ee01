//===- Program.cpp - what a program exchanges with files ------------------===//

#include "sp/Execution/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sp/Conversion/Passes.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Runtime/Context.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace sp;
using llvm::createStringError;
using llvm::Expected;
using llvm::formatv;

bool ProgramTensor::isSharded() const {
  return llvm::any_of(shardAxes, [](int64_t axis) { return axis >= 0; });
}

static int64_t countBytes(ArrayRef<int64_t> shape, DType dtype) {
  return llvm::product_of(shape) * byteSize(dtype);
}

int64_t ProgramTensor::localBytes() const {
  return countBytes(localShape, dtype);
}

int64_t ProgramTensor::globalBytes() const {
  return countBytes(globalShape, dtype);
}

int64_t Program::numRanks() const {
  int64_t count = 1;
  for (const ProgramAxis &axis : mesh)
    count = std::max(count, axis.size * axis.stride);
  return count;
}

Shape Program::getOffsets(const ProgramTensor &tensor, int64_t rank) const {
  Shape offsets;
  for (auto [axis, extent] : llvm::zip(tensor.shardAxes, tensor.localShape))
    offsets.push_back(
        axis < 0 ? 0 : rank / mesh[axis].stride % mesh[axis].size * extent);
  return offsets;
}

//===----------------------------------------------------------------------===//
// From a module
//===----------------------------------------------------------------------===//

namespace {
/// What an argument's or result's attributes say of it.
struct RoleAttr {
  ProgramTensor::Role role;
  StringAttr name;
};
} // namespace

/// None unless there is exactly one.
static std::optional<RoleAttr> findRole(DictionaryAttr attributes) {
  using Role = ProgramTensor::Role;
  std::optional<RoleAttr> found;
  for (auto [attribute, role] :
       {std::pair<StringRef, Role>(kInputAttr, Role::Input),
        {kParamAttr, Role::Parameter},
        {kStateAttr, Role::State},
        {kResultAttr, Role::Result}})
    if (auto name = attributes ? attributes.getAs<StringAttr>(attribute)
                               : StringAttr()) {
      if (found)
        return std::nullopt;
      found = RoleAttr{role, name};
    }
  return found;
}

static bool isNamed(func::FuncOp function) {
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    if (findRole(function.getArgAttrDict(i)))
      return true;
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
    if (findRole(function.getResultAttrDict(i)))
      return true;
  return false;
}

static Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  if (!name.empty()) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function || function.isDeclaration())
      return createStringError("the program has no function `" + name + "`");
    return function;
  }
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration() && isNamed(function))
      candidates.push_back(function);
  if (candidates.size() == 1)
    return candidates.front();
  if (candidates.empty())
    return createStringError(
        "the program has no public function with `sp.input`, `sp.param` or "
        "`sp.result` attributes");
  auto names = llvm::map_range(candidates, [](func::FuncOp function) {
    return "`" + function.getName().str() + "`";
  });
  return createStringError("the program has several entry functions (" +
                           llvm::join(names, ", ") +
                           "); choose one with --entry");
}

static std::optional<DType> getDType(Type element) {
  if (element.isF64())
    return DType::F64;
  if (element.isF32())
    return DType::F32;
  if (element.isBF16())
    return DType::BF16;
  if (element.isInteger(64))
    return DType::I64;
  return std::nullopt;
}

/// `what` names the argument or result in messages.
static Expected<ProgramTensor> describeTensor(Type type, LayoutAttr layout,
                                              const Program &program,
                                              const std::string &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? getDType(tensor.getElementType()) : std::nullopt;
  if (!dtype || !tensor.hasStaticShape())
    return createStringError(
        what + " is not a tensor of static shape and type f32, f64, bf16 or "
               "i64");
  ProgramTensor result;
  result.dtype = *dtype;
  result.localShape.assign(tensor.getShape().begin(), tensor.getShape().end());
  result.globalShape = result.localShape;
  result.shardAxes.assign(tensor.getRank(), -1);
  if (!layout)
    return result;
  for (const AxisEntry &entry : layout.getEntries()) {
    auto axis = llvm::find_if(program.mesh, [&](const ProgramAxis &other) {
      return other.name == entry.axis.getValue();
    });
    if (axis == program.mesh.end())
      return createStringError(what + " has a layout along `" +
                               entry.axis.getValue() +
                               "`, which is not an axis of the mesh");
    if (!entry.layout.isShard() || entry.layout.dim >= tensor.getRank())
      return createStringError(what + " is " + entry.layout.str() + " along `" +
                               entry.axis.getValue() +
                               "`, must be invariant or sharded");
    result.shardAxes[entry.layout.dim] = axis - program.mesh.begin();
    result.globalShape[entry.layout.dim] *= axis->size;
  }
  return result;
}

Expected<Program> Program::describe(ModuleOp module, StringRef entry) {
  Expected<func::FuncOp> found = findEntry(module, entry);
  if (!found)
    return found.takeError();
  func::FuncOp function = *found;

  Program program;
  program.entry = function.getName().str();
  if (MeshOp mesh = MeshOp::lookup(module)) {
    // Before anything is computed from the sizes, or allocated for the ranks.
    int64_t room = LocalWorld::kMaxRanks;
    for (StringAttr axis : mesh.getLeafAxes())
      room /= mesh.getAxisSize(axis);
    if (room == 0)
      return createStringError(
          formatv("the mesh has more than {0} ranks", LocalWorld::kMaxRanks));
    for (StringAttr axis : mesh.getAxes())
      program.mesh.push_back(
          {axis.str(), mesh.getAxisSize(axis), mesh.getAxisStride(axis)});
  }

  llvm::StringSet<> names;
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
    std::string what = formatv("argument #{0}", i);
    std::optional<RoleAttr> role = findRole(function.getArgAttrDict(i));
    if (!role || role->role == ProgramTensor::Role::Result)
      return createStringError(
          what + " of `" + program.entry +
          "` needs one of `sp.input`, `sp.param` and `sp.state`");
    Expected<ProgramTensor> tensor = describeTensor(
        function.getArgument(i).getType(),
        function.getArgAttrOfType<LayoutAttr>(i, kLayoutAttr), program, what);
    if (!tensor)
      return tensor.takeError();
    tensor->role = role->role;
    tensor->name = role->name.str();
    if (!names.insert(tensor->name).second)
      return createStringError("`" + program.entry +
                               "` has two arguments named `" + tensor->name +
                               "`");
    program.arguments.push_back(std::move(*tensor));
  }

  names.clear();
  for (unsigned i = 0, e = function.getNumResults(); i < e; ++i) {
    std::string what = formatv("result #{0}", i);
    std::optional<RoleAttr> role = findRole(function.getResultAttrDict(i));
    if (!role || role->role == ProgramTensor::Role::Input)
      return createStringError(
          what + " of `" + program.entry +
          "` needs one of `sp.result`, `sp.param` and `sp.state`");
    Expected<ProgramTensor> tensor =
        describeTensor(function.getResultTypes()[i],
                       function.getResultAttrOfType<LayoutAttr>(i, kLayoutAttr),
                       program, what);
    if (!tensor)
      return tensor.takeError();
    tensor->role = ProgramTensor::Role::Result;
    tensor->name = role->name.str();
    if (role->role != ProgramTensor::Role::Result) {
      auto old = llvm::find_if(program.arguments, [&](auto &argument) {
        return argument.role == role->role && argument.name == tensor->name;
      });
      if (old == program.arguments.end())
        return createStringError(what + " of `" + program.entry +
                                 "` is the new value of `" + tensor->name +
                                 "`, which is no argument");
      if (old->globalShape != tensor->globalShape ||
          old->shardAxes != tensor->shardAxes || old->dtype != tensor->dtype)
        return createStringError(what + " of `" + program.entry +
                                 "` is the new value of `" + tensor->name +
                                 "`, but has another type or layout");
      tensor->updates = old - program.arguments.begin();
    }
    if (!names.insert(tensor->name).second)
      return createStringError("`" + program.entry +
                               "` has two results named `" + tensor->name +
                               "`");
    program.results.push_back(std::move(*tensor));
  }

  auto bytes = [&](StringRef name) {
    auto attr = function->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  program.arenaBytes = bytes(kArenaBytesAttr);
  program.activationBytes = bytes(kActivationBytesAttr);
  program.savedBytes = bytes(kSavedBytesAttr);
  return program;
}
