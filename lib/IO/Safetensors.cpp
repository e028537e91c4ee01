//===- Safetensors.cpp - Reading .safetensors files -----------------------===//
//
// All validation happens in `open`, so that reading can trust every offset.
//
//===----------------------------------------------------------------------===//

#include "sp/IO/Safetensors.h"

#include "sp/IO/Block.h"
#include "sp/IO/StrictJSON.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace sp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

// The limit of the reference implementation.
static constexpr uint64_t maxHeaderBytes = 100'000'000;

// The header's object, a tensor's object and its arrays.
static constexpr unsigned headerDepth = 3;

static Error fileError(StringRef file, const Twine &message) {
  return llvm::createStringError(Twine(file) + ": " + message);
}

static Error tensorError(StringRef file, StringRef tensor,
                         const Twine &message) {
  return fileError(file, "tensor `" + tensor + "` " + message);
}

//===----------------------------------------------------------------------===//
// Header
//===----------------------------------------------------------------------===//

static Expected<TensorInfo> parseTensor(StringRef file, StringRef name,
                                        const json::Value &value) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return tensorError(file, name, "is not described by a JSON object");
  for (auto &[key, ignored] : *object)
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      return tensorError(file, name,
                         "has the unknown field `" + key.str() + "`");

  TensorInfo info;
  info.name = name.str();

  std::optional<StringRef> dtype = object->getString("dtype");
  if (!dtype)
    return tensorError(file, name, "has no `dtype`");
  std::optional<DType> type = parseDType(*dtype);
  if (!type)
    return tensorError(file, name,
                       "has dtype `" + *dtype + "`, which is not supported");
  info.dtype = *type;

  const json::Array *shape = object->getArray("shape");
  if (!shape)
    return tensorError(file, name, "has no `shape`");
  for (const json::Value &dim : *shape) {
    std::optional<int64_t> size = dim.getAsInteger();
    if (!size || *size < 0)
      return tensorError(file, name,
                         "has a dimension that is not a whole number >= 0");
    info.shape.push_back(*size);
  }
  std::optional<int64_t> count = countElements(info.shape);
  int64_t bytes = 0;
  if (!count || llvm::MulOverflow<int64_t>(*count, byteSize(*type), bytes))
    return tensorError(file, name,
                       "of shape " + formatShape(info.shape) +
                           " has more bytes than 64 bits can count");
  info.numElements = *count;

  const json::Array *offsets = object->getArray("data_offsets");
  std::optional<uint64_t> begin, end;
  if (offsets && offsets->size() == 2) {
    begin = (*offsets)[0].getAsUINT64();
    end = (*offsets)[1].getAsUINT64();
  }
  if (!begin || !end || *begin > *end)
    return tensorError(file, name, "has no valid `data_offsets`");
  if (*end - *begin != uint64_t(bytes))
    return tensorError(file, name,
                       "of type " + *dtype + " and shape " +
                           formatShape(info.shape) + " needs " + Twine(bytes) +
                           " bytes, but its `data_offsets` [" + Twine(*begin) +
                           ", " + Twine(*end) + "] hold " +
                           Twine(*end - *begin));
  info.begin = *begin;
  info.end = *end;
  return info;
}

/// The tensors must cover the data exactly, as the format demands: a hole or an
/// overlap means that some offset is wrong.
static Error checkCoverage(StringRef file, ArrayRef<TensorInfo> infos,
                           uint64_t dataBytes) {
  std::vector<const TensorInfo *> order;
  for (const TensorInfo &info : infos)
    order.push_back(&info);
  // Empty tensors share their begin with the tensor after them.
  llvm::sort(order, [](const TensorInfo *a, const TensorInfo *b) {
    return std::tie(a->begin, a->end, a->name) <
           std::tie(b->begin, b->end, b->name);
  });

  uint64_t end = 0;
  StringRef previous;
  for (const TensorInfo *info : order) {
    if (info->end > dataBytes)
      return tensorError(file, info->name,
                         "ends at byte " + Twine(info->end) +
                             " of the data, but the file holds only " +
                             Twine(dataBytes) +
                             "; it is truncated, copy or download it again");
    if (info->begin < end)
      return tensorError(file, info->name,
                         "overlaps tensor `" + previous + "`");
    if (info->begin > end)
      return tensorError(file, info->name,
                         "starts at byte " + Twine(info->begin) +
                             " of the data, but byte " + Twine(end) +
                             " belongs to no tensor");
    end = info->end;
    previous = info->name;
  }
  if (end != dataBytes)
    return fileError(file, Twine(dataBytes - end) +
                               " bytes after the last tensor belong to none");
  return Error::success();
}

