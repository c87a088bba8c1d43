//===- SyntaxTest.cpp - lexer, parser, constants, declarations ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "lib/Frontend/Syntax/Constant.h"
#include "lib/Frontend/Syntax/Declarations.h"
#include "lib/Frontend/Syntax/Lexer.h"
#include "lib/Frontend/Syntax/Parse.h"

#include <gtest/gtest.h>

using namespace meshc::syntax;

namespace {

std::string print(const Expr &expr);

std::string printNames(const std::vector<Name> &names) {
  std::string text;
  for (const Name &name : names)
    text += (text.empty() ? "" : " ") + std::string(name.text);
  return text;
}

std::string print(const Argument &argument) {
  switch (argument.kind) {
  case Argument::Kind::Value:
    return print(*argument.value);
  case Argument::Kind::Named:
    return std::string(argument.key.text) + "=" + print(*argument.value);
  case Argument::Kind::Rename:
    return "{" + printNames(argument.from) + "->" + printNames(argument.to) +
           "}";
  case Argument::Kind::Result:
    return "->[" + printNames(argument.to) + "]";
  }
  return "";
}

/// The tree fully parenthesized, operators as their number.
std::string print(const Expr &expr) {
  static constexpr const char *operators[] = {
      "or", "and", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "**"};
  if (const auto *number = std::get_if<NumberExpr>(&expr.node))
    return toString({number->value, number->integer, number->isInteger});
  if (const Name *name = expr.asName())
    return std::string(name->text);
  if (const auto *unary = std::get_if<UnaryExpr>(&expr.node))
    return (unary->kind == UnaryKind::Not ? "(not " : "(- ") +
           print(*unary->operand) + ")";
  if (const auto *binary = std::get_if<BinaryExpr>(&expr.node))
    return "(" + print(*binary->left) + " " +
           operators[static_cast<int>(binary->kind)] + " " +
           print(*binary->right) + ")";
  if (const auto *entry = std::get_if<EntryExpr>(&expr.node))
    return "(" + print(*entry->operand) + " at " +
           std::string(entry->dim.text) + " = " + print(*entry->index) + ")";
  if (const auto *member = std::get_if<MemberExpr>(&expr.node))
    return std::string(member->module.text) + "." +
           std::string(member->name.text);
  if (const auto *table = std::get_if<TableExpr>(&expr.node)) {
    std::string text = "table(";
    for (int64_t size : table->sizes)
      text += std::to_string(size) + " ";
    for (const ExprPtr &entry : table->entries)
      text += print(*entry) + " ";
    for (const Name &dim : table->dims)
      text += std::string(dim.text) + " ";
    return text + (table->type ? std::string(table->type->text) : "") + ")";
  }
  const auto &call = std::get<CallExpr>(expr.node);
  std::string text = std::string(call.callee.text) + "(";
  if (call.module)
    text = std::string(call.module->text) + "." + text;
  for (const Argument &argument : call.arguments)
    text += (&argument == call.arguments.data() ? "" : ", ") + print(argument);
  return text + ")";
}

/// One parsed text, with its diagnostics.
struct Parsed {
  explicit Parsed(std::string text) {
    sources.add("test.mesh", std::move(text));
    program = parseProgram(sources, 0, diagnostics);
  }

  /// "line:column: message" of each diagnostic, a line each.
  std::string messages() const {
    std::string text;
    for (const Diagnostic &diagnostic : diagnostics.all()) {
      LineColumn at = sources.lineColumn(diagnostic.span);
      text += std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
              diagnostic.message + "\n";
    }
    return text;
  }

  SourceSet sources;
  Diagnostics diagnostics;
  Program program;
};

/// The tree of one expression, or the messages.
std::string parseExpr(const std::string &text) {
  Parsed parsed("let x = " + text);
  if (parsed.diagnostics.hasErrors())
    return parsed.messages();
  const auto &constants =
      std::get<ConstantDeclaration>(parsed.program.declarations.at(0));
  return print(*constants.constants.at(0).value);
}

/// The value of the constant `x`, or the messages.
std::string evaluateText(const std::string &text) {
  Parsed parsed(text);
  Declarations declarations(parsed.diagnostics);
  declarations.collect(parsed.program, {});
  if (parsed.diagnostics.hasErrors())
    return parsed.messages();
  return toString(declarations.constants.at("x").value);
}

} // namespace

