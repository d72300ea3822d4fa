# What `cmake --install` installs, and the Debian packages that cpack makes of it
# (deploy/packages.sh): one for each component. A program's manual page and its
# completion are printed by the program.
include(GNUInstallDirs)
set(made ${CMAKE_BINARY_DIR}/package)
set(packaging ${CMAKE_SOURCE_DIR}/deploy/packages)
find_program(DPNMF_GZIP gzip REQUIRED)
# Debian's own: the package's Python files are for it, whatever else is in PATH.
find_program(DPNMF_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
# Installing builds nothing: cpack would build all tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

set(DPNMF_MAINTAINER "The dpnmf authors <packages@dpnmf.example>" CACHE STRING "Who answers for the Debian packages")
set(DPNMF_LICENCE_TEXT /usr/share/common-licenses/Apache-2.0)  # of base-files

add_custom_target(package_files ALL)
set(CPACK_COMPONENTS_ALL)
# The licence of uPlot as a paragraph of a Debian copyright file.
file(READ ${CMAKE_SOURCE_DIR}/common/plot/uplot/LICENSE UPLOT)
string(REGEX REPLACE "\n\n" "\n.\n" UPLOT "${UPLOT}")
string(REGEX REPLACE "\n(.)" "\n \\1" UPLOT " ${UPLOT}")
configure_file(${packaging}/copyright.in ${made}/copyright @ONLY)

# dpnmf_compressed(FILE FROM): FILE.gz, the same bytes for the same content.
function(dpnmf_compressed file)
  add_custom_command(OUTPUT ${file}.gz COMMAND ${DPNMF_GZIP} -9nkf ${file} DEPENDS ${file} VERBATIM)
endfunction()

# dpnmf_package(PACKAGE COMPONENT DESCRIPTION DEPENDS PROGRAM...): the programs, their
# pages, the documentation. Leaves out what is not built here.
macro(dpnmf_package package component description depends)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(pages)
  foreach(program ${ARGN})
    set(page ${made}/${program}.1)
    set(completion ${made}/completions/${program})
    add_custom_command(OUTPUT ${page} ${completion}
      COMMAND $<TARGET_FILE:${program}> --manual > ${page}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/completions
      COMMAND $<TARGET_FILE:${program}> --completion > ${completion}
      DEPENDS ${program} VERBATIM)
    dpnmf_compressed(${page})
    list(APPEND pages ${page}.gz ${completion})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
    install(FILES ${page}.gz DESTINATION share/man/man1 COMPONENT ${component})
    install(FILES ${completion} DESTINATION share/bash-completion/completions COMPONENT ${component})
  endforeach()
  add_custom_target(package_files_${component} DEPENDS ${pages})
  add_dependencies(package_files package_files_${component})
  set(doc share/doc/${package})
  install(FILES ${made}/copyright ${DPNMF_LICENCE_TEXT} ${made}/CHANGELOG.md.gz DESTINATION ${doc} COMPONENT ${component})
  install(FILES ${made}/changelog.gz DESTINATION ${doc} COMPONENT ${component})
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${doc} COMPONENT ${component}
    FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.png)
endmacro()

