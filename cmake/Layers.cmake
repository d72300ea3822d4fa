# Layers and their walls. A target sees only the folders that its layer may
# use (an include root made of links), and a dependency that points the wrong
# way stops the configuration.
#
#   base <- privacy <- nmf <- wire <- learning <- {analyst, lab}
#   wire <- tls <- {server, doctor} <- {curator, analyst};  {tls, doctor} <- client
#   {server, cli} <- server_commands <- {curator, analyst}
#   base <- {access, cli} <- {curator, analyst}
#   {nmf, proto} <- federation <- {curator, analyst}
#   plot <- {lab, client};  base <- tables <- {numeric, client}
#   base <- web <- {client, operator_page};  base <- control <- {curator, operator_page}
#   access <- caller_access <- {recommend, curator};  {numeric, server} <- recommend <- curator
#   nmf <- numeric <- sums <- {curator, lab}
#
# base: common/{base,crypto,threads,files,log}. tables: matrices of people from files.
# numeric: the curator's data, readers and arithmetic. sums: those of its mechanisms. lab: what has no privacy; no layer may use it,
# nor the client. recommend_proto: lists for people; the curator alone.
# operator_page: dpnmf-curator-web, which has the curator's control socket and nothing
# else of it. recommend: lists for people; of curator/session they may use who may call
# and which refusals a peer is told (caller_access), and nothing else.
set(DPNMF_MAY_USE_base base)
set(DPNMF_MAY_USE_tables base tables)
set(DPNMF_MAY_USE_access base access)
set(DPNMF_MAY_USE_caller_access base access caller_access)
set(DPNMF_MAY_USE_cli base cli)
set(DPNMF_MAY_USE_plot)
set(DPNMF_MAY_USE_web base web)
set(DPNMF_MAY_USE_control base control)
set(DPNMF_MAY_USE_operator_page base cli web control operator_page)
set(DPNMF_MAY_USE_privacy base privacy)
set(DPNMF_MAY_USE_nmf base privacy nmf)
set(DPNMF_MAY_USE_proto)
set(DPNMF_MAY_USE_recommend_proto)
set(DPNMF_MAY_USE_wire base privacy nmf proto wire)
set(DPNMF_MAY_USE_learning base privacy nmf proto wire learning)
set(DPNMF_MAY_USE_federation base privacy nmf proto federation)
set(DPNMF_MAY_USE_tls base proto wire tls)
set(DPNMF_MAY_USE_server base proto wire tls server)
set(DPNMF_MAY_USE_server_commands base cli proto wire tls server server_commands)
set(DPNMF_MAY_USE_doctor base proto wire tls doctor)
set(DPNMF_MAY_USE_numeric base tables privacy nmf numeric)
set(DPNMF_MAY_USE_sums base tables privacy nmf numeric sums)
set(DPNMF_MAY_USE_lab base tables privacy nmf proto wire learning cli plot numeric sums lab)
set(DPNMF_MAY_USE_recommend base access caller_access privacy nmf proto recommend_proto wire tls server numeric recommend)
set(DPNMF_MAY_USE_curator base tables access caller_access recommend cli control privacy nmf proto recommend_proto wire federation tls server server_commands doctor numeric sums curator)
set(DPNMF_MAY_USE_client base tables cli plot web privacy nmf proto wire tls doctor client)
set(DPNMF_MAY_USE_analyst base access cli privacy nmf proto wire learning federation tls server server_commands doctor analyst)

