//===- SPToLLVM.cpp - a planned program becomes calls on an arena ---------===//
//
// Each function becomes straight-line calls of the runtime and of row kernels,
// on pointers into the rank's arena. A call that fails ends the function with
// its status.
//
//===----------------------------------------------------------------------===//

#include "PlannedFunction.h"
#include "RuntimeSignatures.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "sp/Conversion/Passes.h"
#include "sp/Conversion/ProgramSymbols.h"
#include "sp/Conversion/RowKernels.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Runtime/Runtime.h"
#include "llvm/ADT/TypeSwitch.h"
#include <variant>

namespace sp {
#define GEN_PASS_DEF_CONVERTSPTOLLVM
#include "sp/Conversion/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

static int64_t product(ArrayRef<int64_t> shape) {
  return llvm::product_of(shape);
}

static Type elementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static int64_t elementBytes(Value value) {
  return elementType(value).getIntOrFloatBitWidth() / 8;
}

/// The runtime's number for the element type of `value`.
static int64_t dtypeOf(Value value) {
  Type element = elementType(value);
  return element.isF32()    ? SP_F32
         : element.isF64()  ? SP_F64
         : element.isBF16() ? SP_BF16
                            : SP_I64;
}

//===----------------------------------------------------------------------===//
// The module's symbols: runtime functions, kernels, constants
//===----------------------------------------------------------------------===//

namespace {

class ModuleSymbols {
public:
  explicit ModuleSymbols(ModuleOp module)
      : table(module), builder(OpBuilder::atBlockEnd(module.getBody())) {}

  /// The declaration of a runtime function.
  LLVM::LLVMFuncOp getRuntimeFunction(StringRef name);
  /// The function of a row kernel; equal kernels share one.
  LLVM::LLVMFuncOp getKernel(RowKernelOp kernel);
  size_t getNumKernels() const { return kernels.size(); }
  /// A global with the constant's elements.
  LLVM::GlobalOp getConstant(DenseElementsAttr elements, Location loc);

