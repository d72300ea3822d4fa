# dpnmf_with_failpoints(NAME...): for each library a twin, NAME_failpoints, with
# DPNMF_FAILPOINTS defined (common/base/failpoint.h). Twins are linked by tests
# alone; what a twin depends on is a twin too where there is one, so name
# libraries from the bottom up. A source that includes failpoint.h is compiled
# again; the objects of the others are the library's own. Headers must not
# include it (wall.includes).
function(dpnmf_with_failpoints)
  foreach(name ${ARGN})
    get_target_property(sources ${name} SOURCES)
    get_target_property(folder ${name} SOURCE_DIR)
    get_target_property(layer ${name} DPNMF_LAYER)
    get_target_property(dependencies ${name} INTERFACE_LINK_LIBRARIES)
    set(twins)
    foreach(dependency ${dependencies})
      if(TARGET ${dependency}_failpoints)
        list(APPEND twins ${dependency}_failpoints)
      else()
        list(APPEND twins ${dependency})
      endif()
    endforeach()
    set(again)
    set(objects $<TARGET_OBJECTS:${name}>)
    foreach(source ${sources})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${source})
      file(STRINGS ${folder}/${source} lines REGEX "#include \"common/base/failpoint.h\"")
      if(lines)
        list(APPEND again ${folder}/${source})
        string(REPLACE "." "[.]" pattern "${source}.o")
        set(objects "$<FILTER:${objects},EXCLUDE,[.]dir/([.]/)?${pattern}$>")
      endif()
    endforeach()
    add_library(${name}_failpoints STATIC ${again} ${objects})
    get_target_property(options ${name} COMPILE_OPTIONS)
    set_target_properties(${name}_failpoints PROPERTIES LINKER_LANGUAGE CXX
      COMPILE_OPTIONS "${options}")
    target_include_directories(${name}_failpoints
      PRIVATE ${CMAKE_BINARY_DIR}/include/${layer})
    target_compile_definitions(${name}_failpoints PUBLIC DPNMF_FAILPOINTS)
    target_link_libraries(${name}_failpoints PUBLIC ${twins})
  endforeach()
endfunction()
