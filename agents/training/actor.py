"""Actor: draws actions with a network, and evaluates drawn ones for the learner.

`Actor` does so with torch's own operations. `PackedActor` is for a CPU, where most time would pass
between the products of matrices: it computes the same, to rounding, with the gradient written out.

This module needs torch.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.networks import MASKED, AttentionScorer, Ranker, Scorer
from bfenv.core.kernel import kernel
from bfenv.envs.features import JOB_PRESENT


class States(NamedTuple):
    """What is seen in M states."""

    queue: np.ndarray  # (M, window, job_features) float32
    profile: np.ndarray  # (M, PROFILE) float32
    cluster: np.ndarray  # (M, cluster_features) float32
    mask: np.ndarray  # (M, window + 1) bool: which actions are legal


def new_actor(network: Scorer) -> "Actor":
    """Return the fastest actor for a network."""
    on_cpu = next(network.parameters()).is_cpu
    return (PackedActor if on_cpu and not isinstance(network, AttentionScorer) else Actor)(network)


class Actor:
    """Acts with any network on any device.

    Parameters
    ----------
    network
        Its weights are read at each call.
    """

    def __init__(self, network: Scorer) -> None:
        self.network = network
        self.device = next(network.parameters()).device
        self._results: tuple[Tensor, ...] = ()

    def act(
        self, states: States, chosen: np.ndarray, uniform: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw actions, as likely as exp(score) among the legal ones.

        Parameters
        ----------
        states
            M states.
        chosen
            (B,) int64: in which of them.
        uniform
            (B,) float64 random numbers from [0, 1).

        Returns
        -------
        tuple[np.ndarray, np.ndarray, np.ndarray]
            (B,) actions, the logarithms of their probabilities, and the values of the states.
        """
        scores, values = self.score(states, chosen)
        actions, log_probs = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.float32)
        draw(scores, states.mask, chosen, uniform, actions, log_probs)
        return actions, log_probs, values

    def score(self, states: States, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the (B, window + 1) scores and the (B,) values of the chosen states.

        Scores of illegal actions can be anything.
        """
        with torch.inference_mode():
            scores, values = self.network(*self._observation(states, chosen))
        return scores.cpu().numpy(), values.cpu().numpy()

    def evaluate(
        self, states: States, chosen: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate actions.

        Parameters
        ----------
        states
            M states.
        chosen
            (B,) int64: which of them.
        actions
            (B,) int64, legal ones.

        Returns
        -------
        tuple[np.ndarray, np.ndarray, np.ndarray]
            (B,) logarithms of probabilities, entropies of the choices, and values of the states.
        """
        scores, values = self.network(*self._observation(states, chosen))
        mask, taken = (torch.from_numpy(x).to(self.device) for x in (states.mask[chosen], actions))
        log_probs = scores.masked_fill(~mask, MASKED).log_softmax(dim=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        own = log_probs.gather(1, taken.unsqueeze(1)).squeeze(1)
        self._results = own, entropy, values
        log_prob, entropies, estimates = (x.detach().cpu().numpy() for x in self._results)
        return log_prob, entropies, estimates

    def backward(self, *d_results: np.ndarray) -> None:
        """Set the gradients of the weights, given those by the three results of `evaluate`."""
        for weight in self.network.parameters():
            if weight.grad is not None:
                weight.grad.zero_()
        given = [torch.from_numpy(x).to(self.device) for x in d_results]
        torch.autograd.backward(self._results, given)

    def _observation(self, states: States, chosen: np.ndarray) -> list[Tensor]:
        return [torch.from_numpy(part[chosen]).to(self.device) for part in states[:3]]


class PackedActor(Actor):
    """Acts with a `Scorer` or a `Ranker` on a CPU, several times as fast.

    The waiting jobs of all states stand one behind the other, in memory that is kept from call to
    call. The products of matrices are torch's; what happens between two of them is one compiled
    pass. Names are those of `Scorer.forward`, and `d_x` is the gradient by x.
    """

    def __init__(self, network: Scorer) -> None:
        super().__init__(network)
        self.room = 0  # for how many states there is memory
        self.weights, self.turned, self.gradients = {}, {}, {}
        for name, weight in network.named_parameters():
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            self.weights[name] = weight.detach()
            self.turned[name] = weight.detach().t()
            self.gradients[name] = weight.grad

    def score(self, states: States, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and values as `Actor.score` does."""
        own, outputs = self._forward(states, chosen)
        scores = np.empty((len(chosen), states.mask.shape[1]), np.float32)
        unpack(own, outputs, self.begin, self.arrays["slot"], scores)
        return scores, outputs[:, 1]

    def evaluate(
        self, states: States, chosen: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate as `Actor.evaluate` does."""
        own, outputs = self._forward(states, chosen)
        log_probs, entropy, log_total = np.empty((3, len(chosen)), np.float32)
        seen = (own, outputs, self.begin, self.arrays["slot"], states.mask, chosen, actions)
        evaluate(*seen, log_probs, entropy, log_total)
        self.evaluated = (*seen, entropy, log_total)
        return log_probs, entropy, outputs[:, 1]

    def backward(self, *d_results: np.ndarray) -> None:
        """Set the gradients as `Actor.backward` does."""
        d_log_probs, d_entropy, d_values = d_results
        own, outputs, *_ = self.evaluated
        d_own, d_outputs = np.empty_like(own), np.empty_like(outputs)
        d_outputs[:, 1] = d_values
        evaluate_backward(*self.evaluated, d_log_probs, d_entropy, d_own, d_outputs)
        self._backward(d_own, torch.from_numpy(d_outputs))

    def _forward(self, states: States, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of the waiting jobs, (n,), and the outputs for the states, (B, 2)."""
        net, weights, turned, batch = self.network, self.weights, self.turned, len(chosen)
        if batch > self.room:
            self._allocate(min(2 * batch, len(states.queue)), states)
        arrays = self.arrays
        begin = self.begin = np.empty((2, batch + 1), np.int64)
        count = pack(*states, chosen, arrays["jobs"], arrays["state"], begin, arrays["slot"])
        part = {name: each[:count] for name, each in self.of_jobs.items()}
        part["legal"], part["second"] = (
            part[name][: begin[0, batch]] for name in ("embedding", "second")
        )
        part |= {name: each[:batch] for name, each in self.of_states.items()}
        self.part = part
        self.inputs, self.state = net.job_inputs(part["jobs"]), net.state_inputs(part["state"])

        context = torch.addmm(weights["context.bias"], self.state, turned["context.weight"])
        self.context = context.relu_()
        shift = torch.addmm(weights["job.bias"], context, turned["job_context.weight"])
        torch.mm(self.inputs, turned["job.weight"], out=part["embedding"])
        embed(arrays["embedding"], shift.numpy(), context.numpy(), begin, arrays["pooled"])

        pooled = part["pooled"]
        shift = torch.addmm(weights["second.bias"], pooled, turned["second_context.weight"])
        torch.mm(part["legal"], turned["second.weight"], out=part["second"])
        shift_and_cut(arrays["second"], shift.numpy(), begin)
        own = torch.mv(part["second"], weights["score.weight"][0])
        if isinstance(net, Ranker):
            own.addmv_(self.inputs[: len(own)], weights["linear.weight"][0])

        self.last = torch.addmm(weights["state.bias"], pooled, turned["state.weight"]).relu_()
        outputs = torch.addmm(weights["outputs.bias"], self.last, turned["outputs.weight"])
        return own.numpy(), outputs.numpy()

    def _backward(self, d_own: np.ndarray, d_outputs: Tensor) -> None:
        """Set the gradients, given those by the results of `_forward`."""
        weights, gradients, part, arrays = self.weights, self.gradients, self.part, self.arrays

        def set_gradients(layer: str, d_output: Tensor, inputs: Tensor) -> None:
            torch.mm(d_output.t(), inputs, out=gradients[f"{layer}.weight"])
            if f"{layer}.bias" in gradients:
                torch.sum(d_output, 0, out=gradients[f"{layer}.bias"])

        d_last = (d_outputs @ weights["outputs.weight"]).mul_(self.last > 0)
        d_pooled = d_last @ weights["state.weight"]
        set_gradients("outputs", d_outputs, self.last)
        set_gradients("state", d_last, part["pooled"])

        d_scores = torch.from_numpy(d_own)
        torch.mv(part["second"].t(), d_scores, out=gradients["score.weight"][0])
        if isinstance(self.network, Ranker):
            torch.mv(self.inputs[: len(d_own)].t(), d_scores, out=gradients["linear.weight"][0])
        d_shift, score = torch.empty_like(self.context), weights["score.weight"][0].numpy()
        second_backward(arrays["second"], d_own, score, self.begin, d_shift.numpy())
        d_second = part["second"]  # has taken its place
        d_pooled.addmm_(d_shift, weights["second_context.weight"])
        torch.mm(d_second.t(), part["legal"], out=gradients["second.weight"])
        torch.sum(d_shift, 0, out=gradients["second.bias"])
        set_gradients("second_context", d_shift, part["pooled"])

        d_embedding = part["d_embedding"]
        torch.mm(d_second, weights["second.weight"], out=d_embedding[: len(d_own)])
        others = (arrays["embedding"], d_pooled.numpy(), self.begin, d_shift.numpy())
        embed_backward(arrays["d_embedding"], *others)
        # in this order, because torch takes five times as long for the transposed product
        gradients["job.weight"].copy_((self.inputs.t() @ d_embedding).t())
        torch.sum(d_shift, 0, out=gradients["job.bias"])
        set_gradients("job_context", d_shift, self.context)
        d_context = d_pooled[:, d_shift.shape[1] :].addmm(d_shift, weights["job_context.weight"])
        set_gradients("context", d_context.mul_(self.context > 0), self.state)

    def _allocate(self, room: int, states: States) -> None:
        """Make room for as many states; fresh memory is slow when it is first used."""
        _, window, features = states.queue.shape
        hidden, rows = self.network.score.in_features, room * window
        width = states.profile.shape[1] + states.cluster.shape[1]
        self.of_jobs = {
            "jobs": torch.empty(rows, features),
            "embedding": torch.empty(rows, hidden),
            "second": torch.empty(rows, hidden),
            "d_embedding": torch.empty(rows, hidden),
        }
        self.of_states = {
            "state": torch.empty(room, width),
            "pooled": torch.empty(room, 2 * hidden),
        }
        self.arrays = {name: each.numpy() for name, each in (self.of_jobs | self.of_states).items()}
        self.arrays["slot"] = np.empty(rows, np.int64)
        self.room = room


@kernel
def draw(scores, mask, chosen, uniform, actions, log_probs):
    """Draw actions as likely as exp(score) among the legal ones.

    Parameters
    ----------
    scores
        (B, window + 1) of the chosen states.
    mask
        (M, window + 1) bool: which actions are legal.
    chosen
        (B,) int64: which of the M states.
    uniform
        (B,) random numbers from [0, 1).
    actions, log_probs
        (B,) are filled.
    """
    for i in range(len(chosen)):
        legal = mask[chosen[i]]
        largest = -np.inf
        for k in range(len(legal)):
            if legal[k]:
                largest = max(largest, np.float64(scores[i, k]))
        total = 0.0
        for k in range(len(legal)):
            if legal[k]:
                total += math.exp(scores[i, k] - largest)
        left = uniform[i] * total
        for k in range(len(legal)):
            if legal[k]:
                actions[i] = k  # the last legal one, if rounding leaves anything
                left -= math.exp(scores[i, k] - largest)
                if left < 0:
                    break
        log_probs[i] = scores[i, actions[i]] - largest - math.log(total)


@kernel
def pack(queue, profile, cluster, mask, chosen, jobs, state, begin, slot):
    """Write the waiting jobs of some states one behind the other; return their number.

    Parameters
    ----------
    queue, profile, cluster, mask
        (M, ...) states
    chosen
        (B,) which of them
    jobs, slot
        Are filled with the rows of "queue" of the waiting jobs, and their slots: first the legal
        ones of all states, then the others.
    state
        Is filled with the profile and the cluster side by side.
    begin
        (2, B + 1) is filled with where the legal jobs of each state begin, and where the last ones
        end; then likewise of the others.
    """
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
        for j in range(width):
            state[i, j] = profile[row, j]
        for j in range(cluster.shape[1]):
            state[i, width + j] = cluster[row, j]
    return count


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

    Parameters
    ----------
    d_embedding
        Holds what comes through the scores of legal jobs; becomes the gradient before `embed`.
    embedding, begin
        As `embed` left them.
    d_pooled
        Its first half becomes what each job gets of it.
    d_shift
        Is filled.
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

    Parameters
    ----------
    second
        As `shift_and_cut` left it; becomes its own gradient.
    d_own, weight
        (n,) gradients by the scores, and (hidden,) the weights that they are computed with.
    begin
        See `pack`.
    d_shift
        Is filled.
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
def evaluate(own, outputs, begin, slot, mask, chosen, actions, log_probs, entropy, log_total):
    """Compute logarithms of probabilities, and entropies.

    Parameters
    ----------
    own, outputs
        (n,) scores of legal jobs; the first of the (B, 2) outputs is the score of the pass.
    begin, slot
        See `pack`.
    mask, chosen, actions
        As `Actor.evaluate` is given them.
    log_probs, entropy, log_total
        (B,) are filled; the last is the logarithm of the sum of exp(score).
    """
    passing, zero = mask.shape[1] - 1, np.float32(0)
    for i in range(len(chosen)):
        can_pass = mask[chosen[i], passing]
        largest = outputs[i, 0] if can_pass else np.float32(-np.inf)
        for r in range(begin[0, i], begin[0, i + 1]):
            largest = max(largest, own[r])
        score, total, sum_of = outputs[i, 0], zero, zero  # of p x, with x the score - largest
        if can_pass:
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
    own, outputs, begin, slot, mask, chosen, actions, entropy, log_total,
    d_log_probs, d_entropy, d_own, d_outputs,
):  # fmt: skip
    """Go back through `evaluate`, to `d_own` and the first column of `d_outputs`."""
    passing = mask.shape[1] - 1
    for i in range(len(chosen)):
        d_log_prob, d_spread = d_log_probs[i], d_entropy[i]
        d_outputs[i, 0] = np.float32(0)
        if mask[chosen[i], passing]:
            x = outputs[i, 0] - log_total[i]  # the logarithm of its probability
            d_outputs[i, 0] = -math.exp(x) * (d_log_prob + d_spread * (x + entropy[i]))
            if actions[i] == passing:
                d_outputs[i, 0] += d_log_prob
        for r in range(begin[0, i], begin[0, i + 1]):
            x = own[r] - log_total[i]
            d_own[r] = -math.exp(x) * (d_log_prob + d_spread * (x + entropy[i]))
            if slot[r] == actions[i]:
                d_own[r] += d_log_prob
