# H step and exact statistics beside Eigen's GEMM in the same run.
add_executable(dpnmf_factor_bench factor_bench.cc)
target_include_directories(dpnmf_factor_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(dpnmf_factor_bench PRIVATE dpnmf_factor benchmark::benchmark)
