//===- Local.cpp - ranks that are threads of one process ------------------===//
//
// A collective is: publish the pointers, meet, read the others' memory, meet
// again before anyone may reuse it. No rank leaves between the two meetings, so
// memory that is being read stays alive whatever fails elsewhere; waiting for
// the first can fail, and then it fails for the whole group.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "OpenMP.h"
#include "OrderedSum.h"
#include "SpinWait.h"
#include "sp/Runtime/Context.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

using namespace sp;

namespace {

/// "rank 3", "ranks 0, 1".
std::string nameRanks(const std::vector<int64_t> &ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

bool equal(const CollectiveDesc &a, const CollectiveDesc &b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.outer == b.outer &&
         a.dim == b.dim && a.inner == b.inner;
}

std::string print(const CollectiveDesc &desc) {
  return str(getCollectiveName(desc.kind), " of ", desc.outer, "x", desc.dim,
             "x", desc.inner, " ", getDTypeName(desc.dtype));
}

class Group;

/// What made the world fail.
struct Failure {
  /// -1: not one rank's fault.
  int64_t rank = -1;
  /// The group that found it, if one did.
  const Group *group = nullptr;
  std::string message;
};

} // namespace

//===----------------------------------------------------------------------===//
// The world
//===----------------------------------------------------------------------===//

struct sp::LocalWorldState {
  std::chrono::duration<double> timeout{60};
  int spinCount = 0;
  std::vector<std::unique_ptr<Group>> groups;
  /// By rank: its body has returned.
  std::vector<std::atomic<bool>> finished;

  explicit LocalWorldState(int64_t numRanks) : finished(numRanks) {}

  bool hasFailed() const { return failed.load(std::memory_order_acquire); }
  /// Only after hasFailed(): nobody changes it any more.
  const Failure &getFailure() const { return failure; }

  /// Only the first failure counts. Those who wait see it after wakeAll().
  void record(Failure first);
  void wakeAll();

  void fail(Failure first) {
    record(std::move(first));
    wakeAll();
  }
  void finish(int64_t rank) {
    finished[rank] = true;
    wakeAll();
  }

private:
  std::mutex mutex;
  std::atomic<bool> failed{false};
  Failure failure;
};

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

namespace {

class Group {
public:
  /// `ranks` are the world's, in the order of the group's.
  Group(LocalWorldState &world, int64_t axis, std::vector<int64_t> ranks)
      : world(world), axis(axis), ranks(std::move(ranks)),
        slots(this->ranks.size()) {}

  int64_t size() const { return ranks.size(); }

  std::string run(int64_t me, const CollectiveDesc &desc, const void *src,
                  void *dst);

  void wake() {
    std::lock_guard<std::mutex> lock(mutex);
    changed.notify_all();
  }

private:
  /// What a rank has to say about the collective that it is in; on its own
  /// cache line.
  struct alignas(64) Slot {
    CollectiveDesc desc;
    const char *src;
    char *dst;
    /// How many collectives the rank has begun.
    std::atomic<int64_t> sequence{0};
  };

  bool meet(bool mayGiveUp, int64_t me);
  std::string findMissing(int64_t me) const;
  std::string compare() const;
  void moveData(int64_t me) const;
  std::string title(Collective kind, int64_t sequence) const;
  std::string describeFailure(Collective kind, int64_t sequence) const;

  LocalWorldState &world;
  const int64_t axis;
  const std::vector<int64_t> ranks;
  std::vector<Slot> slots;

