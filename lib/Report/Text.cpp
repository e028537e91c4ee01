//===- Text.cpp - text for pages ------------------------------------------===//

#include "Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace sp;
using llvm::formatv;
using llvm::StringRef;

std::string sp::escapeHTML(StringRef text) {
  std::string escaped;
  for (char c : llvm::json::fixUTF8(text))
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    case '\'':
      escaped += "&#39;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

std::string sp::formatBytes(int64_t bytes) {
  if (bytes < 1024)
    return formatv("{0} B", bytes);
  double value = bytes;
  StringRef unit;
  for (StringRef next : {"KiB", "MiB", "GiB", "TiB"}) {
    value /= 1024;
    unit = next;
    if (value < 1024)
      break;
  }
  if (value == std::floor(value))
    return formatv("{0:f0} {1}", value, unit);
  return value < 100 ? formatv("{0:f2} {1}", value, unit)
                     : formatv("{0:f1} {1}", value, unit);
}

std::string sp::formatSizes(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(
      llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }), "×");
}

std::string sp::formatChange(int64_t from, int64_t to) {
  if (from == to || from == 0)
    return from == to ? "unchanged" : "new";
  double percent = 100.0 * (to - from) / from;
  return formatv("{0}{1:f1} %", percent < 0 ? "−" : "+", std::abs(percent));
}

std::string sp::getPattern(StringRef module) {
  std::optional<Layer> layer = getLayer(module);
  if (!layer)
    return module.str();
  return layer->stack + ".*" + module.drop_front(layer->name().size()).str();
}

StringRef sp::getStyleClass(Holding holding) {
  switch (holding) {
  case Holding::Replicated:
    return "rep";
  case Holding::SequenceShard:
    return "seq";
  case Holding::FeatureShard:
    return "fea";
  case Holding::Partial:
    return "par";
  }
  llvm_unreachable("all holdings are handled");
}