  SymbolTable table;

private:
  OpBuilder builder;
  llvm::StringMap<LLVM::LLVMFuncOp> kernels;
  llvm::DenseMap<Attribute, LLVM::GlobalOp> constants;
};

} // namespace

LLVM::LLVMFuncOp ModuleSymbols::getRuntimeFunction(StringRef name) {
  if (auto function = table.lookup<LLVM::LLVMFuncOp>(name))
    return function;
  auto function = LLVM::LLVMFuncOp::create(
      builder, builder.getUnknownLoc(), name,
      getRuntimeFunctionType(name, builder.getContext()));
  table.insert(function);
  return function;
}

/// What a kernel computes, as text: its attributes, types and body, but not its
/// operands or locations.
static std::string printKernel(RowKernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm().enableDebugInfo(false);
  kernel->print(os, flags);
  return text;
}

LLVM::LLVMFuncOp ModuleSymbols::getKernel(RowKernelOp kernel) {
  LLVM::LLVMFuncOp &function = kernels[printKernel(kernel)];
  if (!function) {
    std::string name = "row_kernel_" + std::to_string(kernels.size() - 1);
    function = emitCpuRowKernel(builder, kernel, name);
    table.insert(function);
  }
  return function;
}

LLVM::GlobalOp ModuleSymbols::getConstant(DenseElementsAttr elements,
                                          Location loc) {
  LLVM::GlobalOp &global = constants[elements];
  if (!global) {
    // Without its shape, which would make an array of arrays.
    auto flat = elements.reshape(RankedTensorType::get(
        elements.getNumElements(), elements.getElementType()));
    auto type = LLVM::LLVMArrayType::get(elements.getElementType(),
                                         elements.getNumElements());
    global = LLVM::GlobalOp::create(
        builder, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
        "constant_" + std::to_string(constants.size() - 1), flat, kAlignment);
    table.insert(global);
  }
  return global;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

namespace {

class FunctionLowering {
public:
  FunctionLowering(func::FuncOp source, MeshOp mesh, ModuleSymbols &symbols)
      : source(source), mesh(mesh), symbols(symbols),
        builder(source.getContext()),
        pointer(LLVM::LLVMPointerType::get(source.getContext())) {}

  LogicalResult lower();

private:
  LogicalResult verify();
  LogicalResult verifyUpdates();
  void beginPart();
  void continueInNewPart();
  LogicalResult lowerOp(Operation *op);

  void lower(arith::ConstantOp op);
  void lower(AttentionGradOp op);
  void lower(AttentionOp op);
  void lower(BatchMajorOp op);
  void lower(CheckTargetsOp op);
  void lower(CollectiveOp op);
  void lower(DropoutOp op);
  void lower(EmbeddingGradOp op);
  void lower(EmbeddingOp op);
  void lower(GemmOp op);
  void lower(LinearInputGradOp op);
  void lower(LinearOp op);
  void lower(LinearWeightGradOp op);
  void lower(LocalSliceOp op);
  void lower(LocalZeroPadOp op);
  void lower(PackOp op);
  void lower(PadOp op);
  void lower(PartTargetsOp op);
  void lower(RopeTableOp op);
  void lower(RowKernelOp op);
  void lower(ShiftLabelsOp op);
  void lower(SumLeadingOp op);
  void lower(SumSquaresOp op);
  void lower(UnpackOp op);
  void lower(UnpadOp op);
  void lower(func::ReturnOp op);

  /// An argument of a call: a number takes the type that the callee wants.
  using Argument = std::variant<Value, int64_t, double>;

  template <typename OpTy> SmallVector<Argument> getAttentionArguments(OpTy op);
  /// Between `packed` and its parts: a row has one of each.
  void copyRows(Value packed, ValueRange parts, bool pack);

  /// Calls a runtime function; a status that is not 0 leaves the function.
  /// Returns what else the callee returns.
  Value call(StringRef name, ArrayRef<Argument> arguments);
  void checkStatus(Value status);

  Value materialize(Argument argument, Type type);
  Value constant(int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), value);
  }
  /// The address `index` elements of `type` behind `base`.
  Value advance(Value base, Type type, int64_t index) {
    return LLVM::GEPOp::create(builder, loc, pointer, type, base,
                               ValueRange(constant(index)));
  }
  Value pointerTo(Value tensor);
  /// The argument that `tensor` is, or has taken the place of; -1 if none.
  int64_t getArgument(Value tensor) const;
  /// Where the rank's part of a dimension begins, of `extent` elements, under
  /// the layout that the dimension had before localisation.
  Value getGlobalOffset(std::optional<LayoutAttr> layout, int64_t dim,
                        int64_t extent);
  /// The extent of the whole dimension.
  int64_t getGlobalExtent(std::optional<LayoutAttr> layout, int64_t dim,
                          int64_t extent);

  func::FuncOp source;
  MeshOp mesh;
  ModuleSymbols &symbols;
  OpBuilder builder;
  Type pointer;
  Location loc = source.getLoc();

  /// The part that is being filled; the first one has the function's name.
  LLVM::LLVMFuncOp part;
  int64_t numParts = 0, numCallsInPart = 0;
  /// Parameters of the part.
  Value context, arena, arguments, results;
  /// An array for the operands of launches, as long as the longest needs.
  Value operands;
  int64_t maxOperands = 0;
  /// Returns the status that it gets as argument.
  Block *exit = nullptr;

  /// Where tensors are that are not arguments: in the arena, or in the program.
  llvm::DenseMap<Value, int64_t> offsets;
  llvm::DenseMap<Value, LLVM::GlobalOp> globals;
};

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Computed at each use: a pointer kept from its first use on would occupy the
/// register allocator for the whole function.
Value FunctionLowering::pointerTo(Value value) {
  auto [tensor, offset] = findBuffer(value);
  auto within = [&, offset = offset](Value base) {
    return offset == 0 ? base : advance(base, builder.getI8Type(), offset);
  };
  if (auto global = globals.lookup(tensor))
    return within(LLVM::AddressOfOp::create(builder, loc, global));
  if (int64_t argument = getArgument(tensor); argument >= 0)
    return within(LLVM::LoadOp::create(builder, loc, pointer,
                                       advance(arguments, pointer, argument)));
  return advance(arena, builder.getI8Type(), offsets.at(tensor) + offset);
}

int64_t FunctionLowering::getArgument(Value tensor) const {
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return argument.getArgNumber();
  auto it = offsets.find(tensor);
  return it != offsets.end() && it->second < 0 ? -1 - it->second : -1;
}

Value FunctionLowering::materialize(Argument argument, Type type) {
  if (auto *value = std::get_if<Value>(&argument))
    return *value;
  TypedAttr attr;
  if (auto *number = std::get_if<double>(&argument))
    attr = builder.getFloatAttr(type, *number);
  else
    attr = builder.getIntegerAttr(type, std::get<int64_t>(argument));
  return LLVM::ConstantOp::create(builder, loc, type, attr);
}

Value FunctionLowering::call(StringRef name, ArrayRef<Argument> arguments) {
  LLVM::LLVMFuncOp callee = symbols.getRuntimeFunction(name);
  ArrayRef<Type> types = callee.getFunctionType().getParams();
  assert(types.size() == arguments.size() && "wrong number of arguments");
  SmallVector<Value> values;
  for (auto [argument, type] : llvm::zip(arguments, types))
    values.push_back(materialize(argument, type));
  ++numCallsInPart;
  auto call = LLVM::CallOp::create(builder, loc, callee, values);
  if (call->getNumResults() == 0)
    return {};
  if (call.getResult().getType().isInteger(32)) {
    checkStatus(call.getResult());
    return {};
  }
  return call.getResult();
}

void FunctionLowering::checkStatus(Value status) {
  Value zero = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), 0);
  Value good =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, status, zero);
  Block *next = builder.createBlock(exit);
  builder.setInsertionPointToEnd(next->getPrevNode());
  LLVM::CondBrOp::create(builder, loc, good, next, ValueRange(), exit,
                         ValueRange(status));
  builder.setInsertionPointToStart(next);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void FunctionLowering::lower(arith::ConstantOp op) {
  globals[op.getResult()] =
      symbols.getConstant(cast<DenseElementsAttr>(op.getValue()), loc);
}

