//===- PrintCollectives.cpp - what ranks send, how much, and why ----------===//

#include "sp/Transforms/CollectiveTable.h"
#include "sp/Transforms/Collectives.h"
#include "sp/Transforms/Passes.h"

namespace sp {
#define GEN_PASS_DEF_SPPRINTCOLLECTIVES
#include "sp/Transforms/Passes.h.inc"
} // namespace sp

using namespace mlir;
using namespace sp;

namespace {
struct PrintCollectives : sp::impl::SPPrintCollectivesBase<PrintCollectives> {
  void runOnOperation() override;
};
} // namespace

/// Lines of cells, every column as wide as its widest.
static void printAligned(ArrayRef<SmallVector<std::string>> lines,
                         ArrayRef<bool> right, raw_ostream &os) {
  SmallVector<size_t> widths;
  for (ArrayRef<std::string> line : lines)
    for (auto [i, cell] : llvm::enumerate(line)) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], cell.size());
    }
  for (ArrayRef<std::string> line : lines) {
    for (auto [i, cell] : llvm::enumerate(line)) {
      size_t padding = widths[i] - cell.size();
      os.indent(2 + (right[i] ? padding : 0)) << cell;
      if (!right[i] && i + 1 != line.size())
        os.indent(padding);
    }
    os << "\n";
  }
}

/// The rows that move data, or those that do not.
static void printRows(ArrayRef<CollectiveRow> rows, bool moving,
                      raw_ostream &os) {
  SmallVector<SmallVector<std::string>> lines;
  lines.push_back({"kind", "axis", "layout", "bytes", "phase", "at", "why"});
  for (const CollectiveRow &row : rows)
    if (row.moves() == moving)
      lines.push_back({row.kind.str(), row.axis.str(), row.change(),
                       std::to_string(row.bytes), stringify(row.phase).str(),
                       row.at, row.why});
  if (lines.size() == 1) {
    os << "  none\n";
    return;
  }
  printAligned(lines, {false, false, false, true, false, false, false}, os);
}

static void printTotals(ArrayRef<CollectiveRow> rows, raw_ostream &os) {
  SmallVector<Phase> phases;
  for (Phase phase : {Phase::Forward, Phase::Backward, Phase::Update})
    if (phase == Phase::Forward ||
        llvm::any_of(rows, [&](auto &row) { return row.phase == phase; }))
      phases.push_back(phase);
  SmallVector<SmallVector<std::string>> lines(1, {"total"});
  SmallVector<bool> right{false};
  for (Phase phase : phases) {
    lines.front().append({stringify(phase).str(), "bytes"});
    right.append(2, true);
  }
  auto add = [&](StringRef name, auto isIn) {
    SmallVector<std::string> line{name.str()};
    for (Phase phase : phases) {
      CollectiveSum sum;
      for (const CollectiveRow &row : rows)
        if (row.phase == phase && isIn(row))
          sum += {1, row.bytes};
      line.append({std::to_string(sum.count), std::to_string(sum.bytes)});
    }
    lines.push_back(std::move(line));
  };
  for (StringRef kind : kCollectiveKinds)
    add(kind, [&](const CollectiveRow &row) { return row.kind == kind; });
  add("all", [](const CollectiveRow &row) { return row.moves(); });
  printAligned(lines, right, os);
}

static void print(func::FuncOp function, MeshOp mesh, raw_ostream &os) {
  SmallVector<CollectiveRow> rows = findCollectives(function, mesh);
  os << "collectives of `" << function.getName()
     << "`, with the bytes that each rank sends\n";
  printRows(rows, /*moving=*/true, os);
  os << "layout changes of `" << function.getName() << "` that move nothing\n";
  printRows(rows, /*moving=*/false, os);
  printTotals(rows, os);
}

/// C1 to C3.
static LogicalResult verifyPrintable(func::FuncOp function, MeshOp mesh) {
  if (function->hasAttr(kCollectivesAttr))
    return emitError(function.getLoc())
           << "`" << function.getName() << "` is localised (it has `"
           << kCollectivesAttr
           << "`); its types no longer say what a rank holds; run before "
              "sp-localize (C2)";
  WalkResult result = function.walk([&](Operation *op) {
    if (!isa<CopyOp, SliceOp, ZeroPadOp, AllReduceOp, ReduceScatterOp,
             AllGatherOp>(op))
      return WalkResult::advance();
    for (StringAttr axis : getChangedAxes(op->getOperand(0).getType(),
                                          op->getResult(0).getType()))
      if (mesh.getAxisIndex(axis) < 0) {
        op->emitOpError("changes a layout along `")
            << axis.getValue() << "`, which is not an axis of the mesh (C1)";
        return WalkResult::interrupt();
      }
    if (op->getParentOp() != function)
      op->emitOpError("is inside `")
          << op->getParentOp()->getName()
          << "`; how often it runs is not known (C3)";
    else if (!function.getBody().hasOneBlock())
      op->emitOpError("is in a function of ")
          << function.getBody().getBlocks().size()
          << " blocks; how often it runs is not known (C3)";
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void PrintCollectives::runOnOperation() {
  MeshOp mesh = MeshOp::lookup(getOperation());
  if (!mesh) {
    emitError(getOperation().getLoc())
        << "sp-print-collectives: the module has no mesh; run "
           "sp-tensor-parallel first (C1)";
    return signalPassFailure();
  }
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (failed(verifyPrintable(function, mesh)))
      return signalPassFailure();
    if (!function.isDeclaration() && function.getBody().hasOneBlock())
      print(function, mesh, llvm::errs());
  }
  markAllAnalysesPreserved();
}
