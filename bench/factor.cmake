# Kernels, H step and exact statistics beside Eigen's GEMM and STREAM's triad in
# the same run; these are measured by a program of its own, built for this
# machine.
add_executable(dpnmf_roofline roofline.cc)
target_compile_options(dpnmf_roofline PRIVATE -march=native -Wno-maybe-uninitialized)
target_link_libraries(dpnmf_roofline PRIVATE Eigen3::Eigen)
add_executable(dpnmf_factor_bench factor_bench.cc)
target_include_directories(dpnmf_factor_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test ${CMAKE_SOURCE_DIR})
target_compile_definitions(dpnmf_factor_bench PRIVATE DPNMF_ROOFLINE="$<TARGET_FILE:dpnmf_roofline>")
target_link_libraries(dpnmf_factor_bench PRIVATE dpnmf_factor benchmark::benchmark)
add_dependencies(dpnmf_factor_bench dpnmf_roofline)
