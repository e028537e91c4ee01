//===- Text.h - text for pages ----------------------------------*- C++ -*-===//

#ifndef SP_LIB_REPORT_TEXT_H
#define SP_LIB_REPORT_TEXT_H

#include "sp/Report/ProgramReport.h"

namespace sp {

/// `text` for the inside of an element or a quoted attribute; bytes that are
/// not UTF-8 are replaced.
std::string escapeHTML(llvm::StringRef text);

/// "1.5 MiB".
std::string formatBytes(int64_t bytes);
/// "8 x 2 x 64", with a multiplication sign; "scalar".
std::string formatSizes(llvm::ArrayRef<int64_t> shape);
/// "-25 %" with a minus sign; "unchanged".
std::string formatChange(int64_t from, int64_t to);

/// "model.layers.*.mlp": a module's name without its layer's number.
std::string getPattern(llvm::StringRef module);

/// The CSS class that colours `holding`.
llvm::StringRef getStyleClass(Holding holding);

} // namespace sp

#endif // SP_LIB_REPORT_TEXT_H
