/* Every backend that can run here, on small matrices, with every combination of parameters. */
#include "tests/conformance/conformance.h"

int main(int argc, char **argv) { return conformance_main(argc, argv, "conformance_small", conformance_small); }
