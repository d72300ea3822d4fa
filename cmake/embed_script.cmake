# cmake -DOUTPUT= -DHEADER= -DNAMESPACE= -DPAIRS=name|file|... -P: see EmbedFiles.cmake.
string(REPLACE "|" ";" pairs "${PAIRS}")
set(text "#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\n")
while(pairs)
  list(POP_FRONT pairs name file)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" bytes "${bytes}")
  # One literal of a line for every 64 bytes; the compiler joins them.
  string(REGEX REPLACE "((\\\\x..)(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?(\\\\x..)?)" "\"\\1\"\n" bytes "${bytes}")
  file(SIZE ${file} size)
  string(APPEND text "const std::string_view ${name}(\n${bytes}, ${size});\n")
endwhile()
string(APPEND text "}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUTPUT} "${text}")
