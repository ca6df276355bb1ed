/* Runs the `main` of a bundle's program on the library inside the Python package, which exports no
   C API; see package_library.py. Linked with the program, whose `main` is renamed. */
#include <stdint.h>
#include <stdio.h>

#include "onnxruntime_c_api.h"

int program_main(int argc, char** argv);

static const OrtApiBase* base;

const OrtApiBase* OrtGetApiBase(void) { return base; }

/* ONNX Runtime hands its C API to every library of custom operators that it registers. */
OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* api_base) {
  (void)options;
  base = api_base;
  return NULL;
}

uintptr_t api_base_address(void) { return (uintptr_t)base; }

int run_program(uintptr_t api_base, char* folder) {
  base = (const OrtApiBase*)api_base;
  char* arguments[] = {"train", folder, NULL};
  int code = program_main(2, arguments);
  fflush(NULL);
  return code;
}
