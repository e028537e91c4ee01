//===- Session.cpp - a program with its memory, on T ranks ----------------===//

#include "sp/Execution/Session.h"
#include "sp/IO/Block.h"
#include "sp/Runtime/Context.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <cstring>
#include <sys/mman.h>

using namespace sp;
using llvm::ArrayRef;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

/// Zeroed memory straight from the system: aligned, on huge pages where it is
/// large, and on the node of the thread that first touches it.
class Memory {
public:
  Memory() = default;
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() {
    if (bytes)
      munmap(data, bytes);
  }

  Error allocate(int64_t size, const llvm::Twine &what);

  char *get() const { return data; }
  int64_t size() const { return bytes; }

private:
  char *data = nullptr;
  int64_t bytes = 0;
};

} // namespace

Error Memory::allocate(int64_t size, const llvm::Twine &what) {
  if (size == 0)
    return Error::success();
  void *mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    return createStringError("cannot allocate " + llvm::Twine(size) +
                             " bytes for " + what);
  data = static_cast<char *>(mapped);
  bytes = size;
  madvise(data, bytes, MADV_HUGEPAGE);
  return Error::success();
}

/// One allocation for several tensors.
static Error allocateTensors(ArrayRef<ProgramTensor> tensors, Memory &memory,
                             std::vector<void *> &pointers,
                             const llvm::Twine &what) {
  constexpr int64_t kAlignment = 64;
  int64_t size = 0;
  llvm::SmallVector<int64_t> offsets;
  for (const ProgramTensor &tensor : tensors) {
    offsets.push_back(size);
    size = llvm::alignTo(size + tensor.localBytes(), kAlignment);
  }
  if (Error error = memory.allocate(size, what))
    return error;
  for (int64_t offset : offsets)
    pointers.push_back(memory.get() + offset);
  return Error::success();
}

struct Session::Rank {
  Memory arena, argumentMemory, resultMemory;
  std::vector<void *> arguments, results;
};

Session::Session(const CompiledProgram &program)
    : compiled(program), program(program.getProgram()) {}

Session::~Session() = default;

