"""The figures and sections of the paper, one file each."""
