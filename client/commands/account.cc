#include "client/session/account.h"

#include <memory>

#include "client/commands/commands.h"
#include "client/render/text.h"
#include "common/base/error.h"

namespace dpnmf::cli {
namespace {

struct AccountFlags {
  std::uint32_t releases = 0;
  double noise_multiplier = 0;
  double delta = 0;
};

absl::StatusOr<ExitCode> ShowAccount(const Session& session,
                                     const AccountFlags& flags) {
  DPNMF_ASSIGN_OR_RETURN(
      const auto report,
      Account(flags.releases, flags.noise_multiplier, flags.delta));
  session.Print(report, AccountText(report));
  return kExitOk;
}

}  // namespace

Command AccountCommand(const Session* session) {
  const auto flags = std::make_shared<AccountFlags>();
  return {
      .name = "account",
      .summary = "Calculate the privacy of Gaussian releases; needs no server",
      .footer =
          "mu = sqrt(T) / Z (Gaussian differential privacy), rho = mu^2 / 2 "
          "(zCDP).\n  epsilon.rdp          rho + 2 sqrt(rho log(1/delta))\n"
          "  epsilon.rdp_optimal  the best that Renyi divergences give\n"
          "  epsilon.gaussian     exact\nEpsilons are rounded up.\n\nExample:\n"
          "  dpnmf account --releases 30 --noise-multiplier 20 --delta 1e-5",
      .flags = {Flag("--releases", &flags->releases, "Number of releases",
                     {.value = "T", .required = true}),
                Flag("--noise-multiplier", &flags->noise_multiplier,
                     "Standard deviation of the noise over the L2 sensitivity",
                     {.value = "Z", .required = true}),
                Flag("--delta", &flags->delta,
                     "Delta at which epsilon is read, in (0, 1)",
                     {.value = "D", .required = true})},
      .run = [session, flags] { return ShowAccount(*session, *flags); }};
}

}  // namespace dpnmf::cli
