//===- ProgramSymbols.h - what lowered functions are called ---------------===//

#ifndef SP_CONVERSION_PROGRAMSYMBOLS_H
#define SP_CONVERSION_PROGRAMSYMBOLS_H

#include "llvm/ADT/Twine.h"
#include <string>

namespace sp {

/// The symbol of the function `name` after `convert-sp-to-llvm`. A program may
/// call its functions what it likes, `tanh` or `sp_gemm`, without meeting the
/// symbols that it is linked with.
inline std::string getProgramSymbol(llvm::StringRef name) {
  return ("program_" + name).str();
}

} // namespace sp

#endif // SP_CONVERSION_PROGRAMSYMBOLS_H
