"""The public face: one file per verb, shared by Python and the shell. A verb composes the rooms, returns one result."""
