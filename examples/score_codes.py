"""Score codes you have as arrays."""

import numpy as np

import unbraid

rng = np.random.default_rng(0)
shape, size = rng.integers(0, 3, 1000), rng.uniform(0, 1, 1000)
# Stands in for your encoder: one code for the shape, two that share the size.
codes = np.column_stack([shape, size + 0.1 * rng.normal(size=1000), size - 0.1 * rng.normal(size=1000)])

report = unbraid.evaluate(codes, {"shape": shape, "size": size}, metrics="mig,modularity,dci_linear", name="my codes")
print(report)
mig = report["mig"]
print(f"MIG {mig.value:.2f}, between {mig.low:.2f} and {mig.high:.2f}; shuffled factors score {mig.chance:.2f}.")
print("wrote", report.to_html("report.html"))
