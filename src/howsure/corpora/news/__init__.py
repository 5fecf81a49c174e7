"""Dated text: plain files, MUC, NITF, Reuters."""
