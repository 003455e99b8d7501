"""PackedActor: acts and finds gradients on a CPU, twice as fast as autograd.

Most of autograd's time passes between the products of matrices. Here these products are torch's,
and what happens between two of them is one compiled pass. It computes what `Actor` does, to
rounding, with the gradient written out.

`x_backward` goes back through `x`: from gradients by its results to gradients by its parameters.
`begin`, `slot` and `can_pass` are those of `Packed`. This module needs torch.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.actor import Actor, States
from bfenv.agents.training.networks import Ranker, Scorer
from bfenv.core.kernel import kernel
from bfenv.envs.features import JOB_PRESENT


def new_actor(network: Scorer) -> Actor:
    """Return the fastest actor for a network where it is."""
    return (PackedActor if next(network.parameters()).is_cpu else Actor)(network)


class Packed(NamedTuple):
    """States whose waiting jobs stand one behind the other."""

    jobs: np.ndarray  # (n, job_features): the legal ones of all states, then the others
    slot: np.ndarray  # (n,) int64: where they stand in "queue"
    begin: np.ndarray  # (2, B + 1) int64: where those of each state begin and end; and the others
    state: np.ndarray  # (B, ...): profile and cluster side by side
    can_pass: np.ndarray  # (B,) bool: whether the pass is legal


class PackedActor(Actor):
    """Acts with a `Scorer` or a `Ranker` on a CPU, several times as fast.

    The products of matrices are torch's; what happens between two of them is one compiled pass over
    memory that is kept from call to call. Names are those of `Scorer.forward`, and `d_x` is the
    gradient by x.
    """

    def __init__(self, network: Scorer) -> None:
        super().__init__(network)
        self._memory: dict[str, np.ndarray] = {}
        self._weights, self._turned, self._gradients = {}, {}, {}
        for name, weight in network.named_parameters():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            self._weights[name] = weight.detach()
            self._turned[name] = weight.detach().t()
            self._gradients[name] = weight.grad

    def score(self, states: States, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and values as `Actor.score` does."""
        packed = self._packed("seen", states, len(chosen))
        pack(*states, chosen, *packed)
        own, outputs = self._forward(packed)
        scores = np.empty((len(chosen), states.mask.shape[1]), np.float32)
        unpack(own, outputs, packed.begin, packed.slot, scores)
        return scores, outputs[:, 1]

    def load(self, states: States) -> None:
        """Pack the states, once for all calls of `evaluate`."""
        self._states = states
        self._all = self._packed("all", states, len(states.mask))
        pack(*states, np.arange(len(states.mask)), *self._all)

    def evaluate(
        self, chosen: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate as `Actor.evaluate` does."""
        packed = self._packed("chosen", self._states, len(chosen))
        every, some = (each._replace(jobs=each.jobs.reshape(-1)) for each in (self._all, packed))
        choose(*every, chosen, *some)
        own, outputs = self._forward(packed)
        log_probs, entropy, log_total = np.empty((3, len(chosen)), np.float32)
        seen = (own, outputs, packed.begin, packed.slot, packed.can_pass, actions)
        evaluate(*seen, log_probs, entropy, log_total)
        self._evaluated = (*seen, entropy, log_total)
        return log_probs, entropy, outputs[:, 1]

    def backward(self, *d_results: np.ndarray) -> None:
        """Set the gradients as `Actor.backward` does."""
        d_log_probs, d_entropy, d_values = d_results
        own, outputs, *_ = self._evaluated
        d_own, d_outputs = np.empty_like(own), np.empty_like(outputs)
        d_outputs[:, 1] = d_values
        passing = self._states.mask.shape[1] - 1
        evaluate_backward(*self._evaluated, passing, d_log_probs, d_entropy, d_own, d_outputs)
        self._backward(d_own, torch.from_numpy(d_outputs))

    def _forward(self, packed: Packed) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of the legal jobs, (n,), and the outputs for the states, (B, 2)."""
        net, weights, turned, begin = self.network, self._weights, self._turned, packed.begin
        legal, count, hidden = int(begin[0, -1]), int(begin[1, -1]), net.score.in_features
        inputs = net.job_inputs(torch.from_numpy(packed.jobs[:count]))
        state = net.state_inputs(torch.from_numpy(packed.state))

        context = torch.addmm(weights["context.bias"], state, turned["context.weight"]).relu_()
        shift = torch.addmm(weights["job.bias"], context, turned["job_context.weight"])
        embedding = torch.from_numpy(self._kept("embedding", count, hidden))
        pooled = torch.empty(len(state), 2 * hidden)
        torch.mm(inputs, turned["job.weight"], out=embedding)
        embed(embedding.numpy(), shift.numpy(), context.numpy(), begin, pooled.numpy())

        shift = torch.addmm(weights["second.bias"], pooled, turned["second_context.weight"])
        second = torch.from_numpy(self._kept("second", legal, hidden))
        torch.mm(embedding[:legal], turned["second.weight"], out=second)
        shift_and_cut(second.numpy(), shift.numpy(), begin)
        own = torch.mv(second, weights["score.weight"][0])
        if isinstance(net, Ranker):
            own.addmv_(inputs[:legal], weights["linear.weight"][0])

        last = torch.addmm(weights["state.bias"], pooled, turned["state.weight"]).relu_()
        outputs = torch.addmm(weights["outputs.bias"], last, turned["outputs.weight"])
        self._steps = begin, inputs, state, context, embedding, pooled, second, last
        return own.numpy(), outputs.numpy()

    def _backward(self, d_own: np.ndarray, d_outputs: Tensor) -> None:
        """Set the gradients, given those by the results of `_forward`."""
        begin, inputs, state, context, embedding, pooled, second, last = self._steps
        weights, gradients, legal = self._weights, self._gradients, len(d_own)
        hidden = second.shape[1]

        def set_gradients(layer: str, d_output: Tensor, layer_inputs: Tensor) -> None:
            torch.mm(d_output.t(), layer_inputs, out=gradients[f"{layer}.weight"])
            if f"{layer}.bias" in gradients:
                torch.sum(d_output, 0, out=gradients[f"{layer}.bias"])

        d_last = (d_outputs @ weights["outputs.weight"]).mul_(last > 0)
        d_pooled = d_last @ weights["state.weight"]
        set_gradients("outputs", d_outputs, last)
        set_gradients("state", d_last, pooled)

        d_scores = torch.from_numpy(d_own)
        torch.mv(second.t(), d_scores, out=gradients["score.weight"][0])
        if isinstance(self.network, Ranker):
            torch.mv(inputs[:legal].t(), d_scores, out=gradients["linear.weight"][0])
        d_shift, score = torch.empty_like(context), weights["score.weight"][0]
        second_backward(second.numpy(), d_own, score.numpy(), begin, d_shift.numpy())
        d_second = second  # has taken its place
        d_pooled.addmm_(d_shift, weights["second_context.weight"])
        torch.mm(d_second.t(), embedding[:legal], out=gradients["second.weight"])
        torch.sum(d_shift, 0, out=gradients["second.bias"])
        set_gradients("second_context", d_shift, pooled)

        d_embedding = torch.from_numpy(self._kept("d_embedding", *embedding.shape))
        torch.mm(d_second, weights["second.weight"], out=d_embedding[:legal])
        given = (embedding.numpy(), d_pooled.numpy(), begin, d_shift.numpy())
        embed_backward(d_embedding.numpy(), *given)
        # in this order, because torch takes five times as long for the transposed product
        gradients["job.weight"].copy_((inputs.t() @ d_embedding).t())
        torch.sum(d_shift, 0, out=gradients["job.bias"])
        set_gradients("job_context", d_shift, context)
        d_context = d_pooled[:, hidden:].addmm(d_shift, weights["job_context.weight"])
        set_gradients("context", d_context.mul_(context > 0), state)

    def _packed(self, name: str, states: States, count: int) -> Packed:
        """Return room for that many of the states."""
        _, window, features = states.queue.shape
        return Packed(
            jobs=self._kept(f"jobs {name}", count * window, features),
            slot=self._kept(f"slots {name}", count * window, dtype=np.int64),
            begin=np.empty((2, count + 1), np.int64),
            state=np.empty((count, states.profile.shape[1] + states.cluster.shape[1]), np.float32),
            can_pass=np.empty(count, np.bool_),
        )

    def _kept(self, name: str, *shape: int, dtype: Any = np.float32) -> np.ndarray:
        """Return memory that is used again; fresh memory is slow when it is first used."""
        size = math.prod(shape)
        if name not in self._memory or self._memory[name].size < size:
            self._memory[name] = np.empty(size, dtype)
        return self._memory[name][:size].reshape(shape)


@kernel
def pack(queue, profile, cluster, mask, chosen, jobs, slot, begin, state, can_pass):
    """Pack the chosen ones of M states, (B,); see `States` and `Packed`."""
    count, window, features, width = 0, queue.shape[1], queue.shape[2], profile.shape[1]
    for other in range(2):
        for i in range(len(chosen)):
            row = chosen[i]
            begin[other, i] = count
            for k in range(window):
                if queue[row, k, JOB_PRESENT] != 0 and mask[row, k] != other:
                    for j in range(features):
                        jobs[count, j] = queue[row, k, j]
                    slot[count] = k
                    count += 1
        begin[other, len(chosen)] = count
    for i in range(len(chosen)):
        row = chosen[i]
        can_pass[i] = mask[row, window]
        for j in range(width):
            state[i, j] = profile[row, j]
        for j in range(cluster.shape[1]):
            state[i, width + j] = cluster[row, j]


@kernel
def choose(
    all_jobs, all_slot, all_begin, all_state, all_can_pass,
    chosen, jobs, slot, begin, state, can_pass,
):  # fmt: skip
    """Copy the chosen ones of M packed states, (B,); `jobs` is flat, so one loop copies a run."""
    count, features, width = 0, len(jobs) // len(slot), state.shape[1]
    for other in range(2):
        for i in range(len(chosen)):
            row = chosen[i]
            begin[other, i] = count
            first, last = all_begin[other, row], all_begin[other, row + 1]
            length = last - first
            old_slot, new_slot = all_slot[first:last], slot[count : count + length]
            for r in range(length):
                new_slot[r] = old_slot[r]
            old_jobs = all_jobs[first * features : last * features]
            new_jobs = jobs[count * features : (count + length) * features]
            for r in range(length * features):
                new_jobs[r] = old_jobs[r]
            count += length
        begin[other, len(chosen)] = count
    for i in range(len(chosen)):
        row = chosen[i]
        can_pass[i] = all_can_pass[row]
        for j in range(width):
            state[i, j] = all_state[row, j]


@kernel
def unpack(own, outputs, begin, slot, scores):
    """Write the scores of legal jobs and of the pass to their places, (B, window + 1)."""
    for i in range(len(scores)):
        for r in range(begin[0, i], begin[0, i + 1]):
            scores[i, slot[r]] = own[r]
        scores[i, scores.shape[1] - 1] = outputs[i, 0]


@kernel
def embed(embedding, shift, context, begin, pooled):
    """Add its state's shift to each job, apply relu, and pool: (mean over the jobs, context)."""
    zero, width = np.float32(0), shift.shape[1]
    for i in range(len(shift)):
        for j in range(width):
            pooled[i, j] = zero
            pooled[i, width + j] = context[i, j]
        for other in range(2):
            for r in range(begin[other, i], begin[other, i + 1]):
                for j in range(width):
                    x = embedding[r, j] + shift[i, j]
                    x = zero if x <= zero else x
                    embedding[r, j] = x
                    pooled[i, j] += x
        count = np.float32(max(1, jobs_in(begin, i)))
        for j in range(width):
            pooled[i, j] /= count


@kernel
def embed_backward(d_embedding, embedding, d_pooled, begin, d_shift):
    """Go back through `embed`.

    * `d_embedding`: holds what comes through the scores of legal jobs; becomes the gradient before
      `embed`.
    * `embedding`, `begin`: as `embed` left them.
    * `d_pooled`: its first half becomes what each job gets of it.
    * `d_shift`: is filled.
    """
    zero, width = np.float32(0), d_shift.shape[1]
    for i in range(len(d_shift)):
        count = np.float32(max(1, jobs_in(begin, i)))
        for j in range(width):
            d_shift[i, j] = zero
            d_pooled[i, j] /= count
        for r in range(begin[0, i], begin[0, i + 1]):
            for j in range(width):
                d = d_embedding[r, j] + d_pooled[i, j]
                d = d if embedding[r, j] > zero else zero
                d_embedding[r, j] = d
                d_shift[i, j] += d
        for r in range(begin[1, i], begin[1, i + 1]):
            for j in range(width):
                d = d_pooled[i, j] if embedding[r, j] > zero else zero
                d_embedding[r, j] = d
                d_shift[i, j] += d


@kernel
def jobs_in(begin, i):
    """Return how many jobs wait in state i."""
    return begin[0, i + 1] - begin[0, i] + begin[1, i + 1] - begin[1, i]


@kernel
def shift_and_cut(second, shift, begin):
    """Add its state's shift to each legal job, and apply relu."""
    zero, width = np.float32(0), shift.shape[1]
    for i in range(len(shift)):
        for r in range(begin[0, i], begin[0, i + 1]):
            for j in range(width):
                x = second[r, j] + shift[i, j]
                second[r, j] = zero if x <= zero else x


@kernel
def second_backward(second, d_own, weight, begin, d_shift):
    """Go back from the scores of legal jobs through `shift_and_cut`.

    * `second`: as `shift_and_cut` left it; becomes its own gradient.
    * `d_own`, `weight`: (n,) gradients by the scores, and (hidden,) the weights that they are
      computed with.
    * `begin`: see `pack`.
    * `d_shift`: is filled.
    """
    zero, width = np.float32(0), d_shift.shape[1]
    for i in range(len(d_shift)):
        for j in range(width):
            d_shift[i, j] = zero
        for r in range(begin[0, i], begin[0, i + 1]):
            own = d_own[r]
            for j in range(width):
                d = own * weight[j]
                d = d if second[r, j] > zero else zero
                second[r, j] = d
                d_shift[i, j] += d


@kernel
def evaluate(own, outputs, begin, slot, can_pass, actions, log_probs, entropy, log_total):
    """Compute logarithms of probabilities, and entropies.

    * `own`, `outputs`: (n,) scores of legal jobs; the first of the (B, 2) outputs is the score of
      the pass.
    * `begin`, `slot`: see `pack`.
    * `can_pass`, `actions`: (B,)
    * `log_probs`, `entropy`, `log_total`: (B,) are filled; the last is the logarithm of the sum of
      exp(score).
    """
    zero = np.float32(0)
    for i in range(len(actions)):
        largest = outputs[i, 0] if can_pass[i] else np.float32(-np.inf)
        for r in range(begin[0, i], begin[0, i + 1]):
            largest = max(largest, own[r])
        score, total, sum_of = outputs[i, 0], zero, zero  # of p x, with x the score - largest
        if can_pass[i]:
            x = score - largest
            p = math.exp(x)
            total += p
            sum_of += p * x
        for r in range(begin[0, i], begin[0, i + 1]):
            x = own[r] - largest
            p = math.exp(x)
            total += p
            sum_of += p * x
            if slot[r] == actions[i]:
                score = own[r]
        rest = np.float32(math.log(total))
        log_total[i] = largest + rest
        log_probs[i] = score - largest - rest
        entropy[i] = rest - sum_of / total


@kernel
def evaluate_backward(
    own, outputs, begin, slot, can_pass, actions, entropy, log_total,
    passing, d_log_probs, d_entropy, d_own, d_outputs,
):  # fmt: skip
    """Go back through `evaluate`, to `d_own` and the first column of `d_outputs`.

    `passing` is the number of the action that is the pass.
    """
    for i in range(len(actions)):
        d_log_prob, d_spread = d_log_probs[i], d_entropy[i]
        d_outputs[i, 0] = np.float32(0)
        if can_pass[i]:
            x = outputs[i, 0] - log_total[i]  # the logarithm of its probability
            d_outputs[i, 0] = -math.exp(x) * (d_log_prob + d_spread * (x + entropy[i]))
            if actions[i] == passing:
                d_outputs[i, 0] += d_log_prob
        for r in range(begin[0, i], begin[0, i + 1]):
            x = own[r] - log_total[i]
            d_own[r] = -math.exp(x) * (d_log_prob + d_spread * (x + entropy[i]))
            if slot[r] == actions[i]:
                d_own[r] += d_log_prob
