"""
From gymnasium.make to a leaderboard row in thirty lines
========================================================

The environment is a cluster and its waiting queue. You act in it, train a small network on many
environments at once, and rank it beside classical policies on jobs that it has not seen. You need
the extras ``agents`` and ``plot``, see :doc:`/quickstart`.
"""

import gymnasium
import matplotlib.pyplot as plt

from bfenv.leaderboard import find_suite, rank_policies, read_leaderboard, run_suite
from bfenv.train_sb3 import Args, train

STEPS = 24_576  # of the training

# %%
# Act
# ---
#
# An action names the job in one slot of the window. If it fits, it starts; if not, it gets the one
# reservation that EASY makes. The mask marks the legal actions.
# ``bfenv:`` lets Gymnasium import bfenv, which registers the environment.

env = gymnasium.make("bfenv:Backfill-v0", window=8)
observation, info = env.reset(seed=0)
over = False
while not over:
    action = info["action_mask"].argmax()  # the first legal action
    observation, reward, over, _, info = env.step(action)
print(f"mean bounded slowdown: {info['metrics']['mean_bounded_slowdown']:.1f}")

# %%
# Train
# -----
#
# ``python -m bfenv.train_sb3`` on the command line, ``train`` in Python: MaskablePPO of sb3-contrib
# with a network that scores every waiting job by the same weights. So few steps take seconds and
# are no evidence of learning; the default is twenty times as many. For a real training, compare
# several seeds.

path = train(Args(out="run", steps=STEPS, num_envs=16))
print(path)

# %%
# ``model.zip`` is the model of stable-baselines3. ``model.json`` is its network alone: it runs
# without torch, and opening it runs no code.
#
# A row of the leaderboard
# ------------------------
#
# A suite is a frozen set of workloads. ``run_suite`` writes a row for each competitor, workload
# and seed; ``rank_policies`` ranks them. A row fails if the agent was trained on jobs of the suite.

suite = find_suite("smoke-v1")
run_suite(suite, ["easy", "easy-saf", "fcfs"], agents=["run/model.json"], out="leaderboard")
standings = rank_policies(read_leaderboard("leaderboard").rows)
for standing in standings:
    mark = ", starves jobs" if standing.starves else ""
    print(f"{standing.rank}. {standing.policy}: slowdown / EASY's {standing.ratio:.2f}{mark}")

# %%

plt.barh([row.policy for row in standings], [row.ratio for row in standings])
plt.xlabel("mean bounded slowdown / EASY's")
plt.show()

# %%
# What does that say? Not much: the suite ``smoke-v1`` is made for trying commands, and the network
# saw 24 thousand steps. What to expect of a longer training is on
# :doc:`/how_to/train_with_sb3`.
#
# On the command line:
#
# .. code-block:: text
#
#    python -m bfenv.train_sb3 --steps 24576 --num-envs 16 --out run
#    bfenv leaderboard run --suite smoke-v1 --policy easy --agent run/model.json --out leaderboard
#    bfenv leaderboard report leaderboard
#
# From here
# ---------
#
# * :doc:`/how_to/train_evaluate_compare`: the path from here to an agent of your own.
# * :doc:`/how_to/train_with_sb3`: the script, and what to expect.
# * :doc:`/environment`: actions, masks, observations and rewards.
# * :doc:`/how_to/run_a_leaderboard`: other suites, and how to check and publish rows.