Value FunctionLowering::getGlobalOffset(std::optional<LayoutAttr> layout,
                                        int64_t dim, int64_t extent) {
  if (layout)
    for (const AxisEntry &entry : layout->getEntries())
      if (entry.layout == AxisLayout::shard(dim)) {
        Value rank =
            call("sp_axis_rank", {context, mesh.getAxisIndex(entry.axis)});
        return LLVM::MulOp::create(builder, loc, rank, constant(extent));
      }
  return constant(0);
}

int64_t FunctionLowering::getGlobalExtent(std::optional<LayoutAttr> layout,
                                          int64_t dim, int64_t extent) {
  if (layout)
    for (const AxisEntry &entry : layout->getEntries())
      if (entry.layout == AxisLayout::shard(dim))
        extent *= mesh.getAxisSize(entry.axis);
  return extent;
}

/// What the runtime's attention functions take after their tensors.
template <typename OpTy>
SmallVector<FunctionLowering::Argument>
FunctionLowering::getAttentionArguments(OpTy op) {
  ArrayRef<int64_t> query = shapeOf(op.getQuery());
  auto dropout = op.getDropout();
  return {query[0],
          query[1],
          query[2],
          shapeOf(op.getKey())[2],
          query[3],
          op.getScale().convertToDouble(),
          int64_t(op.getCausal()),
          dropout ? dropout->convertToDouble() : 0.0,
          int64_t(op.getOpId().value_or(0)),
          getGlobalOffset(op.getLayout(), /*dim=*/2, query[2])};
}

void FunctionLowering::lower(AttentionOp op) {
  SmallVector<Argument> arguments{context,
                                  dtypeOf(op.getQuery()),
                                  pointerTo(op.getQuery()),
                                  pointerTo(op.getKey()),
                                  pointerTo(op.getValue()),
                                  pointerTo(op.getResult())};
  llvm::append_range(arguments, getAttentionArguments(op));
  call("sp_attention", arguments);
}

void FunctionLowering::lower(AttentionGradOp op) {
  SmallVector<Argument> arguments{context, dtypeOf(op.getQuery())};
  for (Value tensor : op->getOperands())
    arguments.push_back(pointerTo(tensor));
  for (Value tensor : op->getResults())
    arguments.push_back(pointerTo(tensor));
  llvm::append_range(arguments, getAttentionArguments(op));
  call("sp_attention_grad", arguments);
}

void FunctionLowering::lower(BatchMajorOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  call("sp_transpose01", {elementBytes(op.getInput()), pointerTo(op.getInput()),
                          pointerTo(op.getResult()), shape[0], shape[1],
                          product(shape.drop_front(2))});
}

