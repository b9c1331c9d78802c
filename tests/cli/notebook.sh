#!/bin/sh
# examples/windrow.ipynb: whole as it is kept, and its code runs: by nbconvert where that is found, else by Python alone. To keep
# new outputs, with windrow for Python where python3 finds it:
#   python3 -m nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False examples/windrow.ipynb
# Needs: programs libraries
. tests/cli/lib.sh

notebook=examples/windrow.ipynb
python=$(python_with 'numpy, matplotlib, nbconvert, ipykernel')
$python -c 'import numpy, matplotlib' 2>/dev/null || python=$(python_with 'numpy, matplotlib')
if [ -z "$python" ]; then
  skip 2 'no python3 here'
  report
  exit
fi
call 0 $python tests/python/check_notebook.py $notebook "$work/code.py"
if [ -n "${SANITIZE:-}" ] || ! $python -c 'import numpy, matplotlib' 2>/dev/null; then
  skip 1 "a sanitizer, or matplotlib is missing, by which the notebook draws: $(sh tools/deps.sh --hint matplotlib)"
  report
  exit
fi
export WINDROW_LIBRARY="$BUILD/libwindrow.so" PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR="$work"
if $python -c 'import nbconvert, ipykernel' 2>/dev/null; then
  export HOME="$work" JUPYTER_RUNTIME_DIR="$work" JUPYTER_CONFIG_DIR="$work" IPYTHONDIR="$work"
  call 0 $python -m nbconvert --to notebook --execute --ExecutePreprocessor.record_timing=False --output-dir "$work" $notebook
else
  MPLBACKEND=Agg call 0 $python "$work/code.py"
fi
report
