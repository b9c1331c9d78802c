/* Libraries that CUDA sources load at run time: the shim has NCCL's calls (../simt_nccl.cpp), and no others. */
#ifndef SIMT_DLFCN_H
#define SIMT_DLFCN_H

#include_next <dlfcn.h>

void *dlopen_simt(const char *name, int flags);
void *dlsym_simt(void *library, const char *name);
const char *dlerror_simt(void);
#define dlopen dlopen_simt
#define dlsym dlsym_simt
#define dlerror dlerror_simt

#endif