void FunctionLowering::lower(CheckTargetsOp op) {
  call("sp_check_targets",
       {context, pointerTo(op.getTargets()), product(shapeOf(op.getTargets())),
        int64_t(op.getVocab()), int64_t(op.getIgnoreIndex())});
}

void FunctionLowering::lower(CollectiveOp op) {
  int64_t axis = mesh.getAxisIndex(op.getAxis());
  Value input = op.getInput(), result = op.getResult();
  if (op.getKind() == CollectiveKind::AllReduce) {
    call("sp_all_reduce", {context, axis, dtypeOf(input), pointerTo(input),
                           pointerTo(result), product(shapeOf(input))});
    return;
  }
  bool gathers = op.getKind() == CollectiveKind::AllGather;
  ArrayRef<int64_t> whole = shapeOf(gathers ? result : input);
  int64_t dim = *op.getDim();
  call(gathers ? "sp_all_gather" : "sp_reduce_scatter",
       {context, axis, dtypeOf(input), pointerTo(input), pointerTo(result),
        product(whole.take_front(dim)), whole[dim],
        product(whole.drop_front(dim + 1))});
}

void FunctionLowering::lower(DropoutOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  // Two arrays on the stack: the local shape, and where it starts globally.
  Type i64 = builder.getI64Type();
  Value extents = LLVM::AllocaOp::create(builder, loc, pointer, i64,
                                         constant(2 * shape.size()));
  Value offsets = advance(extents, i64, shape.size());
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    Value offset = getGlobalOffset(op.getLayout(), dim, extent);
    LLVM::StoreOp::create(builder, loc, constant(extent),
                          advance(extents, i64, dim));
    LLVM::StoreOp::create(builder, loc, offset, advance(offsets, i64, dim));
  }
  call("sp_dropout",
       {context, dtypeOf(op.getInput()), pointerTo(op.getInput()),
        pointerTo(op.getResult()), int64_t(shape.size()), extents, offsets,
        op.getP().convertToDouble(), int64_t(op.getOpId())});
}

void FunctionLowering::lower(EmbeddingOp op) {
  ArrayRef<int64_t> ids = shapeOf(op.getIds()), table = shapeOf(op.getTable());
  call("sp_embedding", {context, dtypeOf(op.getTable()), pointerTo(op.getIds()),
                        pointerTo(op.getTable()), pointerTo(op.getResult()),
                        ids[0], ids[1], table[0], table[1],
                        getGlobalOffset(op.getLayout(), /*dim=*/0, table[0]),
                        getGlobalExtent(op.getLayout(), /*dim=*/0, table[0])});
}

void FunctionLowering::lower(EmbeddingGradOp op) {
  ArrayRef<int64_t> ids = shapeOf(op.getIds()), table = shapeOf(op.getResult());
  call("sp_embedding_grad",
       {context, dtypeOf(op.getResult()), pointerTo(op.getIds()),
        pointerTo(op.getGrad()), pointerTo(op.getResult()), ids[0], ids[1],
        table[0], table[1],
        getGlobalOffset(op.getLayout(), /*dim=*/0, table[0]),
        getGlobalExtent(op.getLayout(), /*dim=*/0, table[0])});
}

void FunctionLowering::lower(GemmOp op) {
  if (Value init = op.getInit())
    LLVM::MemcpyOp::create(builder, loc, pointerTo(op.getResult()),
                           pointerTo(init),
                           constant(getByteSize(init.getType())),
                           /*isVolatile=*/false);
  call("sp_batch_gemm",
       {context, dtypeOf(op.getLhs()), int64_t(op.getTransposeLhs()),
        int64_t(op.getTransposeRhs()), /*accumulate=*/int64_t(!!op.getInit()),
        int64_t(op.getBatch()), int64_t(op.getM()), int64_t(op.getN()),
        int64_t(op.getK()), pointerTo(op.getLhs()), pointerTo(op.getRhs()),
        pointerTo(op.getResult())});
}

