add_executable(dpnmf_verify_bench verify_bench.cc)
target_include_directories(dpnmf_verify_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test ${CMAKE_SOURCE_DIR})
target_link_libraries(dpnmf_verify_bench PRIVATE dpnmf_data)
