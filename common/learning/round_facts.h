// Public facts of a round, as mechanisms read them, from messages.
#ifndef DPNMF_COMMON_LEARNING_ROUND_FACTS_H_
#define DPNMF_COMMON_LEARNING_ROUND_FACTS_H_

#include "common/learning/mechanism.h"
#include "common/wire/convert.h"
#include "dpnmf/v1/analyst.pb.h"

namespace dpnmf::analyst {

// at.stage is a stage of `plan`, not null. `users`: N or N0. Without `average`
// the releases are taken to be exact (tests without noise).
RoundFacts FactsOfRound(const v1::RunSpecification& specification,
                        const v1::RunPlan& plan, const StageOfRound& at,
                        double users, bool average = true);

// c_v^2, the largest trace of a second moment of columns no longer than c_v,
// read back from the sensitivity of the part G. Infinity where a mean is no
// average over the people (add or remove one: it is divided by N0), or without
// a part.
double LargestTrace(const v1::PartPlan* part, v1::Adjacency adjacency);

}  // namespace dpnmf::analyst

#endif  // DPNMF_COMMON_LEARNING_ROUND_FACTS_H_
