"""Where the work runs: memory, files. Each fills the same sketch; what follows never knows which."""
