# Objective of a dictionary from one noised second moment, over a user's file.
add_executable(dpnmf_moments_bench moments_bench.cc)
target_include_directories(dpnmf_moments_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(dpnmf_moments_bench PRIVATE dpnmf_nmf)
