#include "curator/mechanism/mechanism.h"

namespace dpnmf::curator {
namespace {

// The gradient of 1/2 |V - R - W H|^2 in W is W S_A - S_B (the paper's eq. for
// the dictionary step), here of the noised sums: a post-processing of their
// release.
PostProcess PublishGradient(const RoundInput& input) {
  return [w = input.w](std::vector<NoisedMatrix> noised) {
    const Eigen::MatrixXd a =
        ToMean(noised.at(0), 1).value();  // K x K, as a sum
    const Eigen::MatrixXd b =
        ToMean(noised.at(1), 1).value();  // D x K, as a sum
    std::vector<NoisedMatrix> published(1);
    NoisedMatrix& part = published[0];
    part.name = "gradient";
    part.rows = static_cast<std::uint64_t>(w.rows());
    part.columns = static_cast<std::uint64_t>(w.cols());
    part.is_lattice = false;
    part.reals.resize(static_cast<std::size_t>(w.size()));
    // D x K, in place: no copy of it takes memory.
    Eigen::Map<Eigen::MatrixXd> gradient(part.reals.data(), w.rows(), w.cols());
    gradient.noalias() = w * a;
    gradient -= b;
    return published;
  };
}

constexpr ReleaseKind kReleases[] = {{.name = "gradient",
                                      .check = CheckTakesDictionary,
                                      .sums = SumsOfStatistics,
                                      .publish = PublishGradient,
                                      .memory = MemoryOfStatistics,
                                      .by_ranges = true}};

}  // namespace

extern const Mechanism kGradientMechanism = {"gradient", kReleases};

}  // namespace dpnmf::curator
