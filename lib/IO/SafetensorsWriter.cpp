//===- SafetensorsWriter.cpp - Writing .safetensors files -----------------===//

#include "sp/IO/Block.h"
#include "sp/IO/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

using namespace sp;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;
namespace json = llvm::json;

static Error tensorError(StringRef file, StringRef tensor,
                         const Twine &message) {
  return llvm::createStringError("cannot write " + file + ": tensor `" +
                                 tensor + "` " + message);
}

static Expected<std::string> makeHeader(StringRef file, json::Object tensors,
                                        const Metadata &metadata) {
  if (!metadata.empty()) {
    json::Object strings;
    for (auto &[key, value] : metadata) {
      if (!json::isUTF8(key) || !json::isUTF8(value))
        return llvm::createStringError("cannot write " + file +
                                       ": its metadata is not valid UTF-8");
      strings[key] = value;
    }
    tensors["__metadata__"] = std::move(strings);
  }
  // Printing a json::Value sorts the keys.
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(tensors));
  // Spaces up to a multiple of 8 keep the data aligned.
  text.resize(llvm::alignTo(text.size(), 8), ' ');
  return text;
}

Error SafetensorsWriter::declare(const TensorSpec &spec) {
  if (spec.name == "__metadata__" || !json::isUTF8(spec.name))
    return tensorError(path(), spec.name,
                       "has a name that the format does not allow");
  std::optional<int64_t> count = countElements(spec.shape);
  int64_t bytes = 0;
  if (!count || llvm::MulOverflow<int64_t>(*count, byteSize(spec.dtype), bytes))
    return tensorError(path(), spec.name,
                       "has the impossible shape " + formatShape(spec.shape));

  auto entry = std::make_unique<Entry>();
  entry->spec = spec;
  entry->numElements = *count;
  entry->bytes = bytes;
  if (!entryOf.try_emplace(spec.name, entry.get()).second)
    return tensorError(path(), spec.name, "is declared twice");
  entries.push_back(std::move(entry));
  return Error::success();
}

/// Sets the size and allocates every block: a full disk noticed only when a
/// mapped page is written would be a SIGBUS. File systems that cannot allocate
/// ahead (NFS 3) only get the size.
static std::error_code reserve(int fd, int64_t bytes) {
  int result;
  do
    result = ::fallocate(fd, 0, 0, bytes);
  while (result != 0 && errno == EINTR);
  if (result == 0)
    return std::error_code();
  if (errno == EOPNOTSUPP)
    return fs::resize_file(fd, bytes);
  return std::error_code(errno, std::generic_category());
}

Error SafetensorsWriter::layOut(const Metadata &metadata) {
  // Wider elements first: no tensor can then end up misaligned.
  llvm::sort(entries, [](const auto &a, const auto &b) {
    unsigned aSize = byteSize(a->spec.dtype), bSize = byteSize(b->spec.dtype);
    return aSize != bSize ? aSize > bSize : a->spec.name < b->spec.name;
  });

  int64_t dataBytes = 0;
  json::Object tensors;
  for (auto &entry : entries) {
    entry->begin = dataBytes;
    if (llvm::AddOverflow(dataBytes, entry->bytes, dataBytes))
      return tensorError(path(), entry->spec.name,
                         "makes the file larger than 64 bits can count");
    tensors[entry->spec.name] =
        json::Object{{"dtype", dtypeName(entry->spec.dtype)},
                     {"shape", json::Array(entry->spec.shape)},
                     {"data_offsets", json::Array{entry->begin, dataBytes}}};
  }
  Expected<std::string> header =
      makeHeader(path(), std::move(tensors), metadata);
  if (!header)
    return header.takeError();

  int64_t fileBytes = 0;
  if (llvm::AddOverflow<int64_t>(dataBytes, 8 + header->size(), fileBytes))
    return llvm::createStringError("cannot write " + path() +
                                   ": the file would be too large");
  std::error_code error = reserve(file.fd(), fileBytes);
  if (!error)
    mapping = fs::mapped_file_region(fs::convertFDToNativeFile(file.fd()),
                                     fs::mapped_file_region::readwrite,
                                     fileBytes, 0, error);
  if (error)
    return llvm::createStringError(error, "cannot write " + path() + ", " +
                                              Twine(fileBytes) +
                                              " bytes: " + error.message());
  llvm::support::endian::write64le(mapping.data(), header->size());
  std::memcpy(mapping.data() + 8, header->data(), header->size());
  data = mapping.data() + 8 + header->size();
  return Error::success();
}

