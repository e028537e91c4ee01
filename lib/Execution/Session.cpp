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

/// One allocation for several tensors; those that update an argument get none.
static Error allocateTensors(ArrayRef<ProgramTensor> tensors, Memory &memory,
                             std::vector<void *> &pointers,
                             const llvm::Twine &what) {
  constexpr int64_t kAlignment = 64;
  int64_t size = 0;
  llvm::SmallVector<int64_t> offsets;
  for (const ProgramTensor &tensor : tensors) {
    offsets.push_back(size);
    if (!tensor.updates)
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
    for (auto [result, tensor] : llvm::zip(rank->results, program.results))
      if (tensor.updates)
        result = rank->arguments[*tensor.updates];
    session->ranks.push_back(std::move(rank));
  }
  return session;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Error Session::loadParameters(const ParameterSource &source) {
  return load(source, ProgramTensor::Role::Parameter);
}

Error Session::loadStates(const ParameterSource &source) {
  return load(source, ProgramTensor::Role::State);
}

Error Session::load(const ParameterSource &source, ProgramTensor::Role role) {
  for (auto [i, tensor] : llvm::enumerate(program.arguments)) {
    if (tensor.role != role)
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

bool Session::setInput(llvm::StringRef name, const void *data, int64_t bytes) {
  for (auto [i, tensor] : llvm::enumerate(program.arguments)) {
    if (tensor.role != ProgramTensor::Role::Input || tensor.name != name)
      continue;
    assert(bytes == tensor.localBytes() && !tensor.isSharded() &&
           "another type than the program's");
    for (const std::unique_ptr<Rank> &rank : ranks)
      std::memcpy(rank->arguments[i], data, bytes);
    return true;
  }
  return false;
}

static Error runOnRanks(LocalWorld &world,
                        const std::function<int32_t(sp_context &)> &body) {
  RanksResult result = runRanks(world, body);
  if (result.succeeded())
    return Error::success();
  return createStringError(result.error);
}

Error Session::createWorld(const RunOptions &options) {
  LocalWorldOptions worldOptions;
  worldOptions.threadsPerRank = options.threadsPerRank;
  worldOptions.timeoutSeconds = options.timeoutSeconds;
  std::string message;
  std::vector<WorldAxis> axes;
  for (const ProgramAxis &axis : program.mesh)
    axes.push_back({axis.size, axis.stride});
  world = LocalWorld::create(program.numRanks(), axes, worldOptions, &message);
  if (!world)
    return createStringError(message);
  // On the ranks' own threads and before the clock runs: this also brings the
  // pages in.
  return runOnRanks(*world, [&](sp_context &context) {
    const Memory &arena = ranks[context.rank]->arena;
    if (arena.size() > 0)
      std::memset(arena.get(), kUntouched, arena.size());
    return 0;
  });
}

Expected<RunReport> Session::run(const RunOptions &options) {
  if (!world)
    if (Error error = createWorld(options))
      return error;
  for (int64_t i = 0; i < world->size(); ++i) {
    world->context(i).seed = options.seed;
    world->context(i).step = options.step;
    world->context(i).statistics = {};
  }

  using Clock = std::chrono::steady_clock;
  struct Interval {
    Clock::time_point begin, end;
  };
  // By rank and repetition.
  std::vector<std::vector<Interval>> times(
      ranks.size(), std::vector<Interval>(options.repeat));
  if (Error error = runOnRanks(*world, [&](sp_context &context) {
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

Error Session::checkEqual(const ProgramTensor &tensor, const llvm::Twine &what,
                          llvm::function_ref<void *(const Rank &)> get) const {
  if (tensor.isSharded())
    return Error::success();
  for (auto [number, rank] : llvm::enumerate(ranks))
    if (std::memcmp(get(*rank), get(*ranks.front()), tensor.localBytes()) != 0)
      return createStringError(what + " `" + tensor.name +
                               "` should be the same on every rank, but ranks "
                               "0 and " +
                               llvm::Twine(number) + " differ");
  return Error::success();
}

Expected<TensorData>
Session::gather(const ProgramTensor &tensor,
                llvm::function_ref<void *(const Rank &)> get) {
  TensorSpec spec{tensor.name, tensor.dtype, tensor.globalShape};
  if (!tensor.isSharded())
    return TensorData{std::move(spec), get(*ranks.front())};
  std::vector<char> &whole = gathered.emplace_back(tensor.globalBytes());
  int64_t width = byteSize(tensor.dtype);
  for (auto [number, rank] : llvm::enumerate(ranks)) {
    const char *part = static_cast<const char *>(get(*rank));
    forEachRun(tensor.globalShape, program.getOffsets(tensor, number),
               tensor.localShape,
               [&](int64_t to, int64_t from, int64_t length) {
                 std::memcpy(whole.data() + to * width, part + from * width,
                             length * width);
               });
  }
  return TensorData{std::move(spec), whole.data()};
}

Expected<std::vector<TensorData>> Session::gatherResults() {
  std::vector<TensorData> all;
  gathered.clear();
  for (auto [i, tensor] : llvm::enumerate(program.results)) {
    auto get = [i = i](const Rank &rank) { return rank.results[i]; };
    if (Error error = checkEqual(tensor, "result", get))
      return error;
    Expected<TensorData> whole = gather(tensor, get);
    if (!whole)
      return whole.takeError();
    all.push_back(std::move(*whole));
  }
  return all;
}

Expected<std::vector<TensorData>>
Session::gatherArguments(std::optional<ProgramTensor::Role> role) {
  std::vector<TensorData> all;
  gathered.clear();
  for (auto [i, tensor] : llvm::enumerate(program.arguments)) {
    if (role ? tensor.role != *role : tensor.role == ProgramTensor::Role::Input)
      continue;
    Expected<TensorData> whole =
        gather(tensor, [i = i](const Rank &rank) { return rank.arguments[i]; });
    if (!whole)
      return whole.takeError();
    all.push_back(std::move(*whole));
  }
  return all;
}

std::optional<double> Session::getNumber(llvm::StringRef result) const {
  for (auto [i, tensor] : llvm::enumerate(program.results)) {
    if (tensor.name != result || !tensor.globalShape.empty() ||
        !canConvert(tensor.dtype, DType::F64))
      continue;
    double number;
    convertElements(tensor.dtype, ranks.front()->results[i], DType::F64,
                    &number, 1);
    return number;
  }
  return std::nullopt;
}

Error Session::checkReplicas() const {
  for (auto [i, tensor] : llvm::enumerate(program.arguments)) {
    if (tensor.role == ProgramTensor::Role::Input)
      continue;
    bool isState = tensor.role == ProgramTensor::Role::State;
    if (Error error =
            checkEqual(tensor, isState ? "state" : "parameter",
                       [i = i](const Rank &rank) { return rank.arguments[i]; }))
      return error;
  }
  return Error::success();
}
