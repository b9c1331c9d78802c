#!/bin/sh
# Prints the card that make check-gpu is going to use, or says why it cannot. In the environment: FOUND_CUDA, WHY.
set -u
if [ -z "$FOUND_CUDA" ]; then
  echo "check-gpu: this is a build without CUDA: $WHY" >&2
  exit 1
fi
if cards=$(nvidia-smi --query-gpu=index,name,compute_cap,driver_version --format=csv,noheader 2>/dev/null); then
  echo "cards (number, name, compute capability, driver):"
  echo "$cards" | sed 's/^/  /'
elif ls /dev/nvidia[0-9]* >/dev/null 2>&1; then
  echo "check-gpu: no nvidia-smi here; /dev/nvidia0 exists, so the tests are run"
else
  echo "check-gpu: no NVIDIA card or driver on this machine: neither nvidia-smi nor /dev/nvidia0 answers" >&2
  exit 1
fi
