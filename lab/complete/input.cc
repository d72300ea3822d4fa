#include "lab/complete/input.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/bad_input.h"
#include "common/base/error.h"
#include "common/base/view.h"
#include "common/files/fields.h"
#include "common/files/input_file.h"
#include "curator/import/readers/item_table.h"
#include "curator/import/readers/ratings.h"

namespace dpnmf::curator::lab {
namespace {

using Eigen::Index;
using Ids = std::vector<std::string>;
using Places = std::unordered_map<std::string_view, Index>;

Places PlacesOf(const Ids& ids) {
  Places places;
  places.reserve(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    places.emplace(ids[i], static_cast<Index>(i));
  return places;
}

// Features or labels declared beside the ratings, with the ids of their lines.
struct Declared {
  Ids ids;
  Auxiliary auxiliary;
  std::string file;  // empty: nothing was declared
};

absl::StatusOr<Declared> LoadLabels(const std::string& path) {
  DPNMF_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> input,
                         InputFile::Open(path));
  Declared declared;
  declared.file = path;
  std::vector<std::string_view> fields;
  std::unordered_map<std::string, std::uint64_t> lines;
  std::string_view line;
  char separator = '\0';
  while (true) {
    DPNMF_ASSIGN_OR_RETURN(const bool more, input->ReadLine(&line));
    if (!more) break;
    if (IsBlank(line, kBlanks)) continue;
    if (separator == '\0') separator = GuessSeparator(line);
    if (!SplitFields(line, separator, &fields) || fields.size() != 2 ||
        fields[0].empty()) {
      return input->Refuse("complete-labels", 0,
                           "the line is not a pair; write an id and a label "
                           "with a comma between them");
    }
    std::string id = FieldText(line, fields[0]);
    std::string label = FieldText(line, fields[1]);
    // A header, which is no person's line.
    if (lines.empty() && (id == "id" || id == "user" || id == "item") &&
        label == "label")
      continue;
    const auto [known, is_new] = lines.emplace(id, input->line_number());
    if (!is_new) {
      return input->Refuse("input-duplicate", 1,
                           absl::StrCat("the id is also in line ",
                                        known->second, "; keep one of them"));
    }
    declared.ids.push_back(std::move(id));
    declared.auxiliary.labels.push_back(std::move(label));
  }
  if (declared.ids.empty()) {
    return input->RefuseAt("input-empty", 0, 0,
                           "the file contains no label; write lines of an id "
                           "and a label");
  }
  return declared;
}

absl::StatusOr<Declared> LoadDeclared(const std::string& features,
                                      const std::string& labels,
                                      std::string_view what) {
  if (!features.empty() && !labels.empty()) {
    return BadInput("complete-flags-mixed",
                    absl::StrCat("Give features or labels of each ", View(what),
                                 ", not both: either is what clusters are made "
                                 "of."));
  }
  if (!labels.empty()) return LoadLabels(labels);
  Declared declared;
  if (features.empty()) return declared;
  DPNMF_ASSIGN_OR_RETURN(ItemTable table, LoadFeatureTable(features, what));
  declared.file = features;
  declared.ids = std::move(table.ids);
  declared.auxiliary.feature_names = std::move(table.feature_names);
  declared.auxiliary.features = Eigen::Map<const Eigen::MatrixXd>(
      table.features.data(), static_cast<Index>(declared.ids.size()),
      static_cast<Index>(declared.auxiliary.feature_names.size()));
  return declared;
}

// The auxiliary lines in the order of `ids`, each of which has one.
absl::StatusOr<Auxiliary> InOrder(const Declared& declared, const Ids& ids,
                                  std::string_view what) {
  const Places places = PlacesOf(declared.ids);
  std::vector<Index> rows;
  for (const std::string& id : ids) {
    const auto found = places.find(id);
    if (found == places.end()) {
      return BadInput(
          "features-mismatch",
          absl::StrCat("The ", View(what), " \"", id,
                       "\" of the ratings has no line in `", declared.file,
                       "`, which has ", declared.ids.size(),
                       " lines: give those of the same people and "
                       "items as the ratings."));
    }
    rows.push_back(found->second);
  }
  Auxiliary ordered;
  ordered.feature_names = declared.auxiliary.feature_names;
  if (declared.auxiliary.has_features()) {
    ordered.features.resize(static_cast<Index>(rows.size()),
                            declared.auxiliary.features.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ordered.features.row(static_cast<Index>(i)) =
          declared.auxiliary.features.row(rows[i]);
    }
  }
  if (declared.auxiliary.has_labels()) {
    for (const Index row : rows) {
      ordered.labels.push_back(
          declared.auxiliary.labels[static_cast<std::size_t>(row)]);
    }
  }
  return ordered;
}

ItemTable TableOf(const Ids& ids) {
  ItemTable table;
  table.ids = ids;
  return table;
}

absl::StatusOr<LoadedRatings> Load(const std::string& path, const Ids& items,
                                   bool add_items, const RatingScale& scale,
                                   const std::function<bool()>& stop) {
  RatingsOptions options;
  options.scale = scale;
  options.add_items = add_items;
  options.has_unlisted_flag = false;
  options.interrupted = stop;
  return LoadRatings(path, TableOf(items), options);
}

// The ratings by person, in the order of `people`, which holds all of the
// file's; `columns` items.
SparseRatings ByPerson(const LoadedRatings& loaded, const Ids& people,
                       std::size_t columns) {
  const Places rows = PlacesOf(loaded.users);
  SparseRatings ratings;
  ratings.columns = static_cast<Index>(columns);
  for (const std::string& person : people) {
    if (const auto found = rows.find(person); found != rows.end()) {
      const auto row = static_cast<std::size_t>(found->second);
      for (auto at = static_cast<std::size_t>(loaded.indptr[row]);
           at < static_cast<std::size_t>(loaded.indptr[row + 1]); ++at) {
        ratings.indices.push_back(loaded.indices[at]);
        ratings.values.push_back(loaded.units[at] / double{kUnitsOfOne});
      }
    }
    ratings.EndRow();
  }
  return ratings;
}

// Appends ids of `more` that `ids` does not have; returns how many.
std::size_t AppendNew(const Ids& more, Ids* ids) {
  std::unordered_map<std::string, bool> known;
  for (const std::string& id : *ids) known[id] = true;
  std::size_t appended = 0;
  for (const std::string& id : more) {
    if (!known.emplace(id, true).second) continue;
    ids->push_back(id);
    ++appended;
  }
  return appended;
}

// No ratings of so many people and items.
SparseRatings NoRatings(const Ids& people, const Ids& items) {
  return {.columns = static_cast<Index>(items.size()),
          .indptr = std::vector<std::int64_t>(people.size() + 1, 0)};
}

constexpr RatingScale kAnyScale = {.low_units = -kLargestRatingUnits,
                                   .high_units = kLargestRatingUnits};

// Which of `people` are not in `known`: the first one.
std::optional<std::string> FirstUnknown(const Ids& people, const Ids& known) {
  const Places places = PlacesOf(known);
  for (const std::string& person : people)
    if (!places.contains(person)) return person;
  return std::nullopt;
}

// The items of --items, else those declared beside the ratings.
absl::StatusOr<Ids> ListedItems(const CompletionFiles& files,
                                const Declared& items) {
  if (files.items.empty()) return items.ids;
  DPNMF_ASSIGN_OR_RETURN(
      ItemTable table,
      LoadItemTable(files.items, "", {.header = ItemHeaderOf(files.ratings)}));
  return std::move(table.ids);
}

// The range that the ratings fill.
RatingScale RangeOf(const LoadedRatings& ratings) {
  const auto [low, high] =
      std::minmax_element(ratings.units.begin(), ratings.units.end());
  return {.low_units = *low, .high_units = *high};
}

// Everybody who rates has a line among the declared people.
absl::Status CheckDeclared(const LoadedRatings& ratings, const Ids& people,
                           const Declared& declared) {
  const std::optional<std::string> unknown =
      FirstUnknown(ratings.users, people);
  if (!unknown.has_value()) return absl::OkStatus();
  return BadInput(
      "features-mismatch",
      absl::StrCat("The person \"", *unknown,
                   "\" of the ratings has no line in `", declared.file,
                   "`, which has ", declared.ids.size(),
                   " people: give features of the people who rate."));
}

}  // namespace

absl::StatusOr<LoadedCompletion> LoadCompletion(
    const CompletionFiles& files, const std::function<bool()>& stop) {
  LoadedCompletion loaded;
  CompletionInput& input = loaded.input;
  DPNMF_ASSIGN_OR_RETURN(
      const Declared people,
      LoadDeclared(files.user_features, files.user_labels, "person"));
  DPNMF_ASSIGN_OR_RETURN(
      const Declared items,
      LoadDeclared(files.item_features, files.item_labels, "item"));
  RatingScale accepted = kAnyScale;
  if (!files.rating_range.empty()) {
    DPNMF_ASSIGN_OR_RETURN(accepted, ParseRatingRange(files.rating_range));
    loaded.scale_declared = true;
  }
  DPNMF_ASSIGN_OR_RETURN(input.items, ListedItems(files, items));
  const bool add_items = input.items.empty();
  DPNMF_ASSIGN_OR_RETURN(
      const LoadedRatings train,
      Load(files.ratings, input.items, add_items, accepted, stop));
  loaded.scale = loaded.scale_declared ? accepted : RangeOf(train);
  if (train.replaced > 0) {
    loaded.said.push_back(absl::StrCat(
        train.replaced,
        " ratings were replaced by a later line of the same user and item."));
  }
  for (const std::string& id : train.added_items) input.items.push_back(id);
  input.people = people.file.empty() ? train.users : people.ids;
  std::optional<LoadedRatings> test;
  if (!files.test.empty()) {
    DPNMF_ASSIGN_OR_RETURN(
        test, Load(files.test, input.items, add_items, accepted, stop));
    for (const std::string& id : test->added_items) input.items.push_back(id);
    if (people.file.empty()) {
      const std::size_t more = AppendNew(test->users, &input.people);
      if (more > 0)
        loaded.said.push_back(absl::StrCat(
            more, " people of the test have no rating to learn from."));
    }
  }
  if (add_items) {
    loaded.said.push_back(absl::StrCat(
        "The items are the ", input.items.size(), " of the ratings",
        files.test.empty() ? "" : " and the test",
        ": no --items and no --item-features name them."));
  }
  DPNMF_RETURN_IF_ERROR(CheckDeclared(train, input.people, people));
  if (test.has_value()) {
    DPNMF_RETURN_IF_ERROR(CheckDeclared(*test, input.people, people));
  }
  if (!people.file.empty()) input.of_people = people.auxiliary;
  if (!items.file.empty()) {
    DPNMF_ASSIGN_OR_RETURN(input.of_items, InOrder(items, input.items, "item"));
  }
  input.ratings = ByPerson(train, input.people, input.items.size());
  loaded.test = test.has_value()
                    ? ByPerson(*test, input.people, input.items.size())
                    : NoRatings(input.people, input.items);
  return loaded;
}

absl::StatusOr<LoadedRows> LoadRows(const UpdateFiles& files, bool by_people,
                                    const Completion& completion,
                                    const std::function<bool()>& stop) {
  const char* const what = by_people ? "person" : "item";
  LoadedRows loaded;
  DPNMF_ASSIGN_OR_RETURN(const Declared declared,
                         LoadDeclared(files.features, files.labels, what));
  Ids items = completion.items.ids;
  DPNMF_ASSIGN_OR_RETURN(const LoadedRatings ratings,
                         Load(files.ratings, by_people ? items : Ids(),
                              !by_people, kAnyScale, stop));
  Ids people = completion.people.ids;
  if (by_people) {
    loaded.rows.ids = ratings.users;
    loaded.rows.ratings = ByPerson(ratings, loaded.rows.ids, items.size());
  } else {
    if (const auto unknown = FirstUnknown(ratings.users, people)) {
      return BadInput("complete-person-unknown",
                      absl::StrCat("The person \"", *unknown,
                                   "\" is not in the model: add people by "
                                   "--rows first, then items by --columns."));
    }
    loaded.rows.ids = ratings.added_items;
    loaded.rows.ratings =
        Transposed(ByPerson(ratings, people, ratings.added_items.size()));
  }
  // Rows that are declared and were never there come without ratings.
  Ids& old = by_people ? people : items;
  if (!declared.file.empty()) {
    Ids known = old;
    AppendNew(loaded.rows.ids, &known);
    const std::size_t before = known.size();
    AppendNew(declared.ids, &known);
    for (std::size_t i = before; i < known.size(); ++i) {
      loaded.rows.ids.push_back(known[i]);
      loaded.rows.ratings.EndRow();
    }
    DPNMF_ASSIGN_OR_RETURN(loaded.rows.auxiliary,
                           InOrder(declared, loaded.rows.ids, what));
  }
  AppendNew(loaded.rows.ids, &old);
  if (files.test.empty()) {
    loaded.test = NoRatings(people, items);
    return loaded;
  }
  DPNMF_ASSIGN_OR_RETURN(
      const LoadedRatings test,
      Load(files.test, items, /*add_items=*/false, kAnyScale, stop));
  if (const auto unknown = FirstUnknown(test.users, people)) {
    return BadInput(
        "complete-person-unknown",
        absl::StrCat("The person \"", *unknown,
                     "\" of the test is neither in the model nor in "
                     "the new rows; leave it out."));
  }
  loaded.test = ByPerson(test, people, items.size());
  return loaded;
}

}  // namespace dpnmf::curator::lab
