#include "control/learn/trees.hpp"

#include "weir/base/loaded_library.hpp"
#include "weir/build/trees_builder.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xgboost/c_api.h>

#include <algorithm>
#include <limits>
#include <string>

namespace weir::learn {
namespace {

// XGBoost, loaded when somebody trains: its library takes some ten megabytes of a process, which weir-control shall not pay for a
// configuration that learns nothing.
struct XgBoost {
  decltype(&::XGBGetLastError) last_error = nullptr;
  decltype(&::XGDMatrixCreateFromMat) matrix_of = nullptr;
  decltype(&::XGDMatrixSetFloatInfo) set_info = nullptr;
  decltype(&::XGDMatrixFree) free_matrix = nullptr;
  decltype(&::XGBoosterCreate) create = nullptr;
  decltype(&::XGBoosterSetParam) set = nullptr;
  decltype(&::XGBoosterUpdateOneIter) update = nullptr;
  decltype(&::XGBoosterPredict) predict = nullptr;
  decltype(&::XGBoosterDumpModelEx) dump = nullptr;
  decltype(&::XGBoosterFeatureScore) score_features = nullptr;
  decltype(&::XGBoosterFree) free = nullptr;
};

Result<XgBoost> load() {
  LoadedLibrary library("libxgboost.so.0", "libxgboost0");
  XgBoost api;
  library.take(api.last_error, "XGBGetLastError");
  library.take(api.matrix_of, "XGDMatrixCreateFromMat");
  library.take(api.set_info, "XGDMatrixSetFloatInfo");
  library.take(api.free_matrix, "XGDMatrixFree");
  library.take(api.create, "XGBoosterCreate");
  library.take(api.set, "XGBoosterSetParam");
  library.take(api.update, "XGBoosterUpdateOneIter");
  library.take(api.predict, "XGBoosterPredict");
  library.take(api.dump, "XGBoosterDumpModelEx");
  library.take(api.score_features, "XGBoosterFeatureScore");
  library.take(api.free, "XGBoosterFree");
  TRY(library.status());
  return api;
}

// Any thread; stays loaded. Errors: not_found, naming the package.
Result<const XgBoost *> xgboost() {
  static const Result<XgBoost> loaded = load();
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

Status checked(const XgBoost &api, int code, const char *what) {
  if (code == 0) return {};
  std::string why = api.last_error();
  if (const auto end = why.find("Stack trace"); end != std::string::npos) why.resize(end);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  return fail(Errc::usage, fmt::format("XGBoost, {}: {}", what, why));
}

struct FreeMatrix {
  const XgBoost *api = nullptr;
  void operator()(void *matrix) const noexcept { api->free_matrix(matrix); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

// XGBoost takes real numbers alone.
Result<Matrix> matrix_of(const XgBoost &api, const Samples &samples) {
  const std::vector<float> values(samples.bytes.begin(), samples.bytes.end());
  DMatrixHandle handle = nullptr;
  TRY(checked(api,
              api.matrix_of(values.data(), samples.count(), samples.features,
                            std::numeric_limits<float>::quiet_NaN(), &handle),
              "samples"));
  return Matrix(handle, FreeMatrix{&api});
}

using Json = nlohmann::json;

// A dump has children within their parents, and names nodes by numbers that are given before pruning.
std::int64_t add_node(const Json &json, build::TrainedTree &tree) {
  const std::size_t at = tree.size();
  tree.emplace_back();
  if (json.contains("leaf")) {
    tree[at].leaf = json.at("leaf").get<double>();
    return static_cast<std::int64_t>(at);
  }
  // As f12; XGBoost's bound is a float, whatever digits stand in the dump.
  tree[at].feature = std::stoll(json.at("split").get<std::string>().substr(1));
  tree[at].threshold = static_cast<double>(json.at("split_condition").get<float>());
  for (const Json &child : json.at("children"))
    (child.at("nodeid") == json.at("yes") ? tree[at].left : tree[at].right) = add_node(child, tree);
  return static_cast<std::int64_t>(at);
}

} // namespace

struct BoostedTrees::Model {
  explicit Model(const XgBoost &loaded) : api(loaded) {}
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model() {
    if (handle != nullptr) api.free(handle);
  }

  [[nodiscard]] Status set(const char *name, const std::string &value) const {
    return checked(api, api.set(handle, name, value.c_str()), name);
  }
  // mask: 0 probabilities, 1 margins.
  [[nodiscard]] Result<std::vector<float>> predict(const Samples &samples, int mask) const {
    if (samples.features != features)
      return fail(Errc::usage,
                  fmt::format("{} features where the trees have {}", samples.features, features));
    const Matrix matrix = TRY(matrix_of(api, samples));
    bst_ulong count = 0;
    const float *values = nullptr;
    TRY(checked(api, api.predict(handle, matrix.get(), mask, 0, 0, &count, &values), "predicting"));
    return std::vector<float>(values, values + count);
  }

  const XgBoost &api;
  BoosterHandle handle = nullptr;
  unsigned features = 0;
  std::uint64_t seed = 0;
};

BoostedTrees::BoostedTrees(std::unique_ptr<Model> model) : model_(std::move(model)) {}
BoostedTrees::BoostedTrees(BoostedTrees &&) noexcept = default;
BoostedTrees &BoostedTrees::operator=(BoostedTrees &&) noexcept = default;
BoostedTrees::~BoostedTrees() = default;

Result<BoostedTrees> BoostedTrees::train(const Samples &samples, const TreesTask &task) {
  if (samples.count() == 0 || samples.labels.size() != samples.count() ||
      samples.features > tree_features_max)
    return fail(Errc::usage, "training takes samples of 1 to 256 features with a label each");
  const auto members = std::ranges::count(samples.labels, 1);
  if (members == 0 || static_cast<std::size_t>(members) == samples.count())
    return fail(Errc::usage, "training takes samples of members and of others");
  const XgBoost &api = *TRY(xgboost());
  auto model = std::make_unique<Model>(api);
  model->features = samples.features;
  model->seed = task.seed;
  const Matrix matrix = TRY(matrix_of(api, samples));
  const std::vector<float> labels(samples.labels.begin(), samples.labels.end());
  TRY(checked(api, api.set_info(matrix.get(), "label", labels.data(), labels.size()), "labels"));
  const DMatrixHandle cached = matrix.get();
  TRY(checked(api, api.create(&cached, 1, &model->handle), "a model"));
  TRY(model->set("objective", "binary:logistic"));
  TRY(model->set("base_score", "0.5")); // a margin of 0
  TRY(model->set("tree_method", "hist"));
  TRY(model->set("max_bin", "256"));
  TRY(model->set("nthread", "1"));
  TRY(model->set("verbosity", "0"));
  TRY(model->set("max_depth", std::to_string(task.depth)));
  TRY(model->set("eta", std::to_string(task.step)));
  TRY(model->set("min_child_weight", std::to_string(task.min_weight)));
  TRY(model->set("subsample", std::to_string(task.subsample)));
  TRY(model->set("scale_pos_weight", std::to_string(task.member_weight)));
  TRY(model->set("seed", std::to_string(task.seed & 0x7FFFFFFF)));
  for (unsigned round = 0; round < task.trees; ++round)
    TRY(checked(api, api.update(model->handle, static_cast<int>(round), matrix.get()), "training"));
  return BoostedTrees(std::move(model));
}

Result<std::vector<float>> BoostedTrees::margins(const Samples &samples) const {
  return model_->predict(samples, 1);
}
Result<std::vector<float>> BoostedTrees::probabilities(const Samples &samples) const {
  return model_->predict(samples, 0);
}

Result<std::vector<double>> BoostedTrees::gains() const {
  bst_ulong features = 0, dimensions = 0;
  const char **names = nullptr;
  const bst_ulong *shape = nullptr;
  const float *scores = nullptr;
  TRY(checked(model_->api,
              model_->api.score_features(model_->handle, R"({"importance_type": "total_gain"})", &features,
                                         &names, &dimensions, &shape, &scores),
              "gains"));
  std::vector<double> gains(model_->features);
  double sum = 0;
  for (bst_ulong i = 0; i < features; ++i) { // named f0, f1 ...; those that gained nothing are not
    gains.at(std::stoul(names[i] + 1)) = static_cast<double>(scores[i]);
    sum += static_cast<double>(scores[i]);
  }
  for (double &gain : gains) gain = sum > 0 ? gain / sum : 0;
  return gains;
}

Result<Trees> BoostedTrees::flatten(unsigned trees_most) const {
  bst_ulong count = 0;
  const char **texts = nullptr;
  TRY(checked(model_->api, model_->api.dump(model_->handle, "", 0, "json", &count, &texts), "dumping"));
  build::TrainedTrees trained{.features = model_->features, .base = 0, .seed = model_->seed, .trees = {}};
  for (const char *text : std::span(texts, std::min<std::size_t>(count, trees_most)))
    add_node(Json::parse(text), trained.trees.emplace_back());
  return build::flatten_trees(trained);
}

std::vector<float> margins_of(const TreesView &trees, const Samples &samples) {
  std::vector<float> out(samples.count());
  std::vector<FeatureRow> rows(trees.features());
  Margins margins;
  for (std::size_t at = 0; at < out.size(); at += burst_samples) {
    const std::size_t count = std::min<std::size_t>(burst_samples, out.size() - at);
    for (std::size_t i = 0; i < count; ++i) {
      const auto sample = samples.sample(at + i);
      for (unsigned f = 0; f < trees.features(); ++f) rows[f].of[i] = sample[f];
    }
    trees.score(rows, margins);
    std::copy_n(margins.begin(), count, out.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}

} // namespace weir::learn
