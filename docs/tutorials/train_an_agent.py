"""
Train an agent, and put it on a leaderboard
===========================================

The environment is a cluster and its waiting queue. You act in it, train a small network on many
environments at once, look at its learning curve, and score it beside the classical policies on jobs
that it has not seen. You need the extras ``agents`` and ``plot``, see :doc:`/quickstart`.
"""

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
from sb3_contrib import MaskablePPO

from bfenv.agents import evaluate_agent, save_model
from bfenv.agents.sb3_policies import SlotSharedPolicy
from bfenv.agents.training import change, find_settings
from bfenv.agents.training.ppo import train
from bfenv.envs.sb3 import BackfillVecEnv
from bfenv.leaderboard import find_suite, rank_policies, read_leaderboard, run_suite

STEPS = 24_576  # of the training
SB3_STEPS = 4096  # of the training with sb3-contrib

# %%
# Act
# ---
#
# An action starts the job in one slot of the window, or passes. With ``head="chosen"`` you may
# give the one reservation that EASY makes to any waiting job. The mask marks the legal actions.

env = gymnasium.make("Backfill-v0", window=8, head="chosen", reservation_depth=0)
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
#
# ``ratio`` is the mean bounded slowdown on the validation split, divided by EASY's.
# ``wait_ratio`` is the longest wait, divided by EASY's. Above 2, the network starves jobs.

rows = []
settings = change(find_settings("toy"), {"steps": STEPS, "validate_every": 4})
path = train(settings, "run", report=rows.append)
validated = [row for row in rows if row["ratio"]]
for row in validated[:: max(1, len(validated) // 5)]:
    print(f"{row['steps']:7,} steps: ratio {row['ratio']:.2f}, wait ratio {row['wait_ratio']:.2f}")

# %%
# So few steps of one seed are no evidence of learning: a network can beat EASY at first, and be
# worse again some updates later. The file ``run/agent.json`` keeps the best on validation. For a
# real training, draw the curves of several seeds.

figure, panels = plt.subplots(2, 1, figsize=(7, 4.5), sharex=True, layout="constrained")
steps = [row["steps"] for row in validated]
for axes, name in zip(panels, ("ratio", "wait_ratio"), strict=True):
    axes.step(steps, [row[name] for row in validated], where="post")
    axes.axhline(1, color="#6B6B6B", linewidth=1, label="EASY")
panels[0].set(ylabel="bounded slowdown / EASY's")
panels[1].axhline(2, color="#D55E00", linestyle="--", label="starves jobs above")
panels[1].set(ylabel="longest wait / EASY's", xlabel="steps")
panels[1].xaxis.set_major_formatter("{x:,.0f}")
panels[1].legend(loc="upper right")
panels[1].set_ylim(0.8, 2.6)
plt.show()

# %%
# The leaderboard
# ---------------
#
# The training keeps its best network in ``run/agent.json``. A network that starves no jobs is
# preferred to any that does. The file runs without torch, and opening it runs no code. A suite is
# a frozen set of workloads. A row fails if the agent was trained on the jobs of the suite.

run_suite(
    find_suite("smoke-v1"), ["easy", "easy-saf", "fcfs"], agents=[str(path)], out="leaderboard"
)
board = read_leaderboard("leaderboard")
standings = [one for one in rank_policies(board.rows) if one.ratio]
for one in standings:
    mark = "starves jobs" if one.starves else ""
    print(f"{one.rank}. {one.policy:16} slowdown / EASY's: {one.ratio:6.2f}  {mark}")

# %%
figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
height = np.arange(len(standings))[::-1]
axes.barh(height, [one.ratio for one in standings], color="#0072B2", height=0.6)
axes.axvline(1, color="#6B6B6B", linewidth=1)
axes.set_yticks(height, [f"{one.policy}{' *' if one.starves else ''}" for one in standings])
axes.set(xlabel="mean bounded slowdown / EASY's, * starves jobs")
plt.show()

# %%
# What does that say? Not much: the suite ``smoke-v1`` is made for trying commands, and the
# network saw 24 thousand steps on a machine of 32 processors. What to expect of a longer training
# is in :doc:`/training/learning_curves`; networks that were trained for longer come with bfenv,
# by names such as ``agent:scorer-lublin``.
#
# Train with stable-baselines3
# ----------------------------
#
# MaskablePPO of sb3-contrib trains on the same environments, and so does any other library that
# takes Gymnasium's vector environments. ``save_model`` writes a card beside the model: its
# settings, and the jobs that it was trained on.

envs = BackfillVecEnv(32, workload="lublin:procs=32,jobs=1000", window=8, episode_jobs=32)
model = MaskablePPO(
    SlotSharedPolicy, envs, n_steps=16, batch_size=256, learning_rate=3e-3, device="cpu", seed=0
)
model.learn(SB3_STEPS)
save_model(model, "model.zip")
for row in evaluate_agent("model.zip", episodes=8, trust=True):
    print(f"{row.name:22} mean bounded slowdown {row.mean_bounded_slowdown:7.1f}")

# %%
# Do not expect this model to beat random actions: 4,096 steps are far too few. See
# :doc:`/how_to/train_with_sb3` for what longer trainings reach.
#
# On the command line:
#
# .. code-block:: text
#
#    bfenv train --preset toy --out run
#    bfenv curves run --out curves.png
#    bfenv leaderboard run --suite smoke-v1 --policy easy --agent run/agent.json --out leaderboard
#    bfenv leaderboard report leaderboard
#    bfenv evaluate --agent model.zip --trust
#
# If a training is interrupted, run ``bfenv train --resume`` with the same settings and folder. It
# continues at the last checkpoint and gives the same weights.
