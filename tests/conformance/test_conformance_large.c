/* Every backend that can run here, on larger matrices and files, with every pair of parameters. */
#include "tests/conformance/conformance.h"

int main(int argc, char **argv) { return conformance_main(argc, argv, "conformance_large", conformance_large); }
