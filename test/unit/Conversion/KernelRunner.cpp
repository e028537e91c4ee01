//===- KernelRunner.cpp - compiles and runs the row kernels of a function -===//

#include "KernelRunner.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "sp/Conversion/Passes.h"
#include "sp/Conversion/Pipelines.h"
#include "sp/Conversion/RowKernels.h"
#include "sp/IO/DType.h"
#include "sp/Init/Init.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace sp;
using namespace sp::test;

namespace {

using Bytes = std::vector<char>;
using KernelFunction = void (*)(void **operands, int64_t begin, int64_t end);

DType getDType(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF64()    ? DType::F64
         : element.isF32()  ? DType::F32
         : element.isBF16() ? DType::BF16
                            : DType::I64;
}

int64_t getCount(Type type) {
  return cast<RankedTensorType>(type).getNumElements();
}

Bytes pack(const Values &values, Type type) {
  EXPECT_EQ(static_cast<int64_t>(values.size()), getCount(type));
  DType dtype = getDType(type);
  Bytes bytes(values.size() * byteSize(dtype));
  if (dtype == DType::I64)
    for (size_t i = 0; i < values.size(); ++i)
      reinterpret_cast<int64_t *>(bytes.data())[i] =
          static_cast<int64_t>(values[i]);
  else
    convertElements(DType::F64, values.data(), dtype, bytes.data(),
                    values.size());
  return bytes;
}

Values unpack(const Bytes &bytes, Type type) {
  Values values(getCount(type));
  if (getDType(type) == DType::I64)
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = reinterpret_cast<const int64_t *>(bytes.data())[i];
  else
    convertElements(getDType(type), bytes.data(), DType::F64, values.data(),
                    values.size());
  return values;
}

/// A module with one function for each kernel, as machine code.
class Compiled {
public:
  Compiled(MLIRContext *context, ArrayRef<RowKernelOp> kernels,
           unsigned optLevel) {
    module = ModuleOp::create(UnknownLoc::get(context));
    OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
    for (auto [number, kernel] : llvm::enumerate(kernels))
      emitCpuRowKernel(builder, kernel, getName(number))
          .setLinkage(LLVM::Linkage::External);
    PassManager pm(context, ModuleOp::getOperationName());
    buildCpuCodegenPipeline(pm);
    if (failed(pm.run(*module)))
      llvm::report_fatal_error("the kernels do not lower");

    DialectRegistry registry;
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    context->appendDialectRegistry(registry);
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto host =
        llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    auto machine = llvm::cantFail(host.createTargetMachine());
    auto optimize = makeOptimizingTransformer(optLevel, 0, machine.get());
    ExecutionEngineOptions options;
    options.transformer = optimize;
    options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
    engine = llvm::cantFail(ExecutionEngine::create(
        *module, options, llvm::cantFail(host.createTargetMachine())));
  }

  KernelFunction get(unsigned number) {
    return reinterpret_cast<KernelFunction>(
        llvm::cantFail(engine->lookup(getName(number))));
  }

private:
  static std::string getName(unsigned number) {
    return "kernel" + std::to_string(number);
  }

  OwningOpRef<ModuleOp> module;
  std::unique_ptr<ExecutionEngine> engine;
};

/// The kernel's results, its rows run in groups of `rows`, the last ones first.
std::vector<Bytes> runKernel(RowKernelOp kernel, KernelFunction function,
                             llvm::DenseMap<Value, Bytes> &buffers,
                             int64_t rows) {
  std::vector<void *> operands;
  for (Value input : kernel.getInputs())
    operands.push_back(buffers.find(input)->second.data());
  std::vector<Bytes> results;
  for (Type type : kernel->getResultTypes())
    results.push_back(Bytes(getCount(type) * byteSize(getDType(type)), '\x7e'));
  for (Bytes &result : results)
    operands.push_back(result.data());
  int64_t end = kernel.getRows();
  while (end > 0) {
    int64_t begin = std::max<int64_t>(0, end - rows);
    function(operands.data(), begin, end);
    end = begin;
  }
  return results;
}

} // namespace

RunResult sp::test::run(StringRef text, ArrayRef<Values> inputs,
                        const RunOptions &options) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.addNestedPass<func::FuncOp>(createSPFormRowKernels());
  if (options.fuse)
    pm.addNestedPass<func::FuncOp>(createSPFuseRowKernels());
  if (!module || failed(pm.run(*module))) {
    ADD_FAILURE() << "cannot make row kernels of\n" << text.str();
    return {};
  }

  auto function = module->lookupSymbol<func::FuncOp>("f");
  SmallVector<RowKernelOp> kernels(function.getOps<RowKernelOp>());
  Compiled compiled(&context, kernels, options.optLevel);
  llvm::DenseMap<Value, Bytes> buffers;
  for (auto [argument, values] :
       llvm::zip_equal(function.getArguments(), inputs))
    buffers[argument] = pack(values, argument.getType());

  RunResult result;
  for (Operation &op : function.getBody().front()) {
    if (auto kernel = dyn_cast<RowKernelOp>(op)) {
      KernelFunction code = compiled.get(result.kernels++);
      std::vector<Bytes> outputs =
          runKernel(kernel, code, buffers, kernel.getRows());
      for (int64_t rows : {1, 2, 3})
        EXPECT_EQ(runKernel(kernel, code, buffers, rows), outputs)
            << "in groups of " << rows << " rows";
      for (auto [value, output] : llvm::zip(kernel->getResults(), outputs))
        buffers[value] = std::move(output);
    } else if (auto check = dyn_cast<CheckTargetsOp>(op)) {
      Bytes targets = buffers.find(check.getTargets())->second;
      buffers[check.getResult()] = std::move(targets);
    } else if (isa<func::ReturnOp>(op)) {
      for (Value operand : op.getOperands()) {
        result.bytes.push_back(buffers.find(operand)->second);
        result.values.push_back(unpack(result.bytes.back(), operand.getType()));
      }
    } else {
      ADD_FAILURE() << op.getName().getStringRef().str() << " is left";
    }
  }
  return result;
}
