"""Actor: draws actions with a network, and evaluates drawn ones for the learner.

`Actor` does so with torch's own operations. `PackedActor` is for a CPU, where most time would pass
between the products of matrices: it computes the same, to rounding, with the gradient written out.

This module needs torch.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bfenv.agents.training.networks import MASKED, AttentionScorer, Ranker, Scorer
from bfenv.agents.training.packed_passes import (
    choose,
    draw,
    embed,
    embed_backward,
    evaluate,
    evaluate_backward,
    pack,
    second_backward,
    shift_and_cut,
    unpack,
)


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
            scores, values = self.network(*self._tensors(part[chosen] for part in states[:3]))
        return scores.cpu().numpy(), values.cpu().numpy()

    def load(self, states: States) -> None:
        """Take the states that `evaluate` is asked about."""
        self._loaded = self._tensors(states)

    def evaluate(
        self, chosen: np.ndarray, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Evaluate actions.

        Parameters
        ----------
        chosen
            (B,) int64: which of the states that were loaded.
        actions
            (B,) int64, legal ones.

        Returns
        -------
        tuple[np.ndarray, np.ndarray, np.ndarray]
            (B,) logarithms of probabilities, entropies of the choices, and values of the states.
        """
        rows, taken = self._tensors((chosen, actions))
        # `index_select` copies whole rows, which indexing does number by number
        *observation, mask = (part.index_select(0, rows) for part in self._loaded)
        scores, values = self.network(*observation)
        log_probs = scores.masked_fill(~mask, MASKED).log_softmax(dim=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        self._results = log_probs.gather(1, taken.unsqueeze(1)).squeeze(1), entropy, values
        log_prob, entropies, estimates = (each.detach().cpu().numpy() for each in self._results)
        return log_prob, entropies, estimates

    def backward(self, *d_results: np.ndarray) -> None:
        """Set the gradients of the weights, given those by the three results of `evaluate`."""
        for weight in self.network.parameters():
            if weight.grad is not None:
                weight.grad.zero_()
        torch.autograd.backward(self._results, self._tensors(d_results))

    def _tensors(self, arrays: Iterable[np.ndarray]) -> list[Tensor]:
        """Return arrays as tensors on the device of the network."""
        return [torch.from_numpy(each).to(self.device) for each in arrays]


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
        choose(*_flat(self._all), chosen, *_flat(packed))
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


def _flat(packed: Packed) -> Packed:
    return packed._replace(jobs=packed.jobs.reshape(-1))
