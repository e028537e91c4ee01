//===- AdjointTest.cpp - adjoints against finite differences --------------===//
//
// Programs of many small ops, each on parameters of its own that are named
// after it: the derivative of the loss in random entries of every parameter, by
// the differentiated program, is the central difference of the program itself.
// So it is where all values are replicated, on two ranks, and the cotangents
// are partial; and where tensors are sharded.
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "sp/Dialect/SPOps.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <random>

using namespace sp;

namespace {

using Extents = std::vector<int64_t>;

/// With a layout along `tp` unless it is empty.
std::string tensor(const Extents &shape, const std::string &layout = "") {
  std::string text = tensorText(shape, DType::F64);
  if (!layout.empty())
    text.insert(text.size() - 1, ", #sp.layout<tp = " + layout + ">");
  return text;
}

/// A program that adds up weighted results of ops, on a mesh if `numRanks` is
/// not 1.
class ProgramText {
public:
  ProgramText(double least, double most, int64_t numRanks = 1)
      : uniform(least, most), body("  %loss0 = arith.constant dense<0.0> : "
                                   "tensor<f64>\n") {
    if (numRanks > 1)
      mesh = "sp.mesh @mesh <tp = " + std::to_string(numRanks) + ">\n";
  }

  /// A parameter with random elements; "%NAME".
  std::string parameter(const std::string &name, const Extents &shape,
                        const std::string &layout = "") {
    arguments += (arguments.empty() ? "" : ", ") + ("%" + name) + ": " +
                 tensor(shape, layout) + " {sp.param = \"" + name + "\"}";
    Values &values = source.values[name];
    for (int64_t i = 0, e = llvm::product_of(shape); i < e; ++i)
      values.push_back(uniform(engine));
    return "%" + name;
  }

  void add(const std::string &line) { body += "  " + line + "\n"; }

  /// `value` with another layout; "%NAME".
  std::string change(const std::string &name, const std::string &op,
                     const std::string &value, const Extents &shape,
                     const std::string &from, const std::string &to) {
    add("%" + name + " = sp." + op + " " + value + " : " + tensor(shape, from) +
        " -> " + tensor(shape, to));
    return "%" + name;
  }

  /// Adds the sum of `value`, invariant or sharded, times random weights to the
  /// loss. The weights are parameters, too.
  void use(const std::string &value, const Extents &shape,
           const std::string &layout = "") {
    std::string n = std::to_string(++numUses), type = tensor(shape, layout);
    std::string weights = parameter("weights" + n, shape, layout);
    std::string partial = layout.empty() ? "" : "partial";
    std::string sum = "%sum" + n;
    add("%product" + n + " = arith.mulf " + value + ", " + weights + " : " +
        type);
    add(sum + " = sp.sum_leading %product" + n + " count " +
        std::to_string(shape.size()) + " : (" + type + ") -> " +
        tensor({}, partial));
    if (!layout.empty())
      sum = change("total" + n, "all_reduce", sum, {}, partial, "");
    add("%loss" + n + " = arith.addf %loss" + std::to_string(numUses - 1) +
        ", " + sum + " : tensor<f64>");
  }

  std::string str() const {
    return mesh + "func.func @f(" + arguments +
           ") -> (tensor<f64> {sp.result = \"loss\"}) {\n" + body +
           "  return %loss" + std::to_string(numUses) + " : tensor<f64>\n}\n";
  }

