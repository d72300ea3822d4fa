add_executable(dpnmf_round_bench round_bench.cc)
target_include_directories(dpnmf_round_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_compile_definitions(dpnmf_round_bench PRIVATE DPNMF_CERTS_SCRIPT="${CMAKE_SOURCE_DIR}/deploy/certs.sh")
target_link_libraries(dpnmf_round_bench PRIVATE dpnmf_curator_service dpnmf_analyst_rpc benchmark::benchmark)
