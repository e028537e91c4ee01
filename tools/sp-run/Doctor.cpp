//===- Doctor.cpp - what this machine offers ------------------------------===//

#include "Options.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <dlfcn.h>
#include <dnnl.h>

using namespace llvm;
using namespace sp;

// Not <cblas.h>, whose folder is the business of the runtime.
extern "C" char *openblas_get_config(void);

static void print(StringRef what, const Twine &value) {
  outs() << formatv("{0,-14} ", what) << value << "\n";
}

/// The value of the first line of /proc/`file` that begins with `key`.
static std::string readProc(StringRef file, StringRef key) {
  auto buffer = MemoryBuffer::getFileAsStream(("/proc/" + file).str());
  if (!buffer)
    return "unknown";
  for (line_iterator line(**buffer); !line.is_at_end(); ++line)
    if (line->starts_with(key))
      return line->split(':').second.trim().str();
  return "unknown";
}

/// A library that may or may not be there; never unloaded, so that its own
/// threads and exit handlers stay valid.
static void *openLibrary(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL))
      return handle;
  return nullptr;
}

template <typename Function>
static Function lookup(void *library, const char *name) {
  return reinterpret_cast<Function>(library ? dlsym(library, name) : nullptr);
}

static void printCpu() {
  print("cpu", readProc("cpuinfo", "model name"));
  StringMap<bool> features = sys::getHostCPUFeatures();
  std::string found;
  for (StringRef feature : {"avx2", "fma", "avx512f", "avx512vnni",
                            "avx512bf16", "amx-bf16", "neon", "sve", "bf16"})
    if (features.lookup(feature))
      found += " " + feature.str();
  print("features", found.empty() ? "none of interest" : found.substr(1));
  print("cores", Twine(hardware_concurrency().compute_thread_count()));
  print("memory", readProc("meminfo", "MemTotal"));
}

static void printLibraries() {
  print("llvm", LLVM_VERSION_STRING);
  const dnnl_version_t *dnnl = dnnl_version();
  print("onednn", formatv("{0}.{1}.{2} (f32 and bf16 products)", dnnl->major,
                          dnnl->minor, dnnl->patch)
                      .str());
  void *blas = openLibrary({"libopenblas.so.0", "libopenblas.so"});
  auto config = lookup<char *(*)()>(blas, "openblas_get_config");
  print("openblas",
        config ? std::string(config()) + " (f64 products)" : "not found");
}

static void printGpu() {
  void *cuda = openLibrary({"libcuda.so.1", "libcuda.so"});
  auto init = lookup<int (*)(unsigned)>(cuda, "cuInit");
  auto getCount = lookup<int (*)(int *)>(cuda, "cuDeviceGetCount");
  auto getVersion = lookup<int (*)(int *)>(cuda, "cuDriverGetVersion");
  auto getName = lookup<int (*)(char *, int, int)>(cuda, "cuDeviceGetName");
  int count = 0, version = 0;
  if (!init || !getCount || !getVersion || !getName) {
    print("gpu", "no NVIDIA driver");
  } else if (init(0) != 0 || getCount(&count) != 0 || count == 0) {
    print("gpu", "NVIDIA driver found, but no GPU");
  } else {
    getVersion(&version);
    for (int device = 0; device < count; ++device) {
      char name[256] = "unknown";
      getName(name, sizeof(name), device);
      print("gpu", formatv("{0} (driver for CUDA {1}.{2})", name,
                           version / 1000, version % 1000 / 10)
                       .str());
    }
  }
  auto ncclVersion = lookup<int (*)(int *)>(
      openLibrary({"libnccl.so.2", "libnccl.so"}), "ncclGetVersion");
  int nccl = 0;
  print("nccl",
        ncclVersion && ncclVersion(&nccl) == 0
            ? formatv("{0}.{1}.{2}", nccl / 10000, nccl / 100 % 100, nccl % 100)
                  .str()
            : "not found");
}

static void printMpi() {
  ErrorOr<std::string> mpirun = sys::findProgramByName("mpirun");
  print("mpi", mpirun ? *mpirun : "not found");
}

Error sp::runDoctor() {
  printCpu();
  printLibraries();
  printGpu();
  printMpi();
  outs() << "\nThis build runs on: --device cpu, --comm local (ranks are "
            "threads of one process).\nNot in this build: --device cuda, "
            "--comm mpi, --comm nccl.\n";
  return Error::success();
}
