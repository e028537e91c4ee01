//===- AdjointTest.cpp - adjoints against finite differences --------------===//
//
// Programs of many small ops, each on parameters of its own that are named
// after it: the derivative of the loss in random entries of every parameter, by
// the differentiated program, is the central difference of the program itself.
//
//===----------------------------------------------------------------------===//

#include "TestSource.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Execution/Session.h"
#include "sp/Init/Init.h"
#include "sp/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>

using namespace sp;

namespace {

using Extents = std::vector<int64_t>;

std::string tensor(const Extents &shape) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + "f64>";
}

/// A program that adds up weighted results of ops.
class ProgramText {
public:
  explicit ProgramText(double least, double most)
      : uniform(least, most), body("  %loss0 = arith.constant dense<0.0> : "
                                   "tensor<f64>\n") {}

  /// A parameter with random elements; "%NAME".
  std::string parameter(const std::string &name, const Extents &shape) {
    arguments += (arguments.empty() ? "" : ", ") + ("%" + name) + ": " +
                 tensor(shape) + " {sp.param = \"" + name + "\"}";
    Values &values = source.values[name];
    for (int64_t i = 0, e = llvm::product_of(shape); i < e; ++i)
      values.push_back(uniform(engine));
    return "%" + name;
  }

  void add(const std::string &line) { body += "  " + line + "\n"; }

  /// Adds the sum of `value` times random weights to the loss. The weights are
  /// parameters, too.
  void use(const std::string &value, const Extents &shape) {
    std::string n = std::to_string(++numUses), type = tensor(shape);
    std::string weights = parameter("weights" + n, shape);
    add("%product" + n + " = arith.mulf " + value + ", " + weights + " : " +
        type);
    add("%sum" + n + " = sp.sum_leading %product" + n + " count " +
        std::to_string(shape.size()) + " : (" + type + ") -> tensor<f64>");
    add("%loss" + n + " = arith.addf %loss" + std::to_string(numUses - 1) +
        ", %sum" + n + " : tensor<f64>");
  }

  std::string str() const {
    return "func.func @f(" + arguments +
           ") -> (tensor<f64> {sp.result = \"loss\"}) {\n" + body +
           "  return %loss" + std::to_string(numUses) + " : tensor<f64>\n}\n";
  }

  TestSource source;

private:
  std::mt19937_64 engine{7};
  std::uniform_real_distribution<double> uniform;
  std::string arguments, body;
  int numUses = 0;
};

/// A compiled program.
struct Runner {
  Runner(mlir::ModuleOp module) {
    compiled = llvm::cantFail(compileProgram(module));
    session = llvm::cantFail(Session::create(*compiled));
  }

  double run(const TestSource &source) {
    llvm::cantFail(session->loadParameters(source));
    llvm::cantFail(session->run({}));
    return *session->getNumber("loss");
  }

  std::unique_ptr<CompiledProgram> compiled;
  std::unique_ptr<Session> session;
};

mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    auto *result = new mlir::MLIRContext(registry);
    result->loadAllAvailableDialects();
    result->getDiagEngine().registerHandler([](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
        ADD_FAILURE() << d.str();
    });
    return result;
  }();
  return *context;
}

struct NamedProgram {
  const char *name;
  ProgramText (*make)();
};