Expected<std::unique_ptr<SafetensorsWriter>>
SafetensorsWriter::create(StringRef path, ArrayRef<TensorSpec> tensors,
                          const Metadata &metadata) {
  Expected<AtomicFile> file = AtomicFile::create(path);
  if (!file)
    return file.takeError();
  std::unique_ptr<SafetensorsWriter> writer(
      new SafetensorsWriter(std::move(*file)));
  for (const TensorSpec &spec : tensors)
    if (Error error = writer->declare(spec))
      return error;
  if (Error error = writer->layOut(metadata))
    return error;
  return writer;
}

Expected<SafetensorsWriter::Entry *>
SafetensorsWriter::lookup(StringRef name) const {
  assert(mapping && "used after commit");
  if (Entry *entry = entryOf.lookup(name))
    return entry;
  return tensorError(path(), name, "was not declared");
}

Error SafetensorsWriter::writeSlice(StringRef name, ArrayRef<int64_t> offsets,
                                    ArrayRef<int64_t> sizes, DType source,
                                    const void *src) {
  Expected<Entry *> entry = lookup(name);
  if (!entry)
    return entry.takeError();
  const TensorSpec &spec = (*entry)->spec;
  if (!canConvert(source, spec.dtype))
    return tensorError(path(), name,
                       "has type " + dtypeName(spec.dtype) +
                           " and cannot store " + dtypeName(source));
  if (auto why = findBlockError(spec.shape, offsets, sizes))
    return tensorError(path(), name, "cannot store this slice: " + *why);

  char *tensor = data + (*entry)->begin;
  forEachRun(
      spec.shape, offsets, sizes, [&](int64_t to, int64_t from, int64_t count) {
        convertElements(
            source, static_cast<const char *>(src) + from * byteSize(source),
            spec.dtype, tensor + to * byteSize(spec.dtype), count);
        (*entry)->written.fetch_add(count, std::memory_order_relaxed);
      });
  return Error::success();
}

Expected<llvm::MutableArrayRef<char>> SafetensorsWriter::bytes(StringRef name) {
  Expected<Entry *> entry = lookup(name);
  if (!entry)
    return entry.takeError();
  (*entry)->written = (*entry)->numElements;
  return llvm::MutableArrayRef<char>(data + (*entry)->begin, (*entry)->bytes);
}

Error SafetensorsWriter::commit() {
  // A block written twice counts twice, so this finds omissions, not all of
  // them; without it a forgotten tensor would be a file full of zeros.
  for (auto &entry : entries)
    if (entry->written < entry->numElements)
      return tensorError(path(), entry->spec.name,
                         "was filled only in part: " + Twine(entry->written) +
                             " of " + Twine(entry->numElements) + " elements");
  // The dirty pages stay with the file, and its fsync writes them.
  mapping.unmap();
  return file.commit();
}

Error sp::writeSafetensors(StringRef path, ArrayRef<TensorData> tensors,
                           const Metadata &metadata) {
  std::vector<TensorSpec> specs;
  for (const TensorData &tensor : tensors)
    specs.push_back(tensor.spec);
  auto writer = SafetensorsWriter::create(path, specs, metadata);
  if (!writer)
    return writer.takeError();
  for (const TensorData &tensor : tensors) {
    const TensorSpec &spec = tensor.spec;
    if (Error error =
            (*writer)->writeSlice(spec.name, Shape(spec.shape.size(), 0),
                                  spec.shape, spec.dtype, tensor.data))
      return error;
  }
  return (*writer)->commit();
}
