# draw_noise writes noise to standard output for tests by other tools; not installed.
add_executable(draw_noise draw_noise.cc)
target_include_directories(draw_noise PRIVATE ${CMAKE_BINARY_DIR}/include/test)
target_link_libraries(draw_noise PRIVATE dpnmf_noise dpnmf_base dpnmf_command_line)
add_dependencies(sanitized_tests draw_noise)
set_target_properties(draw_noise PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

# Sizes, scales, exact parsing and refusals.
find_program(DPNMF_PYTHON3 python3)
if(DPNMF_PYTHON3)
  add_test(NAME draw_noise_test
    COMMAND ${DPNMF_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/draw_noise_test.py $<TARGET_FILE:draw_noise>)
endif()
