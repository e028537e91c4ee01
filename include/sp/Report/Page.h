//===- Page.h - one self-contained HTML page --------------------*- C++ -*-===//

#ifndef SP_REPORT_PAGE_H
#define SP_REPORT_PAGE_H

#include "sp/Report/ProgramReport.h"

namespace sp {

/// What the programs of a page have in common.
struct PageHeader {
  std::string model, mesh, dtype;
  int64_t batchSize, seqLen, hiddenSize, numLayers;
  /// The bytes of an activation's element.
  int64_t elementBytes;

  /// One unit of communication: what each of `numRanks` ranks sends when a
  /// hidden state [S,B,H] is gathered or reduced and scattered once.
  int64_t getUnit(int64_t numRanks) const {
    return (numRanks - 1) * seqLen * batchSize * hiddenSize * elementBytes /
           numRanks;
  }
};

/// The page as HTML: pictures, charts and tables, and its numbers as JSON in
/// the element `#data`. It loads nothing and runs nothing.
std::string renderPage(const PageHeader &header,
                       llvm::ArrayRef<ProgramReport> programs);

} // namespace sp

#endif // SP_REPORT_PAGE_H
