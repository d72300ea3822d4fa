#include "curator/import/readers/ratings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/error.h"
#include "common/base/utf8.h"
#include "common/base/view.h"
#include "common/files/entry.h"
#include "common/files/input_file.h"
#include "common/tables/assemble.h"
#include "common/tables/formats.h"
#include "common/tables/names/header_words.h"
#include "common/tables/separator.h"
#include "common/tables/triple_lines.h"

namespace dpnmf::curator {
namespace {

constexpr int kDecimals = 4;
constexpr std::size_t kLongestUserId = 1024;
constexpr std::uint64_t kMostLines = 4'000'000'000;

struct DecimalText {
  bool plain = false;      // digits with an optional sign and point
  bool exact = false;      // at most four decimals that are not 0
  std::int64_t units = 0;  // at most kTooLarge in size
};
constexpr std::int64_t kTooLarge = 10'000'000'000'000;  // of any range

DecimalText ParseDecimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  DecimalText decimal{.plain = true, .exact = true};
  bool has_digit = false;
  int decimals = -1;  // -1: before the point
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    if (c < '0' || c > '9') return {};
    has_digit = true;
    if (decimals >= kDecimals) {
      decimal.exact = decimal.exact && c == '0';
      continue;
    }
    if (decimals >= 0) ++decimals;
    decimal.units = std::min(10 * decimal.units + (c - '0'), kTooLarge);
  }
  if (!has_digit) return {};
  for (int i = std::max(decimals, 0); i < kDecimals; ++i)
    decimal.units = std::min(10 * decimal.units, kTooLarge);
  if (negative) decimal.units = -decimal.units;
  return decimal;
}

// Returns whether a header's name of a column suggests ratings.
bool IsNameOfRatings(std::string_view text) {
  const std::string name = absl::AsciiStrToLower(View(text));
  if (name == "r") return true;
  for (const char* word :
       {"rating", "score", "star", "value", "preference", "grade", "overall"})
    if (absl::StrContains(name, word)) return true;
  return false;
}

std::optional<EntryProblem> ParseRating(std::string_view text,
                                        const RatingScale& scale,
                                        std::int32_t* units) {
  const DecimalText decimal = ParseDecimal(text);
  if (!decimal.plain || !decimal.exact) {
    const std::optional<double> number = ParseNumber(text);
    if (!number.has_value()) {
      return EntryProblem{
          "input-not-a-number",
          text.empty()
              ? std::string("the rating is empty; write a number")
              : absl::StrCat("the rating ", Quoted(text),
                             " is not a number; write decimal numbers with a "
                             "point")};
    }
    if (!std::isfinite(*number)) {
      return EntryProblem{"input-not-finite",
                          "the rating is not finite; write a number"};
    }
    return EntryProblem{
        "input-malformed",
        absl::StrCat("the rating ", Quoted(text),
                     " must be written with digits and a point, and with at "
                     "most four decimals")};
  }
  if (decimal.units < scale.low_units || decimal.units > scale.high_units) {
    return EntryProblem{"input-out-of-range",
                        absl::StrCat("the rating ", Quoted(text),
                                     " is out of the declared range from ",
                                     RatingText(scale.low_units), " to ",
                                     RatingText(scale.high_units),
                                     "; correct it or declare another range")};
  }
  *units = static_cast<std::int32_t>(decimal.units);
  return std::nullopt;
}

constexpr std::size_t kExamples = 3;

std::string Examples(const std::set<std::string>& items) {
  return absl::StrJoin(items, ", ", [](std::string* out, const auto& item) {
    out->append(Quoted(item));
  });
}

struct Rating {
  std::int32_t user = 0, item = 0, units = 0;
};

class RatingsReader {
 public:
  RatingsReader(InputFile* input, const ItemTable& items,
                const RatingsOptions& options)
      : input_(*input),
        options_(options),
        lines_(input, "rating"),
        most_users_(std::min(options.users_count.value_or(kLargestExtent),
                             kLargestExtent)),
        log_(options.spool_dir) {
    loaded_.items = items.ids.size();
    for (std::size_t i = 0; i < std::min(kExamples, items.ids.size()); ++i)
      first_listed_.insert(items.ids[i]);
    items_.reserve(items.ids.size());
    for (std::size_t i = 0; i < items.ids.size(); ++i)
      items_[items.ids[i]] = static_cast<std::int32_t>(i);
  }