  /// How many ranks have come to the current meeting, and how many meetings
  /// were completed. Completing one and giving one up exclude each other
  /// through the mutex.
  std::atomic<int64_t> numArrived{0};
  std::atomic<uint64_t> numMeetings{0};
  bool givenUp = false;
  std::mutex mutex;
  std::condition_variable changed;
};

} // namespace

std::string Group::title(Collective kind, int64_t sequence) const {
  return str(getCollectiveName(kind), " #", sequence, " on mesh axis ", axis);
}

/// Why a collective of this group cannot take place.
std::string Group::describeFailure(Collective kind, int64_t sequence) const {
  const Failure &failure = world.getFailure();
  if (failure.rank < 0 && failure.group == this)
    return failure.message;
  std::string who = failure.rank < 0
                        ? std::string("stopped by an error elsewhere: ")
                        : str("rank ", failure.rank, " failed: ");
  return title(kind, sequence) + ": " + who + failure.message;
}

/// Empty, or which ranks are not in this rank's collective: those that have
/// finished, or else those that are still on their way.
std::string Group::findMissing(int64_t me) const {
  int64_t sequence = slots[me].sequence.load(std::memory_order_relaxed);
  std::vector<int64_t> finished, late;
  for (int64_t i = 0; i < size(); ++i) {
    if (slots[i].sequence.load(std::memory_order_acquire) >= sequence)
      continue;
    (world.finished[ranks[i]] ? finished : late).push_back(ranks[i]);
  }
  std::string what = title(slots[me].desc.kind, sequence);
  if (!finished.empty())
    return str(what, ": ", nameRanks(finished), " finished without it");
  if (!late.empty())
    return str(what, ": ", nameRanks(late), " did not come within ",
               world.timeout.count(), " s");
  return "";
}

/// Waits for all ranks of the group. False after a failure.
bool Group::meet(bool mayGiveUp, int64_t me) {
  uint64_t before = numMeetings.load(std::memory_order_acquire);
  auto completed = [&] {
    return numMeetings.load(std::memory_order_acquire) != before;
  };
  if (numArrived.fetch_add(1, std::memory_order_acq_rel) + 1 == size()) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (givenUp)
        return false;
      numArrived.store(0, std::memory_order_relaxed);
      numMeetings.store(before + 1, std::memory_order_release);
    }
    changed.notify_all();
    return true;
  }
  if (spinUntil(world.spinCount, completed))
    return true;

  {
    std::unique_lock<std::mutex> lock(mutex);
    if (mayGiveUp) {
      // Who has finished will not come: it would still be here if it had.
      auto hopeless = [&] {
        return world.hasFailed() ||
               std::any_of(ranks.begin(), ranks.end(), [&](int64_t rank) {
                 return world.finished[rank].load();
               });
      };
      auto deadline =
          std::chrono::steady_clock::now() +
          std::chrono::duration_cast<std::chrono::nanoseconds>(world.timeout);
      changed.wait_until(lock, deadline,
                         [&] { return completed() || hopeless(); });
      if (!completed() && !world.hasFailed()) {
        std::string missing = findMissing(me);
        if (!missing.empty())
          world.record({-1, this, missing});
      }
      givenUp = !completed() && world.hasFailed();
    }
    // Those who came too late to be missing are about to complete the meeting,
    // or to give it up.
    changed.wait(lock, [&] { return completed() || givenUp; });
    if (completed())
      return true;
  }
  world.wakeAll();
  return false;
}

/// Empty, or which ranks disagree about the collective they are in: all ranks
/// of the group find the same.
std::string Group::compare() const {
  auto agree = [](const Slot &a, const Slot &b) {
    return equal(a.desc, b.desc) &&
           a.sequence.load(std::memory_order_relaxed) ==
               b.sequence.load(std::memory_order_relaxed);
  };
  if (std::all_of(slots.begin(), slots.end(),
                  [&](const Slot &slot) { return agree(slot, slots[0]); }))
    return "";

  std::string text = str("the ranks' collectives #",
                         slots[0].sequence.load(std::memory_order_relaxed),
                         " on mesh axis ", axis, " differ");
  const char *separator = ": ";
  std::vector<bool> named(slots.size());
  for (int64_t i = 0; i < size(); ++i) {
    if (named[i])
      continue;
    std::vector<int64_t> same;
    for (int64_t j = i; j < size(); ++j)
      if (agree(slots[j], slots[i])) {
        named[j] = true;
        same.push_back(ranks[j]);
      }
    text += separator + nameRanks(same) +
            (same.size() == 1 ? " does " : " do ") + print(slots[i].desc);
    separator = "; ";
  }
  return text;
}

