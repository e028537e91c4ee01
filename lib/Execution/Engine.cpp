//===- Engine.cpp - machine code in memory --------------------------------===//

#include "Engine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "sp/Runtime/Context.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace sp;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

/// ORC would report a missing symbol in its own words, and on stderr.
static Error checkSymbols(ModuleOp module) {
  llvm::StringSet<> known;
  for (const RuntimeSymbol &symbol : runtimeSymbols())
    known.insert(symbol.name);
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function.isExternal() && function.getName().starts_with("sp_") &&
        !known.contains(function.getName()))
      return createStringError("the program calls `" + function.getName() +
                               "`, which this build's runtime does not have");
  return Error::success();
}

static llvm::orc::SymbolMap
getRuntimeSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap map;
  for (const RuntimeSymbol &symbol : runtimeSymbols())
    map[mangle(symbol.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(symbol.address),
        llvm::JITSymbolFlags::Exported};
  return map;
}

Expected<std::unique_ptr<ExecutionEngine>> sp::createEngine(ModuleOp module,
                                                            unsigned optLevel) {
  if (Error error = checkSymbols(module))
    return error;
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!host)
    return host.takeError();
  // One for the optimiser, which needs it to know the vector width, and one for
  // the engine, which keeps it.
  auto forOptimizer = host->createTargetMachine();
  if (!forOptimizer)
    return forOptimizer.takeError();
  auto forEngine = host->createTargetMachine();
  if (!forEngine)
    return forEngine.takeError();

  auto optimize =
      makeOptimizingTransformer(optLevel, /*sizeLevel=*/0, forOptimizer->get());
  ExecutionEngineOptions options;
  options.transformer = optimize;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*forEngine));
  if (!engine)
    return engine.takeError();
  (*engine)->registerSymbols(getRuntimeSymbols);
  return engine;
}
