"""Mentions, what is known of them, and the mention-ranking model."""
