//===- Session.h - a program with its memory, on T ranks --------*- C++ -*-===//

#ifndef SP_EXECUTION_SESSION_H
#define SP_EXECUTION_SESSION_H

#include "sp/Execution/Compiler.h"
#include "sp/IO/ParameterSource.h"

#include <array>
#include <optional>

namespace sp {

class LocalWorld;

/// The collectives of one kind that one rank took part in.
struct CollectiveTotal {
  int64_t count = 0;
  int64_t bytes = 0;
};

struct RunOptions {
  int64_t threadsPerRank = 1;
  /// How long ranks wait for each other; by default what the environment's
  /// SP_COMM_TIMEOUT_SECONDS says, or 60.
  std::optional<double> timeoutSeconds;
  /// The run is repeated, for its time; the results are the last run's.
  int64_t repeat = 1;
  /// Of the dropout masks.
  uint64_t seed = 0, step = 0;
};

/// What was measured in a run.
struct RunReport {
  /// The median over the repetitions of the slowest rank's time.
  double stepMilliseconds = 0;
  /// One rank's, in one repetition: all_reduce, reduce_scatter, all_gather.
  std::array<CollectiveTotal, 3> collectives;
  /// Per rank, the end of the highest byte that was written.
  std::vector<int64_t> arenaBytesTouched;
};

/// Each rank has its own arena and its own copy of its part of every argument.
class Session {
public:
  /// `program` must outlive the session.
  static llvm::Expected<std::unique_ptr<Session>>
  create(const CompiledProgram &program);
  ~Session();

  /// Gives every rank its part of every parameter.
  llvm::Error loadParameters(const ParameterSource &source);
  /// Gives every rank its part of every state; without it they are 0.
  llvm::Error loadStates(const ParameterSource &source);

  /// Gives every rank its part of every input. The file's tensors must be
  /// exactly the program's inputs, in shape and kind of number; floating point
  /// types are converted.
  llvm::Error loadInputs(const SafetensorsFile &file);

  /// Gives every rank the input `name`, an invariant tensor of `bytes` bytes in
  /// the program's type. False if the program has no such input.
  bool setInput(llvm::StringRef name, const void *data, int64_t bytes);

  /// Threads and time limit are those of the session's first run. After an
  /// error the results are undefined and the session cannot run again.
  llvm::Expected<RunReport> run(const RunOptions &options);

  /// The results in their global shapes, in the program's order; valid until
  /// the next run or gathering. An invariant result that differs between ranks
  /// is an error.
  llvm::Expected<std::vector<TensorData>> gatherResults();
  /// So for the parameters, the states, or both.
  llvm::Expected<std::vector<TensorData>>
  gatherArguments(std::optional<ProgramTensor::Role> role);

  /// A result that is one number; none if there is no such result.
  std::optional<double> getNumber(llvm::StringRef result) const;

  /// An error that names the first invariant parameter or state that is not,
  /// bit by bit, the same on every rank.
  llvm::Error checkReplicas() const;

private:
  struct Rank;

  explicit Session(const CompiledProgram &program);

  llvm::Error load(const ParameterSource &source, ProgramTensor::Role role);
  llvm::Error createWorld(const RunOptions &options);
  /// `get` gives a rank's part of the tensor.
  llvm::Expected<TensorData>
  gather(const ProgramTensor &tensor,
         llvm::function_ref<void *(const Rank &)> get);
  /// `what` names the tensor in the message.
  llvm::Error checkEqual(const ProgramTensor &tensor, const llvm::Twine &what,
                         llvm::function_ref<void *(const Rank &)> get) const;

  const CompiledProgram &compiled;
  const Program &program;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::unique_ptr<LocalWorld> world;
  std::vector<std::vector<char>> gathered;
};

} // namespace sp

#endif // SP_EXECUTION_SESSION_H
