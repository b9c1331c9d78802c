"""What an iteration moves, counted by ncu, beside what the solvers' reports predict: the table above each loop, checked.

usage: traffic.py BUILD [REPORT.json]
Standard library alone; needs ncu (Nsight Compute) and a card. A problem is solved twice with different limits of iterations,
launched kernel by kernel: the difference is what the iterations between have moved, without what begins and ends a solve.
DRAM: bytes read and written. L2: sectors of 32 bytes that kernels have read from it. Predicted: `iteration_bytes` of the report,
every array once; x and what else stays in L2 may be less, what does not fit more.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

METRICS = {"us": "gpu__time_duration.sum", "dram": "dram__bytes.sum", "l2": "lts__t_sectors_op_read.sum"}
UNITS = {"byte": 1, "kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "sector": 1, "ns": 1e-3, "us": 1, "ms": 1e3, "second": 1e6, "s": 1e6}
CASES = (  # program, backend, problem, iterations of the two solves
    ("pagerank", "merbit", "gen:road", 4, 12),
    ("pagerank", "merbit", "gen:web", 4, 12),
    ("pagerank", "merbit", "gen:rmat", 4, 12),
    ("pagerank", "merbit", "gen:hubs", 4, 12),
    ("bicgstab", "csr_thread_unrolled", "gen:stencil:n=200", 4, 12),
    ("bicgstab", "bsr_unrolled", "gen:fem:n=49", 2, 6),
)


def profile(build, program, backend, problem, iterations, report):
    """{kernel: [launches, {metric: sum}]} of one solve."""
    command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--metrics", ",".join(METRICS.values()),
               f"{build}/{program}", "-q", "-d", "cuda", "-p", "f64", "-k", backend, "--no-graph", "--no-resident",
               "-n", str(iterations), "--verify", "off", "--json", report, problem]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    kernels, header = {}, None
    for row in csv.reader(line for line in text.splitlines() if line.startswith('"')):
        if row[0] == "ID":
            header = row
            continue
        cell = dict(zip(header, row))
        kernel = kernels.setdefault(cell["Kernel Name"].split("(")[0], [set(), dict.fromkeys(METRICS, 0.0)])
        for name, metric in METRICS.items():
            if cell["Metric Name"] == metric:
                kernel[0].add(cell["ID"])
                kernel[1][name] += float(cell["Metric Value"].replace(",", "")) * UNITS[cell["Metric Unit"].lower()]
    if not kernels:
        sys.exit(f"traffic.py: {' '.join(command)}: no kernels were profiled")
    return {name: (len(ids), sums) for name, (ids, sums) in kernels.items()}


def measure(build, case):
    program, backend, problem, few, many = case
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        less = profile(build, program, backend, problem, few, report)
        more = profile(build, program, backend, problem, many, report)
        with open(report, encoding="utf-8") as file:
            run = json.load(file)["runs"][0]
    kernels, each = [], many - few
    for name, (launches, sums) in more.items():
        before = less.get(name, (0, dict.fromkeys(METRICS, 0.0)))
        if launches > before[0]:
            kernels.append({"kernel": name, "launches": (launches - before[0]) / each,
                            **{m: (sums[m] - before[1][m]) / each for m in METRICS}})
    total = {m: sum(k[m] for k in kernels) for m in METRICS}
    return {"program": program, "backend": backend, "problem": problem, "predicted": run["result"]["iteration_bytes"],
            "total": total, "kernels": kernels}


def main(build, path=None):
    results = []
    print("| an iteration, f64 | predicted MB | DRAM MB | DRAM / predicted | L2 sectors, M | us, kernel by kernel |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        r = measure(build, case)
        results.append(r)
        t = r["total"]
        print(f"| {r['program']} {r['problem'][4:]}, {r['backend']} | {r['predicted'] / 1e6:.0f} | {t['dram'] / 1e6:.0f} "
              f"| {t['dram'] / r['predicted']:.2f} | {t['l2'] / 1e6:.1f} | {t['us']:.0f} |", flush=True)
    print("\n| kernels | launches | us | DRAM MB | L2 sectors, M |\n|---|---|---|---|---|")
    for r in results:
        for k in r["kernels"]:
            print(f"| {r['problem'][4:]}: {k['kernel']} | {k['launches']:g} | {k['us']:.1f} | {k['dram'] / 1e6:.1f} "
                  f"| {k['l2'] / 1e6:.2f} |")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
