# From the preprocessed public headers: a version script (ld) that exports the functions and objects they declare, under the
# version `node`. A declaration is what ends with ; outside all braces but those of extern "C"; static inline ones have
# bodies and no place in the library.
/^#/ { next }
{ text = text " " $0 }
function declared(statement) {
  if (statement ~ /^ *(typedef|static|struct|enum|__extension__)( |$)/) return
  if (match(statement, /wr_[a-z_0-9]+ *\(/)) {
    name = substr(statement, RSTART, RLENGTH)
    sub(/ *\($/, "", name)
    print "    " name ";"
  } else if (statement ~ /^ *extern / && match(statement, /wr_[a-z_0-9]+ *$/)) {
    name = substr(statement, RSTART, RLENGTH)
    sub(/ *$/, "", name)
    print "    " name ";"
  }
}
END {
  print node " {\n  global:"
  depth = 0
  statement = ""
  while (match(text, /[{};]/)) {
    mark = substr(text, RSTART, 1)
    if (depth == 0) statement = statement substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + 1)
    if (mark == "{") depth++
    if (mark == "}" && --depth == 0 && statement ~ /\)/) statement = "" # a body ended
    if (mark == ";" && depth == 0) {
      declared(statement)
      statement = ""
    }
  }
  print "  local:\n    *;\n};"
}
