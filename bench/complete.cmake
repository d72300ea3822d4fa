# Aux-NMF, its update and the SVD baseline; beside numpy: bench/peers/complete_peer.py.
add_executable(dpnmf_complete_bench complete_bench.cc)
target_include_directories(dpnmf_complete_bench PRIVATE ${CMAKE_BINARY_DIR}/include/test ${CMAKE_SOURCE_DIR})
target_link_libraries(dpnmf_complete_bench PRIVATE dpnmf_lab_publish)
