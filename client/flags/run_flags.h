// The flags that describe a run, shared by plan and train.
#ifndef DPNMF_CLIENT_FLAGS_RUN_FLAGS_H_
#define DPNMF_CLIENT_FLAGS_RUN_FLAGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "client/flags/law_flags.h"
#include "client/session/client.h"
#include "common/cli/program.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::cli {

// Value of a knob as typed; a bool is the word on or off.
using TypedKnob = std::variant<std::string, std::optional<std::uint32_t>,
                               std::optional<double>, std::vector<double>>;

// Flags as typed; those not given come from the data set or from the defaults.
struct RunFlags {
  std::string dataset;     // or a federation, which is one to the server
  std::string federation;  // as typed; PrepareRun makes it the data set
  std::optional<std::uint32_t> rank;    // of ratings: else by the server
  std::optional<std::uint32_t> rounds;  // else by the mechanism
  double epsilon = 0;
  std::optional<double> delta;  // else the cap's
  std::string mechanism = "auto";
  // By Knob::name; those not given are the server's defaults, or DefaultLambda
  // and the column bound.
  std::map<std::string_view, TypedKnob> knobs;
  std::string rows;  // a file; else by the mean
  std::string init = "random";
  // Else the server's defaults.
  std::optional<double> step_size;
  std::optional<std::uint32_t> steps_per_round;
  std::uint64_t seed = 0;
  LawFlags law;
  bool non_negative = false;
  bool even_if_unreliable = false;
  bool spend_again = false;      // of train only
  const char* command = "plan";  // whose help errors name
};

// `flags` outlives the table.
std::vector<Flag> FlagsOfRun(RunFlags* flags);

// Help of --mechanism: the names that it takes, with a few words on each.
std::string MechanismHelp();

// 2 c_v / sqrt(D): twice the root mean square entry of a column of full length.
double DefaultLambda(const v1::Dataset& dataset);

// Adjacency and conversion are the data set's.
v1::RunSpecification SpecificationOf(const RunFlags& flags,
                                     const v1::Dataset& dataset);

// NOT_FOUND "dataset-unknown" with the names on offer.
absl::StatusOr<v1::Dataset> FindDataset(const AnalystClient& client,
                                        const std::string& name);

// A run that can be asked for.
struct PreparedRun {
  v1::Dataset dataset;
  // With the rows of --rows.
  v1::RunSpecification specification;
  // W_0 of a public start, D x K, column by column; else empty.
  std::vector<double> dictionary;
};

// The one that is given: a federation is a data set to the server.
// INVALID_ARGUMENT "usage" unless exactly one is.
absl::StatusOr<std::string> DatasetOrFederation(const std::string& dataset,
                                                const std::string& federation);

// Fetches the data set and reads a public W_0. NOT_FOUND "dataset-unknown" with
// the names on offer; INVALID_ARGUMENT "init-malformed",
// "init-shape-mismatch", "mechanism-unknown", "flag-unused" for a flag that the
// mechanism that was named has no use for, "usage" without a rank where the
// data set does not hold ratings, and for a number that was given and
// is out of its range the code that the server has; the errors of
// ReadMatrixFile and ReadFeatureRows.
absl::StatusOr<PreparedRun> PrepareRun(const AnalystClient& client,
                                       const RunFlags& flags);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_FLAGS_RUN_FLAGS_H_
