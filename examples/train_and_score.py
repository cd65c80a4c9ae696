"""Train a small VAE on sprites, encode them with it, and score the codes. Needs torch."""

import unbraid
from unbraid.data import sprites_mini
from unbraid.models import train

data = sprites_mini()
# 40 steps show how it goes; 1500, a minute on two cores, begin to separate the factors.
model = train("beta_vae", data, seeds=[0], beta=4.0, n_steps=40, n_codes=6, width=4, batch_size=16, learning_rate=2e-3)[
    0
]
rep = unbraid.encode(model, data, n=1000)
report = unbraid.evaluate(rep, metrics="mig,modularity,r2", name="a VAE after 40 steps")
print(report)
unbraid.save(rep, "codes.npz")
print("wrote codes.npz; now try: unbraid score codes.npz --report report.html")
