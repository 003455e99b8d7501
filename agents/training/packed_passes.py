"""The compiled passes of `bfenv.agents.training.actor`.

`x_backward` goes back through `x`: from gradients by its results to gradients by its parameters.
`begin`, `slot` and `can_pass` are those of `Packed`.
"""

import math

import numpy as np

from bfenv.core.kernel import kernel
from bfenv.envs.features import JOB_PRESENT


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
def evaluate(own, outputs, begin, slot, can_pass, actions, log_probs, entropy, log_total):
    """Compute logarithms of probabilities, and entropies.

    Parameters
    ----------
    own, outputs
        (n,) scores of legal jobs; the first of the (B, 2) outputs is the score of the pass.
    begin, slot
        See `pack`.
    can_pass, actions
        (B,)
    log_probs, entropy, log_total
        (B,) are filled; the last is the logarithm of the sum of exp(score).
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
