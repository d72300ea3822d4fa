# dpnmf_with_failpoints(NAME...): for each library a twin, NAME_failpoints, of
# the same sources with DPNMF_FAILPOINTS defined (common/base/failpoint.h). Twins
# are linked by tests alone; what a twin depends on is a twin too where there is
# one, so name libraries from the bottom up.
function(dpnmf_with_failpoints)
  foreach(name ${ARGN})
    get_target_property(sources ${name} SOURCES)
    get_target_property(folder ${name} SOURCE_DIR)
    get_target_property(layer ${name} DPNMF_LAYER)
    get_target_property(dependencies ${name} INTERFACE_LINK_LIBRARIES)
    list(TRANSFORM sources PREPEND ${folder}/)
    set(twins)
    foreach(dependency ${dependencies})
      if(TARGET ${dependency}_failpoints)
        list(APPEND twins ${dependency}_failpoints)
      else()
        list(APPEND twins ${dependency})
      endif()
    endforeach()
    add_library(${name}_failpoints STATIC ${sources})
    target_include_directories(${name}_failpoints
      PRIVATE ${CMAKE_BINARY_DIR}/include/${layer})
    target_compile_definitions(${name}_failpoints PUBLIC DPNMF_FAILPOINTS)
    target_link_libraries(${name}_failpoints PUBLIC ${twins})
  endforeach()
endfunction()
