// Replies as text for people. Every epsilon is labelled: the guarantee of the
// cap, or what is spent so far. What was spent is rounded up; what is left,
// and the largest run, are rounded down.
#ifndef DPNMF_CLIENT_RENDER_TEXT_H_
#define DPNMF_CLIENT_RENDER_TEXT_H_

#include <string>

#include "dpnmf/v1/analyst.pb.h"
#include "dpnmf/v1/local.pb.h"

namespace dpnmf::cli {

std::string DatasetsText(const v1::ListDatasetsReply& reply);
// details: also mu^2, the divergences and the noise.
std::string PlanText(const v1::PlanRunReply& reply, bool details = false);
std::string RunsText(const v1::ListRunsReply& reply);
std::string RunText(const v1::Run& run);
// How a run ended, and what to do next. `guarantee` is the cap's, in words;
// left out if empty. `position` is the population's after the run; left out if
// it has no head.
std::string RunEndText(const v1::Run& run, const std::string& guarantee,
                       const v1::LedgerPosition& position);
// details: also mu^2, the divergences, both ledgers and the Renyi curve.
std::string BudgetText(const v1::GetBudgetReply& reply, bool details = false);
std::string AccountText(const v1::AccountReport& report);

}  // namespace dpnmf::cli

#endif  // DPNMF_CLIENT_RENDER_TEXT_H_
