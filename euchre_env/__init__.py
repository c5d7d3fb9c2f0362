"""Two-handed Euchre as a Gymnasium environment.

>>> import gymnasium, euchre_env
>>> env = gymnasium.make("euchre_env/Euchre-v0")
>>> observation, info = env.reset(seed=0)
>>> info["action_mask"].shape
(42,)
"""

from gymnasium.envs.registration import register

from euchre_env.env import EuchreEnv
from euchre_env.rules import Rules
from euchre_env.vector_env import EuchreVectorEnv

__version__ = "0.1.0"
__all__ = ["EuchreEnv", "EuchreVectorEnv", "Rules", "__version__"]

register(
    id="euchre_env/Euchre-v0",
    entry_point="euchre_env.env:EuchreEnv",
    vector_entry_point="euchre_env.vector_env:EuchreVectorEnv",
)
