"""Pure array functions, NumPy or Numba. They never validate, print or read settings."""
