add_executable(dpnmf_scale_bench scale_bench.cc)
target_include_directories(dpnmf_scale_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(dpnmf_scale_bench PRIVATE dpnmf_factor)
