"""Images: the bundled set, loaders for the sets of the papers, and a reader's own folder."""
