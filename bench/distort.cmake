# NMF of tables as `dpnmf-lab distort` does it, beside numpy in the same run.
add_executable(dpnmf_distort_bench distort_bench.cc)
target_include_directories(dpnmf_distort_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_compile_definitions(dpnmf_distort_bench PRIVATE DPNMF_PEERS="${CMAKE_CURRENT_SOURCE_DIR}/peers"
  DPNMF_EXAMPLES="${CMAKE_SOURCE_DIR}/examples")
target_link_libraries(dpnmf_distort_bench PRIVATE dpnmf_lab_publish)
