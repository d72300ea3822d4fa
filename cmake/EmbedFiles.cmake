# dpnmf_embed(OUTPUT HEADER NAMESPACE name file ...): a source file that defines
# `extern const std::string_view NAME` for each file. Run again when one changes.
function(dpnmf_embed output header namespace)
  set(files)
  list(LENGTH ARGN count)
  math(EXPR last "${count} - 1")
  foreach(at RANGE 1 ${last} 2)
    list(GET ARGN ${at} file)
    list(APPEND files ${file})
  endforeach()
  string(REPLACE ";" "|" pairs "${ARGN}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${header} -DNAMESPACE=${namespace}
      "-DPAIRS=${pairs}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
endfunction()
