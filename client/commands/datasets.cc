#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/commands/commands.h"
#include "client/flags/list_flags.h"
#include "client/render/text.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

absl::StatusOr<ExitCode> ShowDatasets(const Session& session,
                                      const ListFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(const auto client, session.Client());
  DPNMF_ASSIGN_OR_RETURN(auto reply, client.ListDatasets());
  const std::string cut = CutToFlags(
      flags,
      [](const v1::Dataset& one) {
        return absl::StrCat(one.name(), " ", one.population());
      },
      reply.mutable_datasets());
  session.Print(reply, cut.empty() || reply.datasets_size() > 0
                           ? absl::StrCat(DatasetsText(reply), cut)
                           : cut.substr(1));
  return kExitOk;
}

}  // namespace

Command DatasetsCommand(const Session* session) {
  const auto flags = std::make_shared<ListFlags>();
  return {
      .name = "datasets",
      .summary = "List the data sets that this analyst may train on",
      .footer =
          "D: entries of a column; N: users (declared). The guarantee is "
          "that of the\npopulation's cap: it covers everything ever "
          "released about its people. A search\nlooks in names of data sets "
          "and of populations.\n\nExamples:\n  dpnmf datasets --search "
          "clinic\n  dpnmf datasets --format json",
      .flags = FlagsOfList(flags.get()),
      .run = [session, flags] { return ShowDatasets(*session, *flags); }};
}

}  // namespace dpnmf::cli