void FunctionLowering::lower(LinearInputGradOp op) {
  ArrayRef<int64_t> grad = shapeOf(op.getGrad());
  int64_t m = product(grad.drop_back()), n = grad.back();
  int64_t k = shapeOf(op.getWeight())[1];
  call("sp_gemm", {context, dtypeOf(op.getGrad()), /*trans_a=*/0, /*trans_b=*/0,
                   /*accumulate=*/0, m, k, n, pointerTo(op.getGrad()), n,
                   pointerTo(op.getWeight()), k, pointerTo(op.getResult()), k});
}

void FunctionLowering::lower(LinearWeightGradOp op) {
  ArrayRef<int64_t> grad = shapeOf(op.getGrad());
  int64_t m = product(grad.drop_back()), n = grad.back();
  int64_t k = shapeOf(op.getInput()).back();
  call("sp_gemm", {context, dtypeOf(op.getGrad()), /*trans_a=*/1, /*trans_b=*/0,
                   /*accumulate=*/0, n, k, m, pointerTo(op.getGrad()), n,
                   pointerTo(op.getInput()), k, pointerTo(op.getResult()), k});
}

void FunctionLowering::lower(LinearOp op) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  int64_t m = product(input.drop_back()), k = input.back();
  int64_t n = shapeOf(op.getWeight())[0];
  call("sp_gemm",
       {context, dtypeOf(op.getInput()), /*trans_a=*/0, /*trans_b=*/1,
        /*accumulate=*/0, m, n, k, pointerTo(op.getInput()), k,
        pointerTo(op.getWeight()), k, pointerTo(op.getResult()), n});
}

void FunctionLowering::lower(LocalSliceOp op) {
  ArrayRef<int64_t> whole = shapeOf(op.getInput());
  int64_t dim = op.getDim();
  call("sp_slice", {context, mesh.getAxisIndex(op.getAxis()),
                    elementBytes(op.getInput()), pointerTo(op.getInput()),
                    pointerTo(op.getResult()), product(whole.take_front(dim)),
                    whole[dim], product(whole.drop_front(dim + 1))});
}

void FunctionLowering::lower(LocalZeroPadOp op) {
  ArrayRef<int64_t> whole = shapeOf(op.getResult());
  int64_t dim = op.getDim();
  call("sp_zero_pad",
       {context, mesh.getAxisIndex(op.getAxis()), elementBytes(op.getInput()),
        pointerTo(op.getInput()), pointerTo(op.getResult()),
        product(whole.take_front(dim)), whole[dim],
        product(whole.drop_front(dim + 1))});
}

void FunctionLowering::copyRows(Value packed, ValueRange parts, bool pack) {
  int64_t rows = getNumRows(packed), offset = 0;
  int64_t rowBytes = rows ? getByteSize(packed.getType()) / rows : 0;
  for (Value part : parts) {
    int64_t bytes = rows ? getByteSize(part.getType()) / rows : 0;
    Value own = pointerTo(part);
    Value piece = advance(pointerTo(packed), builder.getI8Type(), offset);
    if (pack)
      call("sp_copy_rows", {rows, bytes, own, bytes, piece, rowBytes});
    else
      call("sp_copy_rows", {rows, bytes, piece, rowBytes, own, bytes});
    offset += bytes;
  }
}

void FunctionLowering::lower(PackOp op) {
  copyRows(op.getResult(), op.getInputs(), /*pack=*/true);
}

void FunctionLowering::lower(UnpackOp op) {
  if (!getAliasedOperand(op))
    copyRows(op.getInput(), op.getOutputs(), /*pack=*/false);
}

void FunctionLowering::lower(PadOp op) {
  int64_t dim = op.getDim();
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  call("sp_pad",
       {elementBytes(op.getInput()), pointerTo(op.getInput()),
        pointerTo(op.getResult()), product(shape.take_front(dim)), shape[dim],
        shapeOf(op.getResult())[dim], product(shape.drop_front(dim + 1)),
        int64_t(!op.getFill()), int64_t(op.getFill().value_or(0))});
}

void FunctionLowering::lower(UnpadOp op) {
  if (getAliasedOperand(op))
    return;
  int64_t dim = op.getDim();
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  SmallVector<Argument> arguments{
      pointerTo(op.getInput()),       pointerTo(op.getResult()),
      product(shape.take_front(dim)), shape[dim],
      shapeOf(op.getInput())[dim],    product(shape.drop_front(dim + 1))};
  if (op.getFold())
    arguments.insert(arguments.begin(), {context, dtypeOf(op.getInput())});
  else
    arguments.insert(arguments.begin(), elementBytes(op.getInput()));
  call(op.getFold() ? "sp_unpad_fold" : "sp_unpad", arguments);
}