static Error parseMetadata(StringRef file, const json::Value &value,
                           Metadata &metadata) {
  const json::Object *object = value.getAsObject();
  if (!object)
    return fileError(file, "`__metadata__` is not a JSON object");
  for (auto &[key, text] : *object) {
    std::optional<StringRef> string = text.getAsString();
    if (!string)
      return fileError(file, "`__metadata__` entry `" + key.str() +
                                 "` is not a string");
    metadata[key.str()] = string->str();
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// SafetensorsFile
//===----------------------------------------------------------------------===//

/// Maps a regular file of at least the 8 bytes that hold the header length.
static Error mapFile(StringRef path, fs::mapped_file_region &mapping) {
  // Asked before opening: opening a pipe would wait for its writer.
  fs::file_status status;
  if (std::error_code error = fs::status(path, status))
    return fileError(path, "cannot open: " + error.message());
  if (!fs::is_regular_file(status))
    return fileError(path, "is not a regular file");
  Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file)
    return fileError(path, "cannot open: " + llvm::toString(file.takeError()));
  llvm::scope_exit close([&] { (void)fs::closeFile(*file); });
  // Asked again: the path may name another file by now.
  if (std::error_code error = fs::status(*file, status))
    return fileError(path, "cannot open: " + error.message());
  if (status.getSize() < 8)
    return fileError(path, "has " + Twine(status.getSize()) +
                               " bytes, too few for a safetensors file");
  std::error_code error;
  mapping = fs::mapped_file_region(*file, fs::mapped_file_region::readonly,
                                   status.getSize(), 0, error);
  if (error)
    return fileError(path, "cannot map into memory: " + error.message());
  return Error::success();
}

Expected<std::unique_ptr<SafetensorsFile>>
SafetensorsFile::open(StringRef path) {
  std::unique_ptr<SafetensorsFile> result(new SafetensorsFile());
  result->filePath = path.str();
  StringRef file = result->filePath;
  if (Error error = mapFile(file, result->mapping))
    return error;

  StringRef contents(result->mapping.const_data(), result->mapping.size());
  uint64_t headerBytes = llvm::support::endian::read64le(contents.data());
  StringRef rest = contents.drop_front(8);
  if (headerBytes > rest.size() || headerBytes > maxHeaderBytes)
    return fileError(file, "header length " + Twine(headerBytes) + " exceeds " +
                               (headerBytes > rest.size()
                                    ? "the file; it is truncated or not a "
                                      "safetensors file"
                                    : "the format's limit"));
  StringRef header = rest.take_front(headerBytes);
  result->data = rest.drop_front(headerBytes).data();

  Expected<json::Value> root =
      parseStrictJSON((Twine(file) + ": header").str(), header, headerDepth);
  if (!root)
    return root.takeError();
  const json::Object *object = root->getAsObject();
  if (!object)
    return fileError(file, "header is not a JSON object");

  for (auto &[key, value] : *object) {
    if (key == "__metadata__") {
      if (Error error = parseMetadata(file, value, result->fileMetadata))
        return error;
      continue;
    }
    Expected<TensorInfo> info = parseTensor(file, key, value);
    if (!info)
      return info.takeError();
    result->infos.push_back(std::move(*info));
  }
  if (Error error =
          checkCoverage(file, result->infos, rest.size() - headerBytes))
    return error;

  llvm::sort(result->infos, [](const TensorInfo &a, const TensorInfo &b) {
    return a.name < b.name;
  });
  for (auto [index, info] : llvm::enumerate(result->infos))
    result->indexOf[info.name] = index;
  return result;
}

std::optional<Tensor> SafetensorsFile::find(StringRef name) const {
  auto it = indexOf.find(name);
  if (it == indexOf.end())
    return std::nullopt;
  const TensorInfo &info = infos[it->second];
  return Tensor{&info, data + info.begin, filePath};
}

Expected<Tensor> SafetensorsFile::get(StringRef name) const {
  if (std::optional<Tensor> tensor = find(name))
    return *tensor;
  return fileError(filePath, "has no tensor `" + name + "`");
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

Error sp::readSlice(const Tensor &tensor, ArrayRef<int64_t> offsets,
                    ArrayRef<int64_t> sizes, DType target, void *dst) {
  DType source = tensor.dtype();
  if (!canConvert(source, target))
    return tensorError(tensor.file, tensor.name(),
                       "has type " + dtypeName(source) +
                           " and cannot be read as " + dtypeName(target));
  if (auto why = findBlockError(tensor.shape(), offsets, sizes))
    return tensorError(tensor.file, tensor.name(), "cannot be read: " + *why);
  forEachRun(tensor.shape(), offsets, sizes,
             [&](int64_t from, int64_t to, int64_t count) {
               convertElements(
                   source, tensor.data + from * byteSize(source), target,
                   static_cast<char *>(dst) + to * byteSize(target), count);
             });
  return Error::success();
}

Error sp::readTensor(const Tensor &tensor, DType target, void *dst) {
  Shape zeros(tensor.shape().size(), 0);
  return readSlice(tensor, zeros, tensor.shape(), target, dst);
}
