"""Training of the neural denoisers that the book ships; nothing here is private."""
