# Lists a second, beside the reading of the model's numbers that each list needs.
add_executable(dpnmf_recommend_bench recommend_bench.cc)
target_include_directories(dpnmf_recommend_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test ${CMAKE_SOURCE_DIR})
target_compile_definitions(dpnmf_recommend_bench PRIVATE DPNMF_CERTS_SCRIPT="${CMAKE_SOURCE_DIR}/deploy/certs.sh")
target_link_libraries(dpnmf_recommend_bench PRIVATE dpnmf_recommend_service benchmark::benchmark)
