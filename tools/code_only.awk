# C sources without their comments, and with strings and character constants as x's: path<TAB>line<TAB>code, a line each, so
# that a search for a call finds calls alone.
FNR == 1 { in_comment = 0 }
{
  line = $0
  gsub(/\t/, " ", line)
  code = ""
  while (line != "") {
    if (in_comment) {
      end = index(line, "*/")
      if (end == 0) break
      line = substr(line, end + 2)
      in_comment = 0
      code = code " "
    } else if (match(line, /"|'|\/\*|\/\//)) {
      code = code substr(line, 1, RSTART - 1)
      mark = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      if (mark == "/*") {
        in_comment = 1
      } else if (mark == "//") {
        line = ""
      } else {
        body = mark == "\"" ? "^([^\"\\\\]|\\\\.)*\"" : "^([^'\\\\]|\\\\.)*'"
        if (!match(line, body)) RLENGTH = length(line)
        text = substr(line, 1, RLENGTH - 1)
        gsub(/./, "x", text)
        code = code mark text mark
        line = substr(line, RLENGTH + 1)
      }
    } else {
      code = code line
      line = ""
    }
  }
  print FILENAME "\t" FNR "\t" code
}
