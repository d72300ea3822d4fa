#include "common/tables/names/header_words.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "common/base/view.h"
#include "common/files/entry.h"

namespace dpnmf {
namespace {

constexpr std::size_t kLongestHeaderWord = 40;

// The letters and digits alone, in lower case.
std::string Squeezed(std::string_view text) {
  std::string word;
  for (const char c : text)
    if (!absl::StrContains(" _-.", c)) word += absl::ascii_tolower(c);
  return word;
}

// Returns whether a word of the text begins at `at`: user_date, dateOfUse, but
// not update.
bool BeginsWord(std::string_view text, std::size_t at) {
  return at == 0 || !absl::ascii_isalpha(text[at - 1]) ||
         (absl::ascii_isupper(text[at]) && absl::ascii_islower(text[at - 1]));
}

// item_id, movieId, BOOK-ID.
bool EndsInId(std::string_view text) {
  const std::size_t at = text.size() - 2;
  return text.size() > 2 && absl::EndsWithIgnoreCase(View(text), "id") &&
         BeginsWord(text, at) &&
         std::none_of(text.begin(), text.end(), absl::ascii_isdigit);
}

}  // namespace

bool IsWord(std::string_view text) {
  // A column of numbers may be called so; as entries they are other things.
  constexpr std::string_view kWords[] = {"no", "nr"};
  if (text.empty()) return false;
  if (NotationOf(text) != Notation::kWord &&
      !absl::c_linear_search(kWords, absl::AsciiStrToLower(View(text))))
    return false;
  const auto first = static_cast<unsigned char>(text[0]);
  return absl::ascii_isalpha(first) || first == '_' || first >= 0x80;
}

bool IsHeaderOfNames(std::string_view text, bool of_items) {
  constexpr std::array<std::string_view, 23> kHeaders = {
      "id",       "ids",       "identifier", "name",   "names",
      "feature",  "features",  "gene",       "genes",  "symbol",
      "symbols",  "ensembl",   "hgnc",       "hugo",   "externalgene",
      "term",     "terms",     "token",      "tokens", "vocabulary",
      "variable", "variables", "probe"};
  constexpr std::string_view kOfItems[] = {
      "isbn",    "isbn10",   "isbn13",  "asin",     "sku",        "ean",
      "upc",     "movie",    "movies",  "film",     "films",      "book",
      "books",   "song",     "songs",   "track",    "tracks",     "artist",
      "artists", "business", "product", "products", "restaurant", "show",
      "item",    "items",    "article", "articles", "artikel",    "articulo",
      "produkt", "produkte", "produit", "produits", "producto",   "prodotto",
      "buch",    "livre",    "libro",   "game",     "games",      "spiel",
      "anime",   "video",    "videos",  "app",      "apps",       "recipe"};
  if (text.empty() || text.size() > kLongestHeaderWord) return false;
  if (EndsInId(text)) return true;
  const std::string word = Squeezed(text);
  // gene, geneid, Gene Name, gene_symbol, movie_title.
  for (const std::string_view end :
       {"", "id", "ids", "name", "names", "symbol", "title", "titel", "titre",
        "nr", "nummer", "number", "code"}) {
    if (!word.ends_with(end)) continue;
    const std::string_view stem =
        std::string_view(word).substr(0, word.size() - end.size());
    if (absl::c_linear_search(kHeaders, stem) || stem == "item" ||
        stem == "items" || (of_items && absl::c_linear_search(kOfItems, stem)))
      return true;
  }
  return false;
}

bool IsHeaderOfTimes(std::string_view text) {
  constexpr std::array<std::string_view, 9> kHeaders = {
      "ts", "t", "day", "days", "year", "seconds", "epoch", "unix", "when"};
  const std::string word = absl::AsciiStrToLower(View(text));
  if (absl::c_linear_search(kHeaders, word) || word.ends_with("_at"))
    return true;
  for (const std::string_view part : {"time", "date"}) {
    for (std::size_t at = word.find(part); at != std::string::npos;
         at = word.find(part, at + 1))
      if (BeginsWord(text, at)) return true;
  }
  return false;
}

}  // namespace dpnmf
