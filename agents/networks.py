"""The networks of `ScorerPolicy`: each waiting job is scored by the same weights.

The score of a job depends on its own features and on sums over all waiting jobs, so the networks
are equivariant: permuting the slots permutes the scores, and the value stays. Rows of empty slots
are dropped before anything is computed, and only legal actions get a score.
`bfenv.agents.network_agent` computes the same with NumPy.

This module needs torch.
"""

import torch
from torch import Tensor, nn

from bfenv.agents.network_agent import JOB_SCALE, LOG_SMALLEST_SIZE, SMALLEST_SIZE, STATE_SCALE
from bfenv.envs.features import JOB_LEGAL, JOB_PRESENT, JOB_SIZE, PROFILE

MASKED = -1e9  # score of an action that is illegal; its probability is 0 in float32
OBSERVATION = ("queue", "profile", "cluster")  # its parts, in the order of `forward`


class Scorer(nn.Module):
    """Score every waiting job and the pass, and estimate the value of the state.

    With x the features of a job, c the cluster and its profile, and relu between layers:

        context = relu(A c)
        e = relu(B x + C context)          of each job
        pooled = (mean of e over the waiting jobs, context)
        score = w relu(D e + E pooled)     of each job
        score of the pass, value = two outputs of F relu(G pooled)

    Zaheer et al., Deep Sets, 2017, is the source of the pooling.

    * `job_features`, `cluster_features`: columns of the observation's "queue" and "cluster".
    * `hidden`: units of each layer.
    """

    def __init__(self, job_features: int, cluster_features: int, hidden: int = 32) -> None:
        super().__init__()
        self.context = nn.Linear(len(PROFILE) + cluster_features, hidden)
        self.job = nn.Linear(job_features, hidden)
        self.job_context = nn.Linear(hidden, hidden, bias=False)
        self.second = nn.Linear(hidden, hidden)
        self.second_context = nn.Linear(2 * hidden, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.state = nn.Linear(2 * hidden, hidden)
        self.outputs = nn.Linear(hidden, 2)  # score of the pass, value
        for last in (self.score, self.outputs):  # all actions equally likely at first
            nn.init.normal_(last.weight, std=0.01)

    def forward(self, queue: Tensor, profile: Tensor, cluster: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of the actions and the values.

        * `queue`, `profile`, `cluster`: (B, window, job_features), (B, PROFILE) and (B,
          cluster_features) float32: observations

        Returns (B, window + 1) scores, MASKED for jobs that are not legal, and (B,) values.
        """
        # `index_select` and `index_add`, because the gradient of indexing is slow.
        batch, window, features = queue.shape
        context = torch.relu(self.context(self.state_inputs(torch.cat([profile, cluster], dim=1))))
        jobs = queue.reshape(batch * window, features)
        rows = jobs[:, JOB_PRESENT].nonzero().squeeze(1)
        env, jobs = rows // window, jobs.index_select(0, rows)
        inputs = self.job_inputs(jobs)
        embedding = self.job(inputs) + self.job_context(context).index_select(0, env)
        embedding = torch.relu(embedding)
        total = torch.zeros_like(context).index_add(0, env, embedding)
        count = torch.bincount(env, minlength=batch).clamp(min=1).unsqueeze(1)
        pooled = torch.cat([total / count, context], dim=1)
        legal = jobs[:, JOB_LEGAL].nonzero().squeeze(1)  # only these need scores
        rows, env = rows[legal], env[legal]
        second = self.second(embedding.index_select(0, legal))
        second = torch.relu(second + self.second_context(pooled).index_select(0, env))
        outputs = self.outputs(torch.relu(self.state(pooled)))
        job_scores = self.score(second) + self.shortcut(inputs.index_select(0, legal))
        scores = queue.new_full((batch * window,), MASKED)
        scores = scores.index_copy(0, rows, job_scores.squeeze(1)).view(batch, window)
        return torch.cat([scores, outputs[:, :1]], dim=1), outputs[:, 1]

    def job_inputs(self, jobs: Tensor) -> Tensor:
        """Return what is computed from, (n, inputs), of the rows of "queue", (n, job_features)."""
        return jobs

    def state_inputs(self, state: Tensor) -> Tensor:
        """Return what is computed from of the profile and the cluster, (B, ...) side by side."""
        return state

    def shortcut(self, inputs: Tensor) -> Tensor | float:
        """Return what is added to the scores of jobs, (n, 1); in this network nothing."""
        return 0.0


class Ranker(Scorer):
    """A `Scorer` that starts out as a linear order of jobs, of inputs that differ enough to learn.

        score = w relu(D e + E pooled) + v x

    Most columns of an observation are logarithms mapped to [0, 1], so those of different jobs are
    hardly apart: their standard deviation is 0.1 to 0.2. Here x are the columns, and a logarithm of
    the size, all centred and multiplied by JOB_SCALE. Classical orders such as easy-saf and
    easy-lxf are linear in them. `bfenv.agents.network_agent` has the constants.
    """

    def __init__(self, job_features: int, cluster_features: int, hidden: int = 32) -> None:
        super().__init__(job_features + 1, cluster_features, hidden)
        self.linear = nn.Linear(job_features + 1, 1, bias=False)
        nn.init.zeros_(self.linear.weight)

    def job_inputs(self, jobs: Tensor) -> Tensor:
        """Return the columns and the logarithm of the size, scaled."""
        size = jobs[:, JOB_SIZE : JOB_SIZE + 1].clamp(min=SMALLEST_SIZE)
        log_size = 1 - torch.log(size) / LOG_SMALLEST_SIZE
        return (torch.cat([jobs, log_size], dim=1) - 0.5) * JOB_SCALE

    def state_inputs(self, state: Tensor) -> Tensor:
        """Return the profile and the cluster, scaled."""
        return (state - 0.5) * STATE_SCALE

    def shortcut(self, inputs: Tensor) -> Tensor | float:
        """Return the linear part of the scores, (n, 1)."""
        linear: Tensor = self.linear(inputs)
        return linear


NETWORKS: dict[str, type[Scorer]] = {"scorer": Scorer, "ranker": Ranker}
