"""Training: the network, the algorithm, and whom the learner meets."""
