"""Raw English text to sentences, tags and dependencies: a small spaCy pipeline of our own that ships with the package."""