void FunctionLowering::lower(PartTargetsOp op) {
  int64_t parts = shapeOf(op.getResult()).back(), vocab = op.getVocab();
  // The layout is of logits [S,B,V].
  call("sp_part_targets",
       {context, pointerTo(op.getTargets()), pointerTo(op.getResult()),
        product(shapeOf(op.getTargets())), parts, vocab / parts,
        getGlobalOffset(op.getLayout(), /*dim=*/2, vocab),
        getGlobalExtent(op.getLayout(), /*dim=*/2, vocab),
        int64_t(op.getIgnoreIndex())});
}

void FunctionLowering::lower(RopeTableOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getCos());
  call("sp_rope_table",
       {dtypeOf(op.getCos()), pointerTo(op.getCos()), pointerTo(op.getSin()),
        shape[0], shape[1], op.getTheta().convertToDouble()});
}

void FunctionLowering::lower(RowKernelOp op) {
  int64_t position = 0;
  for (ValueRange values :
       {ValueRange(op.getInputs()), ValueRange(op.getOutputs())})
    for (Value value : values)
      LLVM::StoreOp::create(builder, loc, pointerTo(value),
                            advance(operands, pointer, position++));
  Value kernel = LLVM::AddressOfOp::create(builder, loc, symbols.getKernel(op));
  call("sp_launch", {context, kernel, operands, int64_t(op.getRows())});
}

void FunctionLowering::lower(ShiftLabelsOp op) {
  ArrayRef<int64_t> labels = shapeOf(op.getLabels());
  call("sp_shift_labels", {pointerTo(op.getLabels()), pointerTo(op.getResult()),
                           labels[0], labels[1], int64_t(op.getIgnoreIndex())});
}

void FunctionLowering::lower(SumLeadingOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  call("sp_sum_leading",
       {context, dtypeOf(op.getInput()), pointerTo(op.getInput()),
        pointerTo(op.getResult()), product(shape.take_front(op.getCount())),
        product(shape.drop_front(op.getCount()))});
}

void FunctionLowering::lower(SumSquaresOp op) {
  call("sp_sum_squares",
       {context, dtypeOf(op.getInput()), pointerTo(op.getInput()),
        pointerTo(op.getResult()), product(shapeOf(op.getInput()))});
}

void FunctionLowering::lower(func::ReturnOp op) {
  SmallVector<int64_t> updated = getUpdatedArguments(source);
  // New values of arguments come last: others may be their old values.
  for (bool updates : {false, true})
    for (auto [i, value] : llvm::enumerate(op.getOperands())) {
      // It may be where it belongs already.
      if ((updated[i] >= 0) != updates ||
          (updates && getArgument(value) == updated[i]))
        continue;
      Value destination = LLVM::LoadOp::create(builder, loc, pointer,
                                               advance(results, pointer, i));
      LLVM::MemcpyOp::create(builder, loc, destination, pointerTo(value),
                             constant(getByteSize(value.getType())),
                             /*isVolatile=*/false);
    }
  Value good = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), 0);
  LLVM::ReturnOp::create(builder, loc, good);
}

//===----------------------------------------------------------------------===//
// The function around them
//===----------------------------------------------------------------------===//