class Adjoint : public testing::TestWithParam<NamedProgram> {
protected:
  void check(ProgramText &text) {
    auto module =
        mlir::parseSourceString<mlir::ModuleOp>(text.str(), &getContext());
    ASSERT_TRUE(module) << text.str();
    mlir::OwningOpRef<mlir::ModuleOp> differentiated = module->clone();
    mlir::PassManager pm(&getContext());
    pm.addPass(createSPVerifyLayouts());
    pm.addPass(createSPDifferentiate());
    pm.addPass(createSPVerifyLayouts());
    ASSERT_TRUE(mlir::succeeded(pm.run(*differentiated)));
    Runner forward(*module), backward(*differentiated);
    backward.run(text.source);
    std::map<std::string, Values> gradients;
    for (const TensorData &result :
         llvm::cantFail(backward.session->gatherResults())) {
      llvm::StringRef name = result.spec.name;
      if (!name.consume_front("grad."))
        continue;
      const double *values = static_cast<const double *>(result.data);
      gradients[name.str()] =
          Values(values, values + *countElements(result.spec.shape));
    }

    // The difference errs by about h^2 of third derivatives and by the rounding
    // of the loss over h; both are below 1e-9 here.
    constexpr double h = 1e-5;
    std::mt19937_64 engine{11};
    for (auto &[name, values] : text.source.values) {
      ASSERT_TRUE(gradients.count(name)) << name;
      const Values &gradient = gradients[name];
      double largest = 1;
      for (double value : gradient)
        largest = std::max(largest, std::abs(value));
      for (int trial = 0; trial < 6; ++trial) {
        size_t i = engine() % values.size();
        double x = values[i];
        values[i] = x + h;
        double above = forward.run(text.source);
        values[i] = x - h;
        double below = forward.run(text.source);
        values[i] = x;
        EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-7 * largest)
            << name << " at " << i;
      }
    }
  }
};

const Extents kShape{3, 4};

void addUnary(ProgramText &text, const std::string &op) {
  std::string name = op.substr(op.find('.') + 1);
  std::string x = text.parameter(name, kShape);
  text.add("%y_" + name + " = " + op + " " + x + " : " + tensor(kShape));
  text.use("%y_" + name, kShape);
}

void addNary(ProgramText &text, const std::string &op, int count) {
  std::string name = op.substr(op.find('.') + 1), operands;
  for (int i = 0; i < count; ++i)
    operands += (i ? ", " : "") +
                text.parameter(name + "_operand" + std::to_string(i), kShape);
  text.add("%y_" + name + " = " + op + " " + operands + " : " + tensor(kShape));
  text.use("%y_" + name, kShape);
}

ProgramText makeMath() {
  ProgramText text(-1.2, 1.2);
  for (const char *op :
       {"math.absf", "math.atan", "math.cos", "math.cosh", "math.erf",
        "math.exp", "math.exp2", "math.expm1", "math.sin", "math.sinh",
        "math.tan", "math.tanh", "math.ceil", "math.floor", "math.round",
        "math.roundeven", "math.trunc", "arith.negf"})
    addUnary(text, op);
  addNary(text, "math.atan2", 2);
  addNary(text, "math.fma", 3);
  return text;
}

ProgramText makeMathOfPositiveNumbers() {
  ProgramText text(0.4, 2);
  for (const char *op : {"math.log", "math.log10", "math.log1p", "math.log2",
                         "math.rsqrt", "math.sqrt", "math.cbrt"})
    addUnary(text, op);
  addNary(text, "math.powf", 2);
  addNary(text, "arith.divf", 2);
  return text;
}

ProgramText makeArith() {
  ProgramText text(-2, 2);
  for (const char *op :
       {"arith.addf", "arith.subf", "arith.mulf", "arith.maximumf",
        "arith.minimumf", "arith.maxnumf", "arith.minnumf"})
    addNary(text, op, 2);
  // A value that is read twice, and by both operands of one op.
  std::string x = text.parameter("twice", kShape);
  text.add("%square = arith.mulf " + x + ", " + x + " : " + tensor(kShape));
  text.add("%cube = arith.mulf %square, " + x + " : " + tensor(kShape));
  text.use("%cube", kShape);
  std::string a = text.parameter("chosen", kShape);
  std::string b = text.parameter("other", kShape);
  text.add("%zeros = arith.constant dense<0.0> : " + tensor(kShape));
  text.add("%positive = arith.cmpf ogt, " + a + ", %zeros : " + tensor(kShape));
  text.add("%selected = arith.select %positive, " + a + ", " + b +
           " : tensor<3x4xi1>, " + tensor(kShape));
  text.use("%selected", kShape);
  return text;
}

/// Conversions are linear: their adjoints are each other.
ProgramText makeConversions() {
  ProgramText text(-2, 2);
  std::string x = text.parameter("x", kShape);
  text.add("%narrow = arith.truncf " + x + " : " + tensor(kShape) +
           " to tensor<3x4xf32>");
  text.add("%wide = arith.extf %narrow : tensor<3x4xf32> to " + tensor(kShape));
  text.add("%rest = arith.subf " + x + ", %wide : " + tensor(kShape));
  // What is rounded away is no function to differentiate: x - round(x) + x.
  text.add("%whole = arith.addf %rest, %wide : " + tensor(kShape));
  text.use("%whole", kShape);
  return text;
}

