"""The network: a policy that reads the learner's observation, and a critic that may read more.

Two stacks of layers side by side. Numbers are brought to 0..1 first, and what never changes in a
run is left out. In bfloat16, where the processor has units for it, the layers take a fraction of
the time; logits and values are worked out in float32 from the last layer on.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn

from agents.policies import Policy, fold_scale
from agents.training.open_critic import HIDDEN_PLACES
from euchre_env.actions import NUM_ACTIONS
from euchre_env.cards import CARD_NAMES, NUM_CARDS
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_HIGH, OBSERVATION_SIZE, STARTS
from euchre_env.rules import OPTION_VALUES, Rules

ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}
SCORE_FIELDS: Final = ("own_needed", "other_needed", "scores", "target_score")
_IMPOSSIBLE: Final = -1e8
"""The logit of an act that is not legal."""


def observation_scale(rules: Rules, episode: str) -> npt.NDArray[np.float32]:
    """What each number of the observation is multiplied with: 1 / its highest value, or 0.

    What never changes in training must not sway the agent where it does change: the rules, and
    with single deals the score too, are multiplied with 0. So are cards that are not in use,
    which saves the network a third of its inputs.
    """
    scale: npt.NDArray[np.float32] = np.float32(1) / OBSERVATION_HIGH.astype(np.float32)
    constant = {*OPTION_VALUES, *(SCORE_FIELDS if episode == "deal" else ())}
    in_use = np.array([rules.deck >> card & 1 for card in range(NUM_CARDS)], dtype=np.float32)
    for item in OBSERVATION_FIELDS:
        place = slice(STARTS[item.name], STARTS[item.name] + item.width)
        if item.name in constant:
            scale[place] = 0
        elif item.labels == CARD_NAMES:  # with relative suits too: all suits have the same ranks
            scale[place] *= in_use
    return scale


def has_fast_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 faster than float32 (Intel AMX, AVX-512 BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in probes)


def layers(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """Linear layers from size to size, an activation after each."""
    modules: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        modules += [nn.Linear(inputs, outputs), activation()]
    return nn.Sequential(*modules)


class ActorCritic(MaskableActorCriticPolicy):
    """Policy and critic as sb3-contrib wants them.

    Attributes:
        actor, action_net: observation to logits.
        critic, value_net: observation, and hidden cards where the games show them, to points.
    """

    actor: nn.Sequential
    critic: nn.Sequential
    action_net: nn.Linear
    value_net: nn.Linear
    places: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self,
        *args: Any,
        observation_scale: npt.NDArray[np.float32],
        policy_layers: Sequence[int],
        value_layers: Sequence[int],
        is_bfloat16: bool = False,
        **kwargs: Any,
    ) -> None:
        """Make the layers.

        Args:
            *args: spaces and schedule, as for `MaskableActorCriticPolicy`.
            observation_scale: see the function of this name.
            policy_layers: sizes of the policy's hidden layers.
            value_layers: sizes of the critic's.
            is_bfloat16: work out the hidden layers in bfloat16 while learning.
            **kwargs: as for `MaskableActorCriticPolicy`.
        """
        self._scale = observation_scale
        self._sizes = tuple(policy_layers), tuple(value_layers)
        self.is_bfloat16 = is_bfloat16
        super().__init__(*args, **{**kwargs, "net_arch": []})

    def _build(self, lr_schedule: Schedule) -> None:
        assert self.observation_space.shape is not None
        is_open = self.observation_space.shape[0] > OBSERVATION_SIZE
        hidden = self._scale[HIDDEN_PLACES] if is_open else np.zeros(0, dtype=np.float32)
        scale = np.concatenate([self._scale, hidden])
        places = np.flatnonzero(scale)  # those of the policy come first
        self.num_policy_inputs = int(np.count_nonzero(self._scale))
        self.register_buffer("places", torch.as_tensor(places))
        self.register_buffer("scale", torch.as_tensor(scale[places]))
        policy_sizes, value_sizes = self._sizes
        self.actor = layers((self.num_policy_inputs, *policy_sizes), self.activation_fn)
        self.action_net = nn.Linear((self.num_policy_inputs, *policy_sizes)[-1], NUM_ACTIONS)
        self.critic = layers((len(places), *value_sizes), self.activation_fn)
        self.value_net = nn.Linear((len(places), *value_sizes)[-1], 1)
        for module, gain in (
            (self.actor, np.sqrt(2)),
            (self.critic, np.sqrt(2)),
            (self.action_net, 0.01),
            (self.value_net, 1.0),
        ):
            for part in module.modules():
                self.init_weights(part, gain)
        self.optimizer = torch.optim.Adam(
            self.parameters(),
            lr=lr_schedule(1),
            eps=1e-5,
            fused=True,
        )

    def inputs(self, observations: torch.Tensor) -> torch.Tensor:
        """What changes of the observations, brought to 0..1: shape (n, inputs of the critic)."""
        kind = torch.bfloat16 if self.is_bfloat16 else torch.float32
        return observations.index_select(1, self.places).to(kind) * self.scale.to(kind)

    def logits(self, inputs: torch.Tensor) -> torch.Tensor:
        """The policy's outputs: float32, shape (n, 42), masks not applied."""
        with self._precision():
            features = self.actor(inputs[:, : self.num_policy_inputs])
        return self.action_net(features.float())

    def values(self, inputs: torch.Tensor) -> torch.Tensor:
        """The points that the critic expects: float32, shape (n,)."""
        with self._precision():
            features = self.critic(inputs)
        return self.value_net(features.float()).flatten()

    def _precision(self) -> AbstractContextManager[Any]:
        if not self.is_bfloat16:
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    # --- what Stable-Baselines3 calls ---

    def forward(
        self,
        obs: torch.Tensor,
        deterministic: bool = False,
        action_masks: npt.NDArray[Any] | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Acts, values and the acts' log-probabilities, each of shape (n,)."""
        inputs = self.inputs(obs)
        chances = log_chances(self.logits(inputs), self._as_masks(action_masks))
        scores = chances
        if not deterministic:  # the largest of chances with Gumbel noise is a draw by the chances
            scores = chances - torch.empty_like(chances).exponential_().log_()
        actions = scores.argmax(dim=1)
        return actions, self.values(inputs), chances.gather(1, actions[:, None]).flatten()

    def evaluate_actions(
        self,
        obs: torch.Tensor,
        actions: torch.Tensor,
        action_masks: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Values, log-probabilities of acts, and entropies, each of shape (n,)."""
        inputs = self.inputs(obs)
        chances = log_chances(self.logits(inputs), self._as_masks(action_masks))
        taken = chances.gather(1, actions.long().reshape(-1, 1)).flatten()
        return self.values(inputs), taken, entropies(chances)

    def predict_values(self, obs: PyTorchObs) -> torch.Tensor:
        """Points expected: shape (n, 1)."""
        assert isinstance(obs, torch.Tensor)
        return self.values(self.inputs(obs))[:, None]

    def get_distribution(
        self, obs: PyTorchObs, action_masks: npt.NDArray[Any] | None = None
    ) -> MaskableCategoricalDistribution:
        """The policy's distribution over acts, in float32 as the saved policy works it out."""
        assert isinstance(obs, torch.Tensor)
        scaled = obs.index_select(1, self.places).float() * self.scale
        logits = self.action_net(self.actor(scaled[:, : self.num_policy_inputs]))
        distribution = self.action_dist.proba_distribution(action_logits=logits)
        assert isinstance(distribution, MaskableCategoricalDistribution)
        if action_masks is not None:
            distribution.apply_masking(action_masks)
        return distribution

    def obs_to_tensor(self, observation: Any) -> tuple[PyTorchObs, bool]:
        """Observations as tensors; a player's own, without hidden cards, will do for its policy."""
        assert self.observation_space.shape is not None
        seen = np.asarray(observation)
        lacking = self.observation_space.shape[0] - seen.shape[-1]
        if lacking == len(HIDDEN_PLACES):
            seen = np.pad(seen, [(0, 0)] * (seen.ndim - 1) + [(0, lacking)])
        return super().obs_to_tensor(seen)

    def _as_masks(self, action_masks: Any) -> torch.Tensor | None:
        if action_masks is None:
            return None
        masks = torch.as_tensor(action_masks, device=self.device)
        return masks if masks.dtype == torch.bool else masks > 0


def log_chances(logits: torch.Tensor, masks: torch.Tensor | None) -> torch.Tensor:
    """Log-probabilities of the acts: shape (n, 42); illegal acts get next to minus infinity."""
    if masks is not None:
        logits = torch.where(masks, logits, _IMPOSSIBLE)
    return torch.log_softmax(logits, dim=1)


def entropies(chances: torch.Tensor) -> torch.Tensor:
    """Entropy of each row of log-probabilities, in nats: shape (n,)."""
    # an illegal act's probability is 0 exactly, and so is its term
    return -(chances * chances.exp()).sum(dim=1)


def to_policy(
    network: ActorCritic,
    rules: Rules,
    scale: npt.NDArray[np.float32],
    activation: str,
    training: dict[str, Any],
) -> Policy:
    """The policy as plain numbers, for `agents.learned`; the critic stays behind."""
    linear = [part for part in network.actor.modules() if isinstance(part, nn.Linear)]
    numbers = [
        (part.weight.detach().cpu().numpy().copy(), part.bias.detach().cpu().numpy().copy())
        for part in (*linear, network.action_net)
    ]
    return Policy(
        layers=fold_scale(numbers, scale),
        value_layers=(),
        activation=activation,
        suits="relative",
        rules=rules,
        training=training,
    )
