"""Where the work runs: memory, files, Spark. Each fills the same sketch; what follows never knows which."""
