# Exact Gaussian noise beside Karney's algorithm as published, a CKS20-style
# discrete Gaussian and a plain Box-Muller.
add_executable(dpnmf_noise_bench noise_bench.cc)
target_include_directories(dpnmf_noise_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(dpnmf_noise_bench PRIVATE dpnmf_noise benchmark::benchmark benchmark::benchmark_main)
