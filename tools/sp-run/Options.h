//===- Options.h - the command line of sp-run -------------------*- C++ -*-===//

#ifndef SP_TOOLS_SPRUN_OPTIONS_H
#define SP_TOOLS_SPRUN_OPTIONS_H

#include "sp/Execution/Session.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace sp {

/// Errors in how the tool was called, rather than in what it then did: exit
/// code 2 instead of 1.
class UsageError : public llvm::ErrorInfo<UsageError> {
public:
  static char ID;
  explicit UsageError(const llvm::Twine &message) : message(message.str()) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string message;
};

inline llvm::Error usageError(const llvm::Twine &message) {
  return llvm::make_error<UsageError>(message);
}

/// The sizes of the mesh's axes; an axis that is not named has size 1.
struct MeshSizes {
  int64_t tp = 1;
};

/// Parses "tp=2".
llvm::Expected<MeshSizes> parseMesh(llvm::StringRef text);

/// The subcommands; functions, because options in other files refer to them
/// before `main`.
llvm::cl::SubCommand &getForwardCommand();
llvm::cl::SubCommand &getGradCommand();
llvm::cl::SubCommand &getTrainCommand();
llvm::cl::SubCommand &getExecCommand();
llvm::cl::SubCommand &getReportCommand();
llvm::cl::SubCommand &getDoctorCommand();

/// Options of every command that runs a program.
struct CommonOptions {
  std::string out, json;
  /// The seed, if parameters are to be random.
  std::optional<uint64_t> randomWeights;
  RunOptions run;
};
llvm::Expected<CommonOptions> getCommonOptions();

/// Parses a number of at least 1 that is the value of `option`.
llvm::Expected<int64_t> parsePositive(llvm::StringRef option,
                                      llvm::StringRef text);

/// Options of the commands that train, into what they are about: `--dropout`
/// instead of the model's, and `--seed`.
struct ModelOptions;
llvm::Error applyTrainingOptions(ModelOptions &model, CommonOptions &options);

/// `--recompute` and `--activation-budget`.
struct GradientOptions;
void applyMemoryOptions(GradientOptions &options);

llvm::Error runForward();
llvm::Error runGrad();
llvm::Error runTrain();
llvm::Error runExec();
llvm::Error runReport();
llvm::Error runDoctor();

} // namespace sp

#endif // SP_TOOLS_SPRUN_OPTIONS_H
