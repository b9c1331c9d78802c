/* Every backend that can run here, on larger matrices and files, with every pair of parameters. */
#include "tests/conformance/conformance.h"

int main(void) { return conformance_main("conformance_large", conformance_large); }
