"""Each figure and table of the paper, one file each."""
