//===- Symbols.cpp - the runtime's functions by name ----------------------===//

#include "sp/Runtime/Context.h"

const std::vector<sp::RuntimeSymbol> &sp::runtimeSymbols() {
  static const std::vector<RuntimeSymbol> symbols = {
#define SP_RUNTIME_FUNCTION(result, name, parameters)                          \
  {#name, reinterpret_cast<void *>(&::name)},
#include "sp/Runtime/RuntimeFunctions.def"
  };
  return symbols;
}