TEST(Lexer, SkipsBlanksAndComments) { // [L1.2]
  EXPECT_EQ(parseExpr("/* a\n b */ 1 // c\n + 2"), "(1 + 2)");
  EXPECT_EQ(parseExpr("/* a"),
            "1:9: comment is not closed; expected '*/' before the end of the "
            "file\n1:8: expected an expression, got the end of the text\n");
}

TEST(Lexer, ReadsNumbers) { // [L1.5]
  EXPECT_EQ(parseExpr("12"), "12");
  EXPECT_EQ(parseExpr("0.5"), "0.5");
  EXPECT_EQ(parseExpr("3e-4"), "3e-04");
  EXPECT_EQ(parseExpr("inf"), "inf");
  EXPECT_EQ(parseExpr("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(parseExpr("9223372036854775808"),
            "1:9: number '9223372036854775808' does not fit in 64 bits\n");
  EXPECT_EQ(parseExpr("1e999"),
            "1:9: number '1e999' is beyond the range of f64\n");
  EXPECT_EQ(parseExpr("12abc"),
            "1:9: '12abc' is neither a number nor a name; numbers look like "
            "12, 0.5 or 3e-4, names start with a letter\n");
}

TEST(Lexer, NamesTheTokenMeant) {
  EXPECT_EQ(parseExpr("2 \xc3\x97 3"), "1:11: unexpected character "
                                       "'\xc3\x97'; write '*' instead\n");
  EXPECT_EQ(parseExpr("2 \x01 + 3"), "1:11: unexpected character '\\x01'\n");
}

TEST(Parser, BindsOperators) { // [L5.1]
  EXPECT_EQ(parseExpr("a + b * c ** d - e"), "((a + (b * (c ** d))) - e)");
  EXPECT_EQ(parseExpr("-a ** 2"), "(- (a ** 2))");
  EXPECT_EQ(parseExpr("-a * b"), "((- a) * b)");
  EXPECT_EQ(parseExpr("2 ** -a ** b"), "(2 ** (- (a ** b)))");
  EXPECT_EQ(parseExpr("a ** b ** c"), "(a ** (b ** c))");
  EXPECT_EQ(parseExpr("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(parseExpr("a < b and not c == d or e"),
            "(((a < b) and (not (c == d))) or e)");
  EXPECT_EQ(parseExpr("a < b < c"),
            "1:15: comparisons do not chain; write 'a < b and b < c'\n");
}

TEST(Parser, ReadsArguments) { // [L5.3]
  EXPECT_EQ(parseExpr("f(x, lr = 1 + 2, a -> b, a -> (b, c), (a, b) -> c,)"),
            "f(x, lr=(1 + 2), {a->b}, {a->b c}, {a b->c})");
  EXPECT_EQ(parseExpr("einsum(a, b -> [c, d])"), "einsum(a, b, ->[c d])");
  EXPECT_EQ(parseExpr("einsum(a, (b) * c, -> [])"), "einsum(a, (b * c), ->[])");
}

TEST(Parser, ReadsEntries) { // [L5.15]
  EXPECT_EQ(parseExpr("2 * f(x) at d = 1"), "(2 * (f(x) at d = 1))");
  EXPECT_EQ(parseExpr("-x at d = n at at = (i + 1)"),
            "(- ((x at d = n) at at = (i + 1)))");
  EXPECT_EQ(parseExpr("f(at at d = -1, at = at)"),
            "f((at at d = (- 1)), at=at)");
  EXPECT_EQ(parseExpr("(x at d = 1) ** 2"), "((x at d = 1) ** 2)");
  EXPECT_EQ(parseExpr("x at d = size(d) - 1"),
            "1:26: '-' after an index is ambiguous; write (x at d = …) - … or "
            "x at d = (… - …)\n");
  EXPECT_EQ(parseExpr("x at d"),
            "1:15: expected '=' and the index along 'd', got the end of the "
            "text\n");
  EXPECT_EQ(parseExpr("x at d = "),
            "1:17: expected an expression, got the end of the text\n");
  EXPECT_EQ(parseExpr("x at 1"),
            "1:11: expected a new line or ';' after a declaration, got 'at'\n");
}

TEST(Parser, EndsStatementsAtLines) { // [L1.6]
  EXPECT_EQ(parseExpr("a\n  + b"), "(a + b)");
  EXPECT_EQ(parseExpr("(a\n)"), "a");
  Parsed two("dim a = 1 dim b = 2");
  EXPECT_EQ(
      two.messages(),
      "1:11: expected a new line or ';' after a declaration, got 'dim'\n");
  Parsed joined("dim a = 1; dim b = 2");
  EXPECT_EQ(joined.messages(), "");
  EXPECT_EQ(joined.program.declarations.size(), 2u);
}

TEST(Parser, GoesOnAfterErrors) { // [L9.1]
  Parsed parsed("dim a = \n"
                "dim b 3\n"
                "model m(x[a) {\n"
                "  y = (x\n"
                "  z = x +\n"
                "  w = x\n"
                "}\n"
                "trian m\n"
                "fn f(x) {\n"
                "  return x\n"
                "dim c = 3\n");
  EXPECT_EQ(
      parsed.messages(),
      "1:8: expected an expression, got the end of the line\n"
      "2:7: expected '=' after 'b', got '3'\n"
      "3:12: expected ',' or ']', got ')'\n"
      "4:9: expected ')', got the end of the line\n"
      "5:10: expected an expression, got the end of the line\n"
      "8:1: expected a declaration (import, dim, let, mesh, layout, fn, model, "
      "train or generate), got 'trian'; did you mean 'train'?\n"
      "10:11: expected '}' to end the function, got a declaration\n");
}

TEST(Parser, NestsAsDeepAsPromised) { // [L5.9]
  auto nest = [](std::string open, int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i)
      text += open;
    return parseExpr(text + "a" + std::string(depth, ')'));
  };
  EXPECT_EQ(nest("(", 256), "a");
  EXPECT_NE(nest("(", 257).find("nested more than 256"), std::string::npos);
  EXPECT_EQ(nest("f(", 256).find("more than"), std::string::npos);
  EXPECT_NE(nest("f(", 257).find("more than 256"), std::string::npos);
}

TEST(Parser, BoundsNesting) { // [L5.9]
  std::string open(100000, '(');
  EXPECT_EQ(parseExpr(open), "1:265: nested more than 256 deep; give parts of "
                             "it names\n");
  std::string minus(100000, '-');
  EXPECT_NE(parseExpr(minus).find("nested more than 256"), std::string::npos);
  std::string chain = "a", powers = "a";
  for (int i = 0; i < 100000; ++i) {
    chain += "+a";
    powers += "**a";
  }
  EXPECT_NE(parseExpr(chain).find("more than 256 operations"),
            std::string::npos);
  EXPECT_NE(parseExpr(powers).find("nested more than 256"), std::string::npos);
}

TEST(Parser, BoundsErrors) { // [L9.2]
  Parsed parsed(std::string(100000, '$'));
  EXPECT_EQ(parsed.diagnostics.all().size(), 41u);
  EXPECT_EQ(parsed.diagnostics.all().back().message,
            "too many errors; the rest is not shown");
}

TEST(Parser, ReadsLayouts) { // [L3.2], [L8.2]
  Diagnostics diagnostics;
  SourceSet sources;
  sources.add("<--layout>", "batch:pod+data, optimizer.model->data, "
                            "heads->?tensor, seq -> (a, b), "
                            "layers.attention . wq.model:tensor, key:(), "
                            "ffn ~> ()");
  std::vector<LayoutRule> rules = parseLayoutList(sources, 0, diagnostics);
  ASSERT_EQ(rules.size(), 7u);
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_EQ(printNames(rules[0].axes), "pod data");
  EXPECT_EQ(rules[1].scope->text, "optimizer");
  EXPECT_EQ(rules[1].dim.text, "model");
  EXPECT_TRUE(rules[2].isOptional);
  EXPECT_EQ(printNames(rules[3].axes), "a b");
  EXPECT_EQ(rules[4].scope->text, "layers.attention.wq"); // [L3.3]
  EXPECT_EQ(rules[4].dim.text, "model");
  EXPECT_EQ(rules[5].dim.text, "key");
  EXPECT_TRUE(rules[5].axes.empty());
  EXPECT_TRUE(rules[6].isWeak);
  EXPECT_TRUE(rules[6].axes.empty());
}

TEST(Parser, ReadsLoops) { // [L4.6]
  Parsed parsed(
      "model m(x[a]) {\n  for layers { for seq backwards { y = x } }\n"
      "  backwards = x\n}");
  EXPECT_EQ(parsed.messages(), "");
  const auto &model =
      std::get<ModelDeclaration>(parsed.program.declarations.at(0));
  ASSERT_EQ(model.body.statements.size(), 2u);
  const auto &outer = std::get<ForStatement>(model.body.statements[0].node);
  EXPECT_EQ(outer.dim.text, "layers");
  EXPECT_FALSE(outer.isBackwards);
  const auto &inner = std::get<ForStatement>(outer.body.at(0).node);
  EXPECT_EQ(inner.dim.text, "seq");
  EXPECT_TRUE(inner.isBackwards);
  EXPECT_EQ(inner.body.size(), 1u);
}

TEST(Parser, ReadsRequirements) { // [L4.17]
  Parsed parsed("model m(x[a]) {\n"
                "  require size(a) > 1 and not (b == 2),\n    \"a message\"\n"
                "  for a { require -b < 3, \"m\"; y = x }\n"
                "  require = x\n  require, z = f(require)\n}");
  EXPECT_EQ(parsed.messages(), "");
  const auto &model =
      std::get<ModelDeclaration>(parsed.program.declarations.at(0));
  ASSERT_EQ(model.body.statements.size(), 4u);
  const auto &first = std::get<RequireStatement>(model.body.statements[0].node);
  EXPECT_TRUE(first.condition);
  EXPECT_EQ(first.message, "a message");
  const auto &loop = std::get<ForStatement>(model.body.statements[1].node);
  EXPECT_TRUE(std::holds_alternative<RequireStatement>(loop.body.at(0).node));
  for (size_t i : {2, 3})
    EXPECT_TRUE(
        std::holds_alternative<AssignStatement>(model.body.statements[i].node));
}

TEST(Parser, ReadsSeveralValues) { // [L4.12]
  Parsed parsed("fn f(x) { a, b,\n  c = g(x,\n  x, b); a, b = g(c)\n"
                "  d = a\n  a, b = g(d); return a,\n    b }\n");
  EXPECT_EQ(parsed.messages(), "");
  const auto &function =
      std::get<FunctionDeclaration>(parsed.program.declarations.at(0));
  std::vector<size_t> counts;
  for (const Statement &statement : function.body.statements)
    if (const auto *assigned = std::get_if<AssignStatement>(&statement.node))
      counts.push_back(assigned->targets.size());
    else
      counts.push_back(std::get<ReturnStatement>(statement.node).values.size());
  EXPECT_EQ(counts, (std::vector<size_t>{3, 2, 1, 2, 2}));
  // After an error the next statement may have several names.
  EXPECT_EQ(Parsed("fn f(x) {\n  a = (x\n  b, c = g(x)\n  d, e = x, x\n"
                   "  return b, c,\n}\n")
                .messages(),
            "2:9: expected ')', got the end of the line\n"
            "4:11: several names take the values of one function call; assign "
            "other values one by one\n"
            "5:15: expected an expression, got the end of the line\n");
}

TEST(Constant, FoldsExactly) { // [L2.3]
  EXPECT_EQ(evaluateText("dim m = 3 * 4, f = 4 * m\nlet x = f / m"), "4");
  EXPECT_EQ(evaluateText("dim m = 16\nlet x = sqrt(size(m)) / 3 * 3"), "4");
  EXPECT_EQ(evaluateText("let x = 7 / 2"), "3.5");
  EXPECT_EQ(evaluateText("let x = 2 ** -1"), "0.5");
  EXPECT_EQ(evaluateText("let x = -2 ** 62 * 2"), "-9223372036854775808");
  EXPECT_EQ(evaluateText("let x = 2 ** 63"),
            "1:11: the result does not fit in 64 bits\n");
  EXPECT_EQ(evaluateText("let x = 1 / 0"), "1:11: division by zero\n");
  EXPECT_EQ(evaluateText("let x = (-2 ** 62 * 2) / -1"),
            "1:24: the result does not fit in 64 bits\n");
  EXPECT_EQ(evaluateText("let x = inf - inf"),
            "1:13: the result is not a number\n");
  EXPECT_EQ(evaluateText("let x = log(-1)"),
            "1:9: 'log' of -1 is not a finite number\n");
  EXPECT_EQ(evaluateText("dim hidden = 4\nlet x = hiden"),
            "2:9: no constant or dim 'hiden' is declared before this; did you "
            "mean 'hidden'?\n");
}

TEST(Declarations, AreChecked) {
  EXPECT_EQ(evaluateText("dim a = 0"), "1:9: size of dim 'a' must be a whole "
                                       "number from 1 to 2**40, got 0\n");
  EXPECT_EQ(evaluateText("dim a = 2\nlet a = 3"),
            "2:5: 'a' is already declared\n"); // [L2.4]
  EXPECT_EQ(evaluateText("mesh a = 2, a = 2"),
            "1:13: mesh axis 'a' is already declared\n"); // [L3.1]
  EXPECT_EQ(evaluateText("mesh a = 4096, b = 4097"),
            "1:20: mesh has more than 2**24 ranks; axis 'b' of size 4097 makes "
            "it too large\n");
  std::string axes = "mesh a10 = 2";
  for (int number = 11; number < 42; ++number)
    axes += ", a" + std::to_string(number) + " = 1";
  EXPECT_EQ(evaluateText(axes + ", b = 1, c = 1"),
            "1:294: mesh has more than 32 axes; leave out axes of size 1\n");
}

TEST(Declarations, CheckLayouts) {
  Parsed parsed("dim batch = 4, model = 4\nmesh data = 2\n"
                "layout batch -> dat, bach -> data, heads ->? data,\n"
                "  model -> (data, data), optimzer.model -> data,\n"
                "  model -> data, model -> data");
  Declarations declarations(parsed.diagnostics);
  declarations.collect(parsed.program, {});
  EXPECT_EQ(declarations.checkLayout({Name{"w", {}}}).size(), 1u);
  EXPECT_EQ(
      parsed.messages(),
      "3:17: layout names mesh axis 'dat', which the mesh does not have; did "
      "you mean 'data'? (a rule that may not apply is written with '->?')\n"
      "3:22: layout names dim 'bach', which the program does not have; did "
      "you mean 'batch'? (a rule that may not apply is written with '->?')\n"
      "4:19: mesh axis 'data' stands twice in the rule of dim 'model'\n"
      "4:26: scope 'optimzer' is neither a class of tensors (parameter, "
      "gradient, optimizer, activation) nor a tensor of the model; did you "
      "mean 'optimizer'?\n"
      "5:18: dim 'model' has a second rule\n");
}

TEST(Declarations, TakeOverrides) { // [L8]
  Parsed parsed("dim batch = 4, ffn = 4 * batch\nmesh data = 2\n"
                "layout batch -> data\nlet rate = 0.1");
  uint32_t set = parsed.sources.add("<--set>", "batch=8,rate=0.2,bach=2");
  uint32_t mesh = parsed.sources.add("<--mesh>", "x=2,y=2");
  uint32_t layout = parsed.sources.add("<--layout>", "ffn:x+y");
  Overrides overrides;
  overrides.values =
      parseDefinitionList(parsed.sources, set, parsed.diagnostics);
  overrides.mesh =
      parseDefinitionList(parsed.sources, mesh, parsed.diagnostics);
  overrides.layout =
      parseLayoutList(parsed.sources, layout, parsed.diagnostics);
  Declarations declarations(parsed.diagnostics);
  declarations.collect(parsed.program, overrides);
  EXPECT_EQ(declarations.dims.at("ffn").size, 32);
  EXPECT_EQ(toString(declarations.constants.at("rate").value), "0.2");
  ASSERT_EQ(declarations.axes.size(), 2u);
  EXPECT_EQ(declarations.axes[1].name, "y");
  EXPECT_EQ(declarations.checkLayout({}).size(), 1u);
  EXPECT_EQ(parsed.messages(), "1:18: the text declares no dim or constant "
                               "'bach'; did you mean 'batch'?\n");
}

TEST(Parser, ReadsStatedDims) { // [L4.18]
  Parsed parsed("model m(x[a]) {\n  h[a,\n    b]: f32 = x; y: i32 = 3\n"
                "  z = x +\n    y\n  p[a], q: i1 = f(x)\n  s[] = 1 }\n");
  EXPECT_EQ(parsed.messages(), "");
  const auto &model =
      std::get<ModelDeclaration>(parsed.program.declarations.at(0));
  std::string targets;
  for (const Statement &statement : model.body.statements)
    for (const TensorDeclaration &target :
         std::get<AssignStatement>(statement.node).targets)
      targets += std::string(target.name.text) +
                 (target.dims ? "[" + printNames(*target.dims) + "]" : "") +
                 (target.type ? ":" + std::string(target.type->text) : "") +
                 " ";
  EXPECT_EQ(targets, "h[a b]:f32 y:i32 z p[a] q:i1 s[] ");
  // An operand that is missing is not taken from the next statement.
  EXPECT_EQ(Parsed("fn f(x) {\n  a = x +\n  b[c]: f32 = x\n  return a }\n")
                .messages(),
            "2:10: expected an expression, got the end of the line\n");
}