ProgramText makeTransformerOps() {
  ProgramText text(-1.5, 1.5);
  Extents hidden{5, 2, 6};
  std::string h = tensor(hidden);

  text.add("%ids = arith.constant dense<[[0, 3, 3, 6, 1], [2, 0, 0, 6, 3]]> : "
           "tensor<2x5xi64>");
  std::string table = text.parameter("embedding_table", {7, 6});
  text.add("%embedded = sp.embedding %ids, " + table +
           " : (tensor<2x5xi64>, tensor<7x6xf64>) -> " + h);
  text.use("%embedded", hidden);

  std::string x = text.parameter("norm_input", hidden);
  std::string w = text.parameter("norm_weight", {6});
  text.add("%normed = sp.rms_norm " + x + ", " + w + " eps 1.0e-03 : (" + h +
           ", tensor<6xf64>) -> " + h);
  text.use("%normed", hidden);

  std::string in = text.parameter("linear_input", hidden);
  std::string weight = text.parameter("linear_weight", {3, 6});
  std::string bias = text.parameter("linear_bias", {3});
  text.add("%linear = sp.linear " + in + ", " + weight + " bias " + bias +
           " : (" + h +
           ", tensor<3x6xf64>, tensor<3xf64>) -> tensor<5x2x3xf64>");
  text.use("%linear", {5, 2, 3});
  std::string other = text.parameter("bias_add_bias", {3});
  text.add("%biased = sp.bias_add %linear, " + other +
           " : (tensor<5x2x3xf64>, tensor<3xf64>) -> tensor<5x2x3xf64>");
  text.use("%biased", {5, 2, 3});

  std::string s = text.parameter("scale_input", hidden);
  text.add("%scaled = sp.scale " + s + " by 2.5 : (" + h + ") -> " + h);
  std::string m = text.parameter("mul_factor", hidden);
  text.add("%multiplied = sp.mul %scaled, " + m + " : (" + h + ", " + h +
           ") -> " + h);
  text.use("%multiplied", hidden);

  std::string gate = text.parameter("gate", hidden);
  std::string up = text.parameter("up", hidden);
  text.add("%glu = sp.swiglu " + gate + ", " + up + " : (" + h + ", " + h +
           ") -> " + h);
  text.use("%glu", hidden);

  std::string d = text.parameter("dropout_input", hidden);
  text.add("%dropped = sp.dropout " + d + " p 0.3 op_id 9 : (" + h + ") -> " +
           h);
  text.use("%dropped", hidden);

  std::string vector = text.parameter("broadcast_input", {6});
  text.add("%broadcast = sp.broadcast_leading " + vector +
           " count 2 : (tensor<6xf64>) -> " + h);
  text.use("%broadcast", hidden);
  std::string summed = text.parameter("sum_input", hidden);
  text.add("%summed = sp.sum_leading " + summed + " count 2 : (" + h +
           ") -> tensor<6xf64>");
  text.use("%summed", {6});

  std::string major = text.parameter("batch_major_input", hidden);
  text.add("%major = sp.batch_major " + major + " : (" + h +
           ") -> tensor<2x5x6xf64>");
  text.use("%major", {2, 5, 6});

  std::string flat = text.parameter("reshape_input", hidden);
  text.add("%expanded = tensor.expand_shape " + flat +
           " [[0], [1], [2, 3]] output_shape [5, 2, 3, 2] : " + h +
           " into tensor<5x2x3x2xf64>");
  text.add("%exp4 = math.exp %expanded : tensor<5x2x3x2xf64>");
  text.add("%collapsed = tensor.collapse_shape %exp4 [[0, 1], [2, 3]] : "
           "tensor<5x2x3x2xf64> into tensor<10x6xf64>");
  text.use("%collapsed", {10, 6});
  return text;
}