set(DPNMF_BASE_FOLDERS base crypto threads files log)
list(TRANSFORM DPNMF_BASE_FOLDERS PREPEND common/)
set(DPNMF_LINKS_base ${DPNMF_BASE_FOLDERS})
set(DPNMF_LINKS_tables ${DPNMF_BASE_FOLDERS} common/tables)
set(DPNMF_LINKS_access ${DPNMF_BASE_FOLDERS} common/access)
set(DPNMF_LINKS_caller_access ${DPNMF_BASE_FOLDERS} common/access curator/session/access.h curator/session/redact_for_peer.h)
set(DPNMF_LINKS_cli ${DPNMF_BASE_FOLDERS} common/cli)
set(DPNMF_LINKS_plot common/plot)
set(DPNMF_LINKS_web ${DPNMF_BASE_FOLDERS} common/web)
set(DPNMF_LINKS_control ${DPNMF_BASE_FOLDERS} curator/control/control.h)
set(DPNMF_LINKS_operator_page ${DPNMF_BASE_FOLDERS} common/cli common/web curator/control/control.h curator/web)
set(DPNMF_LINKS_privacy ${DPNMF_BASE_FOLDERS} common/privacy)
set(DPNMF_LINKS_nmf ${DPNMF_LINKS_privacy} common/nmf common/moments common/ratings)
set(DPNMF_LINKS_wire ${DPNMF_LINKS_nmf} common/wire)
set(DPNMF_LINKS_learning ${DPNMF_LINKS_wire} common/learning)
set(DPNMF_LINKS_federation ${DPNMF_LINKS_privacy} common/nmf common/federation)
set(DPNMF_LINKS_tls ${DPNMF_BASE_FOLDERS} common/wire common/tls)
set(DPNMF_LINKS_server ${DPNMF_LINKS_tls} common/server)
set(DPNMF_LINKS_server_commands ${DPNMF_LINKS_server} common/cli common/server_commands)
set(DPNMF_LINKS_doctor ${DPNMF_LINKS_tls} common/doctor)
set(DPNMF_LINKS_numeric ${DPNMF_LINKS_nmf} common/tables curator/data curator/import curator/draft curator/factor)
set(DPNMF_LINKS_sums ${DPNMF_LINKS_numeric} curator/mechanism)
set(DPNMF_LINKS_lab ${DPNMF_LINKS_learning} common/tables common/cli common/plot curator/data curator/import curator/draft curator/factor curator/mechanism lab)
# What both servers may include of common/: not its pages and plots.
set(DPNMF_LINKS_servers ${DPNMF_LINKS_wire} common/access common/cli common/federation
  common/tls common/server common/server_commands common/doctor)
set(DPNMF_LINKS_curator ${DPNMF_LINKS_servers} common/tables curator/data curator/import curator/draft curator/factor curator/mechanism curator/ranks curator/noise
  curator/ledger curator/gate curator/federation curator/session curator/serve curator/control curator/recommend curator/maintenance curator/publish curator/commands)
set(DPNMF_LINKS_recommend ${DPNMF_LINKS_nmf} common/access common/wire common/tls common/server
  curator/data curator/session/access.h curator/session/redact_for_peer.h curator/recommend)
set(DPNMF_LINKS_client ${DPNMF_LINKS_wire} common/tables common/cli common/plot common/web common/tls common/doctor client)
set(DPNMF_LINKS_analyst ${DPNMF_LINKS_servers} common/learning analyst)
set(DPNMF_LINKS_test common curator lab client analyst tests)

foreach(layer base tables access caller_access cli plot web control operator_page privacy nmf wire learning federation tls server server_commands doctor numeric sums lab recommend curator client analyst test)
  set(root ${CMAKE_BINARY_DIR}/include/${layer})
  file(REMOVE_RECURSE ${root})  # links of an older tree; never what they lead to
  foreach(folder ${DPNMF_LINKS_${layer}})
    if(EXISTS ${CMAKE_SOURCE_DIR}/${folder})
      get_filename_component(parent ${root}/${folder} DIRECTORY)
      file(MAKE_DIRECTORY ${parent})
      file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${folder} ${root}/${folder} SYMBOLIC)
    endif()
  endforeach()
endforeach()

define_property(TARGET PROPERTY DPNMF_LAYER)