  TestSource source;

private:
  std::mt19937_64 engine{7};
  std::uniform_real_distribution<double> uniform;
  std::string mesh, arguments, body;
  int numUses = 0;
};

/// The same program with every value replicated on two ranks. Its loss is the
/// sum of what the ranks have, times a half.
void replicate(mlir::ModuleOp module) {
  auto b = mlir::ImplicitLocOpBuilder::atBlockBegin(module.getLoc(),
                                                    module.getBody());
  auto axis = b.getStringAttr("tp");
  MeshOp::create(b, "mesh", b.getStrArrayAttr({"tp"}),
                 b.getDenseI64ArrayAttr({2}));
  auto with = [&](mlir::Type type, AxisLayout layout) {
    return withAxisLayout(mlir::cast<mlir::RankedTensorType>(type), axis,
                          layout);
  };
  auto copy = [&](mlir::Value value) {
    auto op = CopyOp::create(b, with(value.getType(), AxisLayout::replicate()),
                             value);
    value.replaceAllUsesExcept(op.getResult(), op);
  };
  auto function = *module.getOps<mlir::func::FuncOp>().begin();
  mlir::Block &body = function.front();
  for (mlir::Operation &op : llvm::make_early_inc_range(body)) {
    if (mlir::isa<RopeTableOp>(op)) { // It is invariant.
      b.setInsertionPointAfter(&op);
      for (mlir::Value result : op.getResults())
        copy(result);
      continue;
    }
    if (mlir::isa<CopyOp>(op))
      continue;
    for (mlir::Value result : op.getResults())
      if (mlir::isa<mlir::RankedTensorType>(result.getType()))
        result.setType(with(result.getType(), AxisLayout::replicate()));
    if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
      if (auto elements =
              mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(
            elements.reshape(mlir::cast<mlir::ShapedType>(constant.getType())));
  }
  b.setInsertionPointToStart(&body);
  for (mlir::Value argument : body.getArguments())
    copy(argument);

  mlir::Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  mlir::Value loss = end->getOperand(0);
  mlir::Type whole = mlir::RankedTensorType::get({}, b.getF64Type());
  mlir::Type pair = mlir::RankedTensorType::get({2}, b.getF64Type());
  loss =
      BroadcastLeadingOp::create(b, with(pair, AxisLayout::shard(0)), loss, 1);
  loss = SumLeadingOp::create(b, with(whole, AxisLayout::partial()), loss, 1);
  loss = AllReduceOp::create(b, whole, loss);
  loss = ScaleOp::create(b, whole, loss, llvm::APFloat(0.5));
  end->setOperand(0, loss);
}

struct NamedProgram {
  const char *name;
  ProgramText (*make)();
};

/// Compares the gradients of `program` with differences of `original`, which
/// computes the same loss.
void checkGradients(TestSource source, mlir::ModuleOp original,
                    mlir::ModuleOp program) {
  ASSERT_TRUE(differentiate(program));
  std::map<std::string, Values> gradients =
      TestProgram(program).getGradients(source);
  TestProgram forward(original);
  auto run = [&] { return forward.run(source).front().values.front(); };

  // The difference errs by about h^2 of third derivatives and by the rounding
  // of the loss over h; both are below 1e-9 here.
  constexpr double h = 1e-5;
  std::mt19937_64 engine{11};
  for (auto &[name, values] : source.values) {
    ASSERT_TRUE(gradients.count(name)) << name;
    const Values &gradient = gradients[name];
    double largest = 1;
    for (double value : gradient)
      largest = std::max(largest, std::abs(value));
    for (int trial = 0; trial < 6; ++trial) {
      size_t i = engine() % values.size();
      double x = values[i];
      values[i] = x + h;
      double above = run();
      values[i] = x - h;
      double below = run();
      values[i] = x;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-7 * largest)
          << name << " at " << i;
    }
  }
}

using Adjoint = testing::TestWithParam<NamedProgram>;
using PartialAdjoint = Adjoint;

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
  std::string c = text.parameter("chosen_at_once", kShape);
  std::string d = text.parameter("other_at_once", kShape);
  text.add("%true = arith.constant true");
  text.add("%whole = arith.select %true, " + c + ", " + d + " : " +
           tensor(kShape));
  text.use("%whole", kShape);
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
  std::string plain = text.parameter("linear_input_without_bias", hidden);
  text.add("%unbiased = sp.linear " + plain + ", " + weight + " : (" + h +
           ", tensor<3x6xf64>) -> tensor<5x2x3xf64>");
  text.use("%unbiased", {5, 2, 3});
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

/// Each step of the loss over parts of the vocabulary alone, and the whole.
ProgramText makeCrossEntropyOverParts() {
  ProgramText text(-2, 2);
  text.add("%targets = arith.constant dense<[[5, -100], [0, 3], [-100, 2]]> : "
           "tensor<3x2xi64>");
  auto split = [&](const std::string &name, int64_t parts) {
    std::string logits = text.parameter("logits" + name, {3, 2, 6});
    text.add("%parts" + name + " = sp.cross_entropy_parts " + logits +
             ", %targets ignore_index -100 : (tensor<3x2x6xf64>, "
             "tensor<3x2xi64>) -> " +
             tensor({parts, 3, 2, 2}));
    return "%parts" + name;
  };
  auto join = [&](const std::string &name, const std::string &value,
                  int64_t parts) {
    text.add("%sum" + name + ", %count" + name + " = sp.cross_entropy_join " +
             value + ", %targets ignore_index -100 : (" +
             tensor({parts, 3, 2, 2}) +
             ", tensor<3x2xi64>) -> (tensor<f64>, tensor<f64>)");
    text.use("%sum" + name, {});
  };
  text.use(split("_alone", 3), {3, 3, 2, 2});
  join("_alone", text.parameter("joined", {3, 3, 2, 2}), 3);
  join("_of_two", split("_of_two", 2), 2);
  join("_of_one", split("_of_one", 1), 1);
  return text;
}

/// Vectors and rows, of what is used and what is not.
ProgramText makePacked() {
  ProgramText text(-2, 2);
  std::string matrix = text.parameter("matrix", {2, 3});
  std::string vector = text.parameter("vector", {4});
  text.add("%packed = sp.pack " + matrix + ", " + vector +
           " : (tensor<2x3xf64>, tensor<4xf64>) -> tensor<10xf64>");
  text.use("%packed", {10});
  text.add("%rows = sp.pack " + vector + ", " + matrix +
           " : (tensor<4xf64>, tensor<2x3xf64>) -> tensor<2x5xf64>");
  text.use("%rows", {2, 5});
  text.add("%unused, %some = sp.unpack %packed : (tensor<10xf64>) -> "
           "(tensor<1x3xf64>, tensor<7xf64>)");
  text.use("%some", {7});
  text.add("%first, %second = sp.unpack %rows : (tensor<2x5xf64>) -> "
           "(tensor<4x2xf64>, tensor<2xf64>)");
  text.use("%first", {4, 2});
  text.use("%second", {2});

  // Rows of more than one dimension.
  std::string wide = text.parameter("wide", {3, 4});
  std::string deep = text.parameter("deep", {3, 2, 2});
  text.add("%columns = sp.pack " + wide + ", " + deep +
           " : (tensor<3x4xf64>, tensor<3x2x2xf64>) -> tensor<3x2x4xf64>");
  text.use("%columns", {3, 2, 4});
  text.add("%left, %right = sp.unpack " + text.parameter("both", {3, 2, 4}) +
           " : (tensor<3x2x4xf64>) -> (tensor<3x2x3xf64>, tensor<3x2xf64>)");
  text.use("%left", {3, 2, 3});
  text.use("%right", {3, 2});
  return text;
}

/// Padding that repeats and that fills, and what cuts and folds it.
ProgramText makePadding() {
  ProgramText text(-2, 2);
  std::string x = text.parameter("x", {2, 3, 2});
  auto add = [&](const std::string &name, const std::string &op,
                 const Extents &from, const Extents &to) {
    text.add("%" + name + " = sp." + op + " : " + tensor(from) + " -> " +
             tensor(to));
    text.use("%" + name, to);
  };
  add("repeated", "pad " + x + " dim 1", {2, 3, 2}, {2, 5, 2});
  add("filled", "pad " + x + " dim 0 fill 0", {2, 3, 2}, {4, 3, 2});
  add("cut", "unpad %repeated dim 1", {2, 5, 2}, {2, 1, 2});
  add("folded", "unpad %filled dim 2 fold", {4, 3, 2}, {4, 3, 1});
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

  // A result that is stored transposed, an init that is read, and an operand
  // that is read twice.
  std::string init = text.parameter("generic_init", {4, 3});
  std::string twice = text.parameter("generic_twice", kShape);
  text.add("%turned = linalg.generic {indexing_maps = ["
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, "
           "affine_map<(i, j) -> (j, i)>], "
           "iterator_types = [\"parallel\", \"parallel\"]} ins(" +
           twice + ", " + twice + " : " + t + ", " + t + ") outs(" + init +
           " : tensor<4x3xf64>) {\n  ^bb0(%a: f64, %c: f64, %o: f64):\n"
           "    %ac = arith.mulf %a, %c : f64\n"
           "    %aco = arith.mulf %ac, %o : f64\n"
           "    linalg.yield %aco : f64\n  } -> tensor<4x3xf64>");
  text.use("%turned", {4, 3});
  return text;
}

/// Sums, contractions and extrema.
ProgramText makeLinalgReductions() {
  ProgramText text(0.4, 1.6);
  auto init = [&](const std::string &name, const Extents &shape,
                  const std::string &value) {
    text.add("%init_" + name + " = arith.constant dense<" + value +
             "> : " + tensor(shape));
    return "%init_" + name;
  };
  auto product = [&](const std::string &op, const Extents &lhs,
                     const Extents &rhs, const Extents &result,
                     const std::string &maps = "") {
    std::string x = text.parameter(op + "_lhs", lhs);
    std::string y = text.parameter(op + "_rhs", rhs);
    text.add("%y_" + op + " = linalg." + op + maps + " ins(" + x + ", " + y +
             " : " + tensor(lhs) + ", " + tensor(rhs) + ") outs(" +
             init(op, result, "0.0") + " : " + tensor(result) + ") -> " +
             tensor(result));
    text.use("%y_" + op, result);
  };
  product("matmul", {3, 4}, {4, 2}, {3, 2});
  product("batch_matmul", {2, 3, 4}, {2, 4, 5}, {2, 3, 5});
  product("matvec", {3, 4}, {4}, {3});
  product("vecmat", {3}, {3, 4}, {4});
  product("batch_matvec", {2, 3, 4}, {2, 4}, {2, 3});
  product("batch_vecmat", {2, 3}, {2, 3, 4}, {2, 4});
  product("dot", {5}, {5}, {});
  // All groups of loops, in an order that is no matrix product's.
  product("contract", {3, 2, 4, 5}, {5, 2, 6, 3}, {6, 4, 2},
          " indexing_maps = [affine_map<(a, b, c, d, e) -> (e, a, b, d)>, "
          "affine_map<(a, b, c, d, e) -> (d, a, c, e)>, "
          "affine_map<(a, b, c, d, e) -> (c, b, a)>]");

  // What a product is added to has a gradient, too.
  std::string x = text.parameter("added_lhs", {3, 4});
  std::string y = text.parameter("added_rhs", {4, 2});
  std::string z = text.parameter("added_init", {3, 2});
  text.add("%added = linalg.matmul ins(" + x + ", " + y +
           " : tensor<3x4xf64>, tensor<4x2xf64>) outs(" + z +
           " : tensor<3x2xf64>) -> tensor<3x2xf64>");
  text.use("%added", {3, 2});

  for (std::string op :
       {"addf", "maximumf", "maxnumf", "minimumf", "minnumf"}) {
    std::string first = op.substr(0, 3) == "min" ? "9.0" : "0.0";
    std::string r = text.parameter("reduce_" + op, {3, 4, 2});
    text.add("%y_" + op + " = linalg.reduce {arith." + op + "} ins(" + r +
             " : tensor<3x4x2xf64>) outs(" + init(op, {4}, first) +
             " : tensor<4xf64>) dimensions = [0, 2]");
    text.use("%y_" + op, {4});
  }

  // A sum of what its body computes, of operands that lack some of its loops.
  std::string m = text.parameter("summed_matrix", kShape);
  std::string v = text.parameter("summed_row", {4});
  text.add("%summed = linalg.generic {indexing_maps = ["
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, "
           "affine_map<(i, j) -> (i)>], "
           "iterator_types = [\"parallel\", \"reduction\"]} ins(" +
           m + ", " + v + " : " + tensor(kShape) + ", tensor<4xf64>) outs(" +
           init("summed", {3}, "0.0") +
           " : tensor<3xf64>) {\n  ^bb0(%a: f64, %r: f64, %o: f64):\n"
           "    %q = arith.divf %a, %r : f64\n"
           "    %t = math.tanh %q : f64\n"
           "    %s = arith.addf %t, %o : f64\n"
           "    linalg.yield %s : f64\n  } -> tensor<3xf64>");
  text.use("%summed", {3});

  std::string c = text.parameter("copy", kShape);
  text.add("%empty = tensor.empty() : " + tensor(kShape));
  text.add("%y_copy = linalg.copy ins(" + c + " : " + tensor(kShape) +
           ") outs(%empty : " + tensor(kShape) + ") -> " + tensor(kShape));
  text.use("%y_copy", kShape);
  return text;
}

/// Every row of the table of layout changes, on each dimension.
ProgramText makeLayoutChanges() {
  ProgramText text(-2, 2, /*numRanks=*/2);
  Extents shape{4, 2, 6};
  for (std::string d : {"0", "1", "2"}) {
    std::string shard = "shard(" + d + ")";
    std::string x = text.parameter("whole" + d, shape);
    std::string s = text.parameter("sharded" + d, shape, shard);

    // The square stands for work that each rank does alike, or on its own.
    auto square = [&](const std::string &value, const std::string &layout) {
      std::string result = value + "_squared";
      text.add(result + " = arith.mulf " + value + ", " + value + " : " +
               tensor(shape, layout));
      return result;
    };
    std::string c =
        text.change("copied" + d, "copy", x, shape, "", "replicate");
    c = text.change("own" + d, "slice", square(c, "replicate"), shape,
                    "replicate", shard);
    text.use(c, shape, shard);
    text.use(
        square(text.change("part" + d, "slice", x, shape, "", shard), shard),
        shape, shard);

    std::string p =
        text.change("padded" + d, "zero_pad", s, shape, shard, "partial");
    text.use(square(text.change("reduced" + d, "all_reduce", p, shape,
                                "partial", ""),
                    ""),
             shape);
    text.use(square(text.change("scattered" + d, "reduce_scatter", p, shape,
                                "partial", shard),
                    shard),
             shape, shard);

    text.use(
        square(text.change("joined" + d, "all_gather", s, shape, shard, ""),
               ""),
        shape);
    std::string g =
        text.change("entry" + d, "all_gather", s, shape, shard, "replicate");
    g = text.change("exit" + d, "slice", square(g, "replicate"), shape,
                    "replicate", shard);
    text.use(g, shape, shard);
  }
  return text;
}

/// Operands that are sharded and replicated at the same time: adjoints that sum
/// over the sharded dimension are partial.
ProgramText makeShards() {
  ProgramText text(0.4, 1.6, /*numRanks=*/2);
  Extents hidden{4, 2, 6};
  std::string whole = tensor(hidden), onS = tensor(hidden, "shard(0)"),
              onH = tensor(hidden, "shard(2)");
  auto copied = [&](const std::string &name, const Extents &shape) {
    return text.change(name + "_copy", "copy", text.parameter(name, shape),
                       shape, "", "replicate");
  };
  std::string vector = tensor({6}, "replicate");

  // Token-local work on a shard of the sequence.
  std::string x = text.parameter("x", hidden, "shard(0)");
  text.add("%normed = sp.rms_norm " + x + ", " + copied("norm_weight", {6}) +
           " eps 1.0e-03 : (" + onS + ", " + vector + ") -> " + onS);
  text.add("%biased = sp.bias_add %normed, " + copied("bias", {6}) + " : (" +
           onS + ", " + vector + ") -> " + onS);
  text.add("%dropped = sp.dropout %biased p 0.3 op_id 4 : (" + onS + ") -> " +
           onS);
  text.add("%linear = sp.linear %dropped, " + copied("linear_weight", {6, 6}) +
           " bias " + copied("linear_bias", {6}) + " : (" + onS + ", " +
           tensor({6, 6}, "replicate") + ", " + vector + ") -> " + onS);
  text.add("%glu = sp.swiglu %linear, " + x + " : (" + onS + ", " + onS +
           ") -> " + onS);
  text.add("%scaled = sp.scale %glu by 0.5 : (" + onS + ") -> " + onS);
  text.add("%spread = sp.broadcast_leading " + copied("vector", {6}) +
           " count 2 : (" + vector + ") -> " + onS);
  text.add("%product = sp.mul %scaled, %spread : (" + onS + ", " + onS +
           ") -> " + onS);
  text.use("%product", hidden, "shard(0)");
  text.add("%major = sp.batch_major " + x + " : (" + onS + ") -> " +
           tensor({2, 4, 6}, "shard(1)"));
  text.use("%major", {2, 4, 6}, "shard(1)");
  text.add("%summed = sp.sum_leading " + x + " count 2 : (" + onS + ") -> " +
           tensor({6}, "partial"));
  text.use(
      text.change("summed_all", "all_reduce", "%summed", {6}, "partial", ""),
      {6});
  text.add("%targets = arith.constant dense<[[5, -100], [0, 3], [-100, 3], "
           "[1, 2]]> : tensor<4x2xi64>");
  text.add("%own_targets = sp.slice %targets : tensor<4x2xi64> -> "
           "tensor<4x2xi64, #sp.layout<tp = shard(0)>>");
  text.add("%losses, %count = sp.cross_entropy " + x +
           ", %own_targets ignore_index -100 : (" + onS +
           ", tensor<4x2xi64, #sp.layout<tp = shard(0)>>) -> (" +
           tensor({}, "partial") + ", " + tensor({}, "partial") + ")");
  text.use(text.change("entropy", "all_reduce", "%losses", {}, "partial", ""),
           {});

  // Lookup of a table whose columns are sharded.
  text.add("%ids = arith.constant dense<[[0, 3, 3, 1], [2, 0, 0, 3]]> : "
           "tensor<2x4xi64>");
  text.add("%own_ids = sp.copy %ids : tensor<2x4xi64> -> "
           "tensor<2x4xi64, #sp.layout<tp = replicate>>");
  text.add("%embedded = sp.embedding %own_ids, " +
           text.parameter("table", {5, 6}, "shard(1)") +
           " : (tensor<2x4xi64, #sp.layout<tp = replicate>>, " +
           tensor({5, 6}, "shard(1)") + ") -> " + onH);
  text.use("%embedded", hidden, "shard(2)");

  // Lookup of a table whose rows are sharded; it is the weight of the head,
  // too, whose loss is made of the ranks' parts.
  std::string rows = text.parameter("rows", {6, 6}, "shard(0)");
  std::string rowsType = tensor({6, 6}, "shard(0)");
  text.add("%summand = sp.embedding %own_ids, " + rows +
           " : (tensor<2x4xi64, #sp.layout<tp = replicate>>, " + rowsType +
           ") -> " + tensor(hidden, "partial"));
  std::string found = text.change("found", "reduce_scatter", "%summand", hidden,
                                  "partial", "shard(0)");
  text.use(found, hidden, "shard(0)");
  std::string tokens = text.change("tokens", "all_gather", found, hidden,
                                   "shard(0)", "replicate");
  text.add("%logits = sp.linear " + tokens + ", " + rows + " : (" +
           tensor(hidden, "replicate") + ", " + rowsType + ") -> " + onH);
  std::string scores = text.parameter("scores", hidden, "shard(2)");
  text.add("%shifted = arith.addf %logits, " + scores + " : " + onH);
  text.add("%all_targets = sp.copy %targets : tensor<4x2xi64> -> "
           "tensor<4x2xi64, #sp.layout<tp = replicate>>");
  Extents parts{2, 4, 2, 2};
  text.add(
      "%parts = sp.cross_entropy_parts %shifted, %all_targets ignore_index "
      "-100 : (" +
      onH + ", tensor<4x2xi64, #sp.layout<tp = replicate>>) -> " +
      tensor(parts, "shard(0)"));
  text.change("all_parts", "all_gather", "%parts", parts, "shard(0)", "");
  text.add("%head_loss, %head_count = sp.cross_entropy_join %all_parts, "
           "%targets "
           "ignore_index -100 : (" +
           tensor(parts) + ", tensor<4x2xi64>) -> (tensor<f64>, tensor<f64>)");
  text.use("%head_loss", {});

  // A column-parallel and a row-parallel linear, attention on heads between.
  std::string entry = copied("entry", hidden);
  Extents heads{4, 2, 4, 2}, groups{4, 2, 2, 2};
  auto project = [&](const std::string &name, const Extents &shape) {
    int64_t columns = shape[2] * shape[3];
    Extents flat{4, 2, columns};
    std::string flatType = tensor(flat, "shard(2)");
    std::string weight =
        text.parameter(name + "_weight", {columns, 6}, "shard(0)");
    std::string bias = text.parameter(name + "_bias", {columns}, "shard(0)");
    text.add("%" + name + "_flat = sp.linear " + entry + ", " + weight +
             " bias " + bias + " : (" + tensor(hidden, "replicate") + ", " +
             tensor({columns, 6}, "shard(0)") + ", " +
             tensor({columns}, "shard(0)") + ") -> " + flatType);
    text.add("%" + name + " = tensor.expand_shape %" + name +
             "_flat [[0], [1], [2, 3]] output_shape [4, 2, " +
             std::to_string(shape[2]) + ", 2] : " + flatType + " into " +
             tensor(shape, "shard(2)"));
    return "%" + name;
  };
  std::string q = tensor(heads, "shard(2)"), kv = tensor(groups, "shard(2)");
  std::string query = project("query", heads), key = project("key", groups),
              value = project("value", groups);
  text.add("%cos, %sin = sp.rope_table theta 100.0 : tensor<4x1xf64>, "
           "tensor<4x1xf64>");
  for (std::string part : {"cos", "sin"})
    text.change(part + "_copy", "copy", "%" + part, {4, 1}, "", "replicate");
  std::string table = tensor({4, 1}, "replicate");
  text.add("%turned = sp.rope " + query + ", %cos_copy, %sin_copy : (" + q +
           ", " + table + ", " + table + ") -> " + q);
  text.add("%attended = sp.attention %turned, " + key + ", " + value +
           " scale 0.6 causal dropout 0.3 op_id 8 : (" + q + ", " + kv + ", " +
           kv + ") -> " + q);
  text.add("%joined = tensor.collapse_shape %attended [[0], [1], [2, 3]] : " +
           q + " into " + tensor({4, 2, 8}, "shard(2)"));
  text.add("%row = sp.linear %joined, " +
           text.parameter("row_weight", {6, 8}, "shard(1)") + " : (" +
           tensor({4, 2, 8}, "shard(2)") + ", " + tensor({6, 8}, "shard(1)") +
           ") -> " + tensor(hidden, "partial"));
  text.use(text.change("reduced", "reduce_scatter", "%row", hidden, "partial",
                       "shard(0)"),
           hidden, "shard(0)");

  // Rows of shards that travel together.
  std::string some = text.parameter("some", {4, 3}, "shard(0)");
  std::string others = text.parameter("others", {2}, "shard(0)");
  text.add("%packed = sp.pack " + some + ", " + others + " : (" +
           tensor({4, 3}, "shard(0)") + ", " + tensor({2}, "shard(0)") +
           ") -> " + tensor({2, 7}, "shard(0)"));
  text.change("all_packed", "all_gather", "%packed", {2, 7}, "shard(0)", "");
  text.add("%all_some, %all_others = sp.unpack %all_packed : (" +
           tensor({2, 7}) + ") -> (" + tensor({4, 3}) + ", " + tensor({2}) +
           ")");
  text.use("%all_some", {4, 3});
  text.use("%all_others", {2});

  // Of two tensors each rank has its columns of, one.
  std::string left = text.parameter("left", {3, 4}, "shard(1)");
  std::string right = text.parameter("right", {3, 2}, "shard(1)");
  std::string both = tensor({3, 2, 3}, "shard(1)");
  text.add("%both = sp.pack " + left + ", " + right + " : (" +
           tensor({3, 4}, "shard(1)") + ", " + tensor({3, 2}, "shard(1)") +
           ") -> " + both);
  text.use("%both", {3, 2, 3}, "shard(1)");
  text.add("%right_again, %left_again = sp.unpack %both : (" + both + ") -> (" +
           tensor({3, 2}, "shard(1)") + ", " + tensor({3, 4}, "shard(1)") +
           ")");
  text.use("%left_again", {3, 4}, "shard(1)");

  // Broadcast, transposed and replicated operands of one linalg op.
  std::string m = text.parameter("matrix", {3, 4}, "shard(1)");
  std::string row = text.parameter("matrix_row", {4}, "shard(0)");
  std::string column = copied("matrix_column", {3});
  std::string across = text.parameter("transposed", {4, 3}, "shard(0)");
  std::string t = tensor({3, 4}, "shard(1)");
  text.add("%init = tensor.empty() : " + tensor({4, 3}, "shard(0)"));
  text.add("%mixed = linalg.generic {indexing_maps = ["
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, "
           "affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j, i)>, "
           "affine_map<(i, j) -> (j, i)>], "
           "iterator_types = [\"parallel\", \"parallel\"]} ins(" +
           m + ", " + row + ", " + column + ", " + across + " : " + t + ", " +
           tensor({4}, "shard(0)") + ", " + tensor({3}, "replicate") + ", " +
           tensor({4, 3}, "shard(0)") +
           ") outs(%init : " + tensor({4, 3}, "shard(0)") +
           ") {\n  ^bb0(%a: f64, %r: f64, %c: f64, %u: f64, %o: f64):\n"
           "    %ar = arith.mulf %a, %r : f64\n"
           "    %cu = arith.divf %c, %u : f64\n"
           "    %most = arith.maximumf %ar, %cu : f64\n"
           "    linalg.yield %most : f64\n  } -> " +
           tensor({4, 3}, "shard(0)"));
  text.use("%mixed", {4, 3}, "shard(0)");

  // A column-parallel and a row-parallel product of linalg, and a sum of
  // squares over the shard.
  std::string wide = tensor({3, 8}, "shard(1)"), partial = "partial";
  text.add("%wide0 = arith.constant dense<0.0> : " + wide);
  text.add("%wide = linalg.matmul ins(" + copied("product_input", {3, 4}) +
           ", " + text.parameter("column_factor", {4, 8}, "shard(1)") + " : " +
           tensor({3, 4}, "replicate") + ", " + tensor({4, 8}, "shard(1)") +
           ") outs(%wide0 : " + wide + ") -> " + wide);
  text.add("%narrow0 = arith.constant dense<0.0> : " + tensor({3, 2}, partial));
  text.add("%narrow = linalg.matmul ins(%wide, " +
           text.parameter("row_factor", {8, 2}, "shard(0)") + " : " + wide +
           ", " + tensor({8, 2}, "shard(0)") + ") outs(%narrow0 : " +
           tensor({3, 2}, partial) + ") -> " + tensor({3, 2}, partial));
  text.use(
      text.change("narrow_sum", "all_reduce", "%narrow", {3, 2}, partial, ""),
      {3, 2});
  text.add("%squares0 = arith.constant dense<0.0> : " + tensor({3}, partial));
  text.add("%squares = linalg.generic {indexing_maps = ["
           "affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], "
           "iterator_types = [\"parallel\", \"reduction\"]} ins(%wide : " +
           wide + ") outs(%squares0 : " + tensor({3}, partial) +
           ") {\n  ^bb0(%a: f64, %o: f64):\n"
           "    %q = arith.mulf %a, %a : f64\n"
           "    %s = arith.addf %q, %o : f64\n"
           "    linalg.yield %s : f64\n  } -> " +
           tensor({3}, partial));
  text.use(
      text.change("square_sum", "all_reduce", "%squares", {3}, partial, ""),
      {3});
  return text;
}

const NamedProgram kMeshPrograms[] = {{"LayoutChanges", makeLayoutChanges},
                                      {"Shards", makeShards}};

const NamedProgram kPrograms[] = {
    {"Math", makeMath},
    {"MathOfPositiveNumbers", makeMathOfPositiveNumbers},
    {"Arith", makeArith},
    {"TransformerOps", makeTransformerOps},
    {"Attention", makeAttention},
    {"CrossEntropy", makeCrossEntropy},
    {"CrossEntropyOverParts", makeCrossEntropyOverParts},
    {"Packed", makePacked},
    {"Padding", makePadding},
    {"Linalg", makeLinalg},
    {"LinalgReductions", makeLinalgReductions},
    {"Conversions", makeConversions},
};

TEST_P(Adjoint, IsTheDerivative) {
  ProgramText text = GetParam().make();
  auto module = parseProgram(text.str());
  ASSERT_TRUE(module);
  mlir::OwningOpRef<mlir::ModuleOp> original = module->clone();
  checkGradients(text.source, *original, *module);
}

TEST_P(PartialAdjoint, IsTheDerivative) {
  ProgramText text = GetParam().make();
  auto module = parseProgram(text.str());
  ASSERT_TRUE(module);
  mlir::OwningOpRef<mlir::ModuleOp> original = module->clone();
  replicate(*module);
  checkGradients(text.source, *original, *module);
}

std::string nameOf(const testing::TestParamInfo<NamedProgram> &info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Programs, Adjoint, testing::ValuesIn(kPrograms),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(MeshPrograms, Adjoint,
                         testing::ValuesIn(kMeshPrograms), nameOf);
// Rounding is not linear: the adjoint of a replicated `extf` is refused.
INSTANTIATE_TEST_SUITE_P(
    Programs, PartialAdjoint,
    testing::ValuesIn(llvm::ArrayRef(kPrograms).drop_back()), nameOf);

/// No op can have an adjoint and be forgotten here.
TEST(AdjointPrograms, HaveEveryOp) {
  llvm::StringSet<> seen;
  for (const NamedProgram &program :
       llvm::concat<const NamedProgram>(kPrograms, kMeshPrograms)) {
    auto module = parseProgram(program.make().str());
    ASSERT_TRUE(module) << program.name;
    module->walk([&](mlir::Operation *op) {
      seen.insert(op->getName().getStringRef());
    });
  }
  for (mlir::RegisteredOperationName name :
       getTestContext().getRegisteredOperations())
    if (name.hasInterface<AdjointOpInterface>()) {
      EXPECT_TRUE(seen.contains(name.getStringRef()))
          << name.getStringRef().str();
    }
}

} // namespace
