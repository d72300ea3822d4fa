// Public facts of a round, as mechanisms read them, from messages.
#ifndef DPNMF_ANALYST_ROUND_FACTS_H_
#define DPNMF_ANALYST_ROUND_FACTS_H_

#include "analyst/mechanism/mechanism.h"
#include "common/wire/convert.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// at.stage is a stage of `plan`, not null. `users`: N or N0. Without `average`
// the releases are taken to be exact (tests without noise).
RoundFacts FactsOfRound(const v1::RunSpecification& specification,
                        const v1::RunPlan& plan, const StageOfRound& at,
                        double users, bool average = true);

}  // namespace dpnmf::analyst

#endif  // DPNMF_ANALYST_ROUND_FACTS_H_
