# One set of flags for every object of the program. Eigen's types change with
# the instruction set, so objects of different -march are never mixed.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(DPNMF_MARCH "x86-64-v3" CACHE STRING "Instruction set of every object (native for this machine only)")
else()
  set(DPNMF_MARCH "" CACHE STRING "Instruction set of every object (empty: the compiler's default)")
endif()
if(DPNMF_MARCH)
  add_compile_options(-march=${DPNMF_MARCH})
endif()
add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wthread-safety)
endif()
if(DPNMF_WERROR)
  add_compile_options(-Werror)
endif()
add_compile_options(-fno-math-errno -fstack-protector-strong)
add_link_options(-Wl,-z,relro,-z,now)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND DPNMF_SANITIZE)
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)  # false reports of g++ 12 (bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage only above 1.5 GB (docs/decisions/0008-building.md).
  add_compile_options("SHELL:--param ggc-min-heapsize=1572864")
endif()
if(DPNMF_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DPNMF_BUILD_FUZZERS needs clang, whose libFuzzer it links: configure a new build directory with -DCMAKE_CXX_COMPILER=clang++.")
  endif()
  # Every object counts what it covers; the programs of tests/fuzz bring main().
  set(DPNMF_SANITIZE address,undefined,float-cast-overflow)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(DPNMF_SANITIZE)
  add_compile_options(-fsanitize=${DPNMF_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DPNMF_SANITIZE})
  find_program(DPNMF_LLD ld.lld)  # a quarter of the time of ld.bfd
  if(DPNMF_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
else()
  add_compile_definitions($<$<CONFIG:Release>:_FORTIFY_SOURCE=2>)
endif()
# For code that waits for peers, disks and people (services, command lines, the
# ledger) and for its tests: the compiler needs a quarter less time. What computes
# stays at CMake's -O3. Products and decompositions of Eigen belong in the latter.
set(DPNMF_COLD "$<$<CONFIG:Release>:-O1>")
# Sanitizers look at what the code does, not at how fast: two fifths of the compiler's time.
if(DPNMF_SANITIZE AND NOT DPNMF_BUILD_FUZZERS)
  set(DPNMF_COLD -O0)
endif()
# The files of a target are compiled together: the compiler reads
# each header and instantiates each template once for all of them
# (docs/decisions/0008-building.md). Names in their unnamed namespaces must differ.
# Sanitizers build each file alone: they find a file that misses an include.
if(DPNMF_SANITIZE)
  set(alone ON)
endif()
option(DPNMF_COMPILE_ALONE "Compile each file alone" ${alone})
# Eigen stays single-threaded: threads go over blocks of users (common/threads/parallel.h).
add_compile_definitions(EIGEN_DONT_PARALLELIZE EIGEN_MPL2_ONLY)
find_program(DPNMF_CCACHE ccache)
if(DPNMF_CCACHE)
  # The same source compiled in another directory is found too. The compiler's own list
  # of headers is what a result depends on (CCACHE_DEPEND): nothing is preprocessed first.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 ${DPNMF_CCACHE})
endif()
