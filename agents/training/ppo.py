"""MaskablePPO with what a game of hidden cards asks for beside, and less time lost around it.

- **Entropy and clipping by schedule**: `ent_coef` is set anew by whoever drives the run, the
  clip range and the learning rate follow theirs.
- **A magnet** (magnetic mirror descent, arXiv 2206.05825): a term of the loss draws the policy
  towards a copy of itself that is renewed now and then. It damps the running in circles of
  self-play.
- **Suits swapped**: every other pass over the acts sees them with the two suits of the other colour
  swapped (`agents.training.symmetry`).

The loss is that of sb3-contrib, term by term. Its time went into copies: observations and masks
are converted once an update instead of once a batch, and no numbers are fetched one by one.
"""

import copy
import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import explained_variance
from torch import nn

from agents.training.network import ActorCritic, entropies, log_chances
from agents.training.symmetry import SWAPPED_ACTIONS, SWAPPED_PLACES

LOSS_TERMS = ("entropy_loss", "policy_gradient_loss", "value_loss", "magnet_kl", "loss")
"""Logged as ``train/…``: means over the batches of an update."""
_WATCHED = ("approx_kl", "clip_fraction")


class Acts(NamedTuple):
    """Acts to learn from, a row each."""

    inputs: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    log_chances: torch.Tensor
    """Of the act, when it was done."""
    advantages: torch.Tensor
    returns: torch.Tensor

    def rows(self, places: torch.Tensor) -> "Acts":
        """Some of them."""
        return Acts(*(part.index_select(0, places) for part in self))


class EuchrePPO(MaskablePPO):
    """MaskablePPO over `ActorCritic`.

    Attributes:
        magnet_kl: weight of the divergence from the magnet; 0: there is none.
        magnet_updates: updates after which the magnet is the policy anew.
        augment_suits: swap the suits in every other pass.
        seconds: time spent so far, ``collect`` for playing and ``train`` for learning.
    """

    policy: ActorCritic

    def __init__(
        self,
        *args: Any,
        magnet_kl: float = 0.0,
        magnet_updates: int = 50,
        augment_suits: bool = False,
        **kwargs: Any,
    ) -> None:
        """Make the model (see `MaskablePPO`)."""
        self.magnet_kl, self.magnet_updates = magnet_kl, magnet_updates
        self.augment_suits = augment_suits
        self.seconds = {"collect": 0.0, "train": 0.0}
        self.num_trained = 0
        super().__init__(*args, **kwargs)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.magnet = _Magnet(self.policy) if self.magnet_kl else None

    def collect_rollouts(self, *args: Any, **kwargs: Any) -> bool:
        """Play (see `MaskablePPO`), by the clock."""
        start = time.perf_counter()
        goes_on = super().collect_rollouts(*args, **kwargs)
        self.seconds["collect"] += time.perf_counter() - start
        return goes_on

    def train(self) -> None:
        """Learn from the acts of the last games."""
        start = time.perf_counter()
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        clip_range = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        if self.magnet is not None and self.num_trained % self.magnet_updates == 0:
            self.magnet.renew(self.policy)
        views = self._acts()
        watched = [
            self._gradient_step(acts.rows(rows), clip_range)
            for epoch in range(self.n_epochs)
            for acts in [views[epoch % len(views)]]
            for rows in self._batches(len(acts.actions))
        ]
        self._n_updates += self.n_epochs
        self.num_trained += 1
        self._log(torch.stack(watched).mean(dim=0).tolist(), clip_range)
        self.seconds["train"] += time.perf_counter() - start

    def _acts(self) -> list[Acts]:
        """The acts of the last games; a second time with the suits swapped where asked for."""
        buffer, network = self.rollout_buffer, self.policy

        def flat(array: npt.NDArray[Any]) -> torch.Tensor:
            rows = array.reshape(array.shape[0] * array.shape[1], *array.shape[2:])
            return torch.as_tensor(rows, device=self.device)

        observations = flat(buffer.observations)
        masks = flat(buffer.action_masks) > 0
        actions = flat(buffer.actions).flatten().long()
        rest = [flat(part) for part in (buffer.log_probs, buffer.advantages, buffer.returns)]
        acts = [Acts(network.inputs(observations), masks, actions, *rest)]
        if self.augment_suits:
            swapped = torch.as_tensor(SWAPPED_ACTIONS, device=self.device)
            places = torch.as_tensor(SWAPPED_PLACES[: observations.shape[1]], device=self.device)
            inputs = network.inputs(observations.index_select(1, places))
            # the probability stays that of the act as it was done: the ratio weighs it rightly
            acts.append(Acts(inputs, masks.index_select(1, swapped), swapped[actions], *rest))
        return acts

    def _batches(self, num: int) -> tuple[torch.Tensor, ...]:
        # the stream that Stable-Baselines3 seeds, and shuffles by itself
        places = np.random.permutation(num)  # noqa: NPY002
        order = torch.as_tensor(places, device=self.device)
        return torch.split(order, self.batch_size or num)

    def _gradient_step(self, acts: Acts, clip_range: float) -> torch.Tensor:
        """One step of the optimiser.

        Returns:
            Shape (7,): `LOSS_TERMS`, then what is watched of the step.
        """
        network = self.policy
        chances = log_chances(network.logits(acts.inputs), acts.masks)
        entropy_loss = -entropies(chances).mean()
        taken = chances.gather(1, acts.actions[:, None]).flatten()
        log_ratio = taken - acts.log_chances
        ratio = log_ratio.exp()
        advantages = acts.advantages
        if self.normalize_advantage:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
        policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
        value_loss = (network.values(acts.inputs) - acts.returns).square().mean()
        magnet_kl = torch.zeros(())
        if self.magnet is not None:
            magnet_kl = self.magnet.divergence(acts, chances)
        loss = (
            policy_loss
            + self.ent_coef * entropy_loss
            + self.vf_coef * value_loss
            + self.magnet_kl * magnet_kl
        )
        network.optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(network.parameters(), self.max_grad_norm)
        network.optimizer.step()
        with torch.no_grad():
            approx_kl = (ratio - 1 - log_ratio).mean()
            clip_fraction = ((ratio - 1).abs() > clip_range).float().mean()
            terms = (entropy_loss, policy_loss, value_loss, magnet_kl, loss)
            return torch.stack([*terms, approx_kl, clip_fraction])

    def _log(self, means: list[float], clip_range: float) -> None:
        for name, value in zip((*LOSS_TERMS, *_WATCHED), means, strict=True):
            self.logger.record(f"train/{name}", value)
        buffer = self.rollout_buffer
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        self.logger.record("train/explained_variance", explained)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/clip_range", clip_range)


class _Magnet:
    """The policy as it was some updates ago."""

    def __init__(self, network: ActorCritic) -> None:
        self.actor = copy.deepcopy(nn.ModuleList([network.actor, network.action_net]))
        self.network = network

    def renew(self, network: ActorCritic) -> None:
        """Be the policy as it now is."""
        now = nn.ModuleList([network.actor, network.action_net])
        self.actor.load_state_dict(now.state_dict())

    def divergence(self, acts: Acts, chances: torch.Tensor) -> torch.Tensor:
        """Mean Kullback-Leibler divergence of the policy from the magnet, in nats."""
        hidden, last = self.actor
        with torch.no_grad():
            with self.network._precision():
                features = hidden(acts.inputs[:, : self.network.num_policy_inputs])
            before = log_chances(last(features.float()), acts.masks)
        return (chances.exp() * (chances - before)).sum(dim=1).mean()