# dpnmf_compile_together(TARGET [ALONE a.cc ...] [COMPUTES b.cc ...]): all files of the
# target but those after ALONE, and but those with failpoints, whose twins compile them
# again (tests have no twins). Those after COMPUTES are a second group, without DPNMF_COLD.
# One made file includes a group, by their paths below the include root: it has the same
# text in every tree, so that ccache finds it in each without preprocessing it
# (UNITY_BUILD of CMake writes absolute paths).
function(dpnmf_compile_together name)
  cmake_parse_arguments(ARG "" "" "ALONE;COMPUTES" ${ARGN})
  if(DPNMF_COMPILE_ALONE)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  get_target_property(folder ${name} SOURCE_DIR)
  get_target_property(layer ${name} DPNMF_LAYER)
  if(NOT layer)
    set(layer test)
  endif()
  set(alone)
  set(together)
  set(computes)
  foreach(source ${sources})
    get_filename_component(file ${source} ABSOLUTE BASE_DIR ${folder})
    set(lines)
    if(NOT source MATCHES "TARGET_OBJECTS" AND NOT source IN_LIST ARG_ALONE AND NOT file MATCHES "^${CMAKE_BINARY_DIR}/")
      if(NOT layer STREQUAL test)
        file(STRINGS ${file} lines REGEX "#include \"common/base/failpoint.h\"")
      endif()
      if(NOT lines)
        file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${file})
        if(source IN_LIST ARG_COMPUTES)
          list(APPEND computes ${path})
        else()
          list(APPEND together ${path})
        endif()
        continue()
      endif()
    endif()
    list(APPEND alone ${source})
  endforeach()
  foreach(group together computes)
    list(LENGTH ${group} count)
    if(count EQUAL 1)
      list(APPEND alone ${CMAKE_SOURCE_DIR}/${${group}})
    elseif(count GREATER 1)
      set(text ${${group}})
      list(TRANSFORM text REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN text "" text)
      set(made ${CMAKE_CURRENT_BINARY_DIR}/${name}_${group}.cc)
      file(CONFIGURE OUTPUT ${made} CONTENT "${text}" @ONLY)
      if(DPNMF_TOGETHER_IS_COLD AND group STREQUAL together)
        set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS "${DPNMF_COLD}")
      endif()
      list(APPEND alone ${made})
    endif()
  endforeach()
  set_property(TARGET ${name} PROPERTY SOURCES ${alone})
  # A local variable may have the name of another file's constant, and a class of a
  # file members from its unnamed namespace. __FILE__ is the same in each tree, for ccache.
  target_compile_options(${name} PRIVATE -Wno-shadow -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=
    -fmacro-prefix-map=${CMAKE_BINARY_DIR}/include/${layer}/= -fmacro-prefix-map=include/${layer}/=
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# dpnmf_library(NAME LAYER layer SOURCES a.cc ... DEPS targets ... [TOGETHER [COLD]] [COMPUTES b.cc ...] [ALONE c.cc ...])
# TOGETHER: its files are compiled together, except for those after ALONE. COLD: these files
# wait, and are compiled with DPNMF_COLD; those after COMPUTES and ALONE compute. The files of a folder that
# compiles with DPNMF_COLD are compiled together too. The kernels and sums of curator/factor are
# compiled alone: a product and a sum may round once or twice, by what the compiler sees at
# once. Not so under sanitizers, which promise no bits.
function(dpnmf_library name)
  cmake_parse_arguments(ARG "TOGETHER;COLD" "LAYER" "SOURCES;DEPS;COMPUTES;ALONE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  set_property(TARGET ${name} PROPERTY DPNMF_LAYER ${ARG_LAYER})
  dpnmf_check_layers(${name} ${ARG_LAYER} ${ARG_DEPS})
  if(ARG_SOURCES)
    target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/${ARG_LAYER})
  endif()
  target_link_libraries(${name} ${scope} ${ARG_DEPS})
  get_directory_property(options COMPILE_OPTIONS)
  if(ARG_SOURCES AND (ARG_TOGETHER OR DPNMF_SANITIZE OR DPNMF_COLD IN_LIST options))
    set(DPNMF_TOGETHER_IS_COLD ${ARG_COLD})
    dpnmf_compile_together(${name} ALONE ${ARG_ALONE} COMPUTES ${ARG_COMPUTES})
  endif()
endfunction()

# dpnmf_program(NAME LAYER layer SOURCES a.cc ... DEPS targets ...)
function(dpnmf_program name)
  cmake_parse_arguments(ARG "" "LAYER" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_property(TARGET ${name} PROPERTY DPNMF_LAYER ${ARG_LAYER})
  dpnmf_check_layers(${name} ${ARG_LAYER} ${ARG_DEPS})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/${ARG_LAYER})
  target_compile_definitions(${name} PRIVATE DPNMF_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()

function(dpnmf_check_layers name layer)
  foreach(dependency ${ARGN})
    if(TARGET ${dependency})
      get_target_property(other ${dependency} DPNMF_LAYER)
      if(other AND NOT other IN_LIST DPNMF_MAY_USE_${layer})
        message(FATAL_ERROR "layering: ${name} (${layer}) must not depend on ${dependency} (${other})")
      endif()
    elseif(dependency MATCHES "^dpnmf_")
      message(FATAL_ERROR "layering: ${name} depends on ${dependency}, which is not defined before it")
    endif()
  endforeach()
endfunction()

# dpnmf_test_library(NAME SOURCES a.cc ... DEPS targets ...): what several tests use.
# Its files are compiled together.
function(dpnmf_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_property(TARGET ${name} PROPERTY DPNMF_LAYER test)
  dpnmf_compile_together(${name})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/test)
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# dpnmf_test_program(NAME SOURCES a.cc ... DEPS targets ... [ALONE b.cc ...] [COMPUTES])
# Tests are compiled at -O0, which takes the compiler half of the time; at -O1 if they
# compute much themselves (COMPUTES). The linker reads the libraries first, and whole
# (link_test.sh): of an inline function that a library holds, it takes the library's
# copy, so that a test runs what is shipped (wall.optimized).
# gold (binutils) links one in a third of the time of ld.bfd.
find_program(DPNMF_GOLD ld.gold)
function(dpnmf_test_program name)
  cmake_parse_arguments(ARG "COMPUTES" "" "SOURCES;DEPS;ALONE" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  dpnmf_compile_together(${name} ALONE ${ARG_ALONE})
  if(ARG_COMPUTES)
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
  endif()
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/include/test)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  if(DPNMF_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT DPNMF_SANITIZE)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()

# dpnmf_test(NAME SOURCES a_test.cc ... DEPS targets ... [LABELS slow] [TIMEOUT s] [MANY_DRAWS Suite.Test ...] [COMPUTES]
#   [NOT_SANITIZED b_test.cc ...])
# LABELS: slow (left out of the normal run), not-sanitized (a sanitizer would find
# nothing that other tests do not show it: neither of the two is built under one), lab
# (nor is this one, unless DPNMF_SANITIZE_LAB is on), concurrent (also run under TSan).
# NOT_SANITIZED: further sources, which a build with a sanitizer leaves out: what the label
# not-sanitized says of a program.
# MANY_DRAWS: tests of laws over many draws, and others that repeat much, which sanitizers do not
# repeat; other tests run the same code.
# The targets sanitized_tests and concurrent_tests build what is run under ASan and TSan.
option(DPNMF_SANITIZE_LAB "Run the tests of the lab under sanitizers too" OFF)
add_custom_target(concurrent_tests)
add_custom_target(sanitized_tests)
function(dpnmf_test name)
  cmake_parse_arguments(ARG "COMPUTES" "TIMEOUT" "SOURCES;NOT_SANITIZED;DEPS;LABELS;ALONE;MANY_DRAWS" ${ARGN})
  set(computes)
  if(ARG_COMPUTES)
    set(computes COMPUTES)
  endif()
  if(NOT DPNMF_SANITIZE)
    list(APPEND ARG_SOURCES ${ARG_NOT_SANITIZED})
  endif()
  dpnmf_test_program(${name} ${computes} SOURCES ${ARG_SOURCES} ALONE ${ARG_ALONE}
    DEPS ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  if("concurrent" IN_LIST ARG_LABELS)
    add_dependencies(concurrent_tests ${name})
  endif()
  if(DPNMF_SANITIZE AND ("slow" IN_LIST ARG_LABELS OR "not-sanitized" IN_LIST ARG_LABELS
      OR ("lab" IN_LIST ARG_LABELS AND NOT DPNMF_SANITIZE_LAB)))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_dependencies(sanitized_tests ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(filter)
  if(DPNMF_SANITIZE AND ARG_MANY_DRAWS)
    list(JOIN ARG_MANY_DRAWS ":" filter)
    set(filter TEST_FILTER -${filter})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST ${filter} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    # gtest_discover_tests loses all labels but the first.
    set(labels ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
    file(WRITE ${labels} "if(${name}_TESTS)
  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")
endif()
")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})
  endif()
endfunction()
