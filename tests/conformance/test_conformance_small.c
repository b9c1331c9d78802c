/* Every backend that can run here, on small matrices, with every combination of parameters. */
#include "tests/conformance/conformance.h"

int main(void) { return conformance_main("conformance_small", conformance_small); }
