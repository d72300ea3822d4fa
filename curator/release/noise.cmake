# Exactly rounded Gaussian noise: a library of its own, so that its tests and
# benchmarks need nothing else of the curator.
dpnmf_library(dpnmf_noise LAYER curator
  SOURCES noise.cc noise_cells.cc noise_keystream.cc
  DEPS dpnmf_base OpenSSL::Crypto)
