"""
From gymnasium.make to a leaderboard row in thirty lines
========================================================

The environment is a cluster and its waiting queue. You act in it, train a small network on many
environments at once, look at its learning curve, and rank it beside classical policies on jobs that
it has not seen. You need the extras ``agents`` and ``plot``, see :doc:`/quickstart`.
"""

import gymnasium
import matplotlib.pyplot as plt

from bfenv.agents.training import change, find_settings
from bfenv.agents.training.ppo import train
from bfenv.leaderboard import find_suite, rank_policies, read_leaderboard, run_suite

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
# ``bfenv train`` on the command line, ``train`` in Python: masked PPO with a network that scores
# every waiting job by the same weights. ``bfenv train --help`` lists the presets, and every
# setting can be changed. The preset ``toy`` takes seconds, the default ``scorer`` minutes.

rows = []
settings = change(find_settings("toy"), {"steps": STEPS, "validate_every": 4})
path = train(settings, "run", report=rows.append)

# %%
# ``ratio`` is the mean bounded slowdown on the validation split, divided by EASY's. ``wait_ratio``
# is the longest wait, divided by EASY's. Above 2, the network starves jobs.

for name in ("ratio", "wait_ratio"):
    plt.step([row["steps"] for row in rows], [row[name] for row in rows], label=name)
plt.legend()
plt.show()
print(f"after {rows[-1]['steps']:,} steps: ratio {rows[-1]['ratio']:.2f}")

# %%
# So few steps of one seed are no evidence of learning: a network can beat EASY at first, and be
# worse again some updates later. The file ``run/agent.json`` keeps the best on validation. A
# network that starves no jobs is preferred to any that does. For a real training, draw the curves
# of several seeds.
#
# A row of the leaderboard
# ------------------------
#
# A suite is a frozen set of workloads. ``run_suite`` writes a row for each competitor, workload
# and seed; ``rank_policies`` ranks them. A row fails if the agent was trained on jobs of the suite.
# ``run/agent.json`` runs without torch, and opening it runs no code.

suite = find_suite("smoke-v1")
run_suite(suite, ["easy", "easy-saf", "fcfs"], agents=[str(path)], out="leaderboard")
for one in rank_policies(read_leaderboard("leaderboard").rows):
    mark = ", starves jobs" if one.starves else ""
    print(f"{one.rank}. {one.policy}: slowdown / EASY's {one.ratio:.2f}{mark}")

# %%
# What does that say? Not much: the suite ``smoke-v1`` is made for trying commands, and the
# network saw 24 thousand steps on a machine of 32 processors. What to expect of a longer training
# is in ``diary/learning_curves.md`` of the repository; networks that were trained for longer come
# with bfenv, by names such as ``agent:scorer-lublin``.
#
# On the command line:
#
# .. code-block:: text
#
#    bfenv train --preset toy --out run
#    bfenv train curves run --out curves.png
#    bfenv leaderboard run --suite smoke-v1 --policy easy --agent run/agent.json --out leaderboard
#    bfenv leaderboard report leaderboard
#
# If a training is interrupted, run ``bfenv train --resume`` with the same settings and folder. It
# continues at the last checkpoint and gives the same weights.
#
# From here
# ---------
#
# * :doc:`/how_to/train_evaluate_compare`: the path from here to an agent of your own.
# * :doc:`/how_to/train_with_sb3`: the same environments with stable-baselines3, and what to expect.
# * :doc:`/how_to/train_a_network`: networks for real logs.
# * :doc:`/environment`: actions, masks, observations and rewards.
# * :doc:`/how_to/run_a_leaderboard`: other suites, and how to check and publish rows.
