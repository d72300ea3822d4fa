# dpnmf_write_names(FILE MACRO NAME...): a line MACRO(Name) for each, to be included
# by a table; of class_moments MACRO(ClassMoments).
function(dpnmf_write_names file macro)
  set(rows)
  foreach(name ${ARGN})
    set(symbol)
    string(REPLACE "_" ";" words ${name})
    foreach(word ${words})
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND symbol ${first}${rest})
    endforeach()
    string(APPEND rows "${macro}(${symbol})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${rows}" @ONLY)
endfunction()

# A mechanism NAME is the files NAME.cc of three folders: common/privacy/mechanism
# (the plan), curator/mechanism (the sums) and common/learning/mechanism (the learning).
# The files of the first folder are the list of mechanisms. Each layer compiles
# and tables the same names, so a missing side is an error of the build.
file(GLOB DPNMF_MECHANISMS CONFIGURE_DEPENDS
  RELATIVE ${CMAKE_SOURCE_DIR}/common/privacy/mechanism
  ${CMAKE_SOURCE_DIR}/common/privacy/mechanism/*.cc)
list(TRANSFORM DPNMF_MECHANISMS REPLACE "\\.cc$" "")

# dpnmf_mechanism_sources(VARIABLE FOLDER): the NAME.cc of a layer.
function(dpnmf_mechanism_sources variable folder)
  set(sources)
  foreach(name ${DPNMF_MECHANISMS})
    list(APPEND sources ${folder}${name}.cc)
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# mechanism_names.inc: DPNMF_MECHANISM(Name) for each, to be included by tables.
# The file class_moments.cc defines kClassMomentsMechanism.
dpnmf_write_names(${CMAKE_BINARY_DIR}/mechanisms/mechanism_names.inc DPNMF_MECHANISM ${DPNMF_MECHANISMS})
include_directories(${CMAKE_BINARY_DIR}/mechanisms)
