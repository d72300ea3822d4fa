#include "analyst/cli/options.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/usage_error.h"

namespace dpnmf::cli {
namespace {

// DPNMF_SERVER for "server".
std::string VariableOf(const std::string& flag) {
  return absl::StrCat("DPNMF_", absl::AsciiStrToUpper(flag));
}

std::string ValueOf(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value == nullptr ? "" : value;
}

// CLI11 lets a file win over the environment; here it is the other way round,
// as is usual: what the file says of a variable that is set is left out.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> found = CLI::ConfigTOML::from_config(input);
    std::erase_if(found, [](const CLI::ConfigItem& item) {
      return item.parents.empty() && !ValueOf(VariableOf(item.name)).empty();
    });
    return found;
  }
};

// The file that is read if --config names none; empty if there is none.
std::string DefaultConfigFile() {
  const std::string named = ValueOf("DPNMF_CONFIG");
  if (!named.empty()) return named;
  const std::string home = ValueOf("HOME");
  std::error_code ignored;
  for (const std::string& path :
       {std::string("dpnmf.toml"), absl::StrCat(home, "/.config/dpnmf.toml")}) {
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return "";
}

CLI::Option* AddText(CLI::App* app, const std::string& flag, std::string* value,
                     const std::string& help) {
  return app->add_option(absl::StrCat("--", flag), *value, help)
      ->envname(VariableOf(flag));
}

}  // namespace

void AddGlobalOptions(CLI::App* app, GlobalOptions* options) {
  AddText(app, "server", &options->connection.server,
          "The analyst's server, HOST:PORT")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  TlsFiles* tls = &options->connection.tls;
  AddText(app, "ca", &tls->ca_file, "Certificate of the CA, PEM")
      ->type_name("FILE");
  AddText(app, "cert", &tls->certificate_file, "Own certificate, PEM")
      ->type_name("FILE");
  AddText(app, "key", &tls->key_file, "Own key, PEM")->type_name("FILE");
  AddText(app, "crl", &tls->crl_file,
          "The CA's revocation list, PEM; once it has expired or is gone, no "
          "server is trusted [none kept]")
      ->type_name("FILE");
  app->add_option_function<std::string>(
         "--format",
         [options](const std::string& name) {
           options->format = name == "json" ? Format::kJson : Format::kText;
         },
         "text, or json: the reply in the protobuf JSON mapping")
      ->envname("DPNMF_FORMAT")
      ->check(OneOf({"text", "json"}))
      ->default_str("text")
      ->type_name("text|json");
  app->config_formatter(std::make_shared<FileBelowEnvironment>());
  // A file that the environment names has to be there.
  app->set_config(
         "--config", DefaultConfigFile(),
         "Configuration file, TOML: the flags' names as keys, those of "
         "a subcommand in a [section]; else ./dpnmf.toml, else "
         "~/.config/dpnmf.toml",
         !ValueOf("DPNMF_CONFIG").empty())
      ->type_name("FILE");
  app->allow_config_extras(CLI::config_extras_mode::error);
}

}  // namespace dpnmf::cli