# dpnmf_service(SIDE STATE...): of the package dpnmf-SIDE, in the component SIDE: the
# unit, the files in /etc and what dpkg runs. STATE: directories in /var/lib.
macro(dpnmf_service side description)
  set(SIDE ${side})
  set(PACKAGE dpnmf-${side})
  set(DESCRIPTION "${description}")
  string(REPLACE ";" " " STATE "${ARGN}")
  string(TOUPPER ${side} upper)
  set(control ${made}/control/${side})
  foreach(script postinst prerm postrm)
    configure_file(${packaging}/server.${script}.in ${control}/${script} @ONLY
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
  configure_file(${packaging}/server.service.in ${made}/${PACKAGE}.service @ONLY)
  install(FILES ${made}/${PACKAGE}.service DESTINATION lib/systemd/system COMPONENT ${side})
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/deploy/certs.sh DESTINATION share/${PACKAGE} COMPONENT ${side})
  # /etc belongs to the machine: under another prefix than /usr it is PREFIX/etc.
  install(CODE "
    set(etc \${CMAKE_INSTALL_PREFIX}/etc)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      set(etc /etc)
    endif()
    file(INSTALL DESTINATION \${etc}/dpnmf TYPE DIRECTORY FILES \"${packaging}/etc/${side}\")"
    COMPONENT ${side})
  file(GLOB files RELATIVE ${packaging} ${packaging}/etc/${side}/*)
  list(TRANSFORM files REPLACE "^etc/" "/etc/dpnmf/")
  string(REPLACE ";" "\n" files "${files}")
  file(WRITE ${control}/conffiles "${files}\n")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
    ${control}/conffiles ${control}/postinst ${control}/prerm ${control}/postrm)
endmacro()

# Debian's form of a changelog; CHANGELOG.md is beside it.
file(WRITE ${made}/changelog "dpnmf (${PROJECT_VERSION}) stable; urgency=medium

  * See CHANGELOG.md.

 -- ${DPNMF_MAINTAINER}  Thu, 01 Jan 2026 00:00:00 +0000
")
dpnmf_compressed(${made}/changelog)
add_custom_command(OUTPUT ${made}/CHANGELOG.md
  COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${made}/CHANGELOG.md
  DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md VERBATIM)
dpnmf_compressed(${made}/CHANGELOG.md)
add_custom_target(package_changelog DEPENDS ${made}/CHANGELOG.md.gz ${made}/changelog.gz)
add_dependencies(package_files package_changelog)

set(processor)
if(DPNMF_MARCH)
  set(processor "\nBuilt for processors of the kind ${DPNMF_MARCH}.")
endif()
if(DPNMF_HAS_CURATOR)
  dpnmf_package(dpnmf-curator curator
    "dpnmf: the data holder's server\nKeeps the data, sends noised statistics, and keeps the ledger of what was spent.${processor}"
    "adduser, openssl" dpnmf-curator dpnmf-curator-web dpnmf-sums)
  dpnmf_service(curator "dpnmf curator: noised statistics of private data" dpnmf-curator dpnmf-curator.anchor)
  dpnmf_package(dpnmf-lab lab
    "dpnmf: the data holder's research, without privacy\nFactorises and evaluates on the data holder's own machine. Its results are as private as the data.${processor}"
    "" dpnmf-lab)
  # Of its own: it brings Open MPI. The curator starts it, so it has no pages.
  if(TARGET dpnmf-ranks)
    dpnmf_package(dpnmf-ranks ranks
      "dpnmf: sums over more than one machine\nThe processes of an MPI job beneath a curator (dpnmf-curator serve --ranks).${processor}"
      "dpnmf-curator (= ${PROJECT_VERSION}), openmpi-bin")
    install(TARGETS dpnmf-ranks RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ranks)
    install(TARGETS dpnmf-ranks-loopback LIBRARY DESTINATION lib/dpnmf COMPONENT ranks)
    add_dependencies(package_files dpnmf-ranks)
  endif()
endif()
dpnmf_package(dpnmf-analyst analyst
  "dpnmf: the analyst's server\nLearns dictionaries from a curator's noised statistics, for many clients.${processor}"
  "adduser, openssl" dpnmf-analyst)
dpnmf_service(analyst "dpnmf analyst: dictionaries of private data" dpnmf-analyst)
dpnmf_package(dpnmf client
  "dpnmf: the client of an analyst's server\nThe program dpnmf, with its page for the browser, and the Python package dpnmf.${processor}"
  "python3 (>= 3.11), python3-grpcio, python3-protobuf, python3-numpy" dpnmf)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SUGGESTS "python3-sklearn, python3-pandas, python3-matplotlib")
set(CPACK_DEBIAN_CLIENT_PACKAGE_CONTROL_EXTRA ${made}/control/client/postinst ${made}/control/client/prerm)
foreach(script postinst prerm)
  configure_file(${packaging}/client.${script} ${made}/control/client/${script} COPYONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endforeach()
install(FILES ${packaging}/client.toml DESTINATION share/doc/dpnmf/examples RENAME dpnmf.toml COMPONENT client)
if(DPNMF_PYTHON)
  file(GLOB messages CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/dpnmf/v1/*.proto)
  set(stubs ${made}/python/dpnmf/v1)
  add_custom_command(OUTPUT ${stubs}/__init__.py
    COMMAND ${DPNMF_PYTHON} ${CMAKE_SOURCE_DIR}/python/stubs.py ${made}/python
    DEPENDS ${messages} ${CMAKE_SOURCE_DIR}/python/stubs.py ${CMAKE_SOURCE_DIR}/CMakeLists.txt VERBATIM)
  add_custom_target(package_stubs DEPENDS ${stubs}/__init__.py)
  add_dependencies(package_files package_stubs)
  set(python lib/python3/dist-packages)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/python/src/dpnmf DESTINATION ${python} COMPONENT client
    PATTERN v1 EXCLUDE PATTERN __pycache__ EXCLUDE)
  install(DIRECTORY ${stubs} DESTINATION ${python}/dpnmf COMPONENT client PATTERN __pycache__ EXCLUDE)
  # For importlib.metadata and pip.
  set(metadata ${made}/dpnmf-${PROJECT_VERSION}.dist-info)
  file(WRITE ${metadata}/METADATA "Metadata-Version: 2.1\nName: dpnmf\nVersion: ${PROJECT_VERSION}\n")
  file(WRITE ${metadata}/INSTALLER "dpkg\n")
  install(DIRECTORY ${metadata} DESTINATION ${python} COMPONENT client)
else()
  message(STATUS "There is no /usr/bin/python3: the package dpnmf will lack the Python package")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dpnmf)
set(CPACK_PACKAGE_CONTACT "${DPNMF_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Private non-negative matrix factorisation")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
# /etc is no part of /usr.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
  GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