ProgramText makeAttention() {
  ProgramText text(-1.5, 1.5);
  // Two query heads for each key/value head; with rope in front.
  Extents queries{5, 2, 4, 6}, keys{5, 2, 2, 6};
  std::string q = tensor(queries), k = tensor(keys);
  text.add("%cos, %sin = sp.rope_table theta 100.0 : tensor<5x3xf64>, "
           "tensor<5x3xf64>");
  auto attend = [&](const std::string &name, const std::string &attributes) {
    std::string query = text.parameter(name + "_query", queries);
    std::string key = text.parameter(name + "_key", keys);
    std::string value = text.parameter(name + "_value", keys);
    text.add("%" + name + "_rope = sp.rope " + query + ", %cos, %sin : (" + q +
             ", tensor<5x3xf64>, tensor<5x3xf64>) -> " + q);
    text.add("%" + name + " = sp.attention %" + name + "_rope, " + key + ", " +
             value + " scale 0.4 " + attributes + " : (" + q + ", " + k + ", " +
             k + ") -> " + q);
    text.use("%" + name, queries);
  };
  attend("causal", "causal");
  attend("full", "");
  attend("causal_dropped", "causal dropout 0.3 op_id 1");
  attend("full_dropped", "dropout 0.3 op_id 2");
  std::string x = text.parameter("inverse_rope", queries);
  text.add("%back = sp.rope " + x + ", %cos, %sin inverse : (" + q +
           ", tensor<5x3xf64>, tensor<5x3xf64>) -> " + q);
  text.use("%back", queries);
  return text;
}

/// With ignored targets, and with nothing but ignored ones.
ProgramText makeCrossEntropy() {
  ProgramText text(-2, 2);
  auto entropy = [&](const std::string &name, const std::string &targets) {
    std::string logits = text.parameter(name, {3, 2, 7});
    text.add("%targets_" + name + " = arith.constant dense<" + targets +
             "> : tensor<3x2xi64>");
    text.add("%sum_" + name + ", %count_" + name + " = sp.cross_entropy " +
             logits + ", %targets_" + name +
             " ignore_index -100 : (tensor<3x2x7xf64>, tensor<3x2xi64>) -> "
             "(tensor<f64>, tensor<f64>)");
    text.add("%one_" + name + " = arith.constant dense<1.0> : tensor<f64>");
    text.add("%valid_" + name + " = arith.maximumf %count_" + name + ", %one_" +
             name + " : tensor<f64>");
    text.add("%mean_" + name + " = arith.divf %sum_" + name + ", %valid_" +
             name + " : tensor<f64>");
    text.use("%mean_" + name, {});
  };
  entropy("some", "[[6, -100], [0, 3], [-100, 3]]");
  entropy("none", "-100");
  return text;
}

