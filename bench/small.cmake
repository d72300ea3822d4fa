add_executable(dpnmf_small_bench small_bench.cc)
target_include_directories(dpnmf_small_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(dpnmf_small_bench PRIVATE dpnmf_nmf)
