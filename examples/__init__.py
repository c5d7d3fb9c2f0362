"""Programs to start from: run them, copy them."""