Expected<std::unique_ptr<Session>>
Session::create(const CompiledProgram &compiled) {
  std::unique_ptr<Session> session(new Session(compiled));
  const Program &program = compiled.getProgram();
  for (int64_t i = 0; i < program.numRanks(); ++i) {
    auto rank = std::make_unique<Rank>();
    std::string of = " of rank " + std::to_string(i);
    if (Error error =
            rank->arena.allocate(program.arenaBytes, "the arena" + of))
      return error;
    if (Error error = allocateTensors(program.arguments, rank->argumentMemory,
                                      rank->arguments, "the arguments" + of))
      return error;
    if (Error error = allocateTensors(program.results, rank->resultMemory,
                                      rank->results, "the results" + of))
      return error;
    session->ranks.push_back(std::move(rank));
  }
  return session;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Error Session::loadParameters(const ParameterSource &source) {
  for (auto [i, tensor] : llvm::enumerate(program.arguments)) {
    if (tensor.role != ProgramTensor::Role::Parameter)
      continue;
    for (auto [number, rank] : llvm::enumerate(ranks))
      if (Error error =
              source.read(tensor.name, tensor.globalShape,
                          program.getOffsets(tensor, number), tensor.localShape,
                          tensor.dtype, rank->arguments[i]))
        return error;
  }
  return Error::success();
}

/// "integers (I64)".
static std::string describe(DType type) {
  bool floating = canConvert(type, DType::F64);
  return (floating ? "floating point numbers (" : "integers (") +
         dtypeName(type).str() + ")";
}

/// That `tensor` of a file can be given to the program as `wanted`.
static Error checkInput(const Tensor &tensor, const ProgramTensor &wanted) {
  std::string what =
      "input `" + wanted.name + "` in " + tensor.file.str() + " has ";
  if (tensor.shape() != ArrayRef<int64_t>(wanted.globalShape))
    return createStringError(what + "shape " + formatShape(tensor.shape()) +
                             ", the program needs " +
                             formatShape(wanted.globalShape));
  if (!canConvert(tensor.dtype(), wanted.dtype))
    return createStringError(what + describe(tensor.dtype()) +
                             ", the program needs " + describe(wanted.dtype));
  return Error::success();
}

Error Session::loadInputs(const SafetensorsFile &file) {
  llvm::StringSet<> wanted;
  for (auto [i, input] : llvm::enumerate(program.arguments)) {
    if (input.role != ProgramTensor::Role::Input)
      continue;
    wanted.insert(input.name);
    std::optional<Tensor> tensor = file.find(input.name);
    if (!tensor)
      return createStringError("missing input `" + input.name + "` in " +
                               file.path());
    if (Error error = checkInput(*tensor, input))
      return error;
    for (auto [number, rank] : llvm::enumerate(ranks))
      if (Error error =
              readSlice(*tensor, program.getOffsets(input, number),
                        input.localShape, input.dtype, rank->arguments[i]))
        return error;
  }
  for (const TensorInfo &info : file.tensors())
    if (!wanted.contains(info.name))
      return createStringError("`" + info.name + "` in " + file.path() +
                               " is not an input of the program");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// What an arena is filled with, so that what was written can be told.
static constexpr char kUntouched = static_cast<char>(0xA5);

/// The end of the highest byte of `arena` that was written. (One that was
/// written with the very pattern does not show.)
static int64_t findTouched(const Memory &arena) {
  int64_t end = arena.size();
  while (end > 0 && arena.get()[end - 1] == kUntouched)
    --end;
  return end;
}

Expected<RunReport> Session::run(const RunOptions &options) {
  LocalWorldOptions worldOptions;
  worldOptions.threadsPerRank = options.threadsPerRank;
  worldOptions.timeoutSeconds = options.timeoutSeconds;
  std::string message;
  auto world = LocalWorld::create(program.meshSizes, worldOptions, &message);
  if (!world)
    return createStringError(message);
  auto onRanks =
      [&](const std::function<int32_t(sp_context &)> &body) -> Error {
    RanksResult result = runRanks(*world, body);
    if (result.succeeded())
      return Error::success();
    return createStringError(result.error);
  };

  // On the ranks' own threads and before the clock runs: this also brings the
  // pages in.
  if (Error error = onRanks([&](sp_context &context) {
        const Memory &arena = ranks[context.rank]->arena;
        if (arena.size() > 0)
          std::memset(arena.get(), kUntouched, arena.size());
        return 0;
      }))
    return error;

  using Clock = std::chrono::steady_clock;
  struct Interval {
    Clock::time_point begin, end;
  };
  // By rank and repetition.
  std::vector<std::vector<Interval>> times(
      ranks.size(), std::vector<Interval>(options.repeat));
  if (Error error = onRanks([&](sp_context &context) {
        Rank &rank = *ranks[context.rank];
        for (Interval &time : times[context.rank]) {
          time.begin = Clock::now();
          int32_t status = compiled.getEntryPoint()(&context, rank.arena.get(),
                                                    rank.arguments.data(),
                                                    rank.results.data());
          time.end = Clock::now();
          if (status != 0)
            return status;
        }
        return 0;
      }))
    return error;

  RunReport report;
  std::vector<double> steps;
  for (int64_t i = 0; i < options.repeat; ++i) {
    Interval step = times[0][i];
    for (const std::vector<Interval> &rank : times) {
      step.begin = std::min(step.begin, rank[i].begin);
      step.end = std::max(step.end, rank[i].end);
    }
    steps.push_back(
        std::chrono::duration<double, std::milli>(step.end - step.begin)
            .count());
  }
  llvm::sort(steps);
  report.stepMilliseconds = steps[steps.size() / 2];
  for (auto [total, measured] :
       llvm::zip(report.collectives, world->context(0).statistics))
    total = {measured.count / options.repeat, measured.bytes / options.repeat};
  for (const std::unique_ptr<Rank> &rank : ranks)
    report.arenaBytesTouched.push_back(findTouched(rank->arena));
  return report;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

Expected<std::vector<TensorData>> Session::gatherResults() {
  std::vector<TensorData> all;
  gathered.clear();
  for (auto [i, tensor] : llvm::enumerate(program.results)) {
    TensorSpec spec{tensor.name, tensor.dtype, tensor.globalShape};
    if (!tensor.isSharded()) {
      for (auto [number, rank] : llvm::enumerate(ranks))
        if (std::memcmp(rank->results[i], ranks[0]->results[i],
                        tensor.localBytes()) != 0)
          return createStringError(
              "result `" + tensor.name +
              "` should be the same on every rank, but ranks 0 and " +
              llvm::Twine(number) + " differ");
      all.push_back({std::move(spec), ranks[0]->results[i]});
      continue;
    }
    std::vector<char> &whole = gathered.emplace_back(tensor.globalBytes());
    int64_t width = byteSize(tensor.dtype);
    for (auto [number, rank] : llvm::enumerate(ranks)) {
      const char *part = static_cast<const char *>(rank->results[i]);
      forEachRun(tensor.globalShape, program.getOffsets(tensor, number),
                 tensor.localShape,
                 [&](int64_t to, int64_t from, int64_t length) {
                   std::memcpy(whole.data() + to * width, part + from * width,
                               length * width);
                 });
    }
    all.push_back({std::move(spec), whole.data()});
  }
  return all;
}