ProgramText makeLinalg() {
  ProgramText text(0.4, 1.6);
  std::string t = tensor(kShape);
  auto empty = [&](const std::string &name, const Extents &shape) {
    text.add("%" + name + " = tensor.empty() : " + tensor(shape));
    return "%" + name;
  };
  for (const char *op :
       {"exp", "log", "abs", "negf", "reciprocal", "sqrt", "rsqrt", "square",
        "tanh", "erf", "ceil", "floor", "round"}) {
    std::string name = std::string("linalg_") + op;
    std::string x = text.parameter(name, kShape),
                init = empty("e_" + name, kShape);
    text.add("%y_" + name + " = linalg." + op + " ins(" + x + " : " + t +
             ") outs(" + init + " : " + t + ") -> " + t);
    text.use("%y_" + name, kShape);
  }
  for (const char *op : {"add", "sub", "mul", "div", "max", "min", "powf"}) {
    std::string name = std::string("linalg_") + op;
    std::string x = text.parameter(name + "_lhs", kShape);
    std::string y = text.parameter(name + "_rhs", kShape);
    std::string init = empty("e_" + name, kShape);
    text.add("%y_" + name + " = linalg." + op + " ins(" + x + ", " + y + " : " +
             t + ", " + t + ") outs(" + init + " : " + t + ") -> " + t);
    text.use("%y_" + name, kShape);
  }
  std::string e = text.parameter("elementwise", kShape);
  text.add("%y_elementwise = linalg.elementwise kind=#linalg.elementwise_kind"
           "<exp> ins(" +
           e + " : " + t + ") outs(" + empty("e_elementwise", kShape) + " : " +
           t + ") -> " + t);
  text.use("%y_elementwise", kShape);

  std::string v = text.parameter("broadcast", {4});
  text.add("%y_broadcast = linalg.broadcast ins(" + v +
           " : tensor<4xf64>) outs(" + empty("e_broadcast", kShape) + " : " +
           t + ") dimensions = [0]");
  text.use("%y_broadcast", kShape);
  std::string x = text.parameter("transpose", {4, 3});
  text.add("%y_transpose = linalg.transpose ins(" + x +
           " : tensor<4x3xf64>) outs(" + empty("e_transpose", kShape) + " : " +
           t + ") permutation = [1, 0]");
  text.use("%y_transpose", kShape);
  std::string map = text.parameter("map", kShape);
  text.add("%y_map = linalg.map { math.sin } ins(" + map + " : " + t +
           ") outs(" + empty("e_map", kShape) + " : " + t + ")");
  text.use("%y_map", kShape);

  // Operands that are broadcast, transposed and scalar-free; two results.
  std::string m = text.parameter("generic_matrix", kShape);
  std::string row = text.parameter("generic_row", {4});
  std::string column = text.parameter("generic_column", {3});
  std::string turned = text.parameter("generic_turned", {4, 3});
  text.add("%two:2 = linalg.generic {indexing_maps = ["
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, "
           "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j, i)>, "
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], "
           "iterator_types = [\"parallel\", \"parallel\"]} ins(" +
           m + ", " + row + ", " + column + ", " + turned + " : " + t +
           ", tensor<4xf64>, tensor<3xf64>, tensor<4x3xf64>) outs(" +
           empty("e_first", kShape) + ", " + empty("e_second", kShape) + " : " +
           t + ", " + t +
           ") {\n  ^bb0(%a: f64, %r: f64, %c: f64, "
           "%u: f64, %o: f64, %p: f64):\n"
           "    %ar = arith.mulf %a, %r : f64\n"
           "    %cu = arith.divf %c, %u : f64\n"
           "    %first = arith.addf %ar, %cu : f64\n"
           "    %second = math.tanh %first : f64\n"
           "    linalg.yield %first, %second : f64, f64\n  } -> (" +
           t + ", " + t + ")");
  text.use("%two#0", kShape);
  text.use("%two#1", kShape);
  return text;
}

const NamedProgram kPrograms[] = {
    {"Math", makeMath},
    {"MathOfPositiveNumbers", makeMathOfPositiveNumbers},
    {"Arith", makeArith},
    {"Conversions", makeConversions},
    {"TransformerOps", makeTransformerOps},
    {"Attention", makeAttention},
    {"CrossEntropy", makeCrossEntropy},
    {"Linalg", makeLinalg},
};

TEST_P(Adjoint, IsTheDerivative) {
  ProgramText text = GetParam().make();
  check(text);
}

INSTANTIATE_TEST_SUITE_P(Programs, Adjoint, testing::ValuesIn(kPrograms),
                         [](auto &info) { return info.param.name; });

/// No op can have an adjoint and be forgotten here. (Layout changes have their
/// own test, on several ranks.)
TEST(AdjointPrograms, HaveEveryOp) {
  llvm::StringSet<> seen;
  for (const NamedProgram &program : kPrograms) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(program.make().str(),
                                                          &getContext());
    ASSERT_TRUE(module) << program.name;
    module->walk([&](mlir::Operation *op) {
      seen.insert(op->getName().getStringRef());
    });
  }
  for (mlir::RegisteredOperationName name :
       getContext().getRegisteredOperations()) {
    if (!name.hasInterface<AdjointOpInterface>())
      continue;
    llvm::StringRef op = name.getStringRef();
    if (llvm::is_contained({"sp.copy", "sp.slice", "sp.zero_pad",
                            "sp.all_reduce", "sp.reduce_scatter",
                            "sp.all_gather"},
                           op))
      continue;
    EXPECT_TRUE(seen.contains(op)) << op.str();
  }
}

} // namespace