/// Gives the op's results their addresses and emits its calls.
LogicalResult FunctionLowering::lowerOp(Operation *op) {
  loc = op->getLoc();
  if (ownsResultBuffers(op)) {
    auto places = op->getAttrOfType<DenseI64ArrayAttr>(kOffsetsAttr);
    if (!places || places.size() != op->getNumResults())
      return op->emitOpError(
          "has no place in the arena; run `sp-plan-memory` first (C1)");
    // Not part of what an op, or a kernel, computes.
    op->removeAttr(kOffsetsAttr);
    for (auto [result, offset] :
         llvm::zip(op->getResults(), places.asArrayRef()))
      offsets[result] = offset;
  }

  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AttentionGradOp, AttentionOp, BatchMajorOp, CheckTargetsOp,
            CollectiveOp, DropoutOp, EmbeddingGradOp, EmbeddingOp, GemmOp,
            LinearInputGradOp, LinearWeightGradOp, LocalSliceOp, LocalZeroPadOp,
            PackOp, PadOp, PartTargetsOp, RopeTableOp, RowKernelOp,
            ShiftLabelsOp, SumLeadingOp, SumSquaresOp, UnpackOp, UnpadOp,
            func::ReturnOp>([&](auto op) {
        lower(op);
        return success();
      })
      .Case([&](arith::ConstantOp op) -> LogicalResult {
        if (!isa<DenseElementsAttr>(op.getValue()))
          return op.emitOpError("is not a dense tensor (C2)");
        lower(op);
        return success();
      })
      .Case([&](LinearOp op) -> LogicalResult {
        if (op.getBias())
          return op.emitOpError("has a bias, which row kernels add; run "
                                "`sp-form-row-kernels` first (C2)");
        lower(op);
        return success();
      })
      // Nothing to compute: another name, or no contents yet.
      .Case<OptimizationBarrierOp, tensor::CollapseShapeOp, tensor::EmptyOp,
            tensor::ExpandShapeOp>([](auto) { return success(); })
      .Case([](tensor::ExtractSliceOp op) -> LogicalResult {
        if (!getAliasedOperand(op))
          return op.emitOpError(
              "is not whole rows of the first dimension (C2)");
        return success();
      })
      .Case([](func::CallOp op) {
        return op.emitOpError("calls `")
               << op.getCallee()
               << "`; calls are not supported, inline it (C2)";
      })
      .Default([](Operation *op) {
        return op->emitOpError("has no lowering (C2); `sp-localize` and "
                               "`sp-form-row-kernels` leave only ops that have "
                               "one");
      });
}

/// C3.
LogicalResult FunctionLowering::verifyUpdates() {
  Operation *terminator = source.getBody().front().getTerminator();
  for (auto [i, argument] : llvm::enumerate(getUpdatedArguments(source))) {
    if (argument < 0)
      continue;
    Value value = terminator->getOperand(i);
    if (value.getType() != source.getArgument(argument).getType())
      return source.emitOpError("result #")
             << i << " is " << value.getType()
             << ", but is the new value of argument #" << argument << ", a "
             << source.getArgument(argument).getType() << " (C3)";
    while (Operation *op = value.getDefiningOp()) {
      Value aliased = getAliasedOperand(op);
      if (!aliased)
        break;
      value = aliased;
    }
    auto other = dyn_cast<BlockArgument>(value);
    if (other && other.getArgNumber() != argument)
      return source.emitOpError("result #")
             << i << " is the new value of argument #" << argument
             << ", but is argument #" << other.getArgNumber()
             << " itself; an argument must not become another (C3)";
  }
  return success();
}

LogicalResult FunctionLowering::verify() {
  auto verifyTypes = [](Operation *op, TypeRange types) -> LogicalResult {
    for (Type type : types)
      if (failed(verifyLocalType(op, type)))
        return failure();
    return success();
  };
  for (TypeRange types : {TypeRange(source.getArgumentTypes()),
                          TypeRange(source.getResultTypes())}) {
    if (failed(verifyTypes(source, types)))
      return failure();
    for (Type type : types)
      if (!isa<RankedTensorType>(type))
        return source.emitOpError("has an argument or result of type ")
               << type << ", must be a tensor (C1)";
  }
  if (!source.getBody().hasOneBlock())
    return source.emitOpError("has ") << source.getBody().getBlocks().size()
                                      << " blocks, must be one (C1)";
  if (failed(verifyUpdates()))
    return failure();
  for (Operation &op : source.getBody().front()) {
    if (failed(verifyTypes(&op, op.getResultTypes())))
      return failure();
    // Of an op with a mask, which asks for its part's place.
    if (auto layout = op.getAttrOfType<LayoutAttr>("layout"))
      for (const AxisEntry &entry : layout.getEntries())
        if (!mesh || mesh.getAxisIndex(entry.axis) < 0)
          return op.emitOpError("has a layout along `")
                 << entry.axis.getValue()
                 << "`, which is not an axis of the module's mesh (C2)";
    StringRef axis;
    std::optional<uint64_t> dim;
    if (auto collective = dyn_cast<CollectiveOp>(op)) {
      axis = collective.getAxis();
      dim = collective.getDim();
    } else if (auto slice = dyn_cast<LocalSliceOp>(op)) {
      axis = slice.getAxis();
      dim = slice.getDim();
    } else if (auto pad = dyn_cast<LocalZeroPadOp>(op)) {
      axis = pad.getAxis();
      dim = pad.getDim();
    } else {
      continue;
    }
    if (!mesh || mesh.getAxisIndex(axis) < 0)
      return op.emitOpError("is over `")
             << axis << "`, which is not an axis of the module's mesh (C2)";
    if (!dim)
      continue;
    // The op's verifier knows that one is a multiple of the other, not which.
    auto extent = [&](Value value) {
      return cast<RankedTensorType>(value.getType()).getDimSize(*dim);
    };
    int64_t before = extent(op.getOperand(0)), after = extent(op.getResult(0));
    int64_t size = mesh.getAxisSize(axis);
    if (std::max(before, after) != std::min(before, after) * size)
      return op.emitOpError("has extents ")
             << before << " and " << after << " along dimension " << *dim
             << ", which are not one and " << size << " parts of `" << axis
             << "` (C2)";
  }
  return success();
}