void Group::moveData(int64_t me) const {
  const CollectiveDesc &desc = slots[me].desc;
  int64_t bytes = getElementBytes(desc.dtype);
  std::vector<const char *> sources(size());

  if (desc.kind == Collective::AllReduce) {
    // Each rank sums its part, for all: in whole cache lines, by blocks that
    // are still in the cache when they are copied.
    constexpr int64_t line = 64, block = 4096;
    int64_t count = desc.numElements();
    int64_t part = (count / size() / line + 1) * line;
    int64_t end = std::min(count, (me + 1) * part);
    for (int64_t at = me * part; at < end; at += block) {
      int64_t length = std::min(block, end - at);
      for (int64_t i = 0; i < size(); ++i)
        sources[i] = slots[i].src + at * bytes;
      sumInOrder(desc.dtype, sources, slots[me].dst + at * bytes, length);
      for (int64_t i = 0; i < size(); ++i)
        if (i != me)
          std::memcpy(slots[i].dst + at * bytes, slots[me].dst + at * bytes,
                      length * bytes);
    }
    return;
  }

  int64_t run = desc.dim / size() * desc.inner, runBytes = run * bytes;
  for (int64_t i = 0; i < desc.outer; ++i) {
    if (desc.kind == Collective::ReduceScatter) {
      int64_t offset = (i * size() + me) * runBytes;
      for (int64_t j = 0; j < size(); ++j)
        sources[j] = slots[j].src + offset;
      sumInOrder(desc.dtype, sources, slots[me].dst + i * runBytes, run);
    } else {
      for (int64_t j = 0; j < size(); ++j)
        std::memcpy(slots[me].dst + (i * size() + j) * runBytes,
                    slots[j].src + i * runBytes, runBytes);
    }
  }
}

std::string Group::run(int64_t me, const CollectiveDesc &desc, const void *src,
                       void *dst) {
  Slot &mine = slots[me];
  int64_t sequence = mine.sequence.load(std::memory_order_relaxed) + 1;
  // Others may still read this rank's slot to say why.
  if (world.hasFailed())
    return describeFailure(desc.kind, sequence);
  mine.desc = desc;
  mine.src = static_cast<const char *>(src);
  mine.dst = static_cast<char *>(dst);
  mine.sequence.store(sequence, std::memory_order_release);

  if (!meet(/*mayGiveUp=*/true, me))
    return describeFailure(desc.kind, sequence);
  std::string difference = compare();
  if (!difference.empty()) {
    world.fail({-1, this, difference});
    return difference;
  }
  moveData(me);
  meet(/*mayGiveUp=*/false, me);
  return "";
}

void LocalWorldState::wakeAll() {
  for (const auto &group : groups)
    group->wake();
}

