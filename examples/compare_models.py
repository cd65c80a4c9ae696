"""Which of two models is better, at what, and are we sure? Both must encode the same rows."""

import numpy as np

import unbraid

rng = np.random.default_rng(0)
factors = rng.integers(0, 5, (2000, 2))
noise = rng.normal(size=factors.shape)
# Stand in for two encoders: the second is only slightly noisier, and pairing is what shows it.
models = {"sharp": factors + 0.30 * noise, "blurred": factors + 0.31 * noise}

reports = {
    name: unbraid.evaluate(codes, factors, metrics="mig,sap,r2,modularity", name=name) for name, codes in models.items()
}
compared = unbraid.compare(reports)
print(compared.differences_table()[["value", "low", "high", "adjusted", "better", "sure"]].to_string())
print("\n".join(compared.verdict))
print("wrote", compared.to_html("compared.html"))