  absl::StatusOr<LoadedRatings> Read() {
    std::string_view line;
    while (true) {
      DPNMF_ASSIGN_OR_RETURN(const bool more, input_.ReadLine(&line));
      if (!more) break;
      if (!lines_.begun() && lines_.IsAbove(line)) continue;
      if (TrimBlanks(line).empty()) continue;
      if (!lines_.begun()) {
        DPNMF_ASSIGN_OR_RETURN(const bool is_header, ReadFirstLine(line));
        if (is_header) continue;
      }
      ++line_count_;
      if (absl::Status status = AddLine(line); !status.ok()) {
        if (std::exchange(told_before_, false)) {
          refused_.NoteAgain();
        } else {
          refused_.Note(std::move(status));
        }
      }
    }
    DPNMF_RETURN_IF_ERROR(CheckList());
    DPNMF_RETURN_IF_ERROR(refused_.Verdict("lines", options_.refused));
    if (log_.size() == 0) {
      return input_.RefuseAt("input-empty", 0, 0,
                             "the file contains no rating of a declared item; "
                             "give another");
    }
    const std::string summary = lines_.Summary(options_.keep_times);
    if (options_.note && !summary.empty()) options_.note(summary);
    DPNMF_RETURN_IF_ERROR(Assemble());
    for (const auto& [user, line_number] : crowded_) {
      const auto n = static_cast<std::size_t>(user);
      if (static_cast<std::uint64_t>(loaded_.indptr[n + 1] -
                                     loaded_.indptr[n]) <=
          kMostRatingsOfAPerson)
        continue;
      return input_.RefuseAt(
          "input-too-large", line_number, 1,
          absl::StrCat("the user ", Quoted(users_[n]), " has more than ",
                       kMostRatingsOfAPerson,
                       " ratings; remove the user or some ratings"));
    }
    loaded_.users = std::move(users_);
    loaded_.rows = line_count_;
    return std::move(loaded_);
  }

 private:
  // A name is told once, however many lines have it.
  void TellOnce(std::set<std::string>* told, std::string_view name) {
    if (told->size() <= kShownRefusals)
      told_before_ = !told->emplace(name).second;
  }

  // True if the line is a header.
  absl::StatusOr<bool> ReadFirstLine(std::string_view line) {
    DPNMF_RETURN_IF_ERROR(lines_.Begin(line));
    DPNMF_RETURN_IF_ERROR(CheckSeparator());
    const std::string rating = lines_.Text(2);
    if (IsNameOfRatings(rating)) {
      DPNMF_RETURN_IF_ERROR(lines_.TakeHeader());
      return true;
    }
    // A rating of a declared item that is no number is refused as in any line.
    if (!IsWord(rating) || Find(lines_.Text(1)).has_value()) return false;
    return input_.Refuse(
        "input-not-a-number", 3,
        absl::StrCat("the rating ", Quoted(rating),
                     " is not a number; write decimal numbers with a point, "
                     "or `rating` in its place if this line is a header"));
  }

  absl::Status CheckSeparator() const {
    if (options_.format == nullptr) return absl::OkStatus();
    const std::string_view name = options_.format->name;
    const std::string_view separators = name == "csv"   ? ",;|"
                                        : name == "tsv" ? "\t"
                                                        : " ";
    const char separator = lines_.separator();
    if (name == "triples" || separators.find(separator) != separators.npos)
      return absl::OkStatus();
    return input_.Refuse(
        "input-malformed", 0,
        absl::StrCat("the format ", View(name), " has no ",
                     separator == ':' ? "`::`" : NameOfSeparator(separator),
                     " between fields; correct --format-in"));
  }

  // A list of items of which the ratings know next to none is another list, or
  // was read in another way than it was meant: one sentence, whatever lines
  // say.
  absl::Status CheckList() {
    if (unlisted_lines_ < 2 || 2 * unlisted_lines_ <= line_count_)
      return absl::OkStatus();
    return input_.RefuseAt(
        "item-unknown", 0, 0,
        absl::StrCat(
            unlisted_lines_, " of ", line_count_,
            " ratings are of items that are not in the list of items, so it "
            "is the list of other ratings: it has ",
            Examples(first_listed_), ", and the ratings have ",
            Examples(first_unlisted_), "; give the list of these items"));
  }

