#include "curator/web/program.h"

int main(int argc, char** argv) {
  return dpnmf::curator::web::RunOperatorPage(argc, argv);
}
