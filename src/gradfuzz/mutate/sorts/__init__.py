"""Sorts of edits, one file each or a few that belong together. A new one is found by looking; see `Sort`."""
