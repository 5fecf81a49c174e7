"""Result objects as pages: self-contained HTML, everything from the data escaped."""