void LocalWorldState::record(Failure first) {
  std::lock_guard<std::mutex> lock(mutex);
  if (hasFailed())
    return;
  failure = std::move(first);
  failed.store(true, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// A rank's end
//===----------------------------------------------------------------------===//

namespace {

class LocalCommunicator : public Communicator {
public:
  LocalCommunicator(LocalWorldState &world, Group &group, int64_t rankInGroup,
                    int64_t rankInWorld)
      : world(world), group(group), rankInGroup(rankInGroup),
        rankInWorld(rankInWorld) {}

  int64_t rank() const override { return rankInGroup; }
  int64_t size() const override { return group.size(); }

  std::string run(const CollectiveDesc &desc, const void *src,
                  void *dst) override {
    return group.run(rankInGroup, desc, src, dst);
  }

  void abort(const std::string &message) override {
    world.fail({rankInWorld, nullptr, message});
  }

private:
  LocalWorldState &world;
  Group &group;
  const int64_t rankInGroup, rankInWorld;
};

/// Empty, or what is wrong.
std::string getTimeout(const LocalWorldOptions &options, double &seconds) {
  auto usable = [](double value) { return value > 0 && value <= 1e6; };
  if (options.timeoutSeconds) {
    seconds = *options.timeoutSeconds;
    return usable(seconds) ? ""
                           : str("a timeout of ", seconds,
                                 " s is not between 0 and 1000000");
  }
  const char *variable = "SP_COMM_TIMEOUT_SECONDS";
  const char *text = std::getenv(variable);
  if (!text)
    return "";
  char *end;
  seconds = std::strtod(text, &end);
  if (end == text || *end || !usable(seconds))
    return str(variable, "=", text,
               " is not a number of seconds between 0 and 1000000");
  return "";
}

} // namespace

LocalWorld::LocalWorld() = default;
LocalWorld::~LocalWorld() = default;

// Each rank is a thread of this process.
static constexpr int64_t kMaxThreads = LocalWorld::kMaxRanks;

/// Empty, or what is wrong with the arguments.
static std::string checkWorld(int64_t numRanks,
                              const std::vector<WorldAxis> &axes,
                              const LocalWorldOptions &options) {
  if (numRanks < 1 || numRanks > kMaxThreads)
    return str(numRanks, " ranks are not between 1 and ", kMaxThreads);
  for (WorldAxis axis : axes)
    if (axis.size < 1 || axis.stride < 1 || axis.size > numRanks ||
        axis.stride > numRanks / axis.size ||
        numRanks % (axis.size * axis.stride) != 0)
      return str("a mesh axis of size ", axis.size, " and stride ", axis.stride,
                 " does not fit ", numRanks, " ranks");
  if (options.threadsPerRank < 1 || options.threadsPerRank > kMaxThreads)
    return str(options.threadsPerRank,
               " threads per rank are not between 1 and ", kMaxThreads);
  return "";
}

std::unique_ptr<LocalWorld>
LocalWorld::create(const std::vector<int64_t> &axisSizes,
                   const LocalWorldOptions &options, std::string *error) {
  int64_t numRanks = 1;
  std::string problem;
  for (int64_t size : axisSizes) {
    if (size < 1)
      problem = str("a mesh axis of size ", size, " has no ranks");
    else if (size > kMaxThreads / numRanks)
      problem = str("the mesh has more than ", kMaxThreads, " ranks");
    if (!problem.empty()) {
      if (error)
        *error = problem;
      return nullptr;
    }
    numRanks *= size;
  }
  std::vector<WorldAxis> axes;
  int64_t stride = numRanks;
  for (int64_t size : axisSizes)
    axes.push_back({size, stride /= size});
  return create(numRanks, axes, options, error);
}

std::unique_ptr<LocalWorld>
LocalWorld::create(int64_t numRanks, const std::vector<WorldAxis> &axes,
                   const LocalWorldOptions &options, std::string *error) {
  double seconds = 60;
  std::string problem = checkWorld(numRanks, axes, options);
  if (problem.empty())
    problem = getTimeout(options, seconds);
  if (!problem.empty()) {
    if (error)
      *error = problem;
    return nullptr;
  }

  std::unique_ptr<LocalWorld> world(new LocalWorld());
  world->state = std::make_unique<LocalWorldState>(numRanks);
  LocalWorldState &state = *world->state;
  state.timeout = std::chrono::duration<double>(seconds);
  state.spinCount = getSpinCount(numRanks * options.threadsPerRank);
  for (int64_t rank = 0; rank < numRanks; ++rank)
    world->contexts.push_back(
        std::make_unique<sp_context>(rank, numRanks, options.threadsPerRank));

  for (size_t number = 0; number < axes.size(); ++number) {
    auto [size, stride] = axes[number];
    for (int64_t first = 0; first < numRanks; ++first) {
      if (first / stride % size != 0)
        continue;
      std::vector<int64_t> ranks;
      for (int64_t i = 0; i < size; ++i)
        ranks.push_back(first + i * stride);
      state.groups.push_back(std::make_unique<Group>(state, number, ranks));
      for (int64_t i = 0; i < size; ++i)
        world->contexts[ranks[i]]->communicators.push_back(
            std::make_unique<LocalCommunicator>(state, *state.groups.back(), i,
                                                ranks[i]));
    }
  }
  return world;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Returns the body's status, with an error in the context if it is not 0.
static int32_t callBody(sp_context &context,
                        const std::function<int32_t(sp_context &)> &body) {
  int32_t status;
  try {
    status = body(context);
  } catch (const std::exception &exception) {
    return context.fail(exception.what());
  } catch (...) {
    return context.fail("an exception of unknown type");
  }
  if (status != 0)
    context.fail(str("stopped with status ", status));
  else if (!context.getError().empty())
    status = 1;
  return status;
}

RanksResult sp::runRanks(LocalWorld &world,
                         const std::function<int32_t(sp_context &)> &body) {
  LocalWorldState &state = *world.state;
  RanksResult result;
  result.statuses.assign(world.size(), 1);
  for (auto &finished : state.finished)
    finished = false;

  std::vector<std::thread> threads;
  try {
    for (int64_t rank = 0; !state.hasFailed() && rank < world.size(); ++rank)
      threads.emplace_back([&, rank] {
        sp_context &context = world.context(rank);
        setOpenMPThreads(context.getNumThreads());
        int32_t status = callBody(context, body);
        result.statuses[rank] = status;
        if (status == 0)
          state.finish(rank);
        else
          state.fail({rank, nullptr, context.getError()});
      });
  } catch (const std::exception &exception) {
    state.fail(
        {-1, nullptr,
         str("no thread for rank ", threads.size(), ": ", exception.what())});
  }
  for (std::thread &thread : threads)
    thread.join();

  if (state.hasFailed()) {
    const Failure &failure = state.getFailure();
    if (failure.rank >= 0)
      result.error = str("rank ", failure.rank, ": ");
    result.error += failure.message;
  }
  return result;
}
