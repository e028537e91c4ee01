//===- Sections.h - the parts of the report page ----------------*- C++ -*-===//

#ifndef SP_LIB_REPORT_SECTIONS_H
#define SP_LIB_REPORT_SECTIONS_H

#include "sp/Report/Page.h"
#include "llvm/Support/raw_ostream.h"

namespace sp {

/// The style sheet.
extern const char *const kPageStyle;

/// The page's numbers, as JSON that may stand in a script element.
std::string renderData(const PageHeader &header,
                       llvm::ArrayRef<ProgramReport> programs);

/// A layer's ops from top to bottom, with what the ranks hold between them.
/// `id` is unique in the page.
void renderLane(const LayerGraph &graph, llvm::StringRef title,
                llvm::StringRef id, int64_t numRanks, llvm::raw_ostream &os);
/// The same as a table.
void renderLaneTable(const LayerGraph &graph, llvm::StringRef title,
                     llvm::raw_ostream &os);
/// A little picture of what `numRanks` ranks hold, at (x, y) of an SVG; gives
/// its width.
double renderGlyph(Holding holding, int64_t numRanks, double x, double y,
                   llvm::raw_ostream &os);

/// Live bytes over the schedule, all programs in one chart.
void renderMemoryChart(llvm::ArrayRef<ProgramReport> programs,
                       llvm::raw_ostream &os);

void renderCollectiveSection(const PageHeader &header,
                             llvm::ArrayRef<ProgramReport> programs,
                             llvm::raw_ostream &os);
void renderMemorySection(llvm::ArrayRef<ProgramReport> programs,
                         llvm::raw_ostream &os);

} // namespace sp

#endif // SP_LIB_REPORT_SECTIONS_H