/// LLVM takes the longer for a call the more calls there are in its function,
/// so that a deep model is compiled in parts of this many.
static constexpr int64_t kCallsPerPart = 128;

void FunctionLowering::beginPart() {
  std::string name = source.getName().str();
  if (numParts++ > 0)
    name = "part_" + std::to_string(numParts) + "_of_" + name;
  numCallsInPart = 0;
  builder.setInsertionPoint(source);
  auto type = LLVM::LLVMFunctionType::get(builder.getI32Type(),
                                          SmallVector<Type>(4, pointer));
  part = LLVM::LLVMFuncOp::create(builder, loc, name, type);
  // Nothing but calls: there is nothing to optimise, and nothing to be gained
  // from making one function of the parts.
  part.setOptimizeNone(true);
  part.setNoInline(true);

  Block *entry = part.addEntryBlock(builder);
  context = entry->getArgument(0);
  arena = entry->getArgument(1);
  arguments = entry->getArgument(2);
  results = entry->getArgument(3);
  exit = builder.createBlock(&part.getBody(), {}, builder.getI32Type(), loc);
  LLVM::ReturnOp::create(builder, loc, exit->getArgument(0));
  builder.setInsertionPointToStart(entry);
  if (maxOperands)
    operands = LLVM::AllocaOp::create(builder, loc, pointer, pointer,
                                      constant(maxOperands));
}

void FunctionLowering::continueInNewPart() {
  SmallVector<Value> same{context, arena, arguments, results};
  auto end = builder.saveInsertionPoint();
  beginPart();
  symbols.table.insert(part);
  auto begin = builder.saveInsertionPoint();
  builder.restoreInsertionPoint(end);
  auto call = LLVM::CallOp::create(builder, loc, part, same);
  LLVM::ReturnOp::create(builder, loc, call.getResult());
  builder.restoreInsertionPoint(begin);
}

LogicalResult FunctionLowering::lower() {
  if (failed(verify()))
    return failure();
  for (auto kernel : source.getOps<RowKernelOp>())
    maxOperands = std::max<int64_t>(maxOperands, kernel->getNumOperands() +
                                                     kernel->getNumResults());
  beginPart();
  LLVM::LLVMFuncOp first = part;
  for (Operation &op : source.getBody().front()) {
    if (numCallsInPart >= kCallsPerPart)
      continueInNewPart();
    if (failed(lowerOp(&op)))
      return failure();
  }
  symbols.table.erase(source);
  symbols.table.insert(first);
  return success();
}

namespace {
struct ConvertSPToLLVM : sp::impl::ConvertSPToLLVMBase<ConvertSPToLLVM> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = MeshOp::lookup(module);
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    // Before any symbol of ours is made, which a function might be called like.
    for (func::FuncOp function : functions)
      function.setName(getProgramSymbol(function.getName()));
    ModuleSymbols symbols(module);
    for (func::FuncOp function : functions) {
      if (function.isDeclaration()) {
        symbols.table.erase(function);
        continue;
      }
      numLaunches += llvm::range_size(function.getOps<RowKernelOp>());
      if (failed(FunctionLowering(function, mesh, symbols).lower()))
        return signalPassFailure();
    }
    numKernels += symbols.getNumKernels();
    if (mesh)
      mesh.erase();
  }
};
} // namespace