  absl::Status AddLine(std::string_view line) {
    if (absl::Status status = lines_.Split(line); !status.ok()) {
      told_before_ = lines_.refused_time() && std::exchange(told_time_, true);
      return status;
    }
    DPNMF_ASSIGN_OR_RETURN(const std::string_view number, lines_.Number());
    Rating rating;
    if (const auto problem = ParseRating(number, options_.scale, &rating.units))
      return input_.Refuse(problem->code, 3, problem->sentence);
    const bool has_time = lines_.fields().size() == 4;
    std::int64_t time = 0;
    if (options_.keep_times && has_time) {
      DPNMF_ASSIGN_OR_RETURN(time, TimeOf(lines_.fields()[3]));
    }
    std::array<std::string_view, 2> ids = {lines_.fields()[0],
                                           lines_.fields()[1]};
    if (line.find('"') != std::string_view::npos) {
      for (const std::size_t i : {0, 1}) {
        unquoted_[i] = lines_.Text(i);
        ids[i] = unquoted_[i];
      }
    }
    std::optional<std::int32_t> item = Find(ids[1]);
    if (!item.has_value() && options_.add_items) {
      DPNMF_ASSIGN_OR_RETURN(item, AddItem(ids[1]));
    }
    if (!item.has_value() && !options_.drop_unlisted) {
      ++unlisted_lines_;
      if (first_unlisted_.size() < kExamples) first_unlisted_.emplace(ids[1]);
      TellOnce(&unlisted_items_, ids[1]);
      return input_.Refuse(
          "item-unknown", 2,
          absl::StrCat("the item ", Quoted(ids[1]),
                       " is not in the list of items; add it there",
                       options_.has_unlisted_flag
                           ? ", remove the line, or leave out such lines with "
                             "--unlisted drop"
                           : ", or remove the line"));
    }
    DPNMF_ASSIGN_OR_RETURN(Person* const person, PersonOf(ids[0]));
    if (!item.has_value()) {
      ++loaded_.unlisted;
      return absl::OkStatus();
    }
    // Ratings are not kept once a line was refused: the file is refused.
    if (refused_.any()) return absl::OkStatus();
    if (log_.size() == kMostLines) {
      return input_.Refuse("input-too-large", 0,
                           "there are more than 4000000000 ratings");
    }
    if (++person->lines == kMostRatingsOfAPerson + 1)
      crowded_.emplace_back(person->number, input_.line_number());
    rating.user = person->number;
    rating.item = *item;
    DPNMF_RETURN_IF_ERROR(log_.Add(rating));
    if (options_.keep_times) {
      has_times_ = has_times_ || has_time;
      times_.push_back(time);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::int64_t> TimeOf(std::string_view text) const {
    const std::optional<double> time = ParseNumber(text);
    if (time.has_value() && std::abs(*time) < 1e18)
      return static_cast<std::int64_t>(*time);
    return input_.Refuse("input-not-a-number", 4,
                         absl::StrCat("the time ", Quoted(text),
                                      " is not a number; write seconds"));
  }

  // The number of a declared item.
  std::optional<std::int32_t> Find(std::string_view id) const {
    const auto item = items_.find(View(id));
    if (item == items_.end()) return std::nullopt;
    return item->second;
  }

  // The item as a new one.
  absl::StatusOr<std::int32_t> AddItem(std::string_view id) {
    if (id.size() > kLongestItemId || !IsPlainText(id)) {
      return input_.Refuse(
          "input-malformed", 2,
          absl::StrCat("the item ", Quoted(id.substr(0, kLongestItemId)),
                       " is longer than ", kLongestItemId,
                       " bytes, not UTF-8, or contains a control character; "
                       "write another id"));
    }
    const auto number = static_cast<std::int32_t>(loaded_.items++);
    items_.emplace(std::string(id), number);
    loaded_.added_items.emplace_back(id);
    return number;
  }

  struct Person {
    std::int32_t number = 0;
    std::uint32_t lines = 0;
  };

  // The person of that id, a new one if there is none; valid until the next
  // call.
  absl::StatusOr<Person*> PersonOf(std::string_view id) {
    // Many files have a person's lines together.
    if (last_person_ != nullptr &&
        id == users_[static_cast<std::size_t>(last_person_->number)])
      return last_person_;
    auto person = people_.find(View(id));
    if (person == people_.end()) {
      if (users_.size() >= most_users_) {
        TellOnce(&surplus_users_, id);
        return input_.Refuse(
            "users-mismatch", 1,
            absl::StrCat("the user ", Quoted(id), " is one more than the ",
                         most_users_,
                         " declared; raise --users-count or remove users"));
      }
      // Ids must be such that a token can name them.
      if (id.empty() || id.size() > kLongestUserId || !IsPlainText(id)) {
        return input_.Refuse(
            "input-malformed", 1,
            absl::StrCat("the user ", Quoted(id.substr(0, kLongestUserId)),
                         " is empty, longer than 1,024 bytes, not UTF-8, or "
                         "contains a control character; write another id"));
      }
      const auto number = static_cast<std::int32_t>(users_.size());
      users_.emplace_back(id);
      person =
          people_.emplace(users_.back(), Person{.number = number, .lines = 0})
              .first;
    }
    return last_person_ = &person->second;
  }

  // From the order of the file to columns, by counting.
  absl::Status Assemble() {
    const std::uint64_t people =
        options_.users_count.has_value() ? most_users_ : users_.size();
    loaded_.indptr.assign(people + 1, 0);
    DPNMF_RETURN_IF_ERROR(log_.ForEach([&](const Rating& rating) {
      ++loaded_.indptr[static_cast<std::size_t>(rating.user) + 1];
    }));
    for (std::size_t n = 0; n < people; ++n)
      loaded_.indptr[n + 1] += loaded_.indptr[n];
    std::vector<std::int64_t> next(loaded_.indptr.begin(),
                                   loaded_.indptr.end() - 1);
    loaded_.indices.resize(log_.size());
    loaded_.units.resize(log_.size());
    if (has_times_) loaded_.times.resize(log_.size());
    std::size_t line = 0;
    DPNMF_RETURN_IF_ERROR(log_.ForEach([&](const Rating& rating) {
      const auto to = static_cast<std::size_t>(
          next[static_cast<std::size_t>(rating.user)]++);
      loaded_.indices[to] = rating.item;
      loaded_.units[to] = rating.units;
      if (has_times_) loaded_.times[to] = times_[line++];
    }));
    SortColumns();
    return absl::OkStatus();
  }

  // Each column by item; of several ratings of one item the last one stays.
  void SortColumns() {
    std::vector<std::uint64_t> order;  // item and place in the column
    std::vector<std::int32_t> units;
    std::vector<std::int64_t> times;
    std::size_t out = 0, begin = 0;
    for (std::size_t n = 0; n + 1 < loaded_.indptr.size(); ++n) {
      const auto end = static_cast<std::size_t>(loaded_.indptr[n + 1]);
      order.clear();
      for (std::size_t i = begin; i < end; ++i) {
        order.push_back(static_cast<std::uint64_t>(loaded_.indices[i]) << 32 |
                        (i - begin));
      }
      std::sort(order.begin(), order.end());
      const auto copy = [&](const auto& from, auto* to) {
        to->assign(from.begin() + static_cast<std::ptrdiff_t>(begin),
                   from.begin() + static_cast<std::ptrdiff_t>(end));
      };
      copy(loaded_.units, &units);
      if (has_times_) copy(loaded_.times, &times);
      for (std::size_t k = 0; k < order.size(); ++k) {
        if (k + 1 < order.size() && order[k] >> 32 == order[k + 1] >> 32) {
          ++loaded_.replaced;
          continue;
        }
        const std::size_t place = order[k] & 0xffffffff;
        loaded_.indices[out] = static_cast<std::int32_t>(order[k] >> 32);
        loaded_.units[out] = units[place];
        if (has_times_) loaded_.times[out] = times[place];
        ++out;
      }
      loaded_.indptr[n + 1] = static_cast<std::int64_t>(out);
      begin = end;
    }
    loaded_.indices.resize(out);
    loaded_.units.resize(out);
    if (has_times_) loaded_.times.resize(out);
  }

  InputFile& input_;
  const RatingsOptions& options_;
  TripleLines lines_;
  const std::uint64_t most_users_;
  std::array<std::string, 2> unquoted_;  // user and item of the line
  absl::flat_hash_map<std::string, std::int32_t> items_;
  absl::flat_hash_map<std::string, Person> people_;
  std::vector<std::string> users_;  // by number
  Person* last_person_ = nullptr;   // of the line before, in people_
  // People with more lines than ratings are allowed, and the line too many.
  std::vector<std::pair<std::int32_t, std::uint64_t>> crowded_;
  RecordLog<Rating> log_;
  bool has_times_ = false;
  std::vector<std::int64_t> times_;  // as log_
  RefusedLines refused_;
  bool told_before_ = false;  // what the line is refused for
  bool told_time_ = false;
  std::uint64_t line_count_ = 0, unlisted_lines_ = 0;
  std::set<std::string> first_listed_, first_unlisted_;  // items
  // The first of them that were refused.
  std::set<std::string> unlisted_items_, surplus_users_;
  LoadedRatings loaded_;
};

}  // namespace

absl::StatusOr<RatingScale> ParseRatingRange(std::string_view text) {
  const std::size_t comma = text.find(',');
  const DecimalText low = ParseDecimal(TrimBlanks(text.substr(0, comma)));
  const DecimalText high =
      comma == std::string_view::npos
          ? DecimalText()
          : ParseDecimal(TrimBlanks(text.substr(comma + 1)));
  if (!(low.exact && high.exact && low.units < high.units &&
        low.units >= -kLargestRatingUnits &&
        high.units <= kLargestRatingUnits)) {
    return Refusal(
        absl::StatusCode::kInvalidArgument, "rating-range-out-of-range",
        "`--rating-range` must be LOW,HIGH with LOW below HIGH, both "
        "from -100000 to 100000 with at most four decimals.");
  }
  return RatingScale{.low_units = static_cast<std::int32_t>(low.units),
                     .high_units = static_cast<std::int32_t>(high.units)};
}

std::string RatingText(std::int64_t units) {
  const std::int64_t size = std::abs(units);
  std::string text = absl::StrCat(units < 0 ? "-" : "", size / kUnitsOfOne);
  std::int64_t rest = size % kUnitsOfOne;
  if (rest == 0) return text;
  text += '.';
  for (std::int64_t digit = kUnitsOfOne / 10; rest != 0; digit /= 10) {
    absl::StrAppend(&text, rest / digit);
    rest %= digit;
  }
  return text;
}

absl::StatusOr<LoadedRatings> LoadRatings(const std::string& path,
                                          const ItemTable& items,
                                          const RatingsOptions& options) {
  if (options.users_count.value_or(1) > kLargestExtent) {
    return Refusal(absl::StatusCode::kInvalidArgument,
                   "users-count-out-of-range",
                   "`--users-count` must be at most 100000000 for ratings.");
  }
  DPNMF_ASSIGN_OR_RETURN(
      const std::unique_ptr<InputFile> input,
      InputFile::Open(path, options.progress, options.interrupted, std::nullopt,
                      options.place));
  return RatingsReader(input.get(), items, options).Read();
}

std::string ItemHeaderOf(const std::string& path, const std::string& place) {
  const auto input = InputFile::Open(path, {}, {}, std::nullopt, place);
  if (!input.ok()) return "";
  TripleLines lines(input->get(), "rating");
  std::string_view line;
  do {
    const auto more = (*input)->ReadLine(&line);
    if (!more.ok() || !*more) return "";
  } while (lines.IsAbove(line));
  if (!lines.Begin(line).ok() || !IsNameOfRatings(lines.Text(2))) return "";
  return lines.Text(1);
}

absl::StatusOr<std::unique_ptr<Dataset>> ToDataset(
    LoadedRatings ratings, const ItemTable& items, const RatingScale& scale,
    DatasetDescription description) {
  description.features = ratings.items;
  description.sparse = true;
  description.normalisation = Normalisation::kNone;
  description.ratings = scale;
  description.ratings->item_features =
      static_cast<std::uint32_t>(items.feature_names.size());
  if (description.adjacency != Adjacency::kAddRemoveOne)
    description.users = ratings.people();
  return Dataset::FromRatings(std::move(description), std::move(ratings.indptr),
                              std::move(ratings.indices),
                              std::move(ratings.units));
}

}  // namespace dpnmf::curator
